/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* TRANSPOSE_CONV in int8 for every Cortex-M: one output pixel at a time.
 *
 * Outputs whose positions plus padding leave the same remainder, divided by the stride, are a phase: a convolution with
 * those taps of the filter that have this remainder, in reverse order (conv2d_pixel_thumb.h). The stream has the
 * records of fully_connected_thumb.h for one phase after the other, in the order of remainders, rows before columns.
 */
#ifndef TFLMGEN_KERNELS_TRANSPOSE_CONV_THUMB_H
#define TFLMGEN_KERNELS_TRANSPOSE_CONV_THUMB_H

#include "conv2d_pixel_thumb.h"

#ifdef __thumb__

/* Window fields are those of the convolution from the output to the input, sizes the operator's own. */
struct tflmgen_transpose_conv_thumb_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t padding_value;
    int32_t output_min;
    int32_t output_max;
};

/* The outputs of a phase along one dimension. */
struct tflmgen_transpose_conv_thumb_phase {
    int32_t taps;   /* of the filter that reach them */
    int32_t first;  /* the first output */
    int32_t origin; /* where its window begins in the input */
};

TFLMGEN_HELPER struct tflmgen_transpose_conv_thumb_phase
tflmgen_transpose_conv_thumb_phase_of(int32_t remainder, int32_t stride, int32_t taps, int32_t padding)
{
    struct tflmgen_transpose_conv_thumb_phase phase;
    phase.taps = (taps - remainder + stride - 1) / stride;
    const int32_t steps = remainder < padding ? (padding - remainder + stride - 1) / stride : 0;
    phase.first = remainder + steps * stride - padding;
    phase.origin = steps - (phase.taps - 1);
    return phase;
}

/* copy: as many bytes as the largest part has values, and one more where their number is odd. */
TFLMGEN_SHARED void tflmgen_transpose_conv_thumb_s8(const int8_t *input, const tflmgen_u32 *stream, void *copy,
                                                    int8_t *output, const struct tflmgen_transpose_conv_thumb_s8 *p)
{
    const int32_t channels = p->output_channels;
    const int32_t row = p->output_width * channels;
    const int32_t groups_of_four = (channels + 1) / 4;
    const int32_t single_units = channels % 4 < 3 ? channels % 4 : 0;
    struct tflmgen_pixel_thumb_window window = {
        p->input_height, p->input_width, p->input_channels, p->input_channels, 0, 0, 1, 1, p->padding_value,
    };
    struct tflmgen_fully_connected_thumb_groups groups;
    for (int32_t phase_y = 0; phase_y < p->stride_height; ++phase_y) {
        const struct tflmgen_transpose_conv_thumb_phase y =
            tflmgen_transpose_conv_thumb_phase_of(phase_y, p->stride_height, p->filter_height, p->padding_top);
        for (int32_t phase_x = 0; phase_x < p->stride_width; ++phase_x) {
            const struct tflmgen_transpose_conv_thumb_phase x =
                tflmgen_transpose_conv_thumb_phase_of(phase_x, p->stride_width, p->filter_width, p->padding_left);
            const int32_t terms = y.taps * x.taps * p->input_channels;
            const int32_t group_words = ((terms + 1) & ~1) + 4 * TFLMGEN_FULLY_CONNECTED_THUMB_SIGNED_WORDS;
            window.filter_height = y.taps;
            window.filter_width = x.taps;
            tflmgen_pixel_thumb_begin(&groups, copy, terms, group_words);
            const int8_t *image = input;
            int8_t *result = output;
            for (int32_t batch = 0; batch < p->batches; ++batch) {
                int32_t at_y = y.origin;
                for (int32_t out_y = y.first; out_y < p->output_height; out_y += p->stride_height, ++at_y) {
                    int32_t at_x = x.origin;
                    for (int32_t out_x = x.first; out_x < p->output_width; out_x += p->stride_width, ++at_x) {
                        groups.s2_start = 0u - 128u * tflmgen_pixel_thumb_gather(copy, image, at_y, at_x, &window);
                        tflmgen_fully_connected_thumb_units(stream, result + out_y * row + out_x * channels, channels,
                                                            group_words, &groups,
                                                            tflmgen_fully_connected_thumb_copied_signed,
                                                            tflmgen_fully_connected_thumb_one_copied_signed);
                    }
                }
                image += p->input_height * p->input_width * p->input_channels;
                result += p->output_height * row;
            }
            stream += groups_of_four * group_words + single_units * groups.one_words;
        }
    }
    tflmgen_clamp_thumb_s8(output, p->batches * p->output_height * row, p->output_min, p->output_max);
}

#endif

#endif
