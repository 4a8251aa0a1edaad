/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BATCH_MATMUL in int8 of one row for cores with the DSP extension. Nothing but the row is made words, which
 * batch_matmul_dsp.h has: four columns at a time are read as they lie.
 */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_ROW_DSP_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_ROW_DSP_H

#include "batch_matmul_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Two halves, doubled. */
TFLMGEN_HELPER uint32_t tflmgen_batch_matmul_row_dsp_twice(uint32_t halves)
{
    __asm__("sadd16 %0, %0, %0" : "+r"(halves));
    return halves;
}

/* One row times blocks of four columns, in the order in which the assembly reads it. */
struct tflmgen_batch_matmul_row_dsp_columns {
    int8_t *output;
    int32_t output_stride;
    int32_t multiplier;
    int32_t addend;
    int32_t right_shift;
    const tflmgen_u32 *row;
    const tflmgen_u32 *row_end;
    int32_t first_skip; /* bytes from the loop to the first step's code, and to the second one's */
    const int8_t *columns;
    int32_t block; /* bytes to the next four columns */
    const int8_t *end;
    int32_t overlap; /* bytes that the second step begins before the first one's end, negative */
    int32_t skip;
    int32_t stride; /* from a column to the next one, or from a value to the next one */
    uint32_t offsets;
};

/* Four values of four columns that are of one piece each, 16 MACs: LDRD + 4 LDR + 8 SXTAB16 + 8 SMLAD. */
#define TFLMGEN_BATCH_MATMUL_ROW_DSP_COLUMN(load, sum) \
    load "\n\t"                                        \
         "sxtab16 r10, r11, r9\n\t"                    \
         "smlad " sum ", r7, r10, " sum "\n\t"         \
         "sxtab16 r9, r11, r9, ror #8\n\t"             \
         "smlad " sum ", r8, r9, " sum "\n\t"
#define TFLMGEN_BATCH_MATMUL_ROW_DSP_ALONG_BYTES 84
#define TFLMGEN_BATCH_MATMUL_ROW_DSP_ALONG                                                      \
    "ldrd r7, r8, [r0], #8\n\t" TFLMGEN_BATCH_MATMUL_ROW_DSP_COLUMN("ldr.w r9, [r1, r2]", "r4") \
        TFLMGEN_BATCH_MATMUL_ROW_DSP_COLUMN("ldr.w r9, [r1, r2, lsl #1]", "r5")                 \
            TFLMGEN_BATCH_MATMUL_ROW_DSP_COLUMN("ldr.w r9, [r1, lr]", "r6")                     \
                TFLMGEN_BATCH_MATMUL_ROW_DSP_COLUMN("ldr.w r9, [r1], #4", "r3")

/* The same of four columns side by side: LDRD + 4 LDR + 4 PKH + ADD + 8 SXTAB16 + 8 SMLAD. */
#define TFLMGEN_BATCH_MATMUL_ROW_DSP_TWO_VALUES(load0, load2, word) \
    load0 "\n\t" load2 "\n\t"                                       \
          "pkhbt r12, r9, r10, lsl #16\n\t"                         \
          "pkhtb r10, r10, r9, asr #16\n\t"                         \
          "sxtab16 r9, r11, r12\n\t"                                \
          "smlad r3, " word ", r9, r3\n\t"                          \
          "sxtab16 r12, r11, r12, ror #8\n\t"                       \
          "smlad r4, " word ", r12, r4\n\t"                         \
          "sxtab16 r9, r11, r10\n\t"                                \
          "smlad r5, " word ", r9, r5\n\t"                          \
          "sxtab16 r10, r11, r10, ror #8\n\t"                       \
          "smlad r6, " word ", r10, r6\n\t"
#define TFLMGEN_BATCH_MATMUL_ROW_DSP_ACROSS_BYTES 104
#define TFLMGEN_BATCH_MATMUL_ROW_DSP_ACROSS                                                                  \
    "ldrd r7, r8, [r0], #8\n\t" TFLMGEN_BATCH_MATMUL_ROW_DSP_TWO_VALUES("ldr.w r9, [r1]",                    \
                                                                        "ldr.w r10, [r1, r2, lsl #1]", "r7") \
        TFLMGEN_BATCH_MATMUL_ROW_DSP_TWO_VALUES("ldr.w r9, [r1, r2]", "ldr.w r10, [r1, lr]",                 \
                                                "r8") "add.w r1, r1, r2, lsl #2\n\t"

