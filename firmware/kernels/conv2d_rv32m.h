/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for RV32IM: im2col of six pixels, and a loop over pairs of output channels. The results are those of
 * conv2d.h.
 *
 * The im2col buffer has three words for each value of the six windows, the lanes, negated:
 *
 *     -(x of lane 0 + 65536 * x of lane 1) | -(x of lane 2 + 65536 * x of lane 3) | -(x of 4 + 65536 * x of 5) | ...
 *
 * The stream has for each pair of output channels, of which the last may be a single one:
 *
 *     constants     struct tflmgen_rv32m_channel of the first channel, and of the second
 *     masks         words, see below
 *     weights       of each value of a window:  w of the first channel | w of the second, bytes
 *
 * Windows are filled up in front with zeros to a multiple of four values, and the weights of a single channel stand
 * beside zeros. A mask has a bit for each pass over four values, the topmost one first, and a 1 behind the last of at
 * most 31: 0 where the products of four values are summed before they are taken apart, 1 where only those of two fit.
 *
 * Registers: 12 sums, 6 sums of products, 2 weights, a word, a product, three pointers, the mask and 0x8000. A pass of
 * 48 MACs by fours takes 20 loads, 24 MUL, 18 ADD, 24 to take halves apart, and 6 to go on.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_RV32M_H
#define TFLMGEN_KERNELS_CONV2D_RV32M_H

#include "rv32m.h"
#include "window.h"

#define TFLMGEN_CONV2D_RV32M_LANES 6
#define TFLMGEN_CONV2D_RV32M_PAIRS 3 /* words of a value: pairs of lanes */
#define TFLMGEN_CONV2D_RV32M_PASS 4  /* values in a pass */
#define TFLMGEN_CONV2D_RV32M_MASK 31 /* passes that a mask has bits for */

struct tflmgen_conv2d_rv32m_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t padding_value;
    bool backward; /* blocks from the last to the first; windows of one pixel in one line only */
    int32_t terms; /* values in a window */
    int32_t scale_bits;
    int32_t output_min;
    int32_t output_max;
};

/* Sums of the products of a pair of lanes by a channel's weights: of whole words, and of their upper halves. */
struct tflmgen_conv2d_rv32m_sum {
    uint32_t words;
    int32_t upper;
};

/* What a block of six pixels needs to know. */
struct tflmgen_conv2d_rv32m_block {
    int32_t passes;
    int32_t channels;
    int32_t scale_bits;
    int32_t pixel_offsets[TFLMGEN_CONV2D_RV32M_LANES]; /* bytes from the first pixel's outputs; 0 where there is none */
};

/* Where a pass reads. */
struct tflmgen_conv2d_rv32m_reader {
    const tflmgen_u32 *im2col;
    const int8_t *weights;
};

#if defined(__riscv) && !defined(__riscv_e)

/* A value by both channels, from im2col in a1 and weights in a2: each product is SET as a sum of products, or added. */
#define TFLMGEN_CONV2D_RV32M_WEIGHTS(w0, w1) \
    "lb t3, " w0 "(a2)\n\t"                  \
    "lb t4, " w1 "(a2)\n\t"
#define TFLMGEN_CONV2D_RV32M_SET(word, t0, t1) \
    "lw t5, " word "(a1)\n\t"                  \
    "mul " t0 ", t5, t3\n\t"                   \
    "mul " t1 ", t5, t4\n\t"
#define TFLMGEN_CONV2D_RV32M_ADD(word, t0, t1) \
    "lw t5, " word "(a1)\n\t"                  \
    "mul t6, t5, t3\n\t"                       \
    "mul t5, t5, t4\n\t"                       \
    "add " t0 ", " t0 ", t6\n\t"               \
    "add " t1 ", " t1 ", t5\n\t"
#define TFLMGEN_CONV2D_RV32M_VALUE(OPERATION, w0, w1, x0, x1, x2) \
    TFLMGEN_CONV2D_RV32M_WEIGHTS(w0, w1)                          \
    OPERATION(x0, "s7", "s8") OPERATION(x1, "s9", "s10") OPERATION(x2, "s11", "t2")

/* Takes the halves of a sum of products apart. */
#define TFLMGEN_CONV2D_RV32M_PART(words, upper, t) \
    "add " words ", " words ", " t "\n\t"          \
    "add " t ", " t ", ra\n\t"                     \
    "srai " t ", " t ", 16\n\t"                    \
    "add " upper ", " upper ", " t "\n\t"
