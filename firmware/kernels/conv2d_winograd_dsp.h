/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 with 3x3 filters and strides of 1, for cores with the DSP extension, by Winograd's minimal filtering
 * F(2x2, 3x3): 16 products for each input channel and four outputs, where the sum itself has 36. Published by Lavin and
 * Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308.
 *
 * Of a 4x4 tile d of the input, V = B^T d B, of a filter g, U = 2G g (2G)^T, both of halves; A^T (sum of U V) A are
 * four times the accumulators of 2x2 outputs. That is exact: 2G has integers only, and since sums wrap, only the result
 * has to fit 32 bits. Padding is the input's zero point, which is folded into the bias like anywhere else.
 *
 * Two tiles are computed at a time, with two output channels (conv2d_winograd_sums_dsp.h). Behind its weights the
 * stream has bias m addend s of either channel: outputs are (hi32((sum + bias) m) + addend) >> s. An odd channel at the
 * end is paired with the one before it, which is computed twice.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_WINOGRAD_DSP_H
#define TFLMGEN_KERNELS_CONV2D_WINOGRAD_DSP_H

#include "conv2d_winograd_sums_dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_conv2d_winograd_dsp_s8 {
    TFLMGEN_IMAGE_FIELDS
    int32_t output_channels;
    int32_t padding_top;
    int32_t padding_left;
    int32_t padding_value;
    int32_t output_min;
    int32_t output_max;
};

/* Where a tile's 2x2 outputs of the next channel go: the first one, bytes to the right one, to the lower one, to the
 * one right of that. Bytes to one that isn't there are 0 in that direction: outputs are stored from the last to the
 * first. */
struct tflmgen_winograd_dsp_tile {
    int8_t *output;
    int32_t right;
    int32_t below;
    int32_t across;
};

/* Four rows of a column from `pixels` on, and their sums and differences: 13 instructions, 18 cycles. The results
 * are in a, rest, c and d; b is free. */
#define TFLMGEN_WINOGRAD_DSP_ROWS(a, b, c, d, rest, rotation)          \
    "ldmia.w r1!, {" a ", " b ", " c ", " d "}\n\t"                    \
    "ldr " a ", [" a ", r2]\n\tldr " b ", [" b ", r2]\n\t"             \
    "ldr " c ", [" c ", r2]\n\tldr " d ", [" d ", r2]\n\t"             \
    "sxtb16 " a ", " a rotation "\n\tsxtb16 " b ", " b rotation "\n\t" \
    "sxtb16 " c ", " c rotation "\n\tsxtb16 " d ", " d rotation "\n\t" \
    "ssub16 " a ", " a ", " c "\n\tssub16 " d ", " b ", " d "\n\t"     \
    "sadd16 " rest ", " b ", " c "\n\tssub16 " c ", " c ", " b "\n\t"

#define TFLMGEN_WINOGRAD_DSP_PUT(a, b, c, d) \
    "str " a ", [r0]\n\t"                    \
    "str " b ", [r0, r3]\n\t"                \
    "str " c ", [r0, r3, lsl #1]\n\t"        \
    "str " d ", [r0, r4]\n\t"

/* Two of four channels of a tile into their word of the 16 positions, by columns 2, 0, 1, 3: 89 instructions, 109
 * cycles. */
