/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* RESIZE_BILINEAR: input and output [batches, height, width, channels].
 *
 * Tables made at build time: `rows` [output_height, 2] and `columns` [output_width, 2] hold, for each output row or
 * column, the two input rows or columns between which it lies; the fractions, one for each, tell how near it is to the
 * second: in float32, or in 1/1024 for int8 and int16.
 *
 *     upper_left  . . . upper_right
 *         .    out          .            row_fraction down from the upper row,
 *     lower_left  . . . lower_right      column_fraction across from the left column
 *
 * Results of int8 are TFLite Micro's, bit for bit; those of int16 LiteRT's. */
#ifndef TFLMGEN_KERNELS_RESIZE_BILINEAR_H
#define TFLMGEN_KERNELS_RESIZE_BILINEAR_H

#include "mve.h"
#include "requantize.h"
#include "thumb.h"

struct tflmgen_resize_bilinear {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t output_height;
    int32_t output_width;
    int32_t channels;
};

#define TFLMGEN_DEFINE_RESIZE_BILINEAR(name, type, fraction_type, pixel)                                      \
    TFLMGEN_KERNEL void name(const type *input, const tflmgen_s32 *rows, const fraction_type *row_fractions,  \
                             const tflmgen_s32 *columns, const fraction_type *column_fractions, type *output, \
                             const struct tflmgen_resize_bilinear *params)                                    \
    {                                                                                                         \
        const int32_t channels = params->channels;                                                            \
        const int32_t row_step = params->input_width * channels;                                              \
        for (int32_t batch = 0; batch < params->batches; batch++) {                                           \
            for (int32_t y = 0; y < params->output_height; y++) {                                             \
                const type *upper = input + rows[2 * y] * row_step;                                           \
                const type *lower = input + rows[2 * y + 1] * row_step;                                       \
                for (int32_t x = 0; x < params->output_width; x++) {                                          \
                    const int32_t left = columns[2 * x] * channels;                                           \
                    const int32_t right = columns[2 * x + 1] * channels;                                      \
                    pixel(upper + left, upper + right, lower + left, lower + right, output, channels,         \
                          row_fractions[y], column_fractions[x]);                                             \
                    output += channels;                                                                       \
                }                                                                                             \
            }                                                                                                 \
            input += params->input_height * row_step;                                                         \
        }                                                                                                     \
    }

TFLMGEN_HELPER void tflmgen_resize_bilinear_pixel_f32(const tflmgen_f32 *upper_left, const tflmgen_f32 *upper_right,
                                                      const tflmgen_f32 *lower_left, const tflmgen_f32 *lower_right,
                                                      tflmgen_f32 *output, int32_t channels, float row_fraction,
                                                      float column_fraction)
{
#if TFLMGEN_HAS_MVE_F32
    /* Four: 4 VLDRW, 8 VMUL, 3 VADD, VSTRW, LETP. */
    __asm__ volatile("wlstp.32 lr, %[channels], 2f\n"
                     "1:\n\t"
                     "vldrw.32 q0, [%[upper_left]], #16\n\t"
                     "vldrw.32 q1, [%[lower_left]], #16\n\t"
                     "vmul.f32 q0, q0, %[row_complement]\n\t"
                     "vmul.f32 q1, q1, %[row_fraction]\n\t"
                     "vldrw.32 q2, [%[upper_right]], #16\n\t"
                     "vldrw.32 q3, [%[lower_right]], #16\n\t"
                     "vmul.f32 q0, q0, %q[column_complement]\n\t"
                     "vmul.f32 q1, q1, %q[column_complement]\n\t"
                     "vmul.f32 q2, q2, %[row_complement]\n\t"
                     "vmul.f32 q3, q3, %[row_fraction]\n\t"
                     "vadd.f32 q0, q0, q1\n\t"
                     "vmul.f32 q2, q2, %q[column_fraction]\n\t"
                     "vmul.f32 q3, q3, %q[column_fraction]\n\t"
                     "vadd.f32 q0, q0, q2\n\t"
                     "vadd.f32 q0, q0, q3\n\t"
                     "vstrw.32 q0, [%[output]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [upper_left] "+r"(upper_left), [upper_right] "+r"(upper_right), [lower_left] "+r"(lower_left),
                       [lower_right] "+r"(lower_right), [output] "+r"(output)
                     : [channels] "r"(channels), [row_complement] "r"(1.0f - row_fraction),
                       [row_fraction] "r"(row_fraction), [column_complement] "w"(vdupq_n_f32(1.0f - column_fraction)),
                       [column_fraction] "w"(vdupq_n_f32(column_fraction))
                     : "lr", "q0", "q1", "q2", "q3", "memory");
#else
    for (int32_t c = 0; c < channels; ++c) {
        output[c] = upper_left[c] * (1.0f - row_fraction) * (1.0f - column_fraction) +
                    lower_left[c] * row_fraction * (1.0f - column_fraction) +
                    upper_right[c] * (1.0f - row_fraction) * column_fraction +
                    lower_right[c] * row_fraction * column_fraction;
    }
#endif
}

