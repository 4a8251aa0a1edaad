/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Gradients of DEPTHWISE_CONV_2D in float32, tensors [batch, height, width, channels], filters [1, height, width,
 * output channel].
 *
 * Layers with one output channel for each of at least eight input channels are sums of lanes, a vector of channels at a
 * time: over the pixels of a tap for the filter, over the taps of a pixel for the input. Infinities may become the
 * greatest number, which --check-gradients takes for one.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_GRADIENTS_H
#define TFLMGEN_KERNELS_DEPTHWISE_GRADIENTS_H

#include <float.h>
#include <string.h>

#include "conv2d_gradients.h"
#include "lanes_f32.h"
#include "spread_gradients.h"

/* Eight channels of one tap's gradient, of a depthwise convolution with one output channel for each. */
TFLMGEN_HELPER void tflmgen_depthwise_filter_lanes(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                                   tflmgen_f32 *result, const struct tflmgen_tap_pixels *pixels,
                                                   const struct tflmgen_conv2d_gradient *p)
{
    const int32_t step = p->output_channels;
    const struct tflmgen_lanes_f32 places = {pixels->columns,
                                             pixels->input_line - pixels->columns * pixels->input_step,
                                             pixels->output_line - pixels->columns * step,
                                             pixels->input_step,
                                             step,
                                             pixels->lines};
    memset(result, 0, TFLMGEN_LANES_F32 * sizeof *result);
    for (int32_t batch = 0; batch < p->batches && pixels->lines > 0; ++batch) {
        float part[TFLMGEN_LANES_F32];
        tflmgen_window_lanes_f32(input + pixels->input, 1, gradient + pixels->output, NULL, TFLMGEN_LANES_F32, -FLT_MAX,
                                 part, &places);
        for (int32_t i = 0; i < TFLMGEN_LANES_F32; ++i) {
            result[i] += part[i];
        }
        input += p->input_height * p->input_width * p->input_channels;
        gradient += p->output_height * p->output_width * p->output_channels;
    }
}

/* By the filter of a depthwise convolution: one sum over all pixels for each tap and output channel. */
TFLMGEN_KERNEL
void tflmgen_depthwise_conv2d_filter_gradient(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                              tflmgen_f32 *result, const struct tflmgen_conv2d_gradient *p)
{
    const int32_t multiplier = p->output_channels / p->input_channels, channels = p->output_channels;
    for (int32_t tap = 0; tap < p->filter_height * p->filter_width; ++tap, result += channels) {
        const struct tflmgen_tap_pixels pixels = tflmgen_pixels_of_tap(tap / p->filter_width, tap % p->filter_width, p);
        if (multiplier == 1 && channels >= TFLMGEN_LANES_F32) {
            for (int32_t next = 0; next < channels; next += TFLMGEN_LANES_F32) {
                const int32_t channel = tflmgen_min_s32(next, channels - TFLMGEN_LANES_F32);
                tflmgen_depthwise_filter_lanes(input + channel, gradient + channel, result + channel, &pixels, p);
            }
        } else {
            for (int32_t channel = 0; channel < channels; ++channel) {
                tflmgen_filter_gradient_block(input + channel / multiplier, gradient + channel, result + channel,
                                              &pixels, 1, 1, 1, p);
            }
        }
    }
}

/* Taps k = first + i * stride, 0 <= i < count, under which an input position lies: of the windows `window` - i. */
struct tflmgen_reaching_taps {
    int32_t first;
    int32_t window;
    int32_t count;
};

/* Of a position that counts the padding in. Taps are next to each other. */
TFLMGEN_HELPER struct tflmgen_reaching_taps tflmgen_taps_reaching(int32_t position, int32_t stride, int32_t windows,
                                                                  int32_t taps)
{
    const int32_t skipped = tflmgen_max_s32(position / stride - windows + 1, 0);
    struct tflmgen_reaching_taps reach;
    reach.first = position % stride + skipped * stride;
    reach.window = position / stride - skipped;
    reach.count = reach.first < taps ? tflmgen_min_s32((taps - 1 - reach.first) / stride, reach.window) + 1 : 0;
    return reach;
}

/* By one image of the input of a depthwise convolution with one output channel for each of at least eight, without
 * dilation: each pixel gets its sum over the taps, from the last window that reaches it to the first. */
TFLMGEN_HELPER void tflmgen_depthwise_image_lanes(const tflmgen_f32 *gradient, const tflmgen_f32 *filter,
                                                  tflmgen_f32 *image, const struct tflmgen_conv2d_gradient *p)
{
    const int32_t channels = p->input_channels, line = p->output_width * channels;
    for (int32_t in_y = 0; in_y < p->input_height; ++in_y) {
        const struct tflmgen_reaching_taps y =
            tflmgen_taps_reaching(in_y + p->padding_top, p->stride_height, p->output_height, p->filter_height);
        for (int32_t in_x = 0; in_x < p->input_width; ++in_x, image += channels) {
            const struct tflmgen_reaching_taps x =
                tflmgen_taps_reaching(in_x + p->padding_left, p->stride_width, p->output_width, p->filter_width);
            const int32_t weight_step = p->stride_width * channels;
            const struct tflmgen_lanes_f32 taps = {x.count,
                                                   x.count * channels - line,
                                                   p->stride_height * p->filter_width * channels -
                                                       x.count * weight_step,
                                                   -channels,
                                                   weight_step,
                                                   y.count};
            if (x.count > 0 && y.count > 0) {
                tflmgen_window_lanes_f32(gradient + y.window * line + x.window * channels, 1,
                                         filter + (y.first * p->filter_width + x.first) * channels, NULL, channels,
                                         -FLT_MAX, image, &taps);
            }
        }
    }
}

/* By the input of a depthwise convolution. */
TFLMGEN_KERNEL void tflmgen_depthwise_conv2d_input_gradient(const tflmgen_f32 *gradient, const tflmgen_f32 *filter,
                                                            tflmgen_f32 *result,
                                                            const struct tflmgen_conv2d_gradient *p)
{
    const int32_t multiplier = p->output_channels / p->input_channels;
    if (multiplier == 1 && p->input_channels >= TFLMGEN_LANES_F32 && p->dilation_height == 1 &&
        p->dilation_width == 1) {
        const int32_t size = p->input_height * p->input_width * p->input_channels;
        memset(result, 0, (size_t)(p->batches * size) * sizeof *result);
        for (int32_t batch = 0; batch < p->batches; ++batch) {
            const tflmgen_f32 *const slopes =
                gradient + batch * p->output_height * p->output_width * p->output_channels;
            tflmgen_depthwise_image_lanes(slopes, filter, result + batch * size, p);
        }
        return;
    }
    TFLMGEN_EACH_WINDOW(p, p->output_channels, {
        const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
        const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
        for (int32_t ky = y.first; ky < y.end; ++ky) {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width;
                tflmgen_f32 *const to = image + (line + x.origin + kx * p->dilation_width) * p->input_channels;
                const tflmgen_f32 *const tap = filter + (ky * p->filter_width + kx) * p->output_channels;
                for (int32_t channel = 0; channel < p->input_channels; ++channel) {
                    for (int32_t i = channel * multiplier; i < (channel + 1) * multiplier; ++i) {
                        to[channel] += pixel[i] * tap[i];
                    }
                }
            }
        }
    })
}

#endif
