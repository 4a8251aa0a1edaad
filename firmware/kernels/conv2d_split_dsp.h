/* CONV_2D in int8 for cores with the DSP extension whose windows are long: a part of the window at a time, so that the
 * column (see conv2d_block_dsp.h) stays short. Between the parts the sums are in scratch memory.
 *
 * The stream has the parts one after the other, in each of them the channel pairs: bias0 bias1 in the first part, the
 * weights of the part's steps, and m0 ra0 m1 ra1 | s0 + 256 s1 + 65536 * (to the next pair) in the last part.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_SPLIT_DSP_H
#define TFLMGEN_KERNELS_CONV2D_SPLIT_DSP_H

#include <string.h>

#include "conv2d_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define TFLMGEN_CONV2D_SPLIT_DSP_PART_STEPS 24
#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_CONV2D_SPLIT_DSP_STEPS 8 /* of a pass */
#else
#define TFLMGEN_CONV2D_SPLIT_DSP_STEPS 12
#endif

/* Channels are whole words, dilation_width is 1. */
struct tflmgen_conv2d_split_dsp_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t padding_value;
    int32_t steps;      /* fours of values in a window */
    int32_t part_steps; /* of these at a time, either whole rows, or no more than are left of a row */
    int32_t output_min;
    int32_t output_max;
};

/* What a part of a block needs to know, in the order in which the assembly reads it. */
struct tflmgen_conv2d_split_dsp_part {
    int32_t last; /* bytes of the column in front of the last pass over the part's steps, see conv2d_block_dsp.h */
    int32_t skip; /* bytes of code that the first pass leaves out */
    int32_t channels;
    tflmgen_u32 *sums;
    tflmgen_u32 *sums_end;
};

typedef void tflmgen_conv2d_split_dsp_function(const tflmgen_u32 *column, const tflmgen_u32 *stream, int8_t *output,
                                               const struct tflmgen_conv2d_split_dsp_part *part);

/* All parts but the last. Registers and conditions as in conv2d_block_dsp.h. Stack: column, sums, end of the sums,
 * nothing, entry of the first pass, column in the last pass. */
/* clang-format off */
#define TFLMGEN_CONV2D_SPLIT_DSP_PART(name, BEGIN)                                                                     \
    TFLMGEN_SHARED void name(const tflmgen_u32 *column, const tflmgen_u32 *stream, int8_t *output,                     \
                             const struct tflmgen_conv2d_split_dsp_part *part)                                         \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_4(column, stream, output, part);                                                          \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "ldmia.w r3, {r4, r5, r6, r7, r8}\n\t"                                                        \
                         "adr r9, 4f\n\t"                                                                              \
                         "add r5, r5, r9\n\t"                                                                          \
                         "orr r5, r5, #1\n\t"                                                                          \
                         "add r4, r4, r0\n\t"                                                                          \
                         "mov r10, r5\n\t"                                                                             \
                         "mov r11, r4\n\t"                                                                             \
                         "push {r0, r7, r8, r9, r10, r11}\n\t"                                                         \
                         "cmp r4, r0\n\t"                                                                              \
                         "b 1f\n\t"                                                                                    \
                         ".p2align 2\n"                                                                                \
                         TFLMGEN_CONV2D_DSP_REST(TFLMGEN_CONV2D_SPLIT_DSP_STEPS, TFLMGEN_CONV2D_DSP_STEP)              \
                         "ldmia.w sp, {r0, r2, r3}\n\t"                                                                \
                         "stmia.w r2!, {r7, r8, r9, r10, r11, r12}\n\t"                                                \
                         "str r2, [sp, #4]\n\t"                                                                        \
                         "teq r2, r3\n\t"                                                                              \
                         "beq 3f\n"                                                                                    \
                         "1:\n\t" BEGIN                                                                                \
                         "ldr pc, [sp, #16]\n"                                                                         \
                         "3:\n\t"                                                                                      \
                         "add sp, sp, #24\n\t"                                                                         \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
    }
/* clang-format on */

TFLMGEN_CONV2D_SPLIT_DSP_PART(tflmgen_conv2d_split_dsp_first, "ldrd r7, r10, [r1], #8\n\t"
                                                              "mov r8, r7\n\t"
                                                              "mov r9, r7\n\t"
                                                              "mov r11, r10\n\t"
                                                              "mov r12, r10\n\t")
TFLMGEN_CONV2D_SPLIT_DSP_PART(tflmgen_conv2d_split_dsp_middle, "ldr r2, [sp, #4]\n\t"
                                                               "ldmia.w r2, {r7, r8, r9, r10, r11, r12}\n\t")

