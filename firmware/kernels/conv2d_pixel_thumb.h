/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for every Cortex-M: one pixel at a time, in as little memory as its window takes, with groups of
 * channels or without.
 *
 * The window's values, with 128 added, are copied into a row, which fully_connected_thumb.h multiplies by four output
 * channels at a time. The stream has for each group of channels what that has for a layer.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_PIXEL_THUMB_H
#define TFLMGEN_KERNELS_CONV2D_PIXEL_THUMB_H

#include "fully_connected_thumb.h"
#include "window.h"

#ifdef __thumb__

/* Where the values of a window lie. */
struct tflmgen_pixel_thumb_window {
    int32_t input_height;
    int32_t input_width;
    int32_t pixel;    /* bytes from one pixel to the next */
    int32_t channels; /* of a pixel, side by side, that the window has */
    int32_t filter_height;
    int32_t filter_width;
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t padding_value;
};

/* A row that is made of parts: where the next one goes, and the sum of all. */
struct tflmgen_pixel_thumb_row {
    uint8_t *at;
    uint32_t sum;
};

/* One value: 4 instructions. */
#define TFLMGEN_PIXEL_THUMB_VALUE(i) \
    "ldrb r6, [r1, #" i "]\n\t"      \
    "eors r6, r6, r7\n\t"            \
    "strb r6, [r3, #" i "]\n\t"      \
    "adds r4, r4, r6\n\t"

/* `count` more values, which lie side by side: 4 instructions to loop over 8. */
TFLMGEN_SHARED void tflmgen_pixel_thumb_copy(struct tflmgen_pixel_thumb_row *row, const int8_t *values, int32_t count)
{
    TFLMGEN_IN_REGISTERS_3(row, values, count);
    /* clang-format off */
    __asm__ volatile(".syntax unified\n\t"
                     "push {r4, r5, r6, r7}\n\t"
                     "cmp r2, #0\n\t"
                     "beq 2f\n\t"
                     "ldmia r0!, {r3, r4}\n\t"
                     "adds r2, r2, r1\n\t"
                     "subs r5, r1, r2\n\t"
                     "movs r6, #7\n\t"
                     "ands r5, r5, r6\n\t"
                     "subs r1, r1, r5\n\t"
                     "subs r3, r3, r5\n\t"
                     "lsls r5, r5, #3\n\t"
                     "adr r6, 1f\n\t"
                     "adds r5, r5, r6\n\t"
                     "movs r7, #128\n\t"
                     "mov pc, r5\n\t"
                     ".p2align 2\n"
                     "1:\n\t"
                     TFLMGEN_PIXEL_THUMB_VALUE("0")
                     TFLMGEN_PIXEL_THUMB_VALUE("1")
                     TFLMGEN_PIXEL_THUMB_VALUE("2")
                     TFLMGEN_PIXEL_THUMB_VALUE("3")
                     TFLMGEN_PIXEL_THUMB_VALUE("4")
                     TFLMGEN_PIXEL_THUMB_VALUE("5")
                     TFLMGEN_PIXEL_THUMB_VALUE("6")
                     TFLMGEN_PIXEL_THUMB_VALUE("7")
                     "adds r1, #8\n\t"
                     "adds r3, #8\n\t"
                     "cmp r1, r2\n\t"
                     "bne 1b\n\t"
                     "subs r0, #8\n\t"
                     "stmia r0!, {r3, r4}\n"
                     "2:\n\t"
                     "pop {r4, r5, r6, r7}"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "cc", "memory");
    /* clang-format on */
}

/* `count` times the padding. */
TFLMGEN_SHARED void tflmgen_pixel_thumb_pad(struct tflmgen_pixel_thumb_row *row, int32_t padding_value, int32_t count)
{
    const uint32_t x = (uint8_t)padding_value ^ 128u;
    for (; count > 0; --count) {
        *row->at++ = (uint8_t)x;
        row->sum += x;
    }
}

