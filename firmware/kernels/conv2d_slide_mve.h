/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for cores with MVE, of windows three columns wide that move by one pixel, where a pixel's channels
 * are whole chunks of 16: four windows side by side lie in six columns of the input, and share their loads. The results
 * are those of conv2d.h.
 *
 * A body is one chunk of the six columns of one row, 96 bytes. The buffer has the bodies of the windows' rows in this
 * order, from the outermost loop to the innermost one:
 *     row | chunk | column
 * The weights of a body's three taps, of two output channels, stay in registers while the columns pass by. The stream
 * has the records of conv2d_block_mve.h, with the chunks of a window in the order
 *     row | chunk | tap of the row
 */
#ifndef TFLMGEN_KERNELS_CONV2D_SLIDE_MVE_H
#define TFLMGEN_KERNELS_CONV2D_SLIDE_MVE_H

#include "conv2d_block_mve.h"
#include "window.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_CONV2D_SLIDE_MVE_COLUMNS 6

/* Of a body: 16 values of each column. */
#define TFLMGEN_CONV2D_SLIDE_MVE_BYTES (16 * TFLMGEN_CONV2D_SLIDE_MVE_COLUMNS)

/* The filter is three columns wide. */
struct tflmgen_conv2d_slide_mve_s8 {
    TFLMGEN_IMAGE_FIELDS
    int32_t output_channels;
    int32_t filter_height;
    int32_t stride_height;
    int32_t padding_top;
    int32_t padding_left;
    int32_t padding_value;
    int32_t output_zero_point;
    int32_t sign_fix; /* 1, or 0 where sums below zero are clamped anyway (mve.h) */
    int32_t output_min;
    int32_t output_max;
};

/* Six columns of a window's rows; in the order in which the assembly reads it. */
struct tflmgen_conv2d_slide_mve_columns {
    int32_t chunks;   /* of 16 channels */
    int32_t steps[5]; /* bytes from a column to the next one */
    int32_t row_skip; /* from the end of a pixel to the one below */
    int32_t rows;     /* in the input, at least one */
    int32_t padding;
    int32_t above; /* chunks of padding */
    int32_t below;
};

/* Of 16 values of each column 6 VLDRB, 6 VSTRB, LE; 9 per row. */
TFLMGEN_SHARED void tflmgen_conv2d_slide_mve_gather(int8_t *bodies, const int8_t *from,
                                                    const struct tflmgen_conv2d_slide_mve_columns *columns)
{
    TFLMGEN_IN_REGISTERS_3(bodies, from, columns);
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldmia r2!, {r3, r5, r6, r7, r8, r9, r10, r11}\n\t"
                     "mov r4, r1\n\t"
                     "add r5, r5, r4\n\t"
                     "add r6, r6, r5\n\t"
                     "add r7, r7, r6\n\t"
                     "add r8, r8, r7\n\t"
                     "add r9, r9, r8\n\t"
                     "ldmia r2, {r1, r2, r12}\n\t"
                     "vdup.8 q6, r1\n\t"
                     "wls lr, r2, 2f\n"
                     "1:\n\t"
                     "vstrb.8 q6, [r0], #16\n\t"
                     "le lr, 1b\n"
                     "2:\n\t"
                     "dls lr, r3\n"
                     "3:\n\t"
                     "vldrb.8 q0, [r4], #16\n\t"
                     "vldrb.8 q1, [r5], #16\n\t"
                     "vstrb.8 q0, [r0], #16\n\t"
                     "vldrb.8 q2, [r6], #16\n\t"
                     "vstrb.8 q1, [r0], #16\n\t"
                     "vldrb.8 q3, [r7], #16\n\t"
                     "vstrb.8 q2, [r0], #16\n\t"
                     "vldrb.8 q4, [r8], #16\n\t"
                     "vstrb.8 q3, [r0], #16\n\t"
                     "vldrb.8 q5, [r9], #16\n\t"
                     "vstrb.8 q4, [r0], #16\n\t"
                     "vstrb.8 q5, [r0], #16\n\t"
                     "le lr, 3b\n\t"
                     "add r4, r4, r10\n\t"
                     "add r5, r5, r10\n\t"
                     "add r6, r6, r10\n\t"
                     "add r7, r7, r10\n\t"
                     "add r8, r8, r10\n\t"
                     "add r9, r9, r10\n\t"
                     "subs r11, r11, #1\n\t"
                     "bne 2b\n\t"
                     "wls lr, r12, 5f\n"
                     "4:\n\t"
                     "vstrb.8 q6, [r0], #16\n\t"
                     "le lr, 4b\n"
                     "5:\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "r12", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "cc", "memory");
}

/* Fills a column: VSTRB, LE for 16 values. */
TFLMGEN_HELPER void tflmgen_conv2d_slide_mve_pad(int8_t *column, int32_t padding, int32_t count)
{
    const int8x16_t values = vdupq_n_s8((int8_t)padding);
    __asm__ volatile("dls lr, %[count]\n"
                     "1:\n\t"
                     "vstrb.8 %q[values], [%[column]], #96\n\t"
                     "le lr, 1b"
                     : [column] "+r"(column)
                     : [values] "w"(values), [count] "r"(count)
                     : "lr", "memory");
}