/* Stack: column, output, channels, end of the output, entry of the first pass, column in the last pass, sums. */
/* clang-format off */
#define TFLMGEN_CONV2D_SPLIT_DSP_LAST_PART(KIND)                                                               \
    TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_last_##KIND(                                                          \
        const tflmgen_u32 *column, const tflmgen_u32 *stream, int8_t *output,                                          \
        const struct tflmgen_conv2d_split_dsp_part *part)                                                              \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_4(column, stream, output, part);                                                          \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "ldmia.w r3, {r4, r5, r6, r7}\n\t"                                                            \
                         "mov r8, r7\n\t"                                                                              \
                         "adr r9, 4f\n\t"                                                                              \
                         "add r7, r4, r0\n\t"                                                                          \
                         "mov r4, r6\n\t"                                                                              \
                         "add r6, r5, r9\n\t"                                                                          \
                         "orr r6, r6, #1\n\t"                                                                          \
                         "add r5, r2, r4\n\t"                                                                          \
                         "push {r0, r2, r4, r5, r6, r7, r8}\n\t"                                                       \
                         "cmp r7, r0\n\t"                                                                              \
                         "b 1f\n\t"                                                                                    \
                         ".p2align 2\n"                                                                                \
                         TFLMGEN_CONV2D_DSP_REST(TFLMGEN_CONV2D_SPLIT_DSP_STEPS, TFLMGEN_CONV2D_DSP_STEP)              \
                         TFLMGEN_CONV2D_DSP_FINISH_##KIND                                                              \
                         "beq 3f\n"                                                                                    \
                         "1:\n\t"                                                                                      \
                         "ldr r2, [sp, #24]\n\t"                                                                       \
                         "ldmia.w r2!, {r7, r8, r9, r10, r11, r12}\n\t"                                                \
                         "str r2, [sp, #24]\n\t"                                                                       \
                         "ldr pc, [sp, #16]\n"                                                                         \
                         "3:\n\t"                                                                                      \
                         "add sp, sp, #28\n\t"                                                                         \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
    }
/* clang-format on */

TFLMGEN_CONV2D_SPLIT_DSP_LAST_PART(signed)
TFLMGEN_CONV2D_SPLIT_DSP_LAST_PART(uniform)

/* A window: its image, where it begins, and which of its columns lie inside; `whole` if all of it does. */
struct tflmgen_conv2d_split_dsp_window {
    const int8_t *image;
    int32_t y;
    int32_t x;
    struct tflmgen_taps inside;
    bool whole;
};