/* clang-format off */
#define TFLMGEN_WINOGRAD_DSP_HALF(rotation)                                                           \
    TFLMGEN_WINOGRAD_DSP_ROWS("r5", "r6", "r7", "r8", "r9", rotation)                                 \
    TFLMGEN_WINOGRAD_DSP_ROWS("r6", "r10", "r11", "r12", "lr", rotation)                              \
    "ssub16 r6, r6, r5\n\tssub16 lr, lr, r9\n\tssub16 r11, r11, r7\n\tssub16 r12, r12, r8\n\t"        \
    TFLMGEN_WINOGRAD_DSP_PUT("r6", "lr", "r11", "r12")                                                \
    "add r0, r0, r3, lsr #2\n\t"                                                                      \
    TFLMGEN_WINOGRAD_DSP_ROWS("r6", "r10", "r11", "r12", "lr", rotation)                              \
    "sadd16 r10, r6, r5\n\tssub16 r5, r5, r6\n\tstr r10, [r0]\n\t"                                    \
    "sadd16 r10, lr, r9\n\tssub16 r9, r9, lr\n\tstr r10, [r0, r3]\n\t"                                \
    "sadd16 r10, r11, r7\n\tssub16 r7, r7, r11\n\tstr r10, [r0, r3, lsl #1]\n\t"                      \
    "sadd16 r10, r12, r8\n\tssub16 r8, r8, r12\n\tstr r10, [r0, r4]\n\t"                              \
    "add r0, r0, r3, lsr #2\n\t"                                                                      \
    TFLMGEN_WINOGRAD_DSP_PUT("r5", "r9", "r7", "r8")                                                  \
    "add r0, r0, r3, lsr #2\n\t"                                                                      \
    TFLMGEN_WINOGRAD_DSP_ROWS("r5", "r7", "r8", "r9", "r10", rotation)                                \
    "ssub16 r6, r6, r5\n\tssub16 lr, lr, r10\n\tssub16 r11, r11, r8\n\tssub16 r12, r12, r9\n\t"       \
    TFLMGEN_WINOGRAD_DSP_PUT("r6", "lr", "r11", "r12")                                                \
    "sub r1, r1, #64\n\t"                                                                             \
    "sub r0, r0, r4, lsr #2\n\t"
/* clang-format on */

/* The quads of one tile out of two. pixels: of the 4x4 tile, columns 2, 0, 1, 3, each from its first row to its
 * last. */
TFLMGEN_SHARED void tflmgen_winograd_dsp_transform(tflmgen_u32 *quads, const int8_t *const *pixels, int32_t channels)
{
    TFLMGEN_IN_REGISTERS_3(quads, pixels, channels);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "push {r2}\n\t"
                     "lsl r3, r2, #4\n\t"
                     "add r4, r3, r3, lsl #1\n\t"
                     "mov r2, #0\n"
                     "1:\n\t"
                     TFLMGEN_WINOGRAD_DSP_HALF("")
                     "add r0, r0, #4\n\t"
                     TFLMGEN_WINOGRAD_DSP_HALF(", ror #8")
                     "add r0, r0, #12\n\t"
                     "add r2, r2, #4\n\t"
                     "ldr r5, [sp]\n\t"
                     "cmp r2, r5\n\t"
                     "bne.w 1b\n\t"
                     "add sp, sp, #4\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "r12", "cc", "memory");
    /* clang-format on */
}

/* The tile at (y, x) of the input. padding: a pixel of it. */
TFLMGEN_SHARED void tflmgen_winograd_dsp_gather(tflmgen_u32 *quads, const int8_t *image, int32_t y, int32_t x,
                                                const int8_t *padding, const struct tflmgen_conv2d_winograd_dsp_s8 *p)
{
    const int8_t *pixels[16];
    const int32_t channels = p->input_channels;
    const int32_t line = p->input_width * channels;
    const int8_t *at = image + y * line + x * channels;
    if (y >= 0 && y + 4 <= p->input_height && x >= 0 && x + 4 <= p->input_width) {
        for (int32_t row = 0; row < 4; ++row, at += line) {
            pixels[4 + row] = at;
            pixels[8 + row] = at + channels;
            pixels[row] = at + 2 * channels;
            pixels[12 + row] = at + 3 * channels;
        }
    } else {
        for (int32_t column = 0; column < 4; ++column, at += channels) {
            const int8_t **const slots = pixels + (column < 3 ? (column + 1) % 3 * 4 : 12);
            const bool inside = x + column >= 0 && x + column < p->input_width;
            for (int32_t row = 0; row < 4; ++row) {
                slots[row] = inside && y + row >= 0 && y + row < p->input_height ? at + row * line : padding;
            }
        }
    }
    tflmgen_winograd_dsp_transform(quads, pixels, channels);
}

