/* TRANSPOSE_CONV in int8 for every Cortex-M: one output pixel at a time.
 *
 * Outputs whose positions leave the same rest, divided by the stride, see the same taps: they are a convolution with a
 * part of the filter, turned round (conv2d_pixel_thumb.h). The stream has what FULLY_CONNECTED needs for each part,
 * those of the first rest of rows first.
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

/* Outputs that are `rest` past a multiple of the stride: the first one, and where its window begins in the input. */
struct tflmgen_transpose_conv_thumb_phase {
    int32_t taps;
    int32_t first;
    int32_t origin;
};

TFLMGEN_HELPER struct tflmgen_transpose_conv_thumb_phase
tflmgen_transpose_conv_thumb_phase_of(int32_t rest, int32_t stride, int32_t taps, int32_t padding)
{
    struct tflmgen_transpose_conv_thumb_phase phase;
    phase.taps = (taps - rest + stride - 1) / stride;
    const int32_t steps = rest < padding ? (padding - rest + stride - 1) / stride : 0;
    phase.first = rest + steps * stride - padding;
    phase.origin = steps - (phase.taps - 1);
    return phase;
}

/* copy: as many bytes as the largest part has values, and one more where their number is odd. */
TFLMGEN_SHARED void tflmgen_transpose_conv_thumb_s8(const int8_t *input, const tflmgen_u32 *stream, void *copy,
                                                    int8_t *output, const struct tflmgen_transpose_conv_thumb_s8 *p)
{
    const int32_t channels = p->output_channels;
    const int32_t row = p->output_width * channels;
    const int32_t fours = (channels + 1) / 4;
    const int32_t ones = channels % 4 < 3 ? channels % 4 : 0;
    struct tflmgen_pixel_thumb_window window = {
        p->input_height, p->input_width, p->input_channels, p->input_channels, 0, 0, 1, 1, p->padding_value,
    };
    struct tflmgen_fully_connected_thumb_groups groups;
    for (int32_t rest_y = 0; rest_y < p->stride_height; ++rest_y) {
        const struct tflmgen_transpose_conv_thumb_phase y =
            tflmgen_transpose_conv_thumb_phase_of(rest_y, p->stride_height, p->filter_height, p->padding_top);
        for (int32_t rest_x = 0; rest_x < p->stride_width; ++rest_x) {
            const struct tflmgen_transpose_conv_thumb_phase x =
                tflmgen_transpose_conv_thumb_phase_of(rest_x, p->stride_width, p->filter_width, p->padding_left);
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
                        groups.start = 0u - 128u * tflmgen_pixel_thumb_gather(copy, image, at_y, at_x, &window);
                        tflmgen_fully_connected_thumb_units(stream, result + out_y * row + out_x * channels, channels,
                                                            group_words, &groups,
                                                            tflmgen_fully_connected_thumb_copied_signed,
                                                            tflmgen_fully_connected_thumb_one_copied_signed);
                    }
                }
                image += p->input_height * p->input_width * p->input_channels;
                result += p->output_height * row;
            }
            stream += fours * group_words + ones * groups.one_words;
        }
    }
    tflmgen_clamp_thumb_s8(output, p->batches * p->output_height * row, p->output_min, p->output_max);
}

#endif

#endif
