/* CONV_2D in int8 for cores with the DSP extension, for long windows: one part of a block's windows at a time, so that
 * the im2col buffer (conv2d_block_dsp.h) stays short. From part to part, the sums of all channels wait in scratch
 * memory. The stream has the parts one after the other, in each the pairs of channels, and behind them biases as in
 * conv2d_dsp.h:
 *     first part   (bias0 bias1 | weights of the part's steps) of each pair
 *     next parts   (weights of the part's steps) of each pair
 *     last part    (weights of the part's steps | m0 addend0 m1 addend1 | s0 + 256 s1 + 65536 * next) of each
 */
#ifndef TFLMGEN_KERNELS_CONV2D_SPLIT_DSP_H
#define TFLMGEN_KERNELS_CONV2D_SPLIT_DSP_H

#include <string.h>

#include "conv2d_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define TFLMGEN_CONV2D_SPLIT_DSP_PART_STEPS 24 /* at most */
#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_CONV2D_SPLIT_DSP_STEP_PAIRS 4 /* of a pass */
#else
#define TFLMGEN_CONV2D_SPLIT_DSP_STEP_PAIRS 6
#endif

/* Channels are whole words, dilation_width is 1. */
struct tflmgen_conv2d_split_dsp_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t padding_value;
    int32_t steps;      /* of four values in a window */
    int32_t part_steps; /* of these at a time, either whole rows, or no more than are left of a row */
    bool skips_padding; /* parts of rows above or below the input are left out */
    int32_t output_min;
    int32_t output_max;
};

/* A part of a block, in the order in which the assembly reads it. */
struct tflmgen_conv2d_split_dsp_part {
    int32_t last;  /* bytes of the im2col buffer in front of the last pass, see conv2d_block_dsp.h */
    int32_t skip;  /* bytes of code that the first pass leaves out, from the loop's first instruction on */
    int32_t begin; /* bytes from there to where it begins: that pass, a single step, or behind all */
    int32_t channels;
    tflmgen_u32 *sums;
    tflmgen_u32 *sums_end;
    const tflmgen_u32 *starts; /* biases, where rows are left out */
    int32_t front; /* bytes of a pair in front of its weights then, or of all its weights, which are left out */
};

/* How the sums of a part begin: with those of the part before, the biases of the stream, or `starts`. */
enum { TFLMGEN_CONV2D_SPLIT_DSP_CONTINUE, TFLMGEN_CONV2D_SPLIT_DSP_BIASES, TFLMGEN_CONV2D_SPLIT_DSP_STARTS };

typedef void tflmgen_conv2d_split_dsp_last_part(const tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output,
                                                const struct tflmgen_conv2d_split_dsp_part *part);

/* A part's steps: 33 instructions for two, and 18 for the single one in front of them where their number is odd.
 * passes: where on the stack the entry of the first pass is. */
#define TFLMGEN_CONV2D_SPLIT_DSP_SINGLE_BYTES 80
#define TFLMGEN_CONV2D_SPLIT_DSP_PASS_BYTES (TFLMGEN_CONV2D_SPLIT_DSP_SINGLE_BYTES + 12) /* to pass all steps by */
/* clang-format off */
#define TFLMGEN_CONV2D_SPLIT_DSP_COUNTED(passes)                                                                       \
    ".p2align 2\n\t"                                                                                                   \
    TFLMGEN_CONV2D_DSP_STEP                                                                                            \
    "ldr pc, [sp, " passes "]\n"                                                                                       \
    TFLMGEN_CONV2D_DSP_REST(TFLMGEN_CONV2D_SPLIT_DSP_STEP_PAIRS, TFLMGEN_CONV2D_DSP_MORE)

/* The first instructions of a part: afterwards r5 is the entry of the first pass, r10 where to begin, r11 the im2col
 * buffer in the last pass; r7, r8 and r9 are channels, sums and their end. */
#define TFLMGEN_CONV2D_SPLIT_DSP_BEGIN                                                                                 \
    "push {r4-r11, lr}\n\t"                                                                                            \
    "ldmia.w r3, {r4, r5, r6, r7, r8, r9}\n\t"                                                                         \
    "adr lr, 4f\n\t"                                                                                                   \
    "add r5, r5, lr\n\t"                                                                                               \
    "add r6, r6, lr\n\t"                                                                                               \
    "orr r5, r5, #1\n\t"                                                                                               \
    "orr r10, r6, #1\n\t"                                                                                              \
    "add r11, r4, r0\n\t"
/* clang-format on */

