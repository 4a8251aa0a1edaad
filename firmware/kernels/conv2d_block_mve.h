/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The inner loops of CONV_2D in int8 for cores with MVE: a block of four output pixels times all output channels, two
 * channels at a time. The results are those of conv2d.h.
 *
 * A chunk is 16 values of a window, a vector register. The im2col buffer has each chunk of the four windows, the lanes:
 *
 *     chunk 0: 16 values of lane 0 | of 1 | of 2 | of 3       chunk 1: ...                              64 bytes each
 *
 * The first chunks stay in registers; where a window has no more, they are read from where the input has them. The
 * stream has a record for each pair of output channels (0, 1), in the order of use; windows are filled up with zero
 * weights to whole chunks:
 *
 *     (16 weights of 0, 16 weights of 1) * chunks | bias0 m0 s0 bias1 m1 s1
 *
 * The low byte of s0 and s1 is -r (mve.h), and s1 / 256 the number of channels to the next pair, -1 at the end. With an
 * odd number of channels the last pair begins one channel earlier, and computes a channel twice.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_BLOCK_MVE_H
#define TFLMGEN_KERNELS_CONV2D_BLOCK_MVE_H

#include "mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Blocks of four pixels, in the order in which the assembly reads it. The first three numbers move on from block to
 * block. */
struct tflmgen_conv2d_mve_blocks {
    const int8_t *windows; /* the first 16 values of the first pixel */
    int8_t *output;
    int32_t count;           /* blocks that remain; 0 for one block */
    int32_t pixel_step;      /* bytes from a pixel's first 16 values to the next pixel's */
    int32_t buffered_chunks; /* from the im2col buffer's second one to `end` */
    int32_t skip_bytes;      /* of code that the first pass leaves out */
    const int8_t *end;       /* of the im2col buffer; for short windows what the loads' distances count from */
    const int8_t *stream;
    int32_t zero_point;
    int32_t copied; /* chunks behind the first that are copied from the input to the im2col buffer: all, or none */
    tflmgen_u16 outputs[8]; /* where the outputs of a pair of channels go, pixel after pixel */
    int32_t advance[4];     /* added to the first four numbers after each block */
    int32_t sign_fix;       /* 1, or 0 where sums below zero are clamped anyway; short windows' functions know it */
};

typedef void tflmgen_conv2d_mve_block_function(struct tflmgen_conv2d_mve_blocks *blocks);

#define TFLMGEN_CONV2D_MVE_PIXELS 4 /* of a block */

/* An im2col buffer on the stack: windows of nine chunks. */
#define TFLMGEN_CONV2D_MVE_STACK_BYTES (64 * 9)

#define TFLMGEN_CONV2D_MVE_CHUNK_BYTES 56
#define TFLMGEN_CONV2D_MVE_ANY_BYTES (4 * TFLMGEN_CONV2D_MVE_CHUNK_BYTES + 6) /* of the loop of any windows */
#define TFLMGEN_CONV2D_MVE_SHORT 9                                            /* chunks that are straight code */

/* 16 values of four pixels times two channels, 128 MACs: 6 loads + 8 VMLADAVA = 14 instructions. load0 to load3 load
 * the values of a lane to q6. The sums are the even registers: r0, r2, r4 and r6 of channel 0, r8, r10, r12 and lr of
 * channel 1. */
/* clang-format off */
#define TFLMGEN_CONV2D_MVE_CHUNK(load0, load1, load2, load3) \
    "vldrb.8 q4, [r9], #16\n\t" load0                        \
    "vmladava.s8 r0, q6, q4\n\t"                             \
    "vldrb.8 q5, [r9], #16\n\t"                              \
    "vmladava.s8 r8, q6, q5\n\t" load1                       \
    "vmladava.s8 r2, q6, q4\n\t"                             \
    "vmladava.s8 r10, q6, q5\n\t" load2                      \
    "vmladava.s8 r4, q6, q4\n\t"                             \
    "vmladava.s8 r12, q6, q5\n\t" load3                      \
    "vmladava.s8 r6, q6, q4\n\t"                             \
    "vmladava.s8 lr, q6, q5\n\t"

/* The first 16 values, which are in q0 to q3: 2 loads + 8 VMLADAV. */
#define TFLMGEN_CONV2D_MVE_FIRST_CHUNK \
    "vldrb.8 q4, [r9], #16\n\t"        \
    "vmladav.s8 r0, q0, q4\n\t"        \
    "vldrb.8 q5, [r9], #16\n\t"        \
    "vmladav.s8 r8, q0, q5\n\t"        \
    "vmladav.s8 r2, q1, q4\n\t"        \
    "vmladav.s8 r10, q1, q5\n\t"       \
    "vmladav.s8 r4, q2, q4\n\t"        \
    "vmladav.s8 r12, q2, q5\n\t"       \
    "vmladav.s8 r6, q3, q4\n\t"        \
    "vmladav.s8 lr, q3, q5\n\t"