#define TFLMGEN_CONV2D_RV32M_PARTS               \
    TFLMGEN_CONV2D_RV32M_PART("a4", "s1", "s7")  \
    TFLMGEN_CONV2D_RV32M_PART("a5", "s2", "s8")  \
    TFLMGEN_CONV2D_RV32M_PART("a6", "s3", "s9")  \
    TFLMGEN_CONV2D_RV32M_PART("a7", "s4", "s10") \
    TFLMGEN_CONV2D_RV32M_PART("t0", "s5", "s11") \
    TFLMGEN_CONV2D_RV32M_PART("t1", "s6", "t2")

/* LW or SW of all sums. */
#define TFLMGEN_CONV2D_RV32M_SUMS(operation)                                                      \
    operation " a4, 0(a0)\n\t" operation " s1, 4(a0)\n\t" operation " a5, 8(a0)\n\t" operation    \
              " s2, 12(a0)\n\t" operation " a6, 16(a0)\n\t" operation " s3, 20(a0)\n\t" operation \
              " a7, 24(a0)\n\t" operation " s4, 28(a0)\n\t" operation " t0, 32(a0)\n\t" operation \
              " s5, 36(a0)\n\t" operation " t1, 40(a0)\n\t" operation " s6, 44(a0)\n\t"

/* The passes of a mask. All 27 registers but s0, which may be a frame's, are in use, more than GCC allots by itself
 * without keeping some in memory. */
TFLMGEN_HELPER void tflmgen_conv2d_rv32m_passes(struct tflmgen_conv2d_rv32m_sum *sums,
                                                struct tflmgen_conv2d_rv32m_reader *reader, uint32_t mask)
{
    register struct tflmgen_conv2d_rv32m_sum *a0 __asm__("a0") = sums;
    register const tflmgen_u32 *a1 __asm__("a1") = reader->im2col;
    register const int8_t *a2 __asm__("a2") = reader->weights;
    register uint32_t a3 __asm__("a3") = mask;
    /* clang-format off */
    __asm__ volatile(
        TFLMGEN_CONV2D_RV32M_SUMS("lw")
        "lui ra, 8\n"
        "1:\n\t"
        TFLMGEN_CONV2D_RV32M_VALUE(TFLMGEN_CONV2D_RV32M_SET, "0", "1", "0", "4", "8")
        TFLMGEN_CONV2D_RV32M_VALUE(TFLMGEN_CONV2D_RV32M_ADD, "2", "3", "12", "16", "20")
        "bltz a3, 2f\n\t"
        TFLMGEN_CONV2D_RV32M_VALUE(TFLMGEN_CONV2D_RV32M_ADD, "4", "5", "24", "28", "32")
        "3:\n\t"
        TFLMGEN_CONV2D_RV32M_VALUE(TFLMGEN_CONV2D_RV32M_ADD, "6", "7", "36", "40", "44")
        TFLMGEN_CONV2D_RV32M_PARTS
        "addi a1, a1, 48\n\t"
        "addi a2, a2, 8\n\t"
        "slli a3, a3, 1\n\t"
        "slli t5, a3, 1\n\t"
        "bnez t5, 1b\n\t"
        "j 4f\n"
        "2:\n\t"
        TFLMGEN_CONV2D_RV32M_PARTS
        TFLMGEN_CONV2D_RV32M_VALUE(TFLMGEN_CONV2D_RV32M_SET, "4", "5", "24", "28", "32")
        "j 3b\n"
        "4:\n\t"
        TFLMGEN_CONV2D_RV32M_SUMS("sw")
        : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3)
        :
        : "a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
          "s8", "s9", "s10", "s11", "ra", "memory");
    /* clang-format on */
    reader->im2col = a1;
    reader->weights = a2;
}

#else

/* The passes of a mask. */
TFLMGEN_HELPER void tflmgen_conv2d_rv32m_passes(struct tflmgen_conv2d_rv32m_sum *sums,
                                                struct tflmgen_conv2d_rv32m_reader *reader, uint32_t mask)
{
    for (; mask << 1 != 0; mask <<= 1) {
        for (int32_t i = 0; i < 2 * TFLMGEN_CONV2D_RV32M_PAIRS; ++i) {
            uint32_t products = 0;
            for (int32_t value = 0; value < TFLMGEN_CONV2D_RV32M_PASS; ++value) {
                const uint32_t weight = (uint32_t)(int32_t)reader->weights[2 * value + i % 2];
                products += reader->im2col[TFLMGEN_CONV2D_RV32M_PAIRS * value + i / 2] * weight;
                if (value == 3 || (value == 1 && (int32_t)mask < 0)) {
                    sums[i].words += products;
                    sums[i].upper += (int32_t)(products + 0x8000u) >> 16;
                    products = 0;
                }
            }
        }
        reader->im2col += TFLMGEN_CONV2D_RV32M_PASS * TFLMGEN_CONV2D_RV32M_PAIRS;
        reader->weights += TFLMGEN_CONV2D_RV32M_PASS * 2;
    }
}