/* `count` fours of a window, from the `at`-th of row ky on. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_gather(tflmgen_u32 *lane,
                                                    const struct tflmgen_conv2d_split_dsp_window *window, int32_t ky,
                                                    int32_t at, int32_t count,
                                                    const struct tflmgen_conv2d_split_dsp_s8 *p)
{
    const int32_t fours = p->input_channels >> 2;
    const int32_t row = p->filter_width * fours;
    const uint32_t padding = tflmgen_splat4(p->padding_value);
    const int32_t line = p->dilation_height * p->input_width * p->input_channels;
    const int8_t *from =
        window->image + ky * line + 4 * at + (window->y * p->input_width + window->x) * p->input_channels;
    for (;;) {
        const int32_t here = tflmgen_min_s32(row - at, count);
        if (window->whole) {
            lane = tflmgen_conv2d_dsp_widen(lane, from, here);
        } else {
            const int32_t y = window->y + ky * p->dilation_height;
            const bool inside = y >= 0 && y < p->input_height;
            const int32_t begin = inside ? tflmgen_clamp_s32(window->inside.first * fours - at, 0, here) : here;
            const int32_t end = inside ? tflmgen_clamp_s32(window->inside.end * fours - at, begin, here) : here;
            lane = tflmgen_conv2d_dsp_fill(lane, padding, begin, 6);
            lane = tflmgen_conv2d_dsp_widen(lane, from + 4 * begin, end - begin);
            lane = tflmgen_conv2d_dsp_fill(lane, padding, here - end, 6);
        }
        count -= here;
        if (count == 0) {
            return;
        }
        from += line - 4 * at;
        ++ky;
        at = 0;
    }
}

/* The next three windows, or as many as there are; the others repeat the last one. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_windows(struct tflmgen_conv2d_split_dsp_window *window, int32_t pixel,
                                                     int32_t all, const int8_t *input,
                                                     const struct tflmgen_conv2d_split_dsp_s8 *p)
{
    for (int32_t lane = 0; lane < 3; ++lane, ++window) {
        const int32_t number = tflmgen_min_s32(pixel + lane, all - 1);
        const int32_t line = number / p->output_width;
        const int32_t batch = line / p->output_height;
        window->image = input + batch * p->input_height * p->input_width * p->input_channels;
        window->y = (line - batch * p->output_height) * p->stride_height - p->padding_top;
        window->x = (number - line * p->output_width) * p->stride_width - p->padding_left;
        window->inside = tflmgen_taps_inside(window->x, 1, p->filter_width, p->input_width);
        window->whole = window->x >= 0 && window->x + p->filter_width <= p->input_width && window->y >= 0 &&
                        window->y + (p->filter_height - 1) * p->dilation_height < p->input_height;
    }
}

/* scratch: 6 words for each pair of channels, and three pixels of output where their number is no multiple of three. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *scratch,
                                                 int8_t *output, const struct tflmgen_conv2d_split_dsp_s8 *p,
                                                 tflmgen_conv2d_split_dsp_function *last)
{
    uint32_t column[6 * TFLMGEN_CONV2D_SPLIT_DSP_PART_STEPS];
    const int32_t channels = p->output_channels;
    const int32_t pairs = (channels + 1) >> 1;
    const int32_t all = p->batches * p->output_height * p->output_width;
    const int32_t row = p->filter_width * p->input_channels >> 2;
    const int32_t line = p->dilation_height * p->input_width * p->input_channels;
    /* Where three windows side by side lie inside the input. */
    const int32_t y_end = p->input_height - (p->filter_height - 1) * p->dilation_height;
    const int32_t x_end = p->input_width - p->filter_width + 1 - 2 * p->stride_width;
    const int8_t *image = input;
    int32_t out_x = 0;
    int32_t out_y = 0;
    struct tflmgen_conv2d_split_dsp_window windows[3];
    struct tflmgen_conv2d_split_dsp_part part;
    part.channels = channels;
    part.sums = scratch;
    part.sums_end = scratch + 6 * pairs;
    for (int32_t pixel = 0; pixel < all; pixel += 3, output += 3 * channels) {
        const tflmgen_u32 *weights = stream;
        const int32_t x = out_x * p->stride_width - p->padding_left;
        const int32_t y = out_y * p->stride_height - p->padding_top;
        const bool together = out_x + 3 <= p->output_width && x >= 0 && x < x_end && y >= 0 && y < y_end;
        const int8_t *const from = image + (y * p->input_width + x) * p->input_channels;
        if (!together) {
            tflmgen_conv2d_split_dsp_windows(windows, pixel, all, input, p);
        }
        int32_t ky = 0;
        int32_t at = 0;
        for (int32_t first = 0, count; first < p->steps; first += count) {
            count = tflmgen_min_s32(p->part_steps, p->part_steps < row ? row - at : p->steps - first);
            if (together) {
                const int32_t whole = tflmgen_max_s32(count / row, 1);
                const int32_t bytes = 4 * count / whole;
                const struct tflmgen_conv2d_dsp_rows rows = {bytes, whole, line - bytes};
                const int8_t *const start = from + ky * line + 4 * at;
                const int32_t step = p->stride_width * p->input_channels;
                if (bytes == 4 * row &&
                    tflmgen_conv2d_dsp_has_adjacent(p->filter_width, p->stride_width, p->input_channels)) {
                    tflmgen_conv2d_dsp_widen3_adjacent(column, start, step, &rows);
                } else {
                    tflmgen_conv2d_dsp_widen3(column, start, step, &rows);
                }
            } else {
                for (int32_t lane = 0; lane < 3; ++lane) {
                    tflmgen_conv2d_split_dsp_gather(column + lane, windows + lane, ky, at, count, p);
                }
            }
            const int32_t passes = (count + TFLMGEN_CONV2D_SPLIT_DSP_STEPS - 1) / TFLMGEN_CONV2D_SPLIT_DSP_STEPS;
            part.last = passes > 1 ? 24 * (count - TFLMGEN_CONV2D_SPLIT_DSP_STEPS) : -4;
            part.skip = (passes * TFLMGEN_CONV2D_SPLIT_DSP_STEPS - count) * TFLMGEN_CONV2D_DSP_STEP_BYTES;
            if (first + count < p->steps) {
                tflmgen_conv2d_split_dsp_function *const run =
                    first > 0 ? tflmgen_conv2d_split_dsp_middle : tflmgen_conv2d_split_dsp_first;
                run(column, weights, output, &part);
                weights += (first > 0 ? 2 * count : 2 * count + 2) * pairs;
            } else if (pixel + 3 <= all) {
                last(column, weights, output, &part);
            } else {
                int8_t *const three = (int8_t *)part.sums_end;
                last(column, weights, three, &part);
                memcpy(output, three, (size_t)((all - pixel) * channels));
                output -= (3 - (all - pixel)) * channels;
            }
            for (at += count; at >= row; at -= row) {
                ++ky;
            }
        }
        for (out_x += 3; out_x >= p->output_width; out_x -= p->output_width) {
            if (++out_y == p->output_height) {
                out_y = 0;
                image += p->input_height * p->input_width * p->input_channels;
            }
        }
    }
    tflmgen_clamp_dsp_s8(output - all * channels, all * channels, p->output_min, p->output_max);
}

/* Any outputs; those clamped at the zero point (relu), of which all channels have one shift (uniform). That which is
 * not called is not compiled. */
#define TFLMGEN_CONV2D_SPLIT_DSP(name, KIND)                                                                \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, void *sums, int8_t *output,    \
                             const struct tflmgen_conv2d_split_dsp_s8 *p)                                   \
    {                                                                                                       \
        tflmgen_conv2d_split_dsp_run(input, stream, sums, output, p, tflmgen_conv2d_split_dsp_last_##KIND); \
    }

TFLMGEN_CONV2D_SPLIT_DSP(tflmgen_conv2d_split_dsp_s8, signed)
TFLMGEN_CONV2D_SPLIT_DSP(tflmgen_conv2d_split_dsp_relu_uniform_s8, uniform)

#endif

#endif
