/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Operators that consist of several convolutions, the parts: CONV_2D in groups of channels, and TRANSPOSE_CONV. What
 * the kernels for the DSP extension and MVE (conv2d_parts_dsp.h, conv2d_parts_mve.h) share.
 *
 * A part of a CONV_2D is a group: it reads the group's channels of each input pixel, and writes its own channels of
 * each output pixel. A part of a TRANSPOSE_CONV is a phase (y, x), of the outputs whose row and column are y and x
 * modulo the strides: a convolution whose window moves by one pixel, over all input channels, by those taps of the
 * filter that reach these outputs.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_PARTS_H
#define TFLMGEN_KERNELS_CONV2D_PARTS_H

#include "window.h"

/* A part as a convolution. Sizes are in pixels, and steps of the output in bytes. */
struct tflmgen_conv2d_part {
    int32_t batches;
    int32_t height; /* of the input */
    int32_t width;
    int32_t pixel_step; /* values of an input pixel */
    int32_t channels;   /* those of them that the part reads */
    int32_t stride_height;
    int32_t stride_width;
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t taps_height;
    int32_t taps_width;
    int32_t padding_top;
    int32_t padding_left;
    int32_t padding_value;
    int32_t steps; /* in a window: of 4 values with the DSP extension, of 16 with MVE */
    int32_t output_height;
    int32_t output_width;
    int32_t output_pixel_step;
    int32_t output_row_step;
    int32_t output_image_step;
    bool is_single; /* there is one output channel */
};

/* The part of one group, by the params of a CONV_2D. inputs: channels that it reads; values: of a step. */
#define TFLMGEN_CONV2D_PART_OF_GROUP(p, inputs, values)                             \
    {(p)->batches,                                                                  \
     (p)->input_height,                                                             \
     (p)->input_width,                                                              \
     (p)->input_channels,                                                           \
     inputs,                                                                        \
     (p)->stride_height,                                                            \
     (p)->stride_width,                                                             \
     (p)->dilation_height,                                                          \
     (p)->dilation_width,                                                           \
     (p)->filter_height,                                                            \
     (p)->filter_width,                                                             \
     (p)->padding_top,                                                              \
     (p)->padding_left,                                                             \
     (p)->padding_value,                                                            \
     ((p)->filter_height * (p)->filter_width * (inputs) + (values) - 1) / (values), \
     (p)->output_height,                                                            \
     (p)->output_width,                                                             \
     (p)->output_channels,                                                          \
     (p)->output_width * (p)->output_channels,                                      \
     (p)->output_height * (p)->output_width * (p)->output_channels,                 \
     (p)->output_channels == (p)->groups}

/* The outputs of one phase along one dimension: `phase`, phase + stride, ... */
struct tflmgen_transpose_conv_phase {
    int32_t outputs; /* their number */
    int32_t taps;    /* of the filter that reach them */
    int32_t padding; /* inputs by which the first window begins in front of the input */
};

TFLMGEN_HELPER struct tflmgen_transpose_conv_phase
tflmgen_transpose_conv_phase_of(int32_t phase, int32_t size, int32_t taps, int32_t stride, int32_t padding)
{
    const int32_t first = (phase + padding) % stride;
    struct tflmgen_transpose_conv_phase result;
    result.outputs = (size - phase + stride - 1) / stride;
    result.taps = (taps - first + stride - 1) / stride;
    result.padding = result.taps - 1 - (phase + padding - first) / stride;
    return result;
}

/* The part of a phase down and a phase across, by the params of a TRANSPOSE_CONV. values: of a step. */
#define TFLMGEN_CONV2D_PART_OF_PHASE(p, down, across, values)                       \
    {(p)->batches,                                                                  \
     (p)->input_height,                                                             \
     (p)->input_width,                                                              \
     (p)->input_channels,                                                           \
     (p)->input_channels,                                                           \
     1,                                                                             \
     1,                                                                             \
     1,                                                                             \
     1,                                                                             \
     (down).taps,                                                                   \
     (across).taps,                                                                 \
     (down).padding,                                                                \
     (across).padding,                                                              \
     (p)->padding_value,                                                            \
     ((down).taps * (across).taps * (p)->input_channels + (values) - 1) / (values), \
     (down).outputs,                                                                \
     (across).outputs,                                                              \
     (p)->stride_width * (p)->output_channels,                                      \
     (p)->stride_height * (p)->output_width * (p)->output_channels,                 \
     (p)->output_height * (p)->output_width * (p)->output_channels,                 \
     (p)->output_channels == 1}

/* The body of a TRANSPOSE_CONV's `run` with params `p`: phase after phase. RUN_PART(part, first_output) computes one,
 * and takes the stream to the next one. */
#define TFLMGEN_TRANSPOSE_CONV_PHASES(values, RUN_PART)                                                               \
    const int32_t channels = p->output_channels;                                                                      \
    const int32_t row_step = p->output_width * channels;                                                              \
    for (int32_t y = 0; y < p->stride_height; ++y) {                                                                  \
        const struct tflmgen_transpose_conv_phase down =                                                              \
            tflmgen_transpose_conv_phase_of(y, p->output_height, p->filter_height, p->stride_height, p->padding_top); \
        for (int32_t x = 0; x < p->stride_width; ++x) {                                                               \
            const struct tflmgen_transpose_conv_phase across = tflmgen_transpose_conv_phase_of(                       \
                x, p->output_width, p->filter_width, p->stride_width, p->padding_left);                               \
            const struct tflmgen_conv2d_part part = TFLMGEN_CONV2D_PART_OF_PHASE(p, down, across, values);            \
            RUN_PART(part, output + y * row_step + x * channels);                                                     \
        }                                                                                                             \
    }                                                                                                                 \
    tflmgen_clamp_dsp_s8(output, p->batches * p->output_height * row_step, p->output_min, p->output_max)

#endif