/* Any part but the last. Registers and conditions as in conv2d_block_dsp.h. Stack: im2col, sums, end of the sums, entry
 * of the first pass, where to begin, im2col in the last pass, where sums come from (5, 6 or 7), starts, front. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_add_part(const tflmgen_u32 *im2col, const tflmgen_u32 *stream,
                                                      int32_t begins, const struct tflmgen_conv2d_split_dsp_part *part)
{
    TFLMGEN_IN_REGISTERS_4(im2col, stream, begins, part);
    /* clang-format off */
    __asm__ volatile(TFLMGEN_CONV2D_SPLIT_DSP_BEGIN
                     "ldrd r3, r4, [r3, #24]\n\t"
                     "push {r3, r4}\n\t"
                     "mov r6, r8\n\t"
                     "mov r8, r9\n\t"
                     "mov r9, r5\n\t"
                     "adr r3, 5f\n\t"
                     "adr r4, 7f\n\t"
                     "adr r12, 6f\n\t"
                     "cmp r2, #1\n\t"
                     "it eq\n\t"
                     "moveq r12, r3\n\t"
                     "it hi\n\t"
                     "movhi r12, r4\n\t"
                     "orr r12, r12, #1\n\t"
                     "cmp r11, r0\n\t"
                     "push {r0, r6, r8, r9, r10, r11, r12}\n\t"
                     "mov r2, r6\n\t"
                     "bx r12\n\t"
                     TFLMGEN_CONV2D_SPLIT_DSP_COUNTED("#12")
                     "ldmia.w sp, {r0, r2, r3}\n\t"
                     "stmia.w r2!, {r7, r8, r9, r10, r11, r12}\n\t"
                     "str r2, [sp, #4]\n\t"
                     "teq r2, r3\n\t"
                     "it ne\n\t"
                     "ldrne pc, [sp, #24]\n\t"
                     "add sp, sp, #36\n\t"
                     "b 3f\n\t"
                     ".p2align 2\n"
                     "7:\n\t"
                     "ldr r3, [sp, #28]\n\t"
                     "ldrd r7, r10, [r3], #8\n\t"
                     "str r3, [sp, #28]\n\t"
                     "ldr r3, [sp, #32]\n\t"
                     "add r1, r1, r3\n\t"
                     "b 8f\n\t"
                     ".p2align 2\n"
                     "5:\n\t"
                     "ldrd r7, r10, [r1], #8\n"
                     "8:\n\t"
                     "mov r8, r7\n\t"
                     "mov r9, r7\n\t"
                     "mov r11, r10\n\t"
                     "mov r12, r10\n\t"
                     "ldr pc, [sp, #16]\n\t"
                     ".p2align 2\n"
                     "6:\n\t"
                     "ldmia.w r2, {r7, r8, r9, r10, r11, r12}\n\t"
                     "ldr pc, [sp, #16]\n"
                     "3:\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
}

/* The last part, whose sums become outputs. Stack: im2col, output, channels, end of the output, where to begin, im2col
 * in the last pass, sums, entry of the first pass, front. */
/* clang-format off */
#define TFLMGEN_CONV2D_SPLIT_DSP_LAST_PART(KIND)                                                                       \
    TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_last_##KIND(                                                          \
        const tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output,                                          \
        const struct tflmgen_conv2d_split_dsp_part *part)                                                              \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_4(im2col, stream, output, part);                                                          \
        __asm__ volatile(TFLMGEN_CONV2D_SPLIT_DSP_BEGIN                                                                \
                         "ldr r3, [r3, #28]\n\t"                                                                       \
                         "push {r3}\n\t"                                                                               \
                         "add r9, r2, r7\n\t"                                                                          \
                         "mov r12, r8\n\t"                                                                             \
                         "mov lr, r5\n\t"                                                                              \
                         "cmp r11, r0\n\t"                                                                             \
                         "push {r0, r2, r7, r9, r10, r11, r12, lr}\n\t"                                                \
                         "b 1f\n\t"                                                                                    \
                         ".p2align 2\n\t"                                                                              \
                         "ldr.w r3, [sp, #32]\n\t"                                                                     \
                         "add.w r1, r1, r3\n\t"                                                                        \
                         "b.w 9f\n\t"                                                                                  \
                         TFLMGEN_CONV2D_SPLIT_DSP_COUNTED("#28")                                                       \
                         "9:\n\t"                                                                                      \
                         TFLMGEN_CONV2D_DSP_FINISH_##KIND                                                              \
                         "beq 3f\n"                                                                                    \
                         "1:\n\t"                                                                                      \
                         "ldr r2, [sp, #24]\n\t"                                                                       \
                         "ldmia.w r2!, {r7, r8, r9, r10, r11, r12}\n\t"                                                \
                         "str r2, [sp, #24]\n\t"                                                                       \
                         "ldr pc, [sp, #16]\n"                                                                         \
                         "3:\n\t"                                                                                      \
                         "add sp, sp, #36\n\t"                                                                         \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
    }