/* clang-format on */

/* The sign fix (mve.h), which a register holds; or none. */
#define TFLMGEN_CONV2D_MVE_CLAMPED(sums, sign_fix) ""
#define TFLMGEN_CONV2D_MVE_SIGNED(sums, sign_fix) "vqdmlah.s32 " sums ", " sums ", " sign_fix "\n\t"

/* Short windows: up to nine chunks are straight code, at fixed offsets from 256 bytes in front of the im2col buffer's
 * end (r7). r1: 1 where signed, r3: zero point. */
#define TFLMGEN_CONV2D_MVE_SHORT_ENTER "mov r3, r9\n\t"
#define TFLMGEN_CONV2D_MVE_SHORT_LOAD(offset) "vldrw.u32 q6, [r7, #" offset "]\n\t"
/* clang-format off */
#define TFLMGEN_CONV2D_MVE_SHORT_LOOP                                        \
    ".irp offset, -256, -192, -128, -64, 0, 64, 128, 192\n\t"                \
    TFLMGEN_CONV2D_MVE_CHUNK(TFLMGEN_CONV2D_MVE_SHORT_LOAD("\\offset"),      \
                             TFLMGEN_CONV2D_MVE_SHORT_LOAD("\\offset + 16"), \
                             TFLMGEN_CONV2D_MVE_SHORT_LOAD("\\offset + 32"), \
                             TFLMGEN_CONV2D_MVE_SHORT_LOAD("\\offset + 48")) \
    ".endr\n\t"

/* Windows of any length: a loop over the chunks, at 6, which is unrolled 4 times. r1: im2col buffer, r3: where it
 * begins. Stack: 4 zero point, 8 sign_fix. */
#define TFLMGEN_CONV2D_MVE_ANY_ENTER    \
    "ldr r12, [sp]\n\t"                 \
    "ldr r12, [r12, #72]\n\t"           \
    "strd r9, r12, [sp, #4]\n\t"        \
    "sub r3, r7, r5, lsl #6\n\t"
#define TFLMGEN_CONV2D_MVE_ANY_LOAD "vldrb.8 q6, [r1], #16\n\t"
#define TFLMGEN_CONV2D_MVE_ANY_LOOP                                                        \
    ".rept 4\n\t"                                                                          \
    TFLMGEN_CONV2D_MVE_CHUNK(TFLMGEN_CONV2D_MVE_ANY_LOAD, TFLMGEN_CONV2D_MVE_ANY_LOAD,     \
                             TFLMGEN_CONV2D_MVE_ANY_LOAD, TFLMGEN_CONV2D_MVE_ANY_LOAD)     \
    ".endr\n\t"                                                                            \
    "cmp r1, r7\n\t"                                                                       \
    "bne.w 6b\n\t"

/* The outputs of a pair of channels, from its sums. zero_point and sign_fix: their registers, which LOAD_CONSTANTS
 * sets. ADDS moves the output to the next pair. It sets the carry at the end of the stream, where -1 is added. */
#define TFLMGEN_CONV2D_MVE_OUTPUTS(LOAD_CONSTANTS, zero_point, SIGN_FIX, sign_fix) \
    "vmov d8, r0, r2\n\t"                                                          \
    "vmov d9, r4, r6\n\t"                                                          \
    "vmov d10, r8, r10\n\t"                                                        \
    "vmov d11, r12, lr\n\t" LOAD_CONSTANTS                                         \
    "ldmia.w r9!, {r0, r2, r4, r6, r8, r10}\n\t"                                   \
    "vadd.i32 q4, q4, r0\n\t"                                                      \
    "vqrdmulh.s32 q4, q4, r2\n\t" SIGN_FIX("q4", sign_fix)                         \
    "vrshl.s32 q4, r4\n\t"                                                         \
    "vadd.i32 q5, q5, r6\n\t"                                                      \
    "vqrdmulh.s32 q5, q5, r8\n\t" SIGN_FIX("q5", sign_fix)                         \
    "vrshl.s32 q5, r10\n\t"                                                        \
    "vqmovnb.s32 q4, q4\n\t"                                                       \
    "vqmovnt.s32 q4, q5\n\t"                                                       \
    "vqadd.s16 q4, q4, " zero_point "\n\t"                                         \
    "vqmovnb.s16 q4, q4\n\t"                                                       \
    "vstrb.16 q4, [r11, q7]\n\t"                                                   \
    "adds.w r11, r11, r10, asr #8\n\t"

