/* DEPTHWISE_CONV_2D in int8, one output per input channel, for every Cortex-M: one channel at a time, strips of lines.
 *
 * Here a strip's input becomes a plane; depthwise_lines_thumb.h has what is computed from it. Each line of a plane begins
 * with as many words as the stride, which are written and never read. What is beside the input's lines is padding from
 * the start. A strip's last lines are the next strip's first, so that the output may lie over the very place of the input:
 * only the channel in the plane is overwritten. The stream has per channel its weights, filled up to whole words, and its
 * rescaling; after the weights of a 3x3 filter comes a byte that tells whether those of each row are small.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_THUMB_H
#define TFLMGEN_KERNELS_DEPTHWISE_THUMB_H

#include "depthwise_lines_thumb.h"
#include "window.h"

#ifdef __thumb__

struct tflmgen_depthwise_thumb_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t padding_value;
    int32_t line;  /* words of a plane's line, with those in front */
    int32_t strip; /* output lines at a time */
    int32_t channel_words;
    int32_t output_min;
    int32_t output_max;
};

/* Two neighbours of the next value, as far as a stride of 2 reaches back. */
struct tflmgen_depthwise_thumb_cursor {
    uint32_t *to;
    uint32_t last;
    uint32_t before;
};

/* `count` values, `step` bytes apart, at a stride of 2: each is the upper half of a word, and later a lower one. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_put2(struct tflmgen_depthwise_thumb_cursor *cursor, const int8_t *from,
                                                 int32_t step, int32_t count)
{
    uint32_t *to = cursor->to;
    uint32_t last = cursor->last;
    uint32_t before = cursor->before;
    for (const uint32_t *const end = to + count; to != end; ++to) {
        const uint32_t value = (uint32_t)*from;
        from += step;
        *to = before + (value << 16);
        before = last;
        last = value;
    }
    cursor->to = to;
    cursor->last = last;
    cursor->before = before;
}

/* A line of padding. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_pad(uint32_t *line, const struct tflmgen_depthwise_thumb_s8 *p)
{
    const uint32_t word = (uint32_t)p->padding_value * 65537u;
    for (const uint32_t *const end = line + p->line; line != end; ++line) {
        *line = word;
    }
}

/* A line of the input, which begins at `row`, in a line that has padding on both sides already. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_line(uint32_t *line, const int8_t *row,
                                                 const struct tflmgen_depthwise_thumb_s8 *p)
{
    const int8_t padding = (int8_t)p->padding_value;
    const uint32_t outside = (uint32_t)p->padding_value;
    const int32_t left = tflmgen_min_s32(p->padding_left, p->line);
    const int32_t inside = tflmgen_min_s32(p->input_width, p->line - left);
    const int32_t right = tflmgen_min_s32(p->stride_width, p->line - left - inside);
    struct tflmgen_depthwise_thumb_cursor cursor = {line + left, outside, outside};
    if (p->stride_width == 1) {
        uint32_t *to = cursor.to;
        uint32_t last = outside;
        for (const uint32_t *const end = to + inside; to != end; ++to) {
            const uint32_t value = (uint32_t)*row;
            row += p->input_channels;
            *to = last + (value << 16);
            last = value;
        }
        if (right > 0) {
            *to = last + (outside << 16);
        }
        return;
    }
    if (p->stride_width == 2) {
        tflmgen_depthwise_thumb_put2(&cursor, row, p->input_channels, inside);
        tflmgen_depthwise_thumb_put2(&cursor, &padding, 0, right);
        return;
    }
    /* words[i] gets its lower half when words[i - stride] gets its upper one. */
    for (int32_t i = 0; i < p->stride_width; ++i) {
        cursor.to[i] = outside;
    }
    for (int32_t i = 0; i < inside; ++i, ++cursor.to, row += p->input_channels) {
        cursor.to[p->stride_width] = (uint32_t)*row;
        *cursor.to += (uint32_t)*row << 16;
    }
    for (int32_t i = 0; i < right; ++i) {
        cursor.to[i] += outside << 16;
    }
}

