/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Helpers for applications: texts of status codes, and real numbers as quantised values and back.
 *
 * Nothing includes this header by itself, and what is not called takes no flash. The macros NAME_INPUT_QUANTIZE and
 * NAME_OUTPUT_DEQUANTIZE of a model's header are made of these functions. */
#ifndef TFLMGEN_VALUES_H
#define TFLMGEN_VALUES_H

#include "tflmgen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of a status as an application logs it; never NULL. */
static inline const char *tflmgen_status_text(tflmgen_status status)
{
    switch (status) {
    case TFLMGEN_OK:
        return "OK";
    case TFLMGEN_ERROR_BOUND:
        return "a dimension exceeds its bound";
    case TFLMGEN_ERROR_ITERATIONS:
        return "a loop ran longer than allowed";
    case TFLMGEN_ERROR_ARGUMENT:
        return "an input is outside of what the model accepts";
    case TFLMGEN_ERROR_STATE:
        return "not a state of this model";
    case TFLMGEN_MORE:
        return "more rows are needed";
    case TFLMGEN_ERROR_MEMORY:
        return "bytes beside the model's memory were overwritten";
    case TFLMGEN_ERROR_WEIGHTS:
        return "the constants in flash have changed";
    default:
        return "unknown status";
    }
}

/* real / scale + zero_point, rounded half away from zero and limited to lowest..highest, as TFLite's QUANTIZE computes
 * it. NaN becomes lowest. */
static inline int32_t tflmgen_quantize(float real, float scale, int32_t zero_point, int32_t lowest, int32_t highest)
{
    const float steps = real / scale;
    if (!(steps > (float)(lowest - zero_point))) {
        return lowest;
    }
    if (steps >= (float)(highest - zero_point)) {
        return highest;
    }
    const int32_t whole = (int32_t)steps;
    const float rest = steps - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f) + zero_point;
}

/* The real number that a quantised value stands for. */
static inline float tflmgen_dequantize(int32_t quantized, float scale, int32_t zero_point)
{
    return (float)(quantized - zero_point) * scale;
}

#ifdef __cplusplus
}
#endif
#endif