/* On cores with MVE the loop over an int8 pixel's channels takes most registers, and is called. */
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
#define TFLMGEN_RESIZE_PIXEL TFLMGEN_SHARED
#else
#define TFLMGEN_RESIZE_PIXEL TFLMGEN_HELPER
#endif

/* The int8 channels of an output pixel: each is a sum of those of four pixels times their weights, which are in 2^-20
 * and sum up to 1; rounded, halves away from zero. */
#if defined(__thumb__) && !defined(__thumb2__)
/* By three products, and 30 instructions: of the upper row U = 1024 left + (right - left) column_fraction, of the lower
 * one L likewise, and then 1024 U + (L - U) row_fraction. The assembly computes U (r4), L (r5), both combined (r4), and
 * from LSRS to ADCS rounds. The rows of both columns are the same number of bytes apart.
 * Registers: r0 and r1 upper left and right, r2 and r3 where the channel is from there in the lower and in the upper
 * row, r12 channels. Stack: 0 column_fraction, 4 row_fraction, 8 output. */
TFLMGEN_SHARED void tflmgen_resize_bilinear_pixel_s8(const int8_t *upper_left, const int8_t *upper_right,
                                                     const int8_t *lower_left, const int8_t *lower_right,
                                                     int8_t *output, int32_t channels, int32_t row_fraction,
                                                     int32_t column_fraction)
{
    const tflmgen_s32 numbers[] = {column_fraction, row_fraction, (int32_t)(intptr_t)output, channels};
    const tflmgen_s32 *operands = numbers;
    int32_t lower_row = (int32_t)(lower_left - upper_left);
    (void)lower_right;
    TFLMGEN_IN_REGISTERS_4(upper_left, upper_right, lower_row, operands);
    __asm__ volatile(".syntax unified\n\t"
                     "push {r4, r5, r6, r7}\n\t"
                     "ldmia r3!, {r4, r5, r6, r7}\n\t"
                     "push {r4, r5, r6}\n\t"
                     "mov r12, r7\n\t"
                     "movs r3, #0\n"
                     "1:\n\t"
                     "ldrsb r4, [r0, r3]\n\t"
                     "ldrsb r5, [r1, r3]\n\t"
                     "subs r5, r5, r4\n\t"
                     "ldr r6, [sp, #0]\n\t"
                     "muls r5, r6\n\t"
                     "lsls r4, r4, #10\n\t"
                     "adds r4, r4, r5\n\t"
                     "ldrsb r5, [r0, r2]\n\t"
                     "ldrsb r7, [r1, r2]\n\t"
                     "subs r7, r7, r5\n\t"
                     "muls r7, r6\n\t"
                     "lsls r5, r5, #10\n\t"
                     "adds r5, r5, r7\n\t"
                     "subs r5, r5, r4\n\t"
                     "ldr r6, [sp, #4]\n\t"
                     "muls r5, r6\n\t"
                     "lsls r4, r4, #10\n\t"
                     "adds r4, r4, r5\n\t"
                     "lsrs r5, r4, #31\n\t"
                     "subs r4, r4, r5\n\t"
                     "movs r5, #0\n\t"
                     "asrs r4, r4, #20\n\t"
                     "adcs r4, r5\n\t"
                     "ldr r6, [sp, #8]\n\t"
                     "strb r4, [r6, r3]\n\t"
                     "adds r2, r2, #1\n\t"
                     "adds r3, r3, #1\n\t"
                     "cmp r3, r12\n\t"
                     "bne 1b\n\t"
                     "add sp, #12\n\t"
                     "pop {r4, r5, r6, r7}"
                     : "+l"(r0), "+l"(r1), "+l"(r2), "+l"(r3)
                     :
                     : "r12", "cc", "memory");
}
#else
TFLMGEN_RESIZE_PIXEL void tflmgen_resize_bilinear_pixel_s8(const int8_t *upper_left, const int8_t *upper_right,
                                                           const int8_t *lower_left, const int8_t *lower_right,
                                                           int8_t *output, int32_t channels, int32_t row_fraction,
                                                           int32_t column_fraction)
{
    const int32_t lower_right_weight = row_fraction * column_fraction;
    const int32_t lower_left_weight = row_fraction * 1024 - lower_right_weight;
    const int32_t upper_right_weight = column_fraction * 1024 - lower_right_weight;
    const int32_t upper_left_weight = (1 << 20) - lower_left_weight - column_fraction * 1024;
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
    /* Four: 4 VLDRB, 2 VMUL, 2 VMLA, VADD, VSHR, VADD and VRSHR to round, VSTRB, LETP. */
    __asm__ volatile("wlstp.32 lr, %[channels], 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [%[upper_left]], #4\n\t"
                     "vldrb.s32 q1, [%[upper_right]], #4\n\t"
                     "vldrb.s32 q2, [%[lower_left]], #4\n\t"
                     "vldrb.s32 q3, [%[lower_right]], #4\n\t"
                     "vmul.i32 q0, q0, %q[upper_left_weight]\n\t"
                     "vmla.s32 q0, q1, %[upper_right_weight]\n\t"
                     "vmla.s32 q0, q2, %[lower_left_weight]\n\t"
                     "vmul.i32 q3, q3, %q[lower_right_weight]\n\t"
                     "vadd.i32 q0, q0, q3\n\t"
                     "vshr.s32 q1, q0, #31\n\t"
                     "vadd.i32 q0, q0, q1\n\t"
                     "vrshr.s32 q0, q0, #20\n\t"
                     "vstrb.32 q0, [%[output]], #4\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [upper_left] "+l"(upper_left), [upper_right] "+l"(upper_right), [lower_left] "+l"(lower_left),
                       [lower_right] "+l"(lower_right), [output] "+l"(output)
                     : [channels] "r"(channels), [upper_left_weight] "w"(vdupq_n_s32(upper_left_weight)),
                       [upper_right_weight] "r"(upper_right_weight), [lower_left_weight] "r"(lower_left_weight),
                       [lower_right_weight] "w"(vdupq_n_s32(lower_right_weight))
                     : "lr", "q0", "q1", "q2", "q3", "memory");
#else
    for (int32_t c = 0; c < channels; ++c) {
        const int32_t sum = upper_left[c] * upper_left_weight + upper_right[c] * upper_right_weight +
                            lower_left[c] * lower_left_weight + lower_right[c] * lower_right_weight;
        output[c] = (int8_t)tflmgen_rounding_shift_right(sum, 20);
    }
#endif
}
#endif