/* Code in front of the loop: a step whose values the next one reads again. */
#define TFLMGEN_BATCH_MATMUL_ROW_DSP_FIRST_BYTES 12

/* A block of columns begins at 1, a pass over four steps at 2, with 3 instructions beside them; a block takes 39.
 * Registers: r0 row, r1 columns, r2 stride, r3-r6 sums, r7-r8 row's words, r9, r10, r12 columns', r11 offsets, lr
 * 3 * stride. Stack: output, output_stride, multiplier, addend, right_shift, row, row_end, first entry; columns, block,
 * end, overlap, entry. */
#define TFLMGEN_BATCH_MATMUL_ROW_DSP_COLUMNS(name, STEP)                                                        \
    TFLMGEN_SHARED void name(const struct tflmgen_batch_matmul_row_dsp_columns *columns)                        \
    {                                                                                                           \
        TFLMGEN_IN_REGISTERS_1(columns);                                                                        \
        __asm__ volatile(                                                                                       \
            "push {r4-r11, lr}\n\t"                                                                             \
            "add r12, r0, #32\n\t"                                                                              \
            "ldmia.w r12, {r1, r3, r4, r5, r6, r7, r8}\n\t"                                                     \
            "mov r2, r7\n\t"                                                                                    \
            "mov r11, r8\n\t"                                                                                   \
            "add lr, r2, r2, lsl #1\n\t"                                                                        \
            "adr r12, 2f\n\t"                                                                                   \
            "add r6, r6, r12\n\t"                                                                               \
            "orr r6, r6, #1\n\t"                                                                                \
            "push {r1, r3, r4, r5, r6}\n\t"                                                                     \
            "ldmia.w r0, {r3, r4, r5, r6, r7, r8, r9, r10}\n\t"                                                 \
            "add r10, r10, r12\n\t"                                                                             \
            "orr r10, r10, #1\n\t"                                                                              \
            "push {r3, r4, r5, r6, r7, r8, r9, r10}\n"                                                          \
            "1:\n\t"                                                                                            \
            "ldr r0, [sp, #20]\n\t"                                                                             \
            "movs r3, #0\n\t"                                                                                   \
            "movs r4, #0\n\t"                                                                                   \
            "movs r5, #0\n\t"                                                                                   \
            "movs r6, #0\n\t"                                                                                   \
            "ldr pc, [sp, #28]\n\t"                                                                             \
            ".p2align 2\n\t" STEP "ldr.w r9, [sp, #44]\n\t"                                                     \
            "add.w r1, r1, r9\n\t"                                                                              \
            "ldr.w pc, [sp, #48]\n"                                                                             \
            "2:\n\t" STEP STEP STEP STEP "ldr r9, [sp, #24]\n\t"                                                \
            "cmp r0, r9\n\t"                                                                                    \
            "bne.w 2b\n\t"                                                                                      \
            "ldmia.w sp, {r0, r1, r7, r8, r9}\n\t" TFLMGEN_BATCH_MATMUL_DSP_OUTPUT("r3", "r7", "r8", "r9")      \
                TFLMGEN_BATCH_MATMUL_DSP_OUTPUT("r4", "r7", "r8", "r9")                                         \
                    TFLMGEN_BATCH_MATMUL_DSP_OUTPUT("r5", "r7", "r8", "r9")                                     \
                        TFLMGEN_BATCH_MATMUL_DSP_OUTPUT("r6", "r7", "r8", "r9") "strb r3, [r0]\n\t"             \
                                                                                "strb r4, [r0, r1]\n\t"         \
                                                                                "strb r5, [r0, r1, lsl #1]\n\t" \
                                                                                "add r12, r1, r1, lsl #1\n\t"   \
                                                                                "strb r6, [r0, r12]\n\t"        \
                                                                                "add r0, r0, r1, lsl #2\n\t"    \
                                                                                "str r0, [sp]\n\t"              \
                                                                                "ldrd r0, r1, [sp, #32]\n\t"    \
                                                                                "add r1, r1, r0\n\t"            \
                                                                                "str r1, [sp, #32]\n\t"         \
                                                                                "ldr r0, [sp, #40]\n\t"         \
                                                                                "cmp r1, r0\n\t"                \
                                                                                "bne.w 1b\n\t"                  \
                                                                                "add sp, sp, #52\n\t"           \
                                                                                "pop {r4-r11, lr}"              \
            : "+r"(r0)                                                                                          \
            :                                                                                                   \
            : "r1", "r2", "r3", "r12", "cc", "memory");                                                         \
    }

