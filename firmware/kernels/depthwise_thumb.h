/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8 for every Cortex-M: one output channel at a time, strips of lines.
 *
 * Here a strip's input becomes a plane (depthwise_fill_thumb.h); depthwise_lines_thumb.h has what is computed from it.
 * Each line of a plane begins with as many words as the stride, which are written and never read. What is beside the
 * input's lines is padding from the start. A strip's last lines are the next strip's first, so that the output may lie
 * over the very place of the input: only the channel in the plane is overwritten. Lines may be the input's columns. The
 * stream has per channel its weights, filled up to whole words, and its constants. After the weights of a 3x3 filter
 * come two bytes: whether those of each row are small; whether the constants are those for sums beyond a window, and
 * two words more.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_THUMB_H
#define TFLMGEN_KERNELS_DEPTHWISE_THUMB_H

#include "depthwise_fill_thumb.h"
#include "depthwise_lines_thumb.h"
#include "window.h"

#ifdef __thumb__

struct tflmgen_depthwise_thumb_s8 {
    TFLMGEN_WINDOW_FIELDS /* with height and width exchanged where lines are columns */
        int32_t dilation_height;
    int32_t dilation_width;
    int32_t padding_value;
    int32_t input_step; /* bytes from a line's value to the next one */
    int32_t input_row;  /* and from line to line */
    int32_t output_step;
    int32_t output_row;
    int32_t filters; /* of each input channel */
    int32_t line;    /* words of a plane's line, with those in front */
    int32_t strip;   /* output lines at a time */
    int32_t output_min;
    int32_t output_max;
};

/* `count` lines of padding. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_pad(tflmgen_u32 *line, int32_t count,
                                                const struct tflmgen_depthwise_thumb_s8 *p)
{
    const uint32_t word = (uint32_t)p->padding_value * 65537u;
    for (const tflmgen_u32 *const end = line + count * p->line; line < end; ++line) {
        *line = word;
    }
}

/* What all channels have in common. */
struct tflmgen_depthwise_thumb_common {
    int32_t left;  /* words in front of the input's first value */
    int32_t reach; /* lines of a window */
    int32_t pair_words;
    struct tflmgen_depthwise_thumb_fill fill;
    struct tflmgen_depthwise_thumb_lines lines;
};

