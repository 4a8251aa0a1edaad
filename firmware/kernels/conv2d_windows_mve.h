/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for cores with MVE, one window at a time: for few pixels, and where there is little memory for
 * windows.
 *
 * A window is copied and filled up to whole chunks of 16 values; what follows is FULLY_CONNECTED of one row
 * (fully_connected_mve.h), whose stream of weights it has.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_WINDOWS_MVE_H
#define TFLMGEN_KERNELS_CONV2D_WINDOWS_MVE_H

#include "fully_connected_mve.h"
#include "window.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

struct tflmgen_conv2d_windows_mve_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t padding_value;
    int32_t chunks; /* of 16 values in a window */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* Copies the window at (in_y, in_x): rows of it, or where columns are apart, pixels. */
TFLMGEN_SHARED void tflmgen_conv2d_windows_mve_copy(int8_t *to, const int8_t *image, int32_t in_y, int32_t in_x,
                                                    const struct tflmgen_conv2d_windows_mve_s8 *p)
{
    const int32_t channels = p->input_channels;
    const struct tflmgen_taps x = tflmgen_taps_inside(in_x, p->dilation_width, p->filter_width, p->input_width);
    const int32_t pixels = p->dilation_width > 1 ? 1 : x.end - x.first;
    const int32_t left = x.first * channels;
    const int32_t right = (p->filter_width - x.end) * channels;
    for (int32_t tap = 0; tap < p->filter_height; ++tap, in_y += p->dilation_height) {
        if (in_y < 0 || in_y >= p->input_height) {
            tflmgen_fill_mve(to, p->padding_value, p->filter_width * channels);
            to += p->filter_width * channels;
            continue;
        }
        if (left > 0) {
            tflmgen_fill_mve(to, p->padding_value, left);
            to += left;
        }
        for (int32_t column = x.first; column < x.end; column += pixels, to += pixels * channels) {
            const int8_t *const from = image + (in_y * p->input_width + in_x + column * p->dilation_width) * channels;
            tflmgen_copy_mve(to, from, pixels * channels);
        }
        if (right > 0) {
            tflmgen_fill_mve(to, p->padding_value, right);
            to += right;
        }
    }
}

/* row: 16 * chunks bytes. */
TFLMGEN_SHARED void tflmgen_conv2d_windows_mve_run(const int8_t *input, const int8_t *stream, int8_t *row,
                                                   int8_t *output, const struct tflmgen_conv2d_windows_mve_s8 *p)
{
    const struct tflmgen_fully_connected_mve_groups groups =
        tflmgen_fully_connected_mve_groups_of(row, p->chunks, p->output_channels, p->output_zero_point);
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t y = 0; y < p->output_height; ++y) {
            for (int32_t x = 0; x < p->output_width; ++x, output += p->output_channels) {
                tflmgen_conv2d_windows_mve_copy(row, input, y * p->stride_height - p->padding_top,
                                                x * p->stride_width - p->padding_left, p);
                tflmgen_fully_connected_mve_groups(output, &groups, stream);
            }
        }
        input += p->input_height * p->input_width * p->input_channels;
    }
    const int32_t outputs = p->batches * p->output_height * p->output_width * p->output_channels;
    tflmgen_clamp_dsp_s8(output - outputs, outputs, p->output_min, p->output_max);
}

TFLMGEN_KERNEL_WITH_BUFFER(tflmgen_conv2d_windows_mve, int8_t, TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES)

#endif

#endif