/* Padding everywhere: lines of the input leave what is beside them. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_clear(uint32_t *plane, const struct tflmgen_depthwise_thumb_s8 *p)
{
    const int32_t reach = (p->filter_height - 1) * p->dilation_height + 1;
    for (int32_t left = (p->strip - 1) * p->stride_height + reach; left > 0; --left, plane += p->line) {
        tflmgen_depthwise_thumb_pad(plane, p);
    }
}

/* One channel. plane: line * ((strip - 1) * stride_height + (filter_height - 1) * dilation_height + 1) words, and as
 * many more as the stride. It is cleared before the first channel. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_channel(const int8_t *input, uint32_t *plane, int8_t *output,
                                                    const struct tflmgen_depthwise_thumb_s8 *p,
                                                    tflmgen_depthwise_thumb_function *run,
                                                    struct tflmgen_depthwise_thumb_lines *lines)
{
    const int32_t channels = p->input_channels;
    const int32_t reach = (p->filter_height - 1) * p->dilation_height + 1;
    const int32_t pairs = p->output_width / 2;
    const int32_t width = p->output_width + p->output_width % 2;
    const int32_t pair_bytes = 8 * p->stride_width;
    int32_t first = -p->padding_top; /* the plane's first line */
    int32_t filled = first;          /* the input's next one */
    lines->line_bytes = 4 * p->line * p->stride_height;
    lines->plane_gap = lines->line_bytes - (width / 2) * pair_bytes;
    lines->output_gap = (p->output_width - width) * channels;
    for (int32_t y = 0; y < p->output_height; y += p->strip) {
        const int32_t count = tflmgen_min_s32(p->strip, p->output_height - y);
        const int32_t top = y * p->stride_height - p->padding_top;
        uint32_t *to = plane;
        for (const uint32_t *from = plane + (top - first) * p->line, *end = plane + (filled - first) * p->line;
             from < end; ++from) {
            *to++ = *from;
        }
        first = top;
        filled = tflmgen_max_s32(filled, top);
        for (; filled < top + (count - 1) * p->stride_height + reach; ++filled) {
            const bool inside = filled >= 0 && filled < p->input_height;
            if (inside) {
                tflmgen_depthwise_thumb_line(to, input + filled * p->input_width * channels, p);
            } else {
                tflmgen_depthwise_thumb_pad(to, p);
            }
            to += p->line;
        }
        const uint32_t *from = plane + p->stride_width;
        lines->pixel = channels;
        lines->lines = count - p->output_width % 2;
        lines->line_end = from + (width / 2) * (pair_bytes / 4);
        if (lines->lines > 0) {
            run(from, output, lines);
        }
        if (p->output_width % 2) {
            /* Of the last line's last two outputs there is one only. */
            const int32_t last = count - 1;
            const uint32_t *const line = from + last * (lines->line_bytes / 4);
            int8_t *const at = output + last * p->output_width * channels;
            lines->lines = 1;
            lines->line_end = line + pairs * (pair_bytes / 4);
            if (pairs > 0) {
                run(line, at, lines);
            }
            lines->pixel = 0;
            lines->line_end += pair_bytes / 4;
            run(line + pairs * (pair_bytes / 4), at + 2 * pairs * channels, lines);
        }
        output += count * p->output_width * channels;
    }
}

TFLMGEN_HELPER void tflmgen_depthwise_thumb_clamp(int8_t *output, const struct tflmgen_depthwise_thumb_s8 *p)
{
    tflmgen_clamp_thumb_s8(output, p->batches * p->output_height * p->output_width * p->input_channels, p->output_min,
                           p->output_max);
}