/* The same of int16, whose sums have up to 36 bits: 4 loads, SMULL and 3 SMLAL on cores that have them. */
TFLMGEN_HELPER void tflmgen_resize_bilinear_pixel_s16(const tflmgen_s16 *upper_left, const tflmgen_s16 *upper_right,
                                                      const tflmgen_s16 *lower_left, const tflmgen_s16 *lower_right,
                                                      tflmgen_s16 *output, int32_t channels, int32_t row_fraction,
                                                      int32_t column_fraction)
{
    const int32_t lower_right_weight = row_fraction * column_fraction;
    const int32_t lower_left_weight = row_fraction * 1024 - lower_right_weight;
    const int32_t upper_right_weight = column_fraction * 1024 - lower_right_weight;
    const int32_t upper_left_weight = (1 << 20) - lower_left_weight - column_fraction * 1024;
    for (int32_t c = 0; c < channels; ++c) {
        const int64_t sum = (int64_t)upper_left[c] * upper_left_weight + (int64_t)upper_right[c] * upper_right_weight +
                            (int64_t)lower_left[c] * lower_left_weight + (int64_t)lower_right[c] * lower_right_weight;
        output[c] = (int16_t)((sum + (1 << 19) - (sum < 0 ? 1 : 0)) >> 20);
    }
}

TFLMGEN_DEFINE_RESIZE_BILINEAR(tflmgen_resize_bilinear_f32, tflmgen_f32, tflmgen_f32, tflmgen_resize_bilinear_pixel_f32)
TFLMGEN_DEFINE_RESIZE_BILINEAR(tflmgen_resize_bilinear_s8, int8_t, tflmgen_s32, tflmgen_resize_bilinear_pixel_s8)
TFLMGEN_DEFINE_RESIZE_BILINEAR(tflmgen_resize_bilinear_s16, tflmgen_s16, tflmgen_s32, tflmgen_resize_bilinear_pixel_s16)

#endif
