/* A hand-written model in the form of a generated one: y = x + 1 on int8[16], and a running sum that keeps state. */
#ifndef TINY_H
#define TINY_H
#include <tflmgen.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const tflmgen_model tiny_model;
void tiny_reset(void);

tflmgen_status tiny_increment(void);
void *tiny_increment_input_x(void);
void *tiny_increment_output_y(void);

/* total += sum of values. `mode`: 1 writes where no memory is, 2 eats 600 bytes of stack, 3 never returns,
 * 4 returns an error, 5 is an undefined instruction. */
tflmgen_status tiny_accumulate(void);
void *tiny_accumulate_input_values(void);
void *tiny_accumulate_input_mode(void);
void *tiny_accumulate_output_total(void);

#ifdef __cplusplus
}
#endif
#endif