#endif

/* The outputs of a channel, whose sums are every other one, that of the first lane last: it stays where others have
 * the same place. The channel's constants are read once, since outputs may alias anything. */
TFLMGEN_HELPER void tflmgen_conv2d_rv32m_store(int8_t *output, const struct tflmgen_conv2d_rv32m_sum *sums,
                                               const struct tflmgen_rv32m_channel *channel,
                                               const struct tflmgen_conv2d_rv32m_block *b, bool is_signed)
{
    const uint32_t start = (uint32_t)channel->start;
    const int32_t multiplier = channel->multiplier;
    const int32_t addend = channel->addend;
    const int32_t shift = channel->shift;
    const int32_t bits = b->scale_bits;
    const int32_t sign_fix = is_signed ? 1 << (bits - 1) : 0;
    for (int32_t lane = TFLMGEN_CONV2D_RV32M_LANES - 2; lane >= 0; lane -= 2) {
        const uint32_t upper = (uint32_t)sums[lane].upper;
        const uint32_t lower = sums[lane].words - (upper << 16);
        const int32_t second = (int32_t)(start - (upper << bits));
        const int32_t first = (int32_t)(start - (lower << bits));
        output[b->pixel_offsets[lane + 1]] = tflmgen_output_rv32m_s8(second, multiplier, addend, shift, sign_fix);
        output[b->pixel_offsets[lane]] = tflmgen_output_rv32m_s8(first, multiplier, addend, shift, sign_fix);
    }
}

/* Six pixels times all output channels. */
TFLMGEN_HELPER void tflmgen_conv2d_rv32m_multiply(const tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output,
                                                  const struct tflmgen_conv2d_rv32m_block *b, bool is_signed)
{
    for (int32_t left = b->channels; left > 0; left -= 2, output += 2) {
        const struct tflmgen_rv32m_channel *const channels = (const struct tflmgen_rv32m_channel *)(const void *)stream;
        const tflmgen_u32 *mask = stream + 2 * sizeof(struct tflmgen_rv32m_channel) / 4;
        const int32_t masks = (b->passes + TFLMGEN_CONV2D_RV32M_MASK - 1) / TFLMGEN_CONV2D_RV32M_MASK;
        struct tflmgen_conv2d_rv32m_reader reader = {im2col, (const int8_t *)(mask + masks)};
        struct tflmgen_conv2d_rv32m_sum sums[2 * TFLMGEN_CONV2D_RV32M_PAIRS] = {{0, 0}, {0, 0}, {0, 0},
                                                                                {0, 0}, {0, 0}, {0, 0}};
        for (int32_t i = 0; i < masks; ++i) {
            tflmgen_conv2d_rv32m_passes(sums, &reader, *mask++);
        }
        stream = (const tflmgen_u32 *)(const void *)reader.weights;
        if (left > 1) {
            tflmgen_conv2d_rv32m_store(output + 1, sums + 1, channels + 1, b, is_signed);
        }
        tflmgen_conv2d_rv32m_store(output, sums, channels, b, is_signed);
    }
}

typedef void tflmgen_conv2d_rv32m_function(const tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output,
                                           const struct tflmgen_conv2d_rv32m_block *b);

TFLMGEN_SHARED void tflmgen_conv2d_rv32m_block_clamped(const tflmgen_u32 *im2col, const tflmgen_u32 *stream,
                                                       int8_t *output, const struct tflmgen_conv2d_rv32m_block *b)
{
    tflmgen_conv2d_rv32m_multiply(im2col, stream, output, b, false);
}

TFLMGEN_SHARED void tflmgen_conv2d_rv32m_block_signed(const tflmgen_u32 *im2col, const tflmgen_u32 *stream,
                                                      int8_t *output, const struct tflmgen_conv2d_rv32m_block *b)
{
    tflmgen_conv2d_rv32m_multiply(im2col, stream, output, b, true);
}