/* clang-format on */

TFLMGEN_CONV2D_SPLIT_DSP_LAST_PART(signed)
TFLMGEN_CONV2D_SPLIT_DSP_LAST_PART(uniform)

/* A window: its image, where it begins in it, and which columns of taps lie inside the input; whole: all of it does. */
struct tflmgen_conv2d_split_dsp_window {
    const int8_t *image;
    int32_t y;
    int32_t x;
    struct tflmgen_taps inside;
    bool whole;
};

/* `count` steps of a window into a lane, from step `at` of row ky on. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_gather(tflmgen_u32 *lane,
                                                    const struct tflmgen_conv2d_split_dsp_window *window, int32_t ky,
                                                    int32_t at, int32_t count,
                                                    const struct tflmgen_conv2d_split_dsp_s8 *p)
{
    const int32_t tap_steps = p->input_channels >> 2;
    const int32_t row = p->filter_width * tap_steps;
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
            const int32_t begin = inside ? tflmgen_clamp_s32(window->inside.first * tap_steps - at, 0, here) : here;
            const int32_t end = inside ? tflmgen_clamp_s32(window->inside.end * tap_steps - at, begin, here) : here;
            lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, begin, 6);
            lane = tflmgen_conv2d_dsp_widen(lane, from + 4 * begin, end - begin);
            lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, here - end, 6);
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

/* The windows of three output pixels from `pixel` on, of `all`; beyond them, the last one again. */
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

/* `count` steps of three windows that lie side by side within the input: of one row, or whole rows. */
TFLMGEN_HELPER void tflmgen_conv2d_split_dsp_widen(tflmgen_u32 *im2col, const int8_t *from, int32_t count,
                                                   const struct tflmgen_conv2d_split_dsp_s8 *p)
{
    const int32_t row = p->filter_width * p->input_channels >> 2;
    const int32_t whole = tflmgen_max_s32(count / row, 1);
    const int32_t bytes = 4 * count / whole;
    const int32_t line = p->dilation_height * p->input_width * p->input_channels;
    const struct tflmgen_conv2d_dsp_rows rows = {bytes, whole, line - bytes};
    const int32_t step = p->stride_width * p->input_channels;
    if (bytes == 4 * row && tflmgen_conv2d_dsp_has_adjacent(p->filter_width, p->stride_width, p->input_channels)) {
        tflmgen_conv2d_dsp_widen3_adjacent(im2col, from, step, &rows);
    } else {
        tflmgen_conv2d_dsp_widen3(im2col, from, step, &rows);
    }
}

/* Sets the passes of a part of `count` steps. */
TFLMGEN_HELPER void tflmgen_conv2d_split_dsp_set_steps(struct tflmgen_conv2d_split_dsp_part *part, int32_t count)
{
    const int32_t unrolled = TFLMGEN_CONV2D_SPLIT_DSP_STEP_PAIRS;
    const int32_t step_pairs = count >> 1;
    const int32_t passes = tflmgen_max_s32((step_pairs + unrolled - 1) / unrolled, 1);
    part->last = passes > 1 ? 24 * (count - 2 * unrolled) : -4;
    part->skip = (passes * unrolled - step_pairs) * TFLMGEN_CONV2D_DSP_TWICE_BYTES;
    part->begin = count & 1 ? -TFLMGEN_CONV2D_SPLIT_DSP_SINGLE_BYTES : part->skip;
}

/* The rows of the windows of output row out_y that are computed: all but those of parts above or below the input. */
TFLMGEN_HELPER struct tflmgen_taps tflmgen_conv2d_split_dsp_rows(int32_t out_y, int32_t part_rows,
                                                                 const struct tflmgen_conv2d_split_dsp_s8 *p)
{
    struct tflmgen_taps rows = TFLMGEN_TAPS_OF_ROW(p, out_y);
    const int32_t last = (p->filter_height - 1) / part_rows * part_rows;
    const bool is_outside = rows.first == rows.end;
    /* The last part has the scales, and adds to the sums of another one. */
    rows.first = tflmgen_min_s32(rows.first / part_rows * part_rows, tflmgen_max_s32(last - part_rows, 0));
    rows.end = tflmgen_min_s32((rows.end + part_rows - 1) / part_rows * part_rows, p->filter_height);
    if (is_outside || (rows.first > 0 && rows.end < p->filter_height)) {
        rows.first = 0;
        rows.end = p->filter_height;
    }
    return rows;
}