/* 3x3 filters. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_run_3x3(const int8_t *input, const uint32_t *stream, void *plane,
                                                    int8_t *output, const struct tflmgen_depthwise_thumb_s8 *p,
                                                    tflmgen_depthwise_thumb_function *any,
                                                    tflmgen_depthwise_thumb_function *small)
{
    const int32_t row = 4 * p->line;
    tflmgen_depthwise_thumb_clear((uint32_t *)plane, p);
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const uint32_t *at = stream;
        for (int32_t c = 0; c < p->input_channels; ++c, at += p->channel_words) {
            const int8_t *const packed = (const int8_t *)at;
            int32_t weights[9];
            for (int32_t i = 0; i < 9; ++i) {
                weights[i] = packed[i];
            }
            struct tflmgen_depthwise_thumb_lines lines;
            lines.weights = weights;
            lines.skip = 0;
            lines.rescaling = at + 3;
            lines.splits = packed[9] ? 3 : 6;
            lines.row = row - 12;
            lines.step = 8 * p->stride_width - 2 * row - 12;
            tflmgen_depthwise_thumb_channel(input + c, (uint32_t *)plane, output + c, p, packed[9] ? small : any, &lines);
        }
        input += p->input_height * p->input_width * p->input_channels;
        output += p->output_height * p->output_width * p->input_channels;
    }
}

/* Any window. plane: 4 words for each two taps in front. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_run_window(const int8_t *input, const uint32_t *stream, void *scratch,
                                                       int8_t *output, const struct tflmgen_depthwise_thumb_s8 *p,
                                                       tflmgen_depthwise_thumb_function *run)
{
    struct tflmgen_depthwise_thumb_taps *const taps = (struct tflmgen_depthwise_thumb_taps *)scratch;
    const int32_t all = p->filter_height * p->filter_width;
    const int32_t pairs = (all + 1) / 2;
    for (int32_t ky = 0, i = 0; ky < p->filter_height; ++ky) {
        for (int32_t kx = 0; kx < p->filter_width; ++kx, ++i) {
            taps[i / 2].at[i % 2] = 4 * (ky * p->dilation_height * p->line + kx * p->dilation_width);
        }
    }
    tflmgen_depthwise_thumb_clear((uint32_t *)(void *)(taps + pairs), p);
    taps[pairs - 1].at[1] = all % 2 ? 0 : taps[pairs - 1].at[1];
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const uint32_t *at = stream;
        for (int32_t c = 0; c < p->input_channels; ++c, at += p->channel_words) {
            const int8_t *const packed = (const int8_t *)at;
            for (int32_t i = 0; i < 2 * pairs; ++i) {
                taps[i / 2].weights[i % 2] = i < all ? packed[i] : 0;
            }
            struct tflmgen_depthwise_thumb_lines lines;
            lines.weights = taps;
            lines.skip = (-pairs & 3) * TFLMGEN_DEPTHWISE_THUMB_PAIR_BYTES;
            lines.rescaling = at + (all + 3) / 4;
            lines.splits = pairs;
            lines.row = (int32_t)(uintptr_t)(taps + pairs);
            lines.step = 8 * p->stride_width;
            tflmgen_depthwise_thumb_channel(input + c, (uint32_t *)(void *)(taps + pairs), output + c, p, run, &lines);
        }
        input += p->input_height * p->input_width * p->input_channels;
        output += p->output_height * p->output_width * p->input_channels;
    }
}

/* Outputs clamped at the zero point, or not. */
#define TFLMGEN_DEPTHWISE_THUMB(kind)                                                                           \
    TFLMGEN_SHARED void tflmgen_depthwise_thumb_3x3_##kind##_s8(const int8_t *input, const uint32_t *stream,    \
                                                                void *scratch, int8_t *output,                  \
                                                                const struct tflmgen_depthwise_thumb_s8 *p)     \
    {                                                                                                           \
        tflmgen_depthwise_thumb_run_3x3(input, stream, scratch, output, p,                                      \
                                        tflmgen_depthwise_thumb_3x3_##kind,                                     \
                                        tflmgen_depthwise_thumb_3x3_small_##kind);                              \
        tflmgen_depthwise_thumb_clamp(output, p);                                                               \
    }                                                                                                           \
    TFLMGEN_SHARED void tflmgen_depthwise_thumb_window_##kind##_s8(const int8_t *input, const uint32_t *stream, \
                                                                   void *scratch, int8_t *output,               \
                                                                   const struct tflmgen_depthwise_thumb_s8 *p)  \
    {                                                                                                           \
        tflmgen_depthwise_thumb_run_window(input, stream, scratch, output, p,                                   \
                                           tflmgen_depthwise_thumb_window_##kind);                              \
        tflmgen_depthwise_thumb_clamp(output, p);                                                               \
    }

TFLMGEN_DEPTHWISE_THUMB(clamped)
TFLMGEN_DEPTHWISE_THUMB(signed)

#endif

#endif
