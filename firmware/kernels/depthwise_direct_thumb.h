/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8, one filter per channel, for every Cortex-M: pixel by pixel, without planes.
 *
 * For windows with few positions, which planes don't pay for, and in little memory. A table has for each tap of a
 * pixel's window where its value and its weight are, for all channels: it serves for all pixels whose windows lie
 * inside the input. What lies outside is a pixel of padding behind the table. The weights are [taps, channels];
 * `constants` are those of thumb.h, three words per channel, or five.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_DIRECT_THUMB_H
#define TFLMGEN_KERNELS_DEPTHWISE_DIRECT_THUMB_H

#include "thumb.h"
#include "window.h"

#ifdef __thumb__

struct tflmgen_depthwise_direct_thumb_s8 {
    TFLMGEN_DILATED_CHANNEL_WINDOW_FIELDS
    int32_t padding_value;
    bool pads; /* whether some window reaches beyond the input */
    int32_t output_min;
    int32_t output_max;
};

/* Bytes from where a pixel's values are counted, and from the channel's first weight. */
struct tflmgen_depthwise_direct_thumb_tap {
    int32_t value;
    int32_t weight;
};

/* What a pixel needs to know, in the order in which the assembly reads it. The loop over taps is unrolled 8 times; its
 * first pass begins where the last pass ends with the last tap. */
struct tflmgen_depthwise_direct_thumb_pixel {
    const struct tflmgen_depthwise_direct_thumb_tap *first;
    int32_t skip; /* bytes of code that the first pass leaves out */
    const struct tflmgen_depthwise_direct_thumb_tap *end;
    const tflmgen_u32 *constants;
    int8_t *output_end;
};

typedef void tflmgen_depthwise_direct_thumb_function(const int8_t *input, const int8_t *weights, int8_t *output,
                                                     const struct tflmgen_depthwise_direct_thumb_pixel *pixel);

/* One tap: LDM, 2 LDRSB, MULS, SUBS. */
#define TFLMGEN_DEPTHWISE_DIRECT_THUMB_TAP_BYTES 10
#define TFLMGEN_DEPTHWISE_DIRECT_THUMB_TAP \
    "ldmia r1!, {r2, r3}\n\t"              \
    "ldrsb r4, [r0, r2]\n\t"               \
    "ldrsb r5, [r6, r3]\n\t"               \
    "muls r4, r5, r4\n\t"                  \
    "subs r7, r7, r4\n\t"

/* What the sum in r7 begins with; r12 points to the channel's constants. */
#define TFLMGEN_DEPTHWISE_DIRECT_THUMB_START_CLAMPED \
    "mov r2, r12\n\t"                                \
    "ldr r7, [r2]\n\t"                               \
    "asrs r7, r7, #10\n\t"
#define TFLMGEN_DEPTHWISE_DIRECT_THUMB_START_SIGNED "movs r7, #0\n\t"

/* The output in r2, and the constants of the next channel: 27 instructions, */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_DIRECT_THUMB_OUTPUT_CLAMPED \
    "mov r2, r7\n\t"                                  \
    "mov r1, r12\n\t"                                 \
    "ldmia r1!, {r3, r6, r7}\n\t"                     \
    "mov r12, r1\n\t" TFLMGEN_THUMB_UNPACK TFLMGEN_THUMB_BOUNDED

/* and 32 with the sign fix. */
#define TFLMGEN_DEPTHWISE_DIRECT_THUMB_OUTPUT_SIGNED \
    "negs r2, r7\n\t"                                \
    "mov r1, r12\n\t"                                \
    "ldmia r1!, {r5, r6, r7}\n\t"                    \
    "str r0, [sp, #4]\n\t" TFLMGEN_THUMB_SIGN_FIX    \
    "adds r1, #8\n\t"                                \
    "mov r12, r1\n\t"                                \
    TFLMGEN_THUMB_REQUANTIZE("adds r2, r2, r0\n\t")  \
    "ldr r0, [sp, #4]\n\t"

