/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BATCH_MATMUL in int8 for cores with MVE: four rows of the left matrix times two columns of the right one at a time.
 * The results are those of batch_matmul.h.
 *
 * A chunk is 16 values of a row or column, a vector register; they are filled up with zeros to whole chunks. A panel is
 * a number of columns, two side by side, chunk after chunk; every four rows are brought into order once for each panel:
 *
 *     chunk 0: column 0 | column 1      chunk 1: ...      bias of 0 | of 1 | bytes to the next pair's outputs, last -1
 *     chunk 0: row 0 | row 1 | row 2 | row 3      chunk 1: ...
 *
 * Of a zero point of the left matrix the biases are made, of one of the right matrix what is added to them for a row.
 * Of fewer than four rows the last one is computed several times, and so is an only column; of other numbers of rows
 * and columns the last ones are computed again with those before.
 */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_MVE_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_MVE_H

#include "batch_matmul.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* How the vectors of an operand lie, rows of the left or columns of the right one. */
struct tflmgen_batch_matmul_mve_vectors {
    int32_t stride; /* from a vector to the next one */
    int32_t depth_stride;
    int32_t depth;
};

/* Four rows and the columns of a panel, in the order in which the assembly reads it. */
struct tflmgen_batch_matmul_mve_block {
    int32_t starts[4];      /* of the rows' sums */
    tflmgen_u16 outputs[8]; /* where the outputs of a pair of columns go, row after row */
    int8_t *output;
    const int8_t *rows;
    const int8_t *rows_end;
    int32_t skip; /* bytes of code that the first pass leaves out */
    const int8_t *panel;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
};

#define TFLMGEN_BATCH_MATMUL_MVE_CHUNK_BYTES 56
#define TFLMGEN_BATCH_MATMUL_MVE_END_BYTES 12 /* behind two columns */
#define TFLMGEN_BATCH_MATMUL_MVE_LOOP_BYTES (4 * TFLMGEN_BATCH_MATMUL_MVE_CHUNK_BYTES + 6)

/* 16 values of four rows times two columns, 128 MACs: 6 VLDRB + 8 VMLADAV. The sums are the even registers. */
/* clang-format off */
#define TFLMGEN_BATCH_MATMUL_MVE_CHUNK(vmladav) \
    "vldrb.8 q4, [r9], #16\n\t"                 \
    "vldrb.8 q6, [r1], #16\n\t"                 \
    vmladav ".s8 r0, q6, q4\n\t"                \
    "vldrb.8 q5, [r9], #16\n\t"                 \
    vmladav ".s8 r8, q6, q5\n\t"                \
    "vldrb.8 q6, [r1], #16\n\t"                 \
    vmladav ".s8 r2, q6, q4\n\t"                \
    vmladav ".s8 r10, q6, q5\n\t"               \
    "vldrb.8 q6, [r1], #16\n\t"                 \
    vmladav ".s8 r4, q6, q4\n\t"                \
    vmladav ".s8 r12, q6, q5\n\t"               \
    "vldrb.8 q6, [r1], #16\n\t"                 \
    vmladav ".s8 r6, q6, q4\n\t"                \
    vmladav ".s8 lr, q6, q5\n\t"

/* Four rows times a panel. Two columns begin at 1, a pass over four chunks at 2, with 2 instructions beside them; eight
 * outputs take 24 beside their chunks. ADDS moves the output on; it sets the carry where -1 is added. Registers: q0
 * multiplier, q1 shift, q2 zero point, q3 starts, q7 where outputs go; r1 rows, r3 sign fix, r5 entry of the first
 * pass, r7 rows' end, r9 panel, r11 output. Stack: rows. */
