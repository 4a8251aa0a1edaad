#include "tiny.h"

#include <stddef.h>
#include <string.h>

static uint8_t arena[1024] __attribute__((section(".tflmgen_arena"), aligned(16)));
static int32_t state[1] __attribute__((section(".tflmgen_state"), aligned(16)));
static const int32_t initial[1] __attribute__((section(".tflmgen_weights"))) = {100};

enum { WRITE_NOWHERE = 1, EAT_STACK = 2, SPIN = 3, REFUSE = 4, TRAP = 5 };

void tiny_reset(void) { memcpy(state, initial, sizeof state); }

void *tiny_increment_input_x(void) { return arena; }
void *tiny_increment_output_y(void) { return arena + 16; }

tflmgen_status tiny_increment(void) {
  const int8_t *x = tiny_increment_input_x();
  int8_t *y = tiny_increment_output_y();
  for (int i = 0; i < 16; i++) y[i] = (int8_t)(x[i] + 1);
  return TFLMGEN_OK;
}

void *tiny_accumulate_input_values(void) { return arena; }
void *tiny_accumulate_input_mode(void) { return arena + 800; }
void *tiny_accumulate_output_total(void) { return arena + 804; }

static uint32_t eat_stack(uint32_t bytes) {
  volatile uint8_t block[256];
  block[0] = (uint8_t)bytes;
  if (bytes <= sizeof block) return block[0];
  return eat_stack(bytes - (uint32_t)sizeof block) + block[0];
}

tflmgen_status tiny_accumulate(void) {
  const int32_t *values = tiny_accumulate_input_values();
  const int32_t mode = *(const int32_t *)tiny_accumulate_input_mode();
  volatile uint32_t *nowhere = (volatile uint32_t *)(uintptr_t)0xF0000000u;
  volatile uint32_t sink = 0;
  if (mode == TRAP) __builtin_trap();
  if (mode == WRITE_NOWHERE) *nowhere = 1;
  if (mode == EAT_STACK) sink = eat_stack(600);
  while (mode == SPIN) sink++;
  if (mode == REFUSE) return TFLMGEN_ERROR_ARGUMENT;
  for (int i = 0; i < 200; i++) state[0] += values[i];
  memcpy(tiny_accumulate_output_total(), state, sizeof state);
  return TFLMGEN_OK;
}