#define TFLMGEN_WINOGRAD_DSP_SUM(register, row, column, tile) \
    "ldr.w " register ", [r0, #(64 * " row " + 16 * " column " + 4 * " tile ")]\n\t"
#define TFLMGEN_WINOGRAD_DSP_COLUMN(a, b, c, d, column, tile) \
    TFLMGEN_WINOGRAD_DSP_SUM(a, "0", column, tile)            \
    TFLMGEN_WINOGRAD_DSP_SUM(b, "1", column, tile)            \
    TFLMGEN_WINOGRAD_DSP_SUM(c, "2", column, tile) TFLMGEN_WINOGRAD_DSP_SUM(d, "3", column, tile)

#define TFLMGEN_WINOGRAD_DSP_REQUANTIZE_CLAMPED(sum) "smmla " sum ", " sum ", r9, r10\n\t"
#define TFLMGEN_WINOGRAD_DSP_REQUANTIZE_SIGNED(sum) \
    "asr r1, " sum ", #31\n\t"                      \
    "smmla " sum ", " sum ", r9, r10\n\t"           \
    "add " sum ", " sum ", r1, lsl #1\n\t"
#define TFLMGEN_WINOGRAD_DSP_ROUND(sum) \
    "asr " sum ", " sum ", r11\n\t"     \
    "ssat " sum ", #8, " sum "\n\t"

/* One channel of a tile's outputs r3 (first), r4 (right), r5 (below) and r6 (across). Of columns 1 and 2 the sums
 * and the differences, column 0 is added to the left outputs, column 3 subtracted from the right ones: 16 LDR, 25
 * additions, 12 to requantise (20 where signed), 7 to store = 60 instructions, 67 cycles. */
/* clang-format off */
#define TFLMGEN_WINOGRAD_DSP_OUTPUTS(REQUANTIZE, tile)                          \
    TFLMGEN_WINOGRAD_DSP_COLUMN("r3", "r5", "r1", "r12", "1", tile)             \
    TFLMGEN_WINOGRAD_DSP_COLUMN("r4", "r6", "r7", "lr", "2", tile)              \
    "add r5, r5, r8\n\t"                                                        \
    "add r3, r3, r5\n\tadd r3, r3, r1\n\tsub r5, r5, r1\n\tsub r5, r5, r12\n\t" \
    "add r4, r4, r6\n\tadd r4, r4, r7\n\tsub r6, r6, r7\n\tsub r6, r6, lr\n\t"  \
    "sub r1, r3, r4\n\tadd r3, r3, r4\n\tsub r7, r5, r6\n\tadd r5, r5, r6\n\t"  \
    TFLMGEN_WINOGRAD_DSP_COLUMN("r4", "r6", "r12", "lr", "0", tile)             \
    "add r3, r3, r4\n\tadd r3, r3, r6\n\tadd r3, r3, r12\n\t"                   \
    "add r5, r5, r6\n\tsub r5, r5, r12\n\tsub r5, r5, lr\n\t"                   \
    TFLMGEN_WINOGRAD_DSP_COLUMN("r4", "r6", "r12", "lr", "3", tile)             \
    "sub r4, r1, r4\n\tsub r4, r4, r6\n\tsub r4, r4, r12\n\t"                   \
    "sub r6, r7, r6\n\tadd r6, r6, r12\n\tadd r6, r6, lr\n\t"                   \
    REQUANTIZE("r3") REQUANTIZE("r4") REQUANTIZE("r5") REQUANTIZE("r6")         \
    TFLMGEN_WINOGRAD_DSP_ROUND("r3") TFLMGEN_WINOGRAD_DSP_ROUND("r4")           \
    TFLMGEN_WINOGRAD_DSP_ROUND("r5") TFLMGEN_WINOGRAD_DSP_ROUND("r6")           \
    "ldrd r1, r7, [r2, #(16 * " tile ")]\n\t"                                   \
    "ldrd r12, lr, [r2, #(16 * " tile " + 8)]\n\t"                              \
    "strb r6, [r1, lr]\n\t"                                                     \
    "strb r5, [r1, r12]\n\t"                                                    \
    "strb r4, [r1, r7]\n\t"                                                     \
    "strb r3, [r1], #1\n\t"                                                     \
    "str r1, [r2, #(16 * " tile ")]\n\t"

