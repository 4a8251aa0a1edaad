/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8 for RV32IM, 3x3, one filter per channel: channel by channel, line by line. The results are
 * those of depthwise_conv2d.h.
 *
 * A line's weights stay in nine registers, and its windows slide along three lines of the input: the nine values of a
 * window are in registers, too, of which the next window has six where the stride is 1 and three where it is 2. An
 * output takes 3 or 6 loads with as many steps of pointers, 9 MUL, 9 ADD, and 10 to requantise and store it.
 *
 * Lines outside of the input are read from one inside by weights of zero, and what they add is part of the start, as
 * are columns outside: their values are the padding value.
 *
 * The stream has for each channel:  struct tflmgen_rv32m_channel | w0 w1 ... w8, bytes | 0 0 0
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_RV32M_H
#define TFLMGEN_KERNELS_DEPTHWISE_RV32M_H

#include "rv32m.h"
#include "window.h"

struct tflmgen_depthwise_rv32m_s8 {
    TFLMGEN_IMAGE_FIELDS
    int32_t stride_height;
    int32_t stride_width;
    int32_t padding_top;
    int32_t padding_left;
    int32_t padding_value;
    int32_t scale_bits;
    int32_t output_min;
    int32_t output_max;
};

/* Three values, one below the other: a column of a window. */
struct tflmgen_depthwise_rv32m_column {
    int32_t top;
    int32_t middle;
    int32_t bottom;
};

/* A line of the output: where its windows begin, and what they are multiplied by. */
struct tflmgen_depthwise_rv32m_line {
    const int8_t *top, *middle, *bottom; /* column 0 of the input */
    const int8_t *weights;               /* nine, of the first line's three columns first */
    int32_t start;
};

#define TFLMGEN_DEPTHWISE_RV32M_LOAD(column) \
    column.top = *top;                       \
    column.middle = *middle;                 \
    column.bottom = *bottom;                 \
    top += step;                             \
    middle += step;                          \
    bottom += step;

/* The output of a window of three columns. */
#define TFLMGEN_DEPTHWISE_RV32M_STORE(a, b, c)                                       \
    {                                                                                \
        int32_t sum = a.top * w0 + b.top * w1 + c.top * w2;                          \
        sum += a.middle * w3 + b.middle * w4 + c.middle * w5;                        \
        sum += a.bottom * w6 + b.bottom * w7 + c.bottom * w8;                        \
        sum = (int32_t)(((uint32_t)sum << bits) + (uint32_t)start);                  \
        *output = tflmgen_output_rv32m_s8(sum, multiplier, addend, shift, sign_fix); \
        output += step;                                                              \
    }

/* One line of outputs. `inside`: windows that end inside of the input; `outside`: further ones, 0 or 1, whose last
 * column is outside. */
TFLMGEN_HELPER void tflmgen_depthwise_rv32m_slide(int8_t *outputs, const struct tflmgen_depthwise_rv32m_line *line,
                                                  const struct tflmgen_rv32m_channel *channel, int32_t inside,
                                                  int32_t outside, const struct tflmgen_depthwise_rv32m_s8 *p,
                                                  bool by_two, bool is_signed)
{
    int8_t *output = outputs;
    const int8_t *top = line->top;
    const int8_t *middle = line->middle;
    const int8_t *bottom = line->bottom;
    const int8_t *const weights = line->weights;
    const int32_t w0 = weights[0], w1 = weights[1], w2 = weights[2];
    const int32_t w3 = weights[3], w4 = weights[4], w5 = weights[5];
    const int32_t w6 = weights[6], w7 = weights[7], w8 = weights[8];
    const int32_t start = line->start;
    const int32_t multiplier = channel->multiplier;
    const int32_t addend = channel->addend;
    const int32_t shift = channel->shift;
    const int32_t step = p->input_channels;
    const int32_t bits = p->scale_bits;
    const int32_t padding = p->padding_value;
    const int32_t sign_fix = is_signed ? 1 << (bits - 1) : 0;
    const struct tflmgen_depthwise_rv32m_column beside = {padding, padding, padding};
    struct tflmgen_depthwise_rv32m_column a = beside, b, c;
    if (p->padding_left == 0) {
        TFLMGEN_DEPTHWISE_RV32M_LOAD(a)
    }
    if (by_two) {
        for (; inside > 0; --inside) {
            TFLMGEN_DEPTHWISE_RV32M_LOAD(b)
            TFLMGEN_DEPTHWISE_RV32M_LOAD(c)
            TFLMGEN_DEPTHWISE_RV32M_STORE(a, b, c)
            a = c;
        }
        if (outside > 0) {
            TFLMGEN_DEPTHWISE_RV32M_LOAD(b)
            TFLMGEN_DEPTHWISE_RV32M_STORE(a, b, beside)
        }
        return;
    }
    TFLMGEN_DEPTHWISE_RV32M_LOAD(b)
    for (; inside >= 3; inside -= 3) {
        TFLMGEN_DEPTHWISE_RV32M_LOAD(c)
        TFLMGEN_DEPTHWISE_RV32M_STORE(a, b, c)
        TFLMGEN_DEPTHWISE_RV32M_LOAD(a)
        TFLMGEN_DEPTHWISE_RV32M_STORE(b, c, a)
        TFLMGEN_DEPTHWISE_RV32M_LOAD(b)
        TFLMGEN_DEPTHWISE_RV32M_STORE(c, a, b)
    }
    for (; inside > 0; --inside) {
        TFLMGEN_DEPTHWISE_RV32M_LOAD(c)
        TFLMGEN_DEPTHWISE_RV32M_STORE(a, b, c)
        a = b;
        b = c;
    }
    if (outside > 0) {
        TFLMGEN_DEPTHWISE_RV32M_STORE(a, b, beside)
    }
}

