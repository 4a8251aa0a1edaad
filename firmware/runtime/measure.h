/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* One invoke, measured: stack, cycles, and two symbols between which a debugger or emulator can count instructions. */
#ifndef TFLMGEN_MEASURE_H
#define TFLMGEN_MEASURE_H

#include <tflmgen.h>

typedef struct {
    tflmgen_status status;
    uint32_t stack_bytes; /* used by the invoke alone; 0 where unknown */
    uint32_t stack_room;  /* what was free for it: where stack_bytes is as much, the stack overflowed */
    uint32_t cycles;      /* of the DWT's cycle counter; 0 on cores without it */
} tflmgen_measurement;

/* `stack_limit`: the lowest word of the stack, or NULL. */
void tflmgen_timed_invoke(const tflmgen_signature *signature, uint32_t *stack_limit, tflmgen_measurement *measurement);

#endif