/* The outputs of two channels of two tiles. Registers: r0 sums, r2 tiles, r8-r11 bias, multiplier, addend and shift
 * of a channel. Stack: the next channel's, their end. */
#define TFLMGEN_WINOGRAD_DSP_FINISH(name, REQUANTIZE)                            \
    TFLMGEN_SHARED void name(const tflmgen_s32 *sums, const tflmgen_u32 *scales, \
                             struct tflmgen_winograd_dsp_tile *tiles)            \
    {                                                                            \
        TFLMGEN_IN_REGISTERS_3(sums, scales, tiles);                             \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                 \
                         "add.w r3, r1, #32\n\t"                                 \
                         "push {r1, r3}\n"                                       \
                         "1:\n\t"                                                \
                         "ldr r1, [sp]\n\t"                                      \
                         "ldmia.w r1!, {r8, r9, r10, r11}\n\t"                   \
                         "str r1, [sp]\n\t"                                      \
                         TFLMGEN_WINOGRAD_DSP_OUTPUTS(REQUANTIZE, "0")           \
                         TFLMGEN_WINOGRAD_DSP_OUTPUTS(REQUANTIZE, "1")           \
                         "add.w r0, r0, #8\n\t"                                  \
                         "ldrd r1, r3, [sp]\n\t"                                 \
                         "cmp r1, r3\n\t"                                        \
                         "bne.w 1b\n\t"                                          \
                         "add sp, sp, #8\n\t"                                    \
                         "pop {r4-r11, lr}"                                      \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                          \
                         :                                                       \
                         : "r3", "r12", "cc", "memory");                         \
    }
/* clang-format on */
TFLMGEN_WINOGRAD_DSP_FINISH(tflmgen_winograd_dsp_finish_clamped, TFLMGEN_WINOGRAD_DSP_REQUANTIZE_CLAMPED)
TFLMGEN_WINOGRAD_DSP_FINISH(tflmgen_winograd_dsp_finish_signed, TFLMGEN_WINOGRAD_DSP_REQUANTIZE_SIGNED)

typedef void tflmgen_winograd_dsp_finish_function(const tflmgen_s32 *sums, const tflmgen_u32 *scales,
                                                  struct tflmgen_winograd_dsp_tile *tiles);

/* Where the next tile begins, in pixels of the output. */
struct tflmgen_winograd_dsp_cursor {
    const int8_t *image;
    int8_t *output;
    int32_t y;
    int32_t x;
};

/* Gathers the next tile and moves on. */
TFLMGEN_SHARED struct tflmgen_winograd_dsp_tile
tflmgen_winograd_dsp_next(tflmgen_u32 *quads, struct tflmgen_winograd_dsp_cursor *next, const int8_t *padding,
                          const struct tflmgen_conv2d_winograd_dsp_s8 *p)
{
    const int32_t pixel = p->output_channels;
    const int32_t line = p->output_width * pixel;
    const int32_t right = next->x + 1 < p->output_width ? pixel : 0;
    const int32_t below = next->y + 1 < p->output_height ? line : 0;
    const struct tflmgen_winograd_dsp_tile tile = {next->output + next->y * line + next->x * pixel, right, below,
                                                   right + below};
    tflmgen_winograd_dsp_gather(quads, next->image, next->y - p->padding_top, next->x - p->padding_left, padding, p);
    next->x += 2;
    if (next->x >= p->output_width) {
        next->x = 0;
        next->y += 2;
        if (next->y >= p->output_height) {
            next->y = 0;
            next->image += p->input_height * p->input_width * p->input_channels;
            next->output += p->output_height * line;
        }
    }
    return tile;
}