/* Four pixels of a line times all output channels; in the order in which the assembly reads it. */
struct tflmgen_conv2d_slide_mve_block {
    const int8_t *bodies;
    int32_t skip;      /* bytes of code that the first pass of the loop leaves out */
    const int8_t *end; /* of the bodies */
    const int8_t *stream;
    int8_t *output;
    int32_t zero_point;
    int32_t sign_fix;
    tflmgen_u16 outputs[8]; /* where the outputs of a pair of channels go, pixel after pixel */
};

#define TFLMGEN_CONV2D_SLIDE_MVE_BODY_BYTES 144
#define TFLMGEN_CONV2D_SLIDE_MVE_LOOP_BYTES (2 * TFLMGEN_CONV2D_SLIDE_MVE_BODY_BYTES + 6)

/* A body, of four pixels and two channels 384 MACs: 12 loads + 24 VMLADAVA. The accumulators are the even registers,
 * four pixels of each channel. FIRST: of products that may begin a sum. */
/* clang-format off */
#define TFLMGEN_CONV2D_SLIDE_MVE_BODY(FIRST) \
    "vldrb.8 q0, [r9], #16\n\t"              \
    "vldrb.8 q6, [r1], #16\n\t" FIRST        \
    " r0, q6, q0\n\t"                        \
    "vldrb.8 q1, [r9], #16\n\t" FIRST        \
    " r8, q6, q1\n\t"                        \
    "vldrb.8 q5, [r1], #16\n\t" FIRST        \
    " r2, q5, q0\n\t" FIRST                  \
    " r10, q5, q1\n\t"                       \
    "vldrb.8 q2, [r9], #16\n\t"              \
    "vmladava.s8 r0, q5, q2\n\t"             \
    "vldrb.8 q3, [r9], #16\n\t"              \
    "vmladava.s8 r8, q5, q3\n\t"             \
    "vldrb.8 q6, [r1], #16\n\t" FIRST        \
    " r4, q6, q0\n\t" FIRST                  \
    " r12, q6, q1\n\t"                       \
    "vldrb.8 q4, [r9], #16\n\t"              \
    "vmladava.s8 r2, q6, q2\n\t"             \
    "vmladava.s8 r10, q6, q3\n\t"            \
    "vldrb.8 q5, [r9], #16\n\t"              \
    "vmladava.s8 r0, q6, q4\n\t"             \
    "vmladava.s8 r8, q6, q5\n\t"             \
    "vldrb.8 q6, [r1], #16\n\t" FIRST        \
    " r6, q6, q0\n\t" FIRST                  \
    " lr, q6, q1\n\t"                        \
    "vldrb.8 q0, [r1], #16\n\t"              \
    "vmladava.s8 r4, q6, q2\n\t"             \
    "vmladava.s8 r12, q6, q3\n\t"            \
    "vldrb.8 q1, [r1], #16\n\t"              \
    "vmladava.s8 r2, q6, q4\n\t"             \
    "vmladava.s8 r10, q6, q5\n\t"            \
    "vmladava.s8 r6, q0, q2\n\t"             \
    "vmladava.s8 lr, q0, q3\n\t"             \
    "vmladava.s8 r4, q0, q4\n\t"             \
    "vmladava.s8 r12, q0, q5\n\t"            \
    "vmladava.s8 r6, q1, q4\n\t"             \
    "vmladava.s8 lr, q1, q5\n\t"

/* Registers: r1 bodies, r3 where they begin, r5 entry of the first pass, r7 their end, r9 stream, r11 output; q7 where
 * the outputs of a pair go. A pair of channels costs 2 instructions beside its bodies, 2 for every two of them but the
 * first, and 22 after them, for 8 outputs. Stack: zero point, sign_fix. */
TFLMGEN_SHARED void tflmgen_conv2d_slide_mve_run_block(const struct tflmgen_conv2d_slide_mve_block *block)
{
    TFLMGEN_IN_REGISTERS_1(block);
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "vldrw.u32 q7, [r0, #28]\n\t"
                     "ldmia r0, {r3, r5, r7, r9, r11, r12, lr}\n\t"
                     "push {r12, lr}\n\t"
                     "adr.w r0, 2f + 1\n\t"
                     "add r5, r5, r0\n"
                     "1:\n\t"
                     "mov r1, r3\n\t" TFLMGEN_CONV2D_SLIDE_MVE_BODY("vmladav.s8")
                     "mov pc, r5\n\t"
                     ".p2align 2\n"
                     "2:\n\t" TFLMGEN_CONV2D_SLIDE_MVE_BODY("vmladava.s8") TFLMGEN_CONV2D_SLIDE_MVE_BODY("vmladava.s8")
                     "cmp r1, r7\n\t"
                     "bne.w 2b\n\t"
                     TFLMGEN_CONV2D_MVE_OUTPUTS("ldrd r12, lr, [sp]\n\t", "r12", TFLMGEN_CONV2D_MVE_SIGNED, "lr")
                     "bcc.w 1b\n\t"
                     "add sp, sp, #8\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0)
                     :
                     : "r1", "r2", "r3", "r12", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
}
/* clang-format on */