/* `count` values of one lane, `step` bytes apart: the lower half of words, which it sets, or then the upper one. */
TFLMGEN_SHARED tflmgen_u32 *tflmgen_conv2d_rv32m_fill(tflmgen_u32 *at, bool is_upper, const int8_t *values,
                                                      int32_t step, int32_t count)
{
    if (is_upper) {
        for (; count > 0; --count, values += step, at += TFLMGEN_CONV2D_RV32M_PAIRS) {
            *at -= (uint32_t)*values << 16;
        }
    } else {
        for (; count > 0; --count, values += step, at += TFLMGEN_CONV2D_RV32M_PAIRS) {
            *at = 0u - (uint32_t)*values;
        }
    }
    return at;
}

/* One pixel's window, wherever it lies, into the lower halves of words, or then into the upper ones. */
TFLMGEN_SHARED void tflmgen_conv2d_rv32m_gather(tflmgen_u32 *at, bool is_upper, const int8_t *image, int32_t y,
                                                int32_t x, const struct tflmgen_conv2d_rv32m_s8 *p)
{
    const int32_t channels = p->input_channels;
    const int8_t padding = (int8_t)p->padding_value;
    const struct tflmgen_taps inside = tflmgen_taps_inside(x, p->dilation_width, p->filter_width, p->input_width);
    const int32_t step = p->dilation_width * channels;
    for (int32_t ky = 0; ky < p->filter_height; ++ky, y += p->dilation_height) {
        if (y < 0 || y >= p->input_height) {
            at = tflmgen_conv2d_rv32m_fill(at, is_upper, &padding, 0, p->filter_width * channels);
            continue;
        }
        const int8_t *const row = image + (y * p->input_width + x) * channels;
        at = tflmgen_conv2d_rv32m_fill(at, is_upper, &padding, 0, inside.first * channels);
        if (p->dilation_width == 1) {
            at = tflmgen_conv2d_rv32m_fill(at, is_upper, row + inside.first * step, 1,
                                           (inside.end - inside.first) * channels);
        } else {
            for (int32_t kx = inside.first; kx < inside.end; ++kx) {
                at = tflmgen_conv2d_rv32m_fill(at, is_upper, row + kx * step, 1, channels);
            }
        }
        at = tflmgen_conv2d_rv32m_fill(at, is_upper, &padding, 0, (p->filter_width - inside.end) * channels);
    }
}

/* `count` values of two pixels, both from their own place on: 6 instructions each, and 5 to loop over four. */
TFLMGEN_SHARED tflmgen_u32 *tflmgen_conv2d_rv32m_fill2(tflmgen_u32 *at, const int8_t *first, const int8_t *second,
                                                       int32_t count)
{
    for (; count >= 4; count -= 4, first += 4, second += 4, at += 4 * TFLMGEN_CONV2D_RV32M_PAIRS) {
        at[0] = 0u - ((uint32_t)first[0] + ((uint32_t)second[0] << 16));
        at[3] = 0u - ((uint32_t)first[1] + ((uint32_t)second[1] << 16));
        at[6] = 0u - ((uint32_t)first[2] + ((uint32_t)second[2] << 16));
        at[9] = 0u - ((uint32_t)first[3] + ((uint32_t)second[3] << 16));
    }
    for (; count > 0; --count, at += TFLMGEN_CONV2D_RV32M_PAIRS) {
        *at = 0u - ((uint32_t)*first++ + ((uint32_t)*second++ << 16));
    }
    return at;
}

/* Where the next window begins. */
struct tflmgen_conv2d_rv32m_cursor {
    const int8_t *image;
    int32_t out_y;
    int32_t out_x;
};

TFLMGEN_HELPER void tflmgen_conv2d_rv32m_skip(struct tflmgen_conv2d_rv32m_cursor *next,
                                              const struct tflmgen_conv2d_rv32m_s8 *p)
{
    if (++next->out_x == p->output_width && !p->backward) {
        next->out_x = 0;
        if (++next->out_y == p->output_height) {
            next->out_y = 0;
            next->image += p->input_height * p->input_width * p->input_channels;
        }
    }
}

TFLMGEN_HELPER bool tflmgen_conv2d_rv32m_is_inside(int32_t y, int32_t x, const struct tflmgen_conv2d_rv32m_s8 *p)
{
    return y >= 0 && y + p->filter_height <= p->input_height && x >= 0 && x + p->filter_width <= p->input_width;
}