/* scratch: 6 words for each pair of channels, and three pixels of output where their number is no multiple of three.
 * pair_words: of all parts. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *scratch,
                                                 int8_t *output, const struct tflmgen_conv2d_split_dsp_s8 *p,
                                                 int32_t pair_words, tflmgen_conv2d_split_dsp_last_part *last)
{
    uint32_t im2col[6 * TFLMGEN_CONV2D_SPLIT_DSP_PART_STEPS];
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
    part.starts = stream;
    for (int32_t pixel = 0; pixel < all; pixel += 3, output += 3 * channels) {
        const tflmgen_u32 *weights = stream;
        const int32_t x = out_x * p->stride_width - p->padding_left;
        const int32_t y = out_y * p->stride_height - p->padding_top;
        const bool together = out_x + 3 <= p->output_width && x >= 0 && x < x_end && y >= 0 && y < y_end;
        const int8_t *const from = image + (y * p->input_width + x) * p->input_channels;
        if (!together) {
            tflmgen_conv2d_split_dsp_windows(windows, pixel, all, input, p);
        }
        struct tflmgen_taps computed = {0, 0, p->filter_height};
        int32_t begins = TFLMGEN_CONV2D_SPLIT_DSP_BIASES;
        if (p->skips_padding && (y < 0 || y >= y_end) && out_x + 3 <= p->output_width) {
            computed = tflmgen_conv2d_split_dsp_rows(out_y, tflmgen_max_s32(p->part_steps / row, 1), p);
            const int32_t below = p->filter_height - computed.end;
            if (computed.first > 0 || below > 0) {
                const int32_t max_above = (p->padding_top + p->dilation_height - 1) / p->dilation_height;
                const int32_t bias_set = computed.first ? computed.first - 1 : max_above + below - 1;
                part.starts = stream + pairs * (pair_words + 2 * bias_set);
                begins = TFLMGEN_CONV2D_SPLIT_DSP_STARTS;
            }
        }
        int32_t ky = 0;
        int32_t at = 0;
        for (int32_t first = 0, count; first < p->steps; first += count) {
            count = tflmgen_min_s32(p->part_steps, p->part_steps < row ? row - at : p->steps - first);
            const bool is_computed = ky >= computed.first && ky < computed.end;
            if (is_computed) {
                if (together) {
                    tflmgen_conv2d_split_dsp_widen(im2col, from + ky * line + 4 * at, count, p);
                } else {
                    for (int32_t lane = 0; lane < 3; ++lane) {
                        tflmgen_conv2d_split_dsp_gather(im2col + lane, windows + lane, ky, at, count, p);
                    }
                }
                tflmgen_conv2d_split_dsp_set_steps(&part, count);
                part.front = first > 0 ? 0 : 8;
            } else {
                part.begin = -TFLMGEN_CONV2D_SPLIT_DSP_PASS_BYTES;
                part.front = 8 * count;
            }
            if (first + count < p->steps) {
                if (is_computed) {
                    tflmgen_conv2d_split_dsp_add_part(im2col, weights, begins, &part);
                    begins = TFLMGEN_CONV2D_SPLIT_DSP_CONTINUE;
                }
                weights += (first > 0 ? 2 * count : 2 * count + 2) * pairs;
            } else if (pixel + 3 <= all) {
                last(im2col, weights, output, &part);
            } else {
                int8_t *const three = (int8_t *)part.sums_end;
                last(im2col, weights, three, &part);
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
#define TFLMGEN_CONV2D_SPLIT_DSP(name, KIND, WORDS)                                                      \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, void *sums, int8_t *output, \
                             const struct tflmgen_conv2d_split_dsp_s8 *p)                                \
    {                                                                                                    \
        tflmgen_conv2d_split_dsp_run(input, stream, sums, output, p, 2 * p->steps + (WORDS),             \
                                     tflmgen_conv2d_split_dsp_last_##KIND);                              \
    }

TFLMGEN_CONV2D_SPLIT_DSP(tflmgen_conv2d_split_dsp_s8, signed, 7)
TFLMGEN_CONV2D_SPLIT_DSP(tflmgen_conv2d_split_dsp_relu_uniform_s8, uniform, 6)

#endif

#endif
