#include <stddef.h>

#include "tiny.h"

static const tflmgen_tensor increment_inputs[] = {{"x", tiny_increment_input_x, 16, 0, NULL}};
static const tflmgen_tensor increment_outputs[] = {{"y", tiny_increment_output_y, 16, 0, NULL}};
static const tflmgen_tensor accumulate_inputs[] = {
    {"values", tiny_accumulate_input_values, 800, 0, NULL},
    {"mode", tiny_accumulate_input_mode, 4, 0, NULL},
};
static const tflmgen_tensor accumulate_outputs[] = {{"total", tiny_accumulate_output_total, 4, 0, NULL}};

static const tflmgen_signature signatures[] = {
    {"increment", tiny_increment, increment_inputs, increment_outputs, 1, 1},
    {"accumulate", tiny_accumulate, accumulate_inputs, accumulate_outputs, 2, 1},
};

const tflmgen_model tiny_model = {"tiny", signatures, 2, tiny_reset, 0x12345678u};