/* Weights for windows of which lines are outside of the input: zeros for those. `start` takes on what they add. */
TFLMGEN_SHARED void tflmgen_depthwise_rv32m_clip(struct tflmgen_depthwise_rv32m_line *line, int8_t *clipped, int32_t y,
                                                 const struct tflmgen_depthwise_rv32m_s8 *p)
{
    int32_t sum = 0;
    for (int32_t row = 0; row < 3; ++row, ++y) {
        const bool is_inside = y >= 0 && y < p->input_height;
        for (int32_t i = 3 * row; i < 3 * row + 3; ++i) {
            clipped[i] = is_inside ? line->weights[i] : 0;
            sum += is_inside ? 0 : line->weights[i];
        }
    }
    line->weights = clipped;
    line->start = (int32_t)((uint32_t)line->start + ((uint32_t)(sum * p->padding_value) << p->scale_bits));
}

/* All lines of a channel of an image. */
TFLMGEN_HELPER void tflmgen_depthwise_rv32m_channel(const int8_t *input, const tflmgen_u32 *record, int8_t *output,
                                                    const struct tflmgen_depthwise_rv32m_s8 *p, bool by_two,
                                                    bool is_signed)
{
    const struct tflmgen_rv32m_channel *const channel = (const struct tflmgen_rv32m_channel *)(const void *)record;
    const int32_t pitch = p->input_width * p->input_channels;
    const int32_t last = p->input_height - 1;
    const int32_t span = p->input_width + p->padding_left - 3;
    const int32_t windows = span < 0 ? 0 : (by_two ? span >> 1 : span) + 1;
    const int32_t inside = tflmgen_min_s32(windows, p->output_width);
    int32_t y = -p->padding_top;
    for (int32_t left = p->output_height; left > 0; --left, y += p->stride_height) {
        struct tflmgen_depthwise_rv32m_line line;
        int8_t clipped[9];
        line.weights = (const int8_t *)(channel + 1);
        line.start = channel->start;
        if (y >= 0 && y + 2 <= last) {
            line.top = input + y * pitch;
            line.middle = line.top + pitch;
            line.bottom = line.middle + pitch;
        } else {
            tflmgen_depthwise_rv32m_clip(&line, clipped, y, p);
            line.top = input + tflmgen_clamp_s32(y, 0, last) * pitch;
            line.middle = input + tflmgen_clamp_s32(y + 1, 0, last) * pitch;
            line.bottom = input + tflmgen_clamp_s32(y + 2, 0, last) * pitch;
        }
        tflmgen_depthwise_rv32m_slide(output, &line, channel, inside, p->output_width - inside, p, by_two, is_signed);
        output += p->output_width * p->input_channels;
    }
}

typedef void tflmgen_depthwise_rv32m_function(const int8_t *input, const tflmgen_u32 *record, int8_t *output,
                                              const struct tflmgen_depthwise_rv32m_s8 *p);

#define TFLMGEN_DEPTHWISE_RV32M_FUNCTION(name, by_two, is_signed)                            \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *record, int8_t *output, \
                             const struct tflmgen_depthwise_rv32m_s8 *p)                     \
    {                                                                                        \
        tflmgen_depthwise_rv32m_channel(input, record, output, p, by_two, is_signed);        \
    }

TFLMGEN_DEPTHWISE_RV32M_FUNCTION(tflmgen_depthwise_rv32m_by_one_clamped, false, false)
TFLMGEN_DEPTHWISE_RV32M_FUNCTION(tflmgen_depthwise_rv32m_by_one_signed, false, true)
TFLMGEN_DEPTHWISE_RV32M_FUNCTION(tflmgen_depthwise_rv32m_by_two_clamped, true, false)
TFLMGEN_DEPTHWISE_RV32M_FUNCTION(tflmgen_depthwise_rv32m_by_two_signed, true, true)

TFLMGEN_HELPER void tflmgen_depthwise_rv32m_run(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                const struct tflmgen_depthwise_rv32m_s8 *p,
                                                tflmgen_depthwise_rv32m_function *compute)
{
    const int32_t channels = p->input_channels;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t channel = 0; channel < channels; ++channel) {
            compute(input + channel, stream + 7 * channel, output + channel, p);
        }
        input += p->input_height * p->input_width * channels;
        output += p->output_height * p->output_width * channels;
    }
    const int32_t count = p->batches * p->output_height * p->output_width * channels;
    tflmgen_clamp_rv32m_s8(output - count, count, p->output_min, p->output_max);
}

/* No output of a negative sum needs the sign fix, or some do. */
TFLMGEN_SHARED void tflmgen_depthwise_rv32m_clamped_s8(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                       const struct tflmgen_depthwise_rv32m_s8 *p)
{
    tflmgen_depthwise_rv32m_run(input, stream, output, p,
                                p->stride_width == 1 ? tflmgen_depthwise_rv32m_by_one_clamped
                                                     : tflmgen_depthwise_rv32m_by_two_clamped);
}

TFLMGEN_SHARED void tflmgen_depthwise_rv32m_s8(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                               const struct tflmgen_depthwise_rv32m_s8 *p)
{
    tflmgen_depthwise_rv32m_run(input, stream, output, p,
                                p->stride_width == 1 ? tflmgen_depthwise_rv32m_by_one_signed
                                                     : tflmgen_depthwise_rv32m_by_two_signed);
}

#endif