/* Gathers columns of which those before `first` and from `end` on are padding. */
TFLMGEN_SHARED void tflmgen_conv2d_slide_mve_gather_clipped(int8_t *bodies, const int8_t *from, int32_t first,
                                                            int32_t end,
                                                            const struct tflmgen_conv2d_slide_mve_columns *columns,
                                                            int32_t count)
{
    struct tflmgen_conv2d_slide_mve_columns clipped = *columns;
    for (int32_t column = 0; column < TFLMGEN_CONV2D_SLIDE_MVE_COLUMNS - 1; ++column) {
        if (column < first || column + 1 >= end) {
            clipped.steps[column] = 0;
        }
    }
    tflmgen_conv2d_slide_mve_gather(bodies, from + tflmgen_max_s32(first, 0) * columns->steps[0], &clipped);
    for (int32_t column = 0; column < TFLMGEN_CONV2D_SLIDE_MVE_COLUMNS; ++column, bodies += 16) {
        if (column < first || column >= end) {
            tflmgen_conv2d_slide_mve_pad(bodies, columns->padding, count);
        }
    }
}

/* bodies: TFLMGEN_CONV2D_SLIDE_MVE_BYTES for 16 channels of each row. */
TFLMGEN_SHARED void tflmgen_conv2d_slide_mve_run(const int8_t *input, const int8_t *stream, int8_t *bodies,
                                                 int8_t *output, const struct tflmgen_conv2d_slide_mve_s8 *p)
{
    const int32_t channels = p->input_channels;
    const int32_t chunks = channels / 16;
    const int32_t count = p->filter_height * chunks;
    const int32_t line = p->input_width * channels;
    const int32_t last = p->output_width - TFLMGEN_CONV2D_MVE_PIXELS;
    struct tflmgen_conv2d_slide_mve_columns columns = {
        chunks, {channels, channels, channels, channels, channels}, line - channels, 0, p->padding_value, 0, 0};
    struct tflmgen_conv2d_slide_mve_block block = {bodies,
                                                   count == 1 ? TFLMGEN_CONV2D_SLIDE_MVE_LOOP_BYTES
                                                              : (count + 1) % 2 * TFLMGEN_CONV2D_SLIDE_MVE_BODY_BYTES,
                                                   bodies + count * TFLMGEN_CONV2D_SLIDE_MVE_BYTES,
                                                   stream,
                                                   output,
                                                   p->output_zero_point,
                                                   p->sign_fix,
                                                   {0, 0, 0, 0, 0, 0, 0, 0}};
    tflmgen_conv2d_mve_place(block.outputs, p->output_channels, TFLMGEN_CONV2D_MVE_PIXELS - 1, p->output_channels == 1);
    const int32_t rows = p->batches * p->output_height;
    int8_t *at = output;
    for (int32_t row = 0, out_y = 0; row < rows; ++row) {
        const int32_t y = out_y * p->stride_height - p->padding_top;
        const int32_t above = tflmgen_max_s32(-y, 0);
        const int32_t below = tflmgen_max_s32(y + p->filter_height - p->input_height, 0);
        const int8_t *const from = input + (y + above) * line;
        columns.rows = p->filter_height - above - below;
        columns.above = above * chunks * TFLMGEN_CONV2D_SLIDE_MVE_COLUMNS;
        columns.below = below * chunks * TFLMGEN_CONV2D_SLIDE_MVE_COLUMNS;
        for (int32_t out_x = 0; out_x < p->output_width; out_x += TFLMGEN_CONV2D_MVE_PIXELS) {
            /* The last block of a line overlaps with the one before. */
            const int32_t begin = tflmgen_min_s32(out_x, last);
            const int32_t x = begin - p->padding_left;
            if (x >= 0 && x + TFLMGEN_CONV2D_SLIDE_MVE_COLUMNS <= p->input_width) {
                tflmgen_conv2d_slide_mve_gather(bodies, from + x * channels, &columns);
            } else {
                tflmgen_conv2d_slide_mve_gather_clipped(bodies, from + x * channels, -x, p->input_width - x, &columns,
                                                        count);
            }
            block.output = at + begin * p->output_channels;
            tflmgen_conv2d_slide_mve_run_block(&block);
        }
        at += p->output_width * p->output_channels;
        if (++out_y == p->output_height) {
            out_y = 0;
            input += p->input_height * line;
        }
    }
    tflmgen_clamp_dsp_s8(output, rows * p->output_width * p->output_channels, p->output_min, p->output_max);
}

/* On the stack as much as an im2col buffer of conv2d_block_mve.h. */
TFLMGEN_KERNEL_WITH_BUFFER(tflmgen_conv2d_slide_mve, int8_t, TFLMGEN_CONV2D_MVE_STACK_BYTES)

#endif

#endif