/* ENTER comes in front of all pairs of channels, BEGIN in front of each; LOOP are all chunks but the first one. A
 * block begins at 1, a pair at 5; the loop at 2 copies chunks from the input to the im2col buffer.
 *
 * Registers: q0 to q3 first chunks, r5 entry of the first pass, r7 `end`, r9 stream, r11 output; q7 where the outputs
 * of a pair go, pixel after pixel. A pair of channels costs 1 instruction beside its chunks and 18 (20 where signed)
 * after them, for 8 outputs; for windows of any length 2 more, and 2 for every four chunks. A block costs 24, and 9
 * for each 16 values of four pixels that are copied. Stack: 0 blocks, and two words for ENTER. */
#define TFLMGEN_CONV2D_MVE_BLOCK(name, ENTER, BEGIN, LOOP, LOAD_CONSTANTS, zero_point, SIGN_FIX, sign_fix)           \
    TFLMGEN_SHARED void name(struct tflmgen_conv2d_mve_blocks *blocks)                                               \
    {                                                                                                                \
        TFLMGEN_IN_REGISTERS_1(blocks);                                                                              \
        __asm__ volatile("push {r0, r1, r2, r4-r11, lr}\n"                                                           \
                         "1:\n\t"                                                                                    \
                         "vldrw.u32 q7, [r0, #40]\n\t"                                                               \
                         "ldmia r0, {r0, r1, r2, r4, r5, r6, r7, r8, r9, r10}\n\t"                                   \
                         "mov r11, r1\n\t"                                                                           \
                         "add r2, r0, r4\n\t"                                                                        \
                         "add r3, r2, r4\n\t"                                                                        \
                         "add r4, r3, r4\n\t"                                                                        \
                         "vldrb.8 q0, [r0], #16\n\t"                                                                 \
                         "vldrb.8 q1, [r2], #16\n\t"                                                                 \
                         "vldrb.8 q2, [r3], #16\n\t"                                                                 \
                         "vldrb.8 q3, [r4], #16\n\t"                                                                 \
                         "sub r1, r7, r5, lsl #6\n\t"                                                                \
                         "wls lr, r10, 3f\n"                                                                         \
                         "2:\n\t"                                                                                    \
                         "vldrb.8 q4, [r0], #16\n\t"                                                                 \
                         "vldrb.8 q5, [r2], #16\n\t"                                                                 \
                         "vldrb.8 q6, [r3], #16\n\t"                                                                 \
                         "vstrb.8 q4, [r1], #16\n\t"                                                                 \
                         "vldrb.8 q4, [r4], #16\n\t"                                                                 \
                         "vstrb.8 q5, [r1], #16\n\t"                                                                 \
                         "vstrb.8 q6, [r1], #16\n\t"                                                                 \
                         "vstrb.8 q4, [r1], #16\n\t"                                                                 \
                         "le lr, 2b\n"                                                                               \
                         "3:\n\t" ENTER                                                                              \
                         "adr.w r5, 6f + 1\n\t"                                                                      \
                         "add r5, r5, r6\n\t"                                                                        \
                         "mov r9, r8\n"                                                                              \
                         "5:\n\t" BEGIN TFLMGEN_CONV2D_MVE_FIRST_CHUNK                                               \
                         "mov pc, r5\n\t"                                                                            \
                         ".p2align 2\n"                                                                              \
                         "6:\n\t" LOOP                                                                               \
                         TFLMGEN_CONV2D_MVE_OUTPUTS(LOAD_CONSTANTS, zero_point, SIGN_FIX, sign_fix)                  \
                         "bcc.w 5b\n\t"                                                                              \
                         "ldr r0, [sp]\n\t"                                                                          \
                         "vldrw.u32 q4, [r0]\n\t"                                                                    \
                         "vldrw.u32 q5, [r0, #56]\n\t"                                                               \
                         "vadd.i32 q4, q4, q5\n\t"                                                                   \
                         "vstrw.u32 q4, [r0]\n\t"                                                                    \
                         "ldr r1, [r0, #8]\n\t"                                                                      \
                         "cmp r1, #0\n\t"                                                                            \
                         "bne.w 1b\n\t"                                                                              \
                         "pop {r0, r1, r2, r4-r11, lr}"                                                              \
                         : "+r"(r0)                                                                                  \
                         :                                                                                           \
                         : "r1", "r2", "r3", "r12", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory"); \
    }
/* clang-format on */

#define TFLMGEN_CONV2D_MVE_SHORT_BLOCK(name, ENTER, SIGN_FIX)                                                         \
    TFLMGEN_CONV2D_MVE_BLOCK(name, ENTER TFLMGEN_CONV2D_MVE_SHORT_ENTER, "", TFLMGEN_CONV2D_MVE_SHORT_LOOP, "", "r3", \
                             SIGN_FIX, "r1")

/* For short windows, whose outputs are clamped at the zero point, or are not; and for windows of any length. */
TFLMGEN_CONV2D_MVE_SHORT_BLOCK(tflmgen_conv2d_mve_short_clamped, "", TFLMGEN_CONV2D_MVE_CLAMPED)
TFLMGEN_CONV2D_MVE_SHORT_BLOCK(tflmgen_conv2d_mve_short_signed, "mov r1, #1\n\t", TFLMGEN_CONV2D_MVE_SIGNED)
TFLMGEN_CONV2D_MVE_BLOCK(tflmgen_conv2d_mve_any, TFLMGEN_CONV2D_MVE_ANY_ENTER, "mov r1, r3\n\t",
                         TFLMGEN_CONV2D_MVE_ANY_LOOP, "ldrd r12, lr, [sp, #4]\n\t", "r12", TFLMGEN_CONV2D_MVE_SIGNED,
                         "lr")

/* One block at a time, of windows of `chunks` chunks in the im2col buffer. is_short: for functions of short windows.
 * sign_fix: 1, or 0 where sums below zero are clamped anyway. */
TFLMGEN_HELPER struct tflmgen_conv2d_mve_blocks tflmgen_conv2d_mve_blocks_of(const int8_t *im2col, const int8_t *stream,
                                                                             int32_t chunks, int32_t zero_point,
                                                                             bool is_short, int32_t sign_fix)
{
    const int32_t skipped = is_short ? TFLMGEN_CONV2D_MVE_SHORT - chunks : (1 - chunks) & 3;
    const int32_t chunks_behind_end = is_short ? TFLMGEN_CONV2D_MVE_SHORT / 2 : 0;
    const struct tflmgen_conv2d_mve_blocks blocks = {im2col,
                                                     NULL,
                                                     0,
                                                     16,
                                                     chunks - 1 - chunks_behind_end,
                                                     chunks > 1 || is_short ? skipped * TFLMGEN_CONV2D_MVE_CHUNK_BYTES
                                                                            : TFLMGEN_CONV2D_MVE_ANY_BYTES,
                                                     im2col + 64 * (chunks - chunks_behind_end),
                                                     stream,
                                                     zero_point,
                                                     0,
                                                     {0, 0, 0, 0, 0, 0, 0, 0},
                                                     {0, 0, 0, 0},
                                                     sign_fix};
    return blocks;
}

/* Where outputs go: from a pixel to the next one pixel_step bytes on; pixels behind the last one repeat it, and so
 * does a pair's second output where there is but one channel. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_place(tflmgen_u16 *outputs, int32_t pixel_step, int32_t last_pixel,
                                             bool is_single)
{
    const uint16x8_t lanes = vidupq_n_u16(0, 1);
    const uint16x8_t pixels = vminq_u16(vshrq_n_u16(lanes, 1), vdupq_n_u16((uint16_t)last_pixel));
    const uint16x8_t second = vandq_u16(lanes, vdupq_n_u16(is_single ? 0 : 1));
    vst1q_u16(outputs, vmlaq_n_u16(second, pixels, (uint16_t)pixel_step));
}

/* A kernel, KERNEL_run and KERNEL_run_on_stack by one function of blocks. im2col: scratch, or NULL where
 * TFLMGEN_CONV2D_MVE_STACK_BYTES are enough. */
#define TFLMGEN_CONV2D_MVE(kernel, name, run_block, is_short)                                                         \
    TFLMGEN_SHARED void kernel##_##name(const int8_t *input, const tflmgen_u32 *stream, void *im2col, int8_t *output, \
                                        const struct kernel##_s8 *p)                                                  \
    {                                                                                                                 \
        if (im2col) {                                                                                                 \
            kernel##_run(input, (const int8_t *)stream, (int8_t *)im2col, output, p, run_block, is_short);            \
        } else {                                                                                                      \
            kernel##_run_on_stack(input, (const int8_t *)stream, output, p, run_block, is_short);                     \
        }                                                                                                             \
    }

#endif

#endif