/* clang-format off */
TFLMGEN_BATCH_MATMUL_ROW_DSP_COLUMNS(tflmgen_batch_matmul_row_dsp_along, TFLMGEN_BATCH_MATMUL_ROW_DSP_ALONG)
TFLMGEN_BATCH_MATMUL_ROW_DSP_COLUMNS(tflmgen_batch_matmul_row_dsp_across, TFLMGEN_BATCH_MATMUL_ROW_DSP_ACROSS)
/* clang-format on */

/* Values of one row as words, times two: requantisation begins with that. */
TFLMGEN_SHARED void tflmgen_batch_matmul_row_dsp_widen(tflmgen_u32 *to, const int8_t *from, int32_t stride,
                                                       int32_t depth, int32_t offset)
{
    const uint32_t offsets = tflmgen_splat2(offset);
    int32_t next = tflmgen_batch_matmul_dsp_first(depth);
    if (stride == 1) {
        for (const int8_t *const end = from + depth; from != end; from += next, next = 4) {
            const uint32_t x = tflmgen_load4(from);
            *to++ = tflmgen_batch_matmul_row_dsp_twice(tflmgen_add_even_bytes(offsets, x));
            *to++ = tflmgen_batch_matmul_row_dsp_twice(tflmgen_add_odd_bytes(offsets, x));
        }
        return;
    }
    for (; depth > 0; depth -= next, from += next * stride, next = 4) {
        for (int32_t k = 0; k < 2; ++k) {
            const int32_t first = 2 * (from[k * stride] + offset);
            *to++ = tflmgen_lower_halves((uint32_t)first, (uint32_t)(2 * (from[(k + 2) * stride] + offset)));
        }
    }
}

/* One row times at least four columns, of one batch. scratch: the row as words. */
TFLMGEN_SHARED void tflmgen_batch_matmul_row_dsp_matrix(const int8_t *left, const int8_t *right, void *scratch,
                                                        int8_t *output, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    const bool along = p->right_depth_stride == 1;
    const int32_t steps = (p->depth + 3) / 4;
    const int32_t bytes = along ? TFLMGEN_BATCH_MATMUL_ROW_DSP_ALONG_BYTES : TFLMGEN_BATCH_MATMUL_ROW_DSP_ACROSS_BYTES;
    const int32_t overlap = tflmgen_batch_matmul_dsp_first(p->depth) - 4;
    tflmgen_u32 *const words = scratch;
    const int32_t skip = bytes * ((overlap != 0 ? 1 - steps : -steps) & 3);
    struct tflmgen_batch_matmul_row_dsp_columns columns = {
        output,
        p->output_column_stride,
        p->multiplier,
        tflmgen_batch_matmul_dsp_addend(p),
        -p->shift,
        words,
        words + 2 * steps,
        overlap != 0 ? -bytes - TFLMGEN_BATCH_MATMUL_ROW_DSP_FIRST_BYTES : skip,
        right,
        4 * p->right_column_stride,
        right + p->columns / 4 * 4 * p->right_column_stride,
        overlap * p->right_depth_stride,
        skip,
        along ? p->right_column_stride : p->right_depth_stride,
        tflmgen_splat2(-p->right_zero_point)};
    tflmgen_batch_matmul_row_dsp_widen(words, left, p->left_depth_stride, p->depth, -p->left_zero_point);
    tflmgen_batch_matmul_dsp_mask(words, 1, p->depth);
    for (int32_t rest = p->columns % 4;; rest = 0) {
        if (along) {
            tflmgen_batch_matmul_row_dsp_along(&columns);
        } else {
            tflmgen_batch_matmul_row_dsp_across(&columns);
        }
        if (rest == 0) {
            return;
        }
        columns.output = output + (p->columns - 4) * p->output_column_stride;
        columns.columns = right + (p->columns - 4) * p->right_column_stride;
        columns.end = columns.columns + columns.block;
    }
}

/* Products of one row. */
TFLMGEN_SHARED void tflmgen_batch_matmul_row_dsp_s8(const int8_t *left, const int8_t *right, void *scratch,
                                                    int8_t *output, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    tflmgen_batch_matmul_each_s8(left, right, scratch, output, p, tflmgen_batch_matmul_row_dsp_matrix);
}

#endif

#endif