/* quads: scratch of 64 * input_channels bytes for the quads of two tiles, and a pixel of padding behind them. */
TFLMGEN_SHARED void tflmgen_winograd_dsp_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *quads,
                                             int8_t *output, const struct tflmgen_conv2d_winograd_dsp_s8 *p,
                                             tflmgen_winograd_dsp_sums_function *sums_of,
                                             tflmgen_winograd_dsp_finish_function *finish)
{
    int32_t sums[4 * TFLMGEN_WINOGRAD_DSP_POSITIONS];
    struct tflmgen_winograd_dsp_tile tiles[TFLMGEN_WINOGRAD_DSP_TILES];
    const struct tflmgen_winograd_dsp_loop loop = tflmgen_winograd_dsp_loop_of(p->input_channels / 4 - 1);
    tflmgen_u32 *const padding = quads + 16 * p->input_channels;
    for (int32_t word = 0; word < p->input_channels / 4; ++word) {
        padding[word] = tflmgen_splat4(p->padding_value);
    }
    struct tflmgen_winograd_dsp_cursor next = {input, output, 0, 0};
    int32_t left = p->batches * ((p->output_height + 1) / 2) * ((p->output_width + 1) / 2);
    for (; left > 0; left -= TFLMGEN_WINOGRAD_DSP_TILES) {
        if (left > 1) {
            tiles[0] = tflmgen_winograd_dsp_next(quads, &next, (const int8_t *)padding, p);
        }
        tiles[1] = tflmgen_winograd_dsp_next(quads + 2, &next, (const int8_t *)padding, p);
        if (left == 1) {
            /* What comes of the first tile's place is overwritten by the second one. */
            tiles[0] = tiles[1];
        }
        const tflmgen_u32 *from = stream;
        for (int32_t channel = 0; channel < p->output_channels; channel += 2) {
            if (channel + 1 == p->output_channels) {
                --tiles[0].output;
                --tiles[1].output;
            }
            from = sums_of(quads, from, sums, &loop);
            finish(sums, from, tiles);
            from += 8;
        }
    }
    tflmgen_clamp_dsp_s8(output, p->batches * p->output_height * p->output_width * p->output_channels, p->output_min,
                         p->output_max);
}

/* Any outputs, or those clamped at the zero point (relu); of any number of input channels, or of 16 or 32, for which
 * the loop over them is unrolled. */
#define TFLMGEN_WINOGRAD_DSP(name, CHANNELS, KIND)                                                         \
    TFLMGEN_SHARED void tflmgen_conv2d_winograd_dsp_##name(const int8_t *input, const tflmgen_u32 *stream, \
                                                           void *scratch, int8_t *output,                  \
                                                           const struct tflmgen_conv2d_winograd_dsp_s8 *p) \
    {                                                                                                      \
        tflmgen_winograd_dsp_run(input, stream, scratch, output, p, tflmgen_winograd_dsp_sums_##CHANNELS,  \
                                 tflmgen_winograd_dsp_finish_##KIND);                                      \
    }

TFLMGEN_WINOGRAD_DSP(s8, any, signed)
TFLMGEN_WINOGRAD_DSP(16_s8, 16, signed)
TFLMGEN_WINOGRAD_DSP(32_s8, 32, signed)
TFLMGEN_WINOGRAD_DSP(relu_s8, any, clamped)
TFLMGEN_WINOGRAD_DSP(16_relu_s8, 16, clamped)
TFLMGEN_WINOGRAD_DSP(32_relu_s8, 32, clamped)

#endif

#endif