/* Registers: r0 the first value's channel, r1 table, r2 and r3 offsets, r4 value, r5 weight, r6 weights, r7 sum, r8
 * where the table begins, r9 the first pass' entry, r10 output, r11 the outputs' end, r12 constants, lr the table's
 * end. Stack: weights, one word. A channel takes 13 instructions beside its taps, 2 for each pass, and its output. */
#define TFLMGEN_DEPTHWISE_DIRECT_THUMB_PIXEL(name, START, OUTPUT)                                \
    TFLMGEN_SHARED void name(const int8_t *input, const int8_t *weights, int8_t *output,         \
                             const struct tflmgen_depthwise_direct_thumb_pixel *pixel)           \
    {                                                                                            \
        TFLMGEN_IN_REGISTERS_4(input, weights, output, pixel);                                   \
        __asm__ volatile(".syntax unified\n\t" TFLMGEN_THUMB_PUSH                                \
                         "sub sp, #8\n\t"                                                        \
                         "mov r10, r2\n\t"                                                       \
                         "mov r6, r1\n\t"                                                        \
                         "ldmia r3!, {r1, r2, r4, r5, r7}\n\t"                                   \
                         "mov r8, r1\n\t"                                                        \
                         "adr r1, 2f\n\t"                                                        \
                         "adds r1, r1, r2\n\t"                                                   \
                         "mov r9, r1\n\t"                                                        \
                         "mov lr, r4\n\t"                                                        \
                         "mov r12, r5\n\t"                                                       \
                         "mov r11, r7\n"                                                         \
                         "1:\n\t"                                                                \
                         "mov r1, r8\n\t" START                                                  \
                         "mov pc, r9\n\t"                                                        \
                         ".p2align 2\n"                                                          \
                         "2:\n\t"                                                                \
                         ".rept 8\n\t" TFLMGEN_DEPTHWISE_DIRECT_THUMB_TAP                        \
                         ".endr\n\t"                                                             \
                         "cmp r1, lr\n\t"                                                        \
                         "bne 2b\n\t"                                                            \
                         "str r6, [sp]\n\t" OUTPUT                                               \
                         "mov r1, r10\n\t"                                                       \
                         "strb r2, [r1]\n\t"                                                     \
                         "adds r1, #1\n\t"                                                       \
                         "mov r10, r1\n\t"                                                       \
                         "ldr r6, [sp]\n\t"                                                      \
                         "adds r6, #1\n\t"                                                       \
                         "adds r0, #1\n\t"                                                       \
                         "cmp r1, r11\n\t"                                                       \
                         "beq 3f\n\t"                                                            \
                         "b 1b\n"                                                                \
                         "3:\n\t"                                                                \
                         "add sp, #8\n\t" TFLMGEN_THUMB_POP                                      \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                \
                         :                                                                       \
                         : "r12", "cc", "memory");                                               \
    }
/* clang-format on */

TFLMGEN_DEPTHWISE_DIRECT_THUMB_PIXEL(tflmgen_depthwise_direct_thumb_pixel_clamped,
                                     TFLMGEN_DEPTHWISE_DIRECT_THUMB_START_CLAMPED,
                                     TFLMGEN_DEPTHWISE_DIRECT_THUMB_OUTPUT_CLAMPED)
TFLMGEN_DEPTHWISE_DIRECT_THUMB_PIXEL(tflmgen_depthwise_direct_thumb_pixel_signed,
                                     TFLMGEN_DEPTHWISE_DIRECT_THUMB_START_SIGNED,
                                     TFLMGEN_DEPTHWISE_DIRECT_THUMB_OUTPUT_SIGNED)

/* Fills the table `at` of the window that begins at (top, left) of an image, from whose first value values are counted.
 * outside: where the padding lies, counted in the same way. */