/* The next `count` windows, one or two, into a pair of lanes. */
TFLMGEN_SHARED void tflmgen_conv2d_rv32m_gather_next(tflmgen_u32 *at, int32_t count,
                                                     struct tflmgen_conv2d_rv32m_cursor *next,
                                                     const struct tflmgen_conv2d_rv32m_s8 *p)
{
    const struct tflmgen_conv2d_rv32m_cursor first = *next;
    const int32_t y = first.out_y * p->stride_height - p->padding_top;
    const int32_t x = first.out_x * p->stride_width - p->padding_left;
    tflmgen_conv2d_rv32m_skip(next, p);
    if (count < 2) {
        tflmgen_conv2d_rv32m_gather(at, false, first.image, y, x, p);
        return;
    }
    const struct tflmgen_conv2d_rv32m_cursor second = *next;
    const int32_t second_y = second.out_y * p->stride_height - p->padding_top;
    const int32_t second_x = second.out_x * p->stride_width - p->padding_left;
    tflmgen_conv2d_rv32m_skip(next, p);
    if (p->dilation_width != 1 || p->dilation_height != 1 || !tflmgen_conv2d_rv32m_is_inside(y, x, p) ||
        !tflmgen_conv2d_rv32m_is_inside(second_y, second_x, p)) {
        tflmgen_conv2d_rv32m_gather(at, false, first.image, y, x, p);
        tflmgen_conv2d_rv32m_gather(at, true, second.image, second_y, second_x, p);
        return;
    }
    const int32_t line = p->input_width * p->input_channels;
    const int8_t *a = first.image + y * line + x * p->input_channels;
    const int8_t *b = second.image + second_y * line + second_x * p->input_channels;
    for (int32_t ky = 0; ky < p->filter_height; ++ky, a += line, b += line) {
        at = tflmgen_conv2d_rv32m_fill2(at, a, b, p->filter_width * p->input_channels);
    }
}

/* im2col: 3 * 4 * passes words. */
TFLMGEN_SHARED void tflmgen_conv2d_rv32m_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *im2col,
                                             int8_t *output, const struct tflmgen_conv2d_rv32m_s8 *p,
                                             tflmgen_conv2d_rv32m_function *multiply)
{
    const int32_t pixel = p->output_channels;
    struct tflmgen_conv2d_rv32m_block block;
    block.passes = (p->terms + TFLMGEN_CONV2D_RV32M_PASS - 1) / TFLMGEN_CONV2D_RV32M_PASS;
    block.channels = p->output_channels;
    block.scale_bits = p->scale_bits;
    tflmgen_u32 *const values =
        im2col + TFLMGEN_CONV2D_RV32M_PAIRS * (TFLMGEN_CONV2D_RV32M_PASS * block.passes - p->terms);
    for (tflmgen_u32 *word = im2col; word < values; ++word) {
        *word = 0;
    }
    struct tflmgen_conv2d_rv32m_cursor next = {input, 0, 0};
    int8_t *at = output;
    for (int32_t left = p->batches * p->output_height * p->output_width; left > 0; left -= TFLMGEN_CONV2D_RV32M_LANES) {
        const int32_t lanes = tflmgen_min_s32(left, TFLMGEN_CONV2D_RV32M_LANES);
        if (p->backward) {
            next.out_x = left - lanes;
            at = output + next.out_x * pixel;
        }
        for (int32_t lane = 0; lane < lanes; lane += 2) {
            tflmgen_conv2d_rv32m_gather_next(values + lane / 2, lanes - lane, &next, p);
        }
        for (int32_t i = 0; i < TFLMGEN_CONV2D_RV32M_LANES; ++i) {
            block.pixel_offsets[i] = i < lanes ? i * pixel : 0;
        }
        multiply(im2col, stream, at, &block);
        at += TFLMGEN_CONV2D_RV32M_LANES * pixel;
    }
    const int32_t count = p->batches * p->output_height * p->output_width * pixel;
    tflmgen_clamp_rv32m_s8(output, count, p->output_min, p->output_max);
}

/* No output of a negative sum needs the sign fix, or some do. */
TFLMGEN_SHARED void tflmgen_conv2d_rv32m_clamped_s8(const int8_t *input, const tflmgen_u32 *stream, void *im2col,
                                                    int8_t *output, const struct tflmgen_conv2d_rv32m_s8 *p)
{
    tflmgen_conv2d_rv32m_run(input, stream, (tflmgen_u32 *)im2col, output, p, tflmgen_conv2d_rv32m_block_clamped);
}

TFLMGEN_SHARED void tflmgen_conv2d_rv32m_s8(const int8_t *input, const tflmgen_u32 *stream, void *im2col,
                                            int8_t *output, const struct tflmgen_conv2d_rv32m_s8 *p)
{
    tflmgen_conv2d_rv32m_run(input, stream, (tflmgen_u32 *)im2col, output, p, tflmgen_conv2d_rv32m_block_signed);
}

#endif