/* Padding everywhere: lines of the input leave what is beside them, and in a single strip what is above and below. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_begin(tflmgen_u32 *plane, struct tflmgen_depthwise_thumb_common *common,
                                                  const struct tflmgen_depthwise_thumb_s8 *p)
{
    common->left = p->padding_left;
    common->reach = (p->filter_height - 1) * p->dilation_height + 1;
    common->pair_words = 2 * p->stride_width;
    const int32_t inside = tflmgen_min_s32(p->input_width, p->line - common->left);
    const int32_t pass = p->stride_width == 1 ? 8 : 6;
    common->fill.step = p->input_step;
    common->fill.row_gap = p->input_row - inside * p->input_step;
    common->fill.skip = (pass - 1 - (inside - 1) % pass) * TFLMGEN_DEPTHWISE_THUMB_FILL_BYTES;
    common->fill.padding = p->padding_value;
    common->fill.plane_gap = 4 * (p->line - inside);
    common->fill.bytes = 4 * inside;
    common->lines.line_bytes = 4 * p->line * p->stride_height;
    tflmgen_depthwise_thumb_pad(plane, (p->strip - 1) * p->stride_height + common->reach, p);
}

/* `pairs` of outputs of each of `count` lines, the second output of each apart from the first one by `pixel` bytes. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_pairs(const tflmgen_u32 *from, int8_t *output, int32_t pairs, int32_t pixel,
                                                  int32_t count, struct tflmgen_depthwise_thumb_common *common,
                                                  tflmgen_depthwise_thumb_function *run, int32_t output_row)
{
    common->lines.pixel = pixel;
    common->lines.lines = count;
    common->lines.plane_gap = common->lines.line_bytes - 4 * pairs * common->pair_words;
    common->lines.output_gap = output_row - 2 * pairs * pixel;
    common->lines.line_end = from + pairs * common->pair_words;
    run(from, output, &common->lines);
}

/* One channel. plane: line * ((strip - 1) * stride_height + (filter_height - 1) * dilation_height + 1) words, and as
 * many more as the stride; `filled_before`: it is one strip and has these inputs already. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_channel(const int8_t *input, tflmgen_u32 *plane, bool filled_before,
                                                    int8_t *output, const struct tflmgen_depthwise_thumb_s8 *p,
                                                    struct tflmgen_depthwise_thumb_common *common,
                                                    tflmgen_depthwise_thumb_function *run)
{
    const int32_t pairs = p->output_width / 2;
    int32_t first = -p->padding_top; /* the plane's first line */
    int32_t filled = first;          /* the input's next one */
    for (int32_t y = 0; y < p->output_height; y += p->strip) {
        const int32_t count = tflmgen_min_s32(p->strip, p->output_height - y);
        const int32_t top = y * p->stride_height - p->padding_top;
        const int32_t end = top + (count - 1) * p->stride_height + common->reach;
        tflmgen_u32 *to = plane;
        for (const tflmgen_u32 *from = plane + (top - first) * p->line, *kept = plane + (filled - first) * p->line;
             from < kept && y > 0; ++from) {
            *to++ = *from;
        }
        first = top;
        filled = tflmgen_max_s32(filled, top);
        const int32_t begin = tflmgen_max_s32(filled, 0);
        const int32_t last = tflmgen_min_s32(end, p->input_height);
        tflmgen_u32 *const behind = plane + (last - top) * p->line;
        if (p->strip < p->output_height) {
            tflmgen_depthwise_thumb_pad(plane + (filled - top) * p->line, begin - filled, p);
            tflmgen_depthwise_thumb_pad(behind, end - last, p);
        }
        if (begin < last && !filled_before) {
            tflmgen_u32 *const at = plane + (begin - top) * p->line + common->left;
            const int8_t *const from = input + begin * p->input_row;
            if (p->stride_width == 1) {
                tflmgen_depthwise_thumb_fill_1(at, from, behind + common->left, &common->fill);
            } else if (p->stride_width == 2) {
                tflmgen_depthwise_thumb_fill_2(at, from, behind + common->left, &common->fill);
            } else {
                tflmgen_depthwise_thumb_fill_far(at, from, behind + common->left, &common->fill, p->stride_width);
            }
        }
        filled = end;
        const tflmgen_u32 *const from = plane + p->stride_width;
        if (pairs > 0) {
            tflmgen_depthwise_thumb_pairs(from, output, pairs, p->output_step, count, common, run, p->output_row);
        }
        if (p->output_width % 2) {
            tflmgen_depthwise_thumb_pairs(from + pairs * common->pair_words, output + 2 * pairs * p->output_step, 1, 0,
                                          count, common, run, p->output_row);
        }
        output += count * p->output_row;
    }
}

TFLMGEN_HELPER void tflmgen_depthwise_thumb_clamp(int8_t *output, const struct tflmgen_depthwise_thumb_s8 *p)
{
    tflmgen_clamp_thumb_s8(output, p->batches * p->output_height * p->output_width * p->output_channels, p->output_min,
                           p->output_max);
}

/* Which input an output channel has: that of the one before, unless it is the first of its filters. */
struct tflmgen_depthwise_thumb_source {
    const int8_t *input;
    int32_t filter;
};

TFLMGEN_HELPER void tflmgen_depthwise_thumb_next(struct tflmgen_depthwise_thumb_source *source,
                                                 const struct tflmgen_depthwise_thumb_s8 *p)
{
    if (++source->filter == p->filters) {
        source->filter = 0;
        ++source->input;
    }
}

/* Constants in the order in which the inner loops read them; `to` follows the weights. Returns what S1 and S2 begin
 * with, in `start`. */