TFLMGEN_SHARED void tflmgen_depthwise_direct_thumb_fill(struct tflmgen_depthwise_direct_thumb_tap *at, int32_t top,
                                                        int32_t left, int32_t outside,
                                                        const struct tflmgen_depthwise_direct_thumb_s8 *p)
{
    const int32_t channels = p->input_channels;
    const struct tflmgen_taps inside = tflmgen_taps_inside(left, p->dilation_width, p->filter_width, p->input_width);
    int32_t weight = 0;
    for (int32_t ky = 0; ky < p->filter_height; ++ky, top += p->dilation_height) {
        const bool is_row = top >= 0 && top < p->input_height;
        int32_t value = (top * p->input_width + left) * channels;
        for (int32_t kx = 0; kx < p->filter_width; ++kx, ++at) {
            at->value = is_row && kx >= inside.first && kx < inside.end ? value : outside;
            at->weight = weight;
            value += p->dilation_width * channels;
            weight += channels;
        }
    }
}

/* table: scratch for an entry of each tap of a window, and for a pixel of padding where a window reaches beyond the
 * input. */
TFLMGEN_SHARED void tflmgen_depthwise_direct_thumb_run(const int8_t *input, const int8_t *weights,
                                                       const tflmgen_u32 *constants,
                                                       struct tflmgen_depthwise_direct_thumb_tap *table, int8_t *output,
                                                       const struct tflmgen_depthwise_direct_thumb_s8 *p,
                                                       tflmgen_depthwise_direct_thumb_function *run)
{
    const int32_t channels = p->input_channels;
    const int32_t taps = p->filter_height * p->filter_width;
    const int32_t reach_y = (p->filter_height - 1) * p->dilation_height;
    const int32_t reach_x = (p->filter_width - 1) * p->dilation_width;
    int8_t *const padding = (int8_t *)(table + taps);
    for (int32_t i = 0; p->pads && i < channels; ++i) {
        padding[i] = (int8_t)p->padding_value;
    }
    struct tflmgen_depthwise_direct_thumb_pixel pixel = {table, (-taps & 7) * TFLMGEN_DEPTHWISE_DIRECT_THUMB_TAP_BYTES,
                                                         table + taps, constants, NULL};
    int8_t *const results = output;
    bool ready = false;
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->input_height * p->input_width * channels) {
        const int32_t outside = (int32_t)((uintptr_t)padding - (uintptr_t)input);
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const int32_t top = out_y * p->stride_height - p->padding_top;
            const bool is_tall = top >= 0 && top + reach_y < p->input_height;
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x, output += channels) {
                const int32_t left = out_x * p->stride_width - p->padding_left;
                const bool whole = is_tall && left >= 0 && left + reach_x < p->input_width;
                if (!whole) {
                    tflmgen_depthwise_direct_thumb_fill(table, top, left, outside, p);
                } else if (!ready) {
                    tflmgen_depthwise_direct_thumb_fill(table, 0, 0, outside, p);
                }
                ready = whole;
                pixel.output_end = output + channels;
                run(whole ? input + (top * p->input_width + left) * channels : input, weights, output, &pixel);
            }
        }
    }
    tflmgen_clamp_thumb_s8(results, (int32_t)(output - results), p->output_min, p->output_max);
}

/* All outputs that are not clamped in a window, or not. */
TFLMGEN_SHARED void tflmgen_depthwise_direct_thumb_bounded_s8(const int8_t *input, const int8_t *weights,
                                                              const tflmgen_u32 *constants, void *table, int8_t *output,
                                                              const struct tflmgen_depthwise_direct_thumb_s8 *p)
{
    tflmgen_depthwise_direct_thumb_run(input, weights, constants, table, output, p,
                                       tflmgen_depthwise_direct_thumb_pixel_clamped);
}

TFLMGEN_SHARED void tflmgen_depthwise_direct_thumb_s8(const int8_t *input, const int8_t *weights,
                                                      const tflmgen_u32 *constants, void *table, int8_t *output,
                                                      const struct tflmgen_depthwise_direct_thumb_s8 *p)
{
    tflmgen_depthwise_direct_thumb_run(input, weights, constants, table, output, p,
                                       tflmgen_depthwise_direct_thumb_pixel_signed);
}

#endif

#endif