TFLMGEN_SHARED void tflmgen_batch_matmul_mve_rows(const struct tflmgen_batch_matmul_mve_block *block)
{
    TFLMGEN_IN_REGISTERS_1(block);
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "vldrw.u32 q3, [r0], #16\n\t"
                     "vldrw.u32 q7, [r0], #16\n\t"
                     "ldmia.w r0, {r1, r2, r3, r4, r5, r6, r8, r10}\n\t"
                     "vdup.32 q0, r6\n\t"
                     "vdup.32 q1, r8\n\t"
                     "vdup.16 q2, r10\n\t"
                     "push {r2}\n\t"
                     "mov r11, r1\n\t"
                     "mov r7, r3\n\t"
                     "mov r9, r5\n\t"
                     "adr.w r5, 2f + 1\n\t"
                     "add r5, r5, r4\n\t"
                     "mov r3, #1\n"
                     "1:\n\t"
                     "ldr r1, [sp]\n\t"
                     TFLMGEN_BATCH_MATMUL_MVE_CHUNK("vmladav")
                     "mov pc, r5\n\t"
                     ".p2align 2\n"
                     "2:\n\t"
                     ".rept 4\n\t" TFLMGEN_BATCH_MATMUL_MVE_CHUNK("vmladava") ".endr\n\t"
                     "cmp r1, r7\n\t"
                     "bne.w 2b\n\t"
                     "vmov d8, r0, r2\n\t"
                     "vmov d9, r4, r6\n\t"
                     "vmov d10, r8, r10\n\t"
                     "vmov d11, r12, lr\n\t"
                     "ldmia.w r9!, {r0, r2, r4}\n\t"
                     "vadd.i32 q4, q4, q3\n\t"
                     "vadd.i32 q5, q5, q3\n\t"
                     "vadd.i32 q4, q4, r0\n\t"
                     "vadd.i32 q5, q5, r2\n\t"
                     TFLMGEN_REQUANTIZE_MVE("q4", "q0", "q4, q1", "r3")
                     TFLMGEN_REQUANTIZE_MVE("q5", "q0", "q5, q1", "r3")
                     "vqmovnb.s32 q4, q4\n\t"
                     "vqmovnt.s32 q4, q5\n\t"
                     "vqadd.s16 q4, q4, q2\n\t"
                     "vqmovnb.s16 q4, q4\n\t"
                     "vstrb.16 q4, [r11, q7]\n\t"
                     "adds r11, r11, r4\n\t"
                     "bcc.w 1b\n\t"
                     "pop {r2, r4-r11, lr}"
                     : "+r"(r0)
                     :
                     : "r1", "r2", "r3", "r12", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
}
/* clang-format on */

/* Two and four vectors that are of one piece each into chunks side by side, and the sums of their values. 16 of each:
 * VCTP, VPST, a VLDRB, VSTRB and VADDVA for each vector, SUBS and BGT. */
TFLMGEN_HELPER void tflmgen_batch_matmul_mve_along2(int8_t *to, const int8_t *from, int32_t stride, int32_t depth,
                                                    int32_t sums[2])
{
    const int8_t *other = from + stride;
    int32_t sum0 = 0, sum1 = 0;
    __asm__ volatile("1:\n\t"
                     "vctp.8 %[depth]\n\t"
                     "vpstt\n\t"
                     "vldrbt.8 q0, [%[from]], #16\n\t"
                     "vldrbt.8 q1, [%[other]], #16\n\t"
                     "vstrb.8 q0, [%[to]], #16\n\t"
                     "vaddva.s8 %[sum0], q0\n\t"
                     "vstrb.8 q1, [%[to]], #16\n\t"
                     "vaddva.s8 %[sum1], q1\n\t"
                     "subs %[depth], %[depth], #16\n\t"
                     "bgt 1b"
                     : [to] "+r"(to), [from] "+r"(from), [other] "+r"(other), [depth] "+r"(depth), [sum0] "+Te"(sum0),
                       [sum1] "+Te"(sum1)
                     :
                     : "q0", "q1", "cc", "memory");
    sums[0] = sum0;
    sums[1] = sum1;
}