TFLMGEN_HELPER void tflmgen_depthwise_thumb_clamped(tflmgen_s32 *start, tflmgen_s32 *to, const tflmgen_u32 *constants)
{
    const uint32_t high = constants[2] >> 12;
    const int32_t b = (int32_t)constants[0] >> 10;
    start[0] = (int32_t)((uint32_t)b * 65537u);
    start[1] = b;
    to[0] = (int32_t)high;
    to[1] = (int32_t)(constants[2] & 4095u);
    to[2] = (int32_t)(0x80000000u - ((constants[0] & 1023u) * high >> 10));
    to[3] = (int32_t)(constants[1] >> 10);
}

TFLMGEN_HELPER void tflmgen_depthwise_thumb_signed(tflmgen_s32 *start, tflmgen_s32 *to, const tflmgen_u32 *constants)
{
    start[0] = start[1] = 0;
    to[0] = (int32_t)constants[0];
    to[1] = (int32_t)constants[1];
    to[2] = (int32_t)constants[2];
    to[3] = (int32_t)constants[3];
    to[4] = (int32_t)constants[4];
}

/* 3x3 filters. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_run_3x3(const int8_t *input, const tflmgen_u32 *stream, void *plane,
                                                    int8_t *output, const struct tflmgen_depthwise_thumb_s8 *p,
                                                    tflmgen_depthwise_thumb_function *any,
                                                    tflmgen_depthwise_thumb_function *small,
                                                    tflmgen_depthwise_thumb_function *beyond)
{
    struct tflmgen_depthwise_thumb_common common;
    int32_t weights[2 + 9 + TFLMGEN_DEPTHWISE_THUMB_CONSTANTS];
    tflmgen_depthwise_thumb_begin((tflmgen_u32 *)plane, &common, p);
    common.lines.weights = weights;
    common.lines.skip = 0;
    common.lines.row = 4 * p->line - 12;
    common.lines.step = 8 * p->stride_width - 8 * p->line - 12;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const tflmgen_u32 *at = stream;
        struct tflmgen_depthwise_thumb_source source = {input, 0};
        for (int32_t c = 0; c < p->output_channels; ++c, tflmgen_depthwise_thumb_next(&source, p)) {
            const bool filled = source.filter > 0 && p->strip >= p->output_height;
            const int8_t *const packed = (const int8_t *)at;
            for (int32_t i = 0; i < 9; ++i) {
                weights[2 + i] = -packed[i];
            }
            tflmgen_depthwise_thumb_function *run = packed[9] ? small : any;
            if (packed[10]) {
                run = beyond;
                tflmgen_depthwise_thumb_signed(weights, weights + 11, at + 3);
                at += 8;
            } else {
                tflmgen_depthwise_thumb_clamped(weights, weights + 11, at + 3);
                at += 6;
            }
            tflmgen_depthwise_thumb_channel(source.input, (tflmgen_u32 *)plane, filled, output + c, p, &common, run);
        }
        input += p->input_height * p->input_width * p->input_channels;
        output += p->output_height * p->output_width * p->output_channels;
    }
    tflmgen_depthwise_thumb_clamp(output - p->batches * p->output_height * p->output_width * p->output_channels, p);
}

/* Any outputs, or all those that are not clamped in a window (bounded). */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_3x3_s8(const int8_t *input, const tflmgen_u32 *stream, void *scratch,
                                                   int8_t *output, const struct tflmgen_depthwise_thumb_s8 *p)
{
    tflmgen_depthwise_thumb_run_3x3(input, stream, scratch, output, p, tflmgen_depthwise_thumb_3x3_clamped,
                                    tflmgen_depthwise_thumb_3x3_small_clamped, tflmgen_depthwise_thumb_3x3_signed);
}

TFLMGEN_SHARED void tflmgen_depthwise_thumb_3x3_bounded_s8(const int8_t *input, const tflmgen_u32 *stream,
                                                           void *scratch, int8_t *output,
                                                           const struct tflmgen_depthwise_thumb_s8 *p)
{
    tflmgen_depthwise_thumb_run_3x3(input, stream, scratch, output, p, tflmgen_depthwise_thumb_3x3_clamped,
                                    tflmgen_depthwise_thumb_3x3_small_clamped, NULL);
}