/* The window that begins at (y, x), wherever it lies. Returns the sum of its values. */
TFLMGEN_SHARED uint32_t tflmgen_pixel_thumb_gather(uint8_t *copy, const int8_t *image, int32_t y, int32_t x,
                                                   const struct tflmgen_pixel_thumb_window *w)
{
    struct tflmgen_pixel_thumb_row row = {copy, 0};
    const struct tflmgen_taps inside = tflmgen_taps_inside(x, w->dilation_width, w->filter_width, w->input_width);
    const bool together = w->dilation_width == 1 && w->channels == w->pixel;
    for (int32_t ky = 0; ky < w->filter_height; ++ky, y += w->dilation_height) {
        if (y < 0 || y >= w->input_height) {
            tflmgen_pixel_thumb_pad(&row, w->padding_value, w->filter_width * w->channels);
            continue;
        }
        const int8_t *const line = image + (y * w->input_width + x) * w->pixel;
        tflmgen_pixel_thumb_pad(&row, w->padding_value, inside.first * w->channels);
        if (together) {
            tflmgen_pixel_thumb_copy(&row, line + inside.first * w->pixel, (inside.end - inside.first) * w->channels);
        } else {
            for (int32_t kx = inside.first; kx < inside.end; ++kx) {
                tflmgen_pixel_thumb_copy(&row, line + kx * w->dilation_width * w->pixel, w->channels);
            }
        }
        tflmgen_pixel_thumb_pad(&row, w->padding_value, (w->filter_width - inside.end) * w->channels);
    }
    return row.sum;
}

/* How the assembly reads rows of `terms` values in `copy`. */
TFLMGEN_HELPER void tflmgen_pixel_thumb_begin(struct tflmgen_fully_connected_thumb_groups *groups, const uint8_t *copy,
                                              int32_t terms, int32_t group_words)
{
    tflmgen_fully_connected_thumb_begin(groups, terms, group_words, TFLMGEN_FULLY_CONNECTED_THUMB_COPIED_BYTES,
                                        TFLMGEN_FULLY_CONNECTED_THUMB_ONE_COPIED_BYTES, 0);
    tflmgen_fully_connected_thumb_row(groups, copy, terms, NULL);
}

struct tflmgen_conv2d_pixel_thumb_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t padding_value;
    bool backward;  /* pixels from the last to the first; windows of one pixel in one line only */
    int32_t groups; /* of channels */
    int32_t group_inputs;
    int32_t group_outputs;
    int32_t stream_words; /* of a group of channels */
    int32_t group_words;  /* of four of its output channels */
    int32_t output_min;
    int32_t output_max;
};

/* All groups of one pixel, whose window begins at (y, x). */
TFLMGEN_HELPER void tflmgen_conv2d_pixel_thumb_one(const int8_t *image, const tflmgen_u32 *stream, uint8_t *copy,
                                                   int8_t *output, int32_t y, int32_t x,
                                                   const struct tflmgen_pixel_thumb_window *window,
                                                   struct tflmgen_fully_connected_thumb_groups *groups,
                                                   const struct tflmgen_conv2d_pixel_thumb_s8 *p)
{
    for (int32_t group = 0; group < p->groups; ++group) {
        groups->s2_start = 0u - 128u * tflmgen_pixel_thumb_gather(copy, image, y, x, window);
        tflmgen_fully_connected_thumb_units(stream, output, p->group_outputs, p->group_words, groups,
                                            tflmgen_fully_connected_thumb_copied_signed,
                                            tflmgen_fully_connected_thumb_one_copied_signed);
        image += p->group_inputs;
        stream += p->stream_words;
        output += p->group_outputs;
    }
}

/* copy: as many bytes as a window of one group has values, and one more where their number is odd. */
TFLMGEN_SHARED void tflmgen_conv2d_pixel_thumb_s8(const int8_t *input, const tflmgen_u32 *stream, void *copy,
                                                  int8_t *output, const struct tflmgen_conv2d_pixel_thumb_s8 *p)
{
    const struct tflmgen_pixel_thumb_window window = {
        p->input_height, p->input_width,     p->input_channels, p->group_inputs,  p->filter_height,
        p->filter_width, p->dilation_height, p->dilation_width, p->padding_value,
    };
    struct tflmgen_fully_connected_thumb_groups groups;
    tflmgen_pixel_thumb_begin(&groups, copy, p->filter_height * p->filter_width * p->group_inputs, p->group_words);
    int8_t *const results = output;
    for (int32_t batch = 0; batch < p->batches;
         ++batch, input += p->input_height * p->input_width * p->input_channels) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const int32_t y = out_y * p->stride_height - p->padding_top;
            for (int32_t i = 0; i < p->output_width; ++i) {
                const int32_t out_x = p->backward ? p->output_width - 1 - i : i;
                tflmgen_conv2d_pixel_thumb_one(input, stream, copy, output + out_x * p->output_channels, y,
                                               out_x * p->stride_width - p->padding_left, &window, &groups, p);
            }
            output += p->output_width * p->output_channels;
        }
    }
    tflmgen_clamp_thumb_s8(results, (int32_t)(output - results), p->output_min, p->output_max);
}

#endif

#endif