TFLMGEN_HELPER void tflmgen_batch_matmul_mve_along4(int8_t *to, const int8_t *const from[4], int32_t depth,
                                                    int32_t sums[4])
{
    const int8_t *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    __asm__ volatile("1:\n\t"
                     "vctp.8 %[depth]\n\t"
                     "vpstttt\n\t"
                     "vldrbt.8 q0, [%[a]], #16\n\t"
                     "vldrbt.8 q1, [%[b]], #16\n\t"
                     "vldrbt.8 q2, [%[c]], #16\n\t"
                     "vldrbt.8 q3, [%[d]], #16\n\t"
                     "vstrb.8 q0, [%[to]], #16\n\t"
                     "vaddva.s8 %[sum0], q0\n\t"
                     "vstrb.8 q1, [%[to]], #16\n\t"
                     "vaddva.s8 %[sum1], q1\n\t"
                     "vstrb.8 q2, [%[to]], #16\n\t"
                     "vaddva.s8 %[sum2], q2\n\t"
                     "vstrb.8 q3, [%[to]], #16\n\t"
                     "vaddva.s8 %[sum3], q3\n\t"
                     "subs %[depth], %[depth], #16\n\t"
                     "bgt 1b"
                     : [to] "+r"(to), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [depth] "+r"(depth),
                       [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2), [sum3] "+Te"(sum3)
                     :
                     : "q0", "q1", "q2", "q3", "cc", "memory");
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* `count` values, of which eight are in a chunk, and that lie apart as `places` says; their sum is added. Eight of
 * them: a gathering VLDRB, VSTRB, 2 ADD, VADDVA, LETP. */
TFLMGEN_HELPER int32_t tflmgen_batch_matmul_mve_halves(int32_t sum, int8_t *to, int32_t step, const int8_t *from,
                                                       uint16x8_t places, int32_t chunk, int32_t count)
{
    __asm__ volatile("wlstp.16 lr, %[count], 2f\n"
                     "1:\n\t"
                     "vldrb.s16 q0, [%[from], %q[places]]\n\t"
                     "vstrb.16 q0, [%[to]]\n\t"
                     "add %[from], %[from], %[chunk]\n\t"
                     "add %[to], %[to], %[step]\n\t"
                     "vaddva.s16 %[sum], q0\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [to] "+l"(to), [from] "+r"(from), [sum] "+Te"(sum)
                     : [step] "r"(step), [places] "w"(places), [chunk] "r"(chunk), [count] "r"(count)
                     : "lr", "q0", "memory");
    return sum;
}

/* A vector in pieces into chunks that are `step` bytes apart; the sum of its values. */
TFLMGEN_SHARED int32_t tflmgen_batch_matmul_mve_across(int8_t *to, int32_t step, const int8_t *from,
                                                       const struct tflmgen_batch_matmul_mve_vectors *v)
{
    const int32_t whole = v->depth / 16;
    const int32_t rest = v->depth % 16;
    if (rest != 0) {
        vstrbq_s8(to + whole * step, vdupq_n_s8(0));
    }
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)v->depth_stride);
    const int32_t chunk = 16 * v->depth_stride;
    const int32_t first = 8 * whole + tflmgen_min_s32(rest, 8);
    const int32_t sum = tflmgen_batch_matmul_mve_halves(0, to, step, from, places, chunk, first);
    return tflmgen_batch_matmul_mve_halves(sum, to + 8, step, from + chunk / 2, places, chunk, v->depth - first);
}

/* Four rows from `from` on, where fewer are left the last one again, and what their sums begin with. */
TFLMGEN_SHARED void tflmgen_batch_matmul_mve_pack_rows(int8_t *to, const int8_t *from, int32_t rows, int32_t factor,
                                                       tflmgen_s32 *starts,
                                                       const struct tflmgen_batch_matmul_mve_vectors *v)
{
    const int8_t *lanes[4];
    int32_t sums[4];
    for (int32_t row = 0; row < 4; ++row) {
        lanes[row] = from;
        from += row + 1 < rows ? v->stride : 0;
    }
    if (v->depth_stride == 1) {
        tflmgen_batch_matmul_mve_along4(to, lanes, v->depth, sums);
    } else {
        for (int32_t row = 0; row < 4; ++row) {
            sums[row] = tflmgen_batch_matmul_mve_across(to + 16 * row, 64, lanes[row], v);
        }
    }
    vst1q_s32(starts, vmulq_n_s32(vld1q_s32(sums), factor));
}

/* Columns, the bias of each being factor * (sum of its values - offset). advance: bytes from a column's outputs to the
 * next one's. */