/* In front of a plane: what sums begin with, each two taps, and the constants. */
#define TFLMGEN_DEPTHWISE_THUMB_STARTS 2
#define TFLMGEN_DEPTHWISE_THUMB_TAPS_WORDS 4

/* Any window. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_run_window(const int8_t *input, const tflmgen_u32 *stream,
                                                       tflmgen_s32 *scratch, int8_t *output,
                                                       const struct tflmgen_depthwise_thumb_s8 *p, bool within)
{
    struct tflmgen_depthwise_thumb_common common;
    struct tflmgen_depthwise_thumb_taps *const taps =
        (struct tflmgen_depthwise_thumb_taps *)(void *)(scratch + TFLMGEN_DEPTHWISE_THUMB_STARTS);
    const int32_t all = p->filter_height * p->filter_width;
    const int32_t pairs = (all + 1) / 2;
    tflmgen_s32 *const constants =
        scratch + TFLMGEN_DEPTHWISE_THUMB_STARTS + TFLMGEN_DEPTHWISE_THUMB_TAPS_WORDS * pairs;
    tflmgen_u32 *const plane = (tflmgen_u32 *)(void *)(constants + TFLMGEN_DEPTHWISE_THUMB_CONSTANTS);
    for (int32_t ky = 0, i = 0; ky < p->filter_height; ++ky) {
        for (int32_t kx = 0; kx < p->filter_width; ++kx, ++i) {
            taps[i / 2].at[i % 2] = 4 * (ky * p->dilation_height * p->line + kx * p->dilation_width);
        }
    }
    taps[pairs - 1].at[1] = all % 2 ? 0 : taps[pairs - 1].at[1];
    tflmgen_depthwise_thumb_begin(plane, &common, p);
    common.lines.weights = scratch;
    common.lines.skip = (-pairs & 3) * TFLMGEN_DEPTHWISE_THUMB_PAIR_BYTES;
    common.lines.row = (int32_t)(uintptr_t)constants;
    common.lines.step = 8 * p->stride_width;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const tflmgen_u32 *at = stream;
        struct tflmgen_depthwise_thumb_source source = {input, 0};
        for (int32_t c = 0; c < p->output_channels; ++c, tflmgen_depthwise_thumb_next(&source, p)) {
            const bool filled = source.filter > 0 && p->strip >= p->output_height;
            const int8_t *const packed = (const int8_t *)at;
            for (int32_t i = 0; i < 2 * pairs; ++i) {
                taps[i / 2].weights[i % 2] = i < all ? -packed[i] : 0;
            }
            at += (all + 3) / 4;
            if (within) {
                tflmgen_depthwise_thumb_clamped(scratch, constants, at);
                at += 3;
            } else {
                tflmgen_depthwise_thumb_signed(scratch, constants, at);
                at += TFLMGEN_DEPTHWISE_THUMB_CONSTANTS;
            }
            tflmgen_depthwise_thumb_channel(source.input, plane, filled, output + c, p, &common,
                                            within ? tflmgen_depthwise_thumb_window_clamped
                                                   : tflmgen_depthwise_thumb_window_signed);
        }
        input += p->input_height * p->input_width * p->input_channels;
        output += p->output_height * p->output_width * p->output_channels;
    }
    tflmgen_depthwise_thumb_clamp(output - p->batches * p->output_height * p->output_width * p->output_channels, p);
}

TFLMGEN_SHARED void tflmgen_depthwise_thumb_window_bounded_s8(const int8_t *input, const tflmgen_u32 *stream,
                                                              void *scratch, int8_t *output,
                                                              const struct tflmgen_depthwise_thumb_s8 *p)
{
    tflmgen_depthwise_thumb_run_window(input, stream, (tflmgen_s32 *)scratch, output, p, true);
}

TFLMGEN_SHARED void tflmgen_depthwise_thumb_window_s8(const int8_t *input, const tflmgen_u32 *stream, void *scratch,
                                                      int8_t *output, const struct tflmgen_depthwise_thumb_s8 *p)
{
    tflmgen_depthwise_thumb_run_window(input, stream, (tflmgen_s32 *)scratch, output, p, false);
}

#endif

#endif