TFLMGEN_SHARED void tflmgen_batch_matmul_mve_pack_columns(int8_t *to, const int8_t *from, int32_t columns,
                                                          int32_t factor, int32_t offset, int32_t advance,
                                                          const struct tflmgen_batch_matmul_mve_vectors *v)
{
    const int32_t bytes = (v->depth + 15) / 16 * 32;
    const int32_t other = columns > 1 ? v->stride : 0;
    for (int32_t left = columns; left > 0; left -= 2) {
        int32_t sums[2];
        if (v->depth_stride == 1) {
            tflmgen_batch_matmul_mve_along2(to, from, other, v->depth, sums);
        } else {
            sums[0] = tflmgen_batch_matmul_mve_across(to, 32, from, v);
            sums[1] = tflmgen_batch_matmul_mve_across(to + 16, 32, from + other, v);
        }
        const int32_t next = left == 3 ? 1 : 2;
        tflmgen_s32 *const ends = (tflmgen_s32 *)(void *)(to + bytes);
        ends[0] = factor * (sums[0] - offset);
        ends[1] = factor * (sums[1] - offset);
        ends[2] = left > 2 ? next * advance : -1;
        from += next * v->stride;
        to += bytes + TFLMGEN_BATCH_MATMUL_MVE_END_BYTES;
    }
}

/* The matrices of one batch. scratch: four rows, then a panel. */
TFLMGEN_SHARED void tflmgen_batch_matmul_mve_matrix(const int8_t *left, const int8_t *right, void *scratch,
                                                    int8_t *output, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    const struct tflmgen_batch_matmul_mve_vectors rows = {p->left_row_stride, p->left_depth_stride, p->depth};
    const struct tflmgen_batch_matmul_mve_vectors columns = {p->right_column_stride, p->right_depth_stride, p->depth};
    const int32_t chunks = (p->depth + 15) / 16;
    int8_t *const panel = (int8_t *)scratch + 64 * chunks;
    struct tflmgen_batch_matmul_mve_block block;
    block.rows = scratch;
    block.rows_end = panel;
    block.skip =
        chunks > 1 ? ((1 - chunks) & 3) * TFLMGEN_BATCH_MATMUL_MVE_CHUNK_BYTES : TFLMGEN_BATCH_MATMUL_MVE_LOOP_BYTES;
    block.panel = panel;
    block.multiplier = p->multiplier;
    block.shift = p->shift;
    block.zero_point = p->output_zero_point;
    for (int32_t i = 0; i < 8; ++i) {
        const int32_t column = tflmgen_min_s32(i & 1, p->columns - 1) * p->output_column_stride;
        block.outputs[i] = (uint16_t)(tflmgen_min_s32(i / 2, p->rows - 1) * p->output_row_stride + column);
    }
    for (int32_t column = 0; column < p->columns; column += p->panel) {
        const int32_t begin = tflmgen_max_s32(tflmgen_min_s32(column, p->columns - 2), 0);
        const int32_t count = tflmgen_min_s32(p->panel, p->columns - begin);
        tflmgen_batch_matmul_mve_pack_columns(panel, right + begin * p->right_column_stride, count, -p->left_zero_point,
                                              p->depth * p->right_zero_point, p->output_column_stride, &columns);
        for (int32_t four = 0; four < p->rows; four += 4) {
            const int32_t row = tflmgen_max_s32(tflmgen_min_s32(four, p->rows - 4), 0);
            tflmgen_batch_matmul_mve_pack_rows(scratch, left + row * p->left_row_stride, p->rows, -p->right_zero_point,
                                               block.starts, &rows);
            block.output = output + row * p->output_row_stride + begin * p->output_column_stride;
            tflmgen_batch_matmul_mve_rows(&block);
        }
    }
}

TFLMGEN_SHARED void tflmgen_batch_matmul_mve_s8(const int8_t *left, const int8_t *right, void *scratch, int8_t *output,
                                                const struct tflmgen_batch_matmul_panels_s8 *p)
{
    tflmgen_batch_matmul_each_s8(left, right, scratch, output, p, tflmgen_batch_matmul_mve_matrix);
}

#endif

#endif
