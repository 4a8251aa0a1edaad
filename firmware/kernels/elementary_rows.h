/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* exp, the logistic function and tanh of rows of floats: operation for operation those of elementary_f32.h. Cores with
 * MVE and its floating point compute four elements at a time, which takes numbers below FLT_MIN for zero; with another
 * floating-point unit logistic functions go by pairs.
 *
 * Assembly has the input in r0, the output in r1, numbers at r2 and the count of elements in r3. It stops behind the
 * last whole block or before one with an element beyond its range; the registers then tell how far it came.
 */
#ifndef TFLMGEN_KERNELS_ELEMENTARY_ROWS_H
#define TFLMGEN_KERNELS_ELEMENTARY_ROWS_H

#include "elementary_f32.h"
#include "mve.h"

/* log 2 as exp and the logistic function need it, then the polynomial's coefficients, the last one first. */
#define TFLMGEN_EXP_NUMBERS                                                                                        \
    1.44269504f, 12582912.0f, 0.693145752f, 1.42860677e-6f, 0.0013814467f, 0.008368781f, 0.041668393f, 0.1666652f, \
        0.49999994f
#define TFLMGEN_LOGISTIC_NUMBERS                                                                                      \
    -1.44269504f, 12582912.0f, 0.693145752f, 1.42860677e-6f, 0.0013814467f, -0.008368781f, 0.041668393f, -0.1666652f, \
        0.49999994f
#define TFLMGEN_TANH_NUMBERS                                                                                        \
    2.88539008f, 12582912.0f, 0.34657359f, 15.019367f, 6.0064507f, 9.1f, 0.55f * 0.55f, 0.01643758f, -0.052671812f, \
        0.13320725f, -0.33332947f

/* output = f(input, output): SCALAR of elements where the loop ended, the first four of which may be beyond its
 * range. */
#define TFLMGEN_DEFINE_ROW_F32(attributes, name, LOOP, SCALAR)                                    \
    attributes void name(const tflmgen_f32 *input, tflmgen_f32 *output, int32_t count)            \
    {                                                                                             \
        while (count > 0) {                                                                       \
            LOOP;                                                                                 \
            for (int32_t left = tflmgen_min_s32(count, 4); left > 0; --left, --count, ++output) { \
                *output = SCALAR(*input, *output);                                                \
                ++input;                                                                          \
            }                                                                                     \
        }                                                                                         \
    }
#define TFLMGEN_EXP_SCALAR(x, y) tflmgen_exp_f32_of(x)
#define TFLMGEN_LOGISTIC_SCALAR(x, y) tflmgen_logistic_f32_of(x)
#define TFLMGEN_TANH_SCALAR(x, y) tflmgen_tanh_f32_of(x)
#define TFLMGEN_TANH_PRODUCT_SCALAR(x, y) ((y) * tflmgen_tanh_f32_of(x))

#define TFLMGEN_ROW_F32 static __attribute__((noinline, unused))

#if TFLMGEN_HAS_MVE_F32
/* Of four elements x in q0 CODE makes results in q6, with 1 in q7 and the numbers where BEGIN loads them. */
#define TFLMGEN_ELEMENTARY_LOOP(BEGIN, CODE, ...)                                                                 \
    do {                                                                                                          \
        static const float numbers[] = {__VA_ARGS__};                                                             \
        TFLMGEN_IN_REGISTERS_4(input, output, (const tflmgen_f32 *)numbers, count);                               \
        __asm__ volatile("vmov.f32 q7, #1.0\n\t"                                                                  \
                         "dlstp.32 lr, r3\n\t" BEGIN "\n"                                                         \
                         "1:\n\t"                                                                                 \
                         "vldrw.u32 q0, [r0], #16\n\t" CODE "vstrw.32 q6, [r1], #16\n\t"                          \
                         "letp lr, 1b\n\t"                                                                        \
                         "mov r3, #0\n\t"                                                                         \
                         "b 3f\n"                                                                                 \
                         "2:\n\t"                                                                                 \
                         "sub r0, #16\n\t"                                                                        \
                         "mov r3, lr\n\t"                                                                         \
                         "lctp\n"                                                                                 \
                         "3:"                                                                                     \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                 \
                         :                                                                                        \
                         : "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr", "q0", "q1", "q2", "q3", \
                           "q4", "q5", "q6", "q7", "cc", "memory");                                               \
        input = r0;                                                                                               \
        output = r1;                                                                                              \
        count = r3;                                                                                               \
    } while (0)

/* The numbers from r3 on; r2 = the greatest magnitude so far. */
#define TFLMGEN_BEGIN_IN_RANGE "ldm r2, {r3-r12}\n\tmov r2, #0"

/* Stops before a vector with a magnitude that is not below the limit; NaN goes through. */
#define TFLMGEN_STOP_AT(limit) \
    "vmaxnmav.f32 r2, q0\n\t"  \
    "cmp r2, " limit "\n\t"    \
    "bhs 2f\n\t"

/* q1 = n as an exponent; q2 and q3 = n times the parts of log 2 */
#define TFLMGEN_EXP_REDUCTION  \
    "vmul.f32 q1, q0, r3\n\t"  \
    "vadd.f32 q1, q1, r4\n\t"  \
    "vsub.f32 q3, q1, r4\n\t"  \
    "vshl.s32 q1, q1, #23\n\t" \
    "vmul.f32 q2, q3, r5\n\t"  \
    "vmul.f32 q3, q3, r6\n\t"

/* q5 = the tail's polynomial of r in q4 */
#define TFLMGEN_EXP_TAIL       \
    "vmul.f32 q5, q4, r7\n\t"  \
    "vadd.f32 q5, q5, r8\n\t"  \
    "vmul.f32 q5, q5, q4\n\t"  \
    "vadd.f32 q5, q5, r9\n\t"  \
    "vmul.f32 q5, q5, q4\n\t"  \
    "vadd.f32 q5, q5, r10\n\t" \
    "vmul.f32 q5, q5, q4\n\t"  \
    "vadd.f32 q5, q5, r11\n\t"

/* q0 = the rounding error of r in q4 and of 1 + r in q6 */
#define TFLMGEN_EXP_VECTOR                                               \
    TFLMGEN_STOP_AT("r12")                                               \
    TFLMGEN_EXP_REDUCTION                                                \
    "vsub.f32 q0, q0, q2\n\t"                                            \
    "vsub.f32 q4, q0, q3\n\t" TFLMGEN_EXP_TAIL "vadd.f32 q6, q4, q7\n\t" \
    "vsub.f32 q2, q6, q7\n\t"                                            \
    "vsub.f32 q2, q4, q2\n\t"                                            \
    "vsub.f32 q0, q0, q4\n\t"                                            \
    "vsub.f32 q0, q0, q3\n\t"                                            \
    "vadd.f32 q0, q0, q2\n\t"                                            \
    "vmul.f32 q4, q4, q4\n\t"                                            \
    "vmul.f32 q4, q4, q5\n\t"                                            \
    "vadd.f32 q4, q4, q0\n\t"                                            \
    "vadd.f32 q6, q6, q4\n\t"                                            \
    "vadd.i32 q6, q6, q1\n\t"

/* q2 = the power, then the divisor. The vectors' limit is 64, which CMP can encode. */
#define TFLMGEN_LOGISTIC_VECTOR                                          \
    TFLMGEN_STOP_AT("#0x42800000")                                       \
    TFLMGEN_EXP_REDUCTION                                                \
    "vadd.f32 q2, q2, q0\n\t"                                            \
    "vadd.f32 q4, q2, q3\n\t" TFLMGEN_EXP_TAIL "vmul.f32 q2, q4, q4\n\t" \
    "vmul.f32 q2, q2, q5\n\t"                                            \
    "vsub.f32 q2, q2, q4\n\t"                                            \
    "vadd.f32 q2, q2, q7\n\t"                                            \
    "vadd.i32 q2, q2, q1\n\t"                                            \
    "vpt.f32 ge, q0, r12\n\t"                                            \
    "vaddt.f32 q2, q2, q7\n\t"                                           \
    "vdiv.f32 s24, s28, s8\n\t"                                          \
    "vdiv.f32 s25, s29, s9\n\t"                                          \
    "vdiv.f32 s26, s30, s10\n\t"                                         \
    "vdiv.f32 s27, s31, s11\n\t"

/* q1 = |x|, then q; q2 = n as an exponent; q3 = q^2, then u, then the divisor; q4 = b; q5 = a, then v, 2 v and the
 * quotient. Behind that q1 = x^2, by which the polynomial in q2 replaces results. */
#define TFLMGEN_TANH_VECTOR      \
    "vabs.f32 q1, q0\n\t"        \
    "vpt.f32 ge, q1, r7\n\t"     \
    "vdupt.32 q1, r7\n\t"        \
    "vmul.f32 q2, q1, r2\n\t"    \
    "vadd.f32 q2, q2, r3\n\t"    \
    "vsub.f32 q3, q2, r3\n\t"    \
    "vmul.f32 q3, q3, r4\n\t"    \
    "vsub.f32 q1, q1, q3\n\t"    \
    "vmul.f32 q3, q1, q1\n\t"    \
    "vadd.f32 q4, q3, r5\n\t"    \
    "vmul.f32 q4, q4, q1\n\t"    \
    "vmul.f32 q5, q3, r6\n\t"    \
    "vadd.f32 q5, q5, r5\n\t"    \
    "vadd.f32 q3, q5, q4\n\t"    \
    "vsub.f32 q5, q5, q4\n\t"    \
    "vshl.s32 q2, q2, #23\n\t"   \
    "vadd.i32 q3, q3, q2\n\t"    \
    "vadd.f32 q3, q3, q5\n\t"    \
    "vadd.f32 q5, q5, q5\n\t"    \
    "vdiv.f32 s20, s20, s12\n\t" \
    "vdiv.f32 s21, s21, s13\n\t" \
    "vdiv.f32 s22, s22, s14\n\t" \
    "vdiv.f32 s23, s23, s15\n\t" \
    "vsub.f32 q6, q7, q5\n\t"    \
    "vpt.f32 lt, q0, zr\n\t"     \
    "vnegt.f32 q6, q6\n\t"       \
    "vmul.f32 q1, q0, q0\n\t"    \
    "vmul.f32 q2, q1, r9\n\t"    \
    "vadd.f32 q2, q2, r10\n\t"   \
    "vmul.f32 q2, q2, q1\n\t"    \
    "vadd.f32 q2, q2, r11\n\t"   \
    "vmul.f32 q2, q2, q1\n\t"    \
    "vadd.f32 q2, q2, r12\n\t"   \
    "vmul.f32 q2, q2, q1\n\t"    \
    "vadd.f32 q2, q2, q7\n\t"    \
    "vpt.f32 lt, q1, r8\n\t"     \
    "vmult.f32 q6, q2, q0\n\t"

/* Four elements take 33 instructions of exp and of the logistic function, 40 of tanh and 42 of products. */
#define TFLMGEN_EXP_LOOP TFLMGEN_ELEMENTARY_LOOP(TFLMGEN_BEGIN_IN_RANGE, TFLMGEN_EXP_VECTOR, TFLMGEN_EXP_NUMBERS, 87.3f)
#define TFLMGEN_LOGISTIC_LOOP \
    TFLMGEN_ELEMENTARY_LOOP(TFLMGEN_BEGIN_IN_RANGE, TFLMGEN_LOGISTIC_VECTOR, TFLMGEN_LOGISTIC_NUMBERS, -9.0f)
#define TFLMGEN_TANH_LOOP TFLMGEN_ELEMENTARY_LOOP("ldm r2, {r2-r12}", TFLMGEN_TANH_VECTOR, TFLMGEN_TANH_NUMBERS)
#define TFLMGEN_TANH_PRODUCT_LOOP                                                                                    \
    TFLMGEN_ELEMENTARY_LOOP("ldm r2, {r2-r12}", TFLMGEN_TANH_VECTOR "vldrw.u32 q1, [r1]\n\tvmul.f32 q6, q6, q1\n\t", \
                            TFLMGEN_TANH_NUMBERS)

TFLMGEN_DEFINE_ROW_F32(TFLMGEN_ROW_F32, tflmgen_exp_row_f32, TFLMGEN_EXP_LOOP, TFLMGEN_EXP_SCALAR)
TFLMGEN_DEFINE_ROW_F32(TFLMGEN_ROW_F32, tflmgen_logistic_row_f32, TFLMGEN_LOGISTIC_LOOP, TFLMGEN_LOGISTIC_SCALAR)
TFLMGEN_DEFINE_ROW_F32(TFLMGEN_ROW_F32, tflmgen_tanh_row_f32, TFLMGEN_TANH_LOOP, TFLMGEN_TANH_SCALAR)
TFLMGEN_DEFINE_ROW_F32(TFLMGEN_ROW_F32, tflmgen_tanh_product_row_f32, TFLMGEN_TANH_PRODUCT_LOOP,
                       TFLMGEN_TANH_PRODUCT_SCALAR)
#else
#define TFLMGEN_DEFINE_PLAIN_ROW_F32(name, SCALAR)                                         \
    TFLMGEN_HELPER void name(const tflmgen_f32 *input, tflmgen_f32 *output, int32_t count) \
    {                                                                                      \
        for (int32_t i = 0; i < count; ++i) {                                              \
            output[i] = SCALAR(input[i], output[i]);                                       \
        }                                                                                  \
    }

#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__thumb2__)
/* Logistic functions of x and y, which the results replace. s4, s5 = n with its shifter; s6, s7 = n, then the tail and
 * the power; s8, s9 = r; s10, s11 = r^2. s16 and on have the numbers. */
#define TFLMGEN_LOGISTIC_PAIR(x, y)                                                                          \
    "vmul.f32 s4, " x ", s16\n\tvmul.f32 s5, " y ", s16\n\tvadd.f32 s4, s4, s17\n\tvadd.f32 s5, s5, s17\n\t" \
    "vsub.f32 s6, s4, s17\n\tvsub.f32 s7, s5, s17\n\tvmul.f32 s8, s6, s18\n\tvmul.f32 s9, s7, s18\n\t"       \
    "vmul.f32 s6, s6, s19\n\tvmul.f32 s7, s7, s19\n\tvadd.f32 s8, s8, " x "\n\tvadd.f32 s9, s9, " y "\n\t"   \
    "vadd.f32 s8, s8, s6\n\tvadd.f32 s9, s9, s7\n\tvmul.f32 s10, s8, s8\n\tvmul.f32 s11, s9, s9\n\t"         \
    "vmul.f32 s6, s8, s20\n\tvmul.f32 s7, s9, s20\n\tvadd.f32 s6, s6, s21\n\tvadd.f32 s7, s7, s21\n\t"       \
    "vmul.f32 s6, s6, s8\n\tvmul.f32 s7, s7, s9\n\tvadd.f32 s6, s6, s22\n\tvadd.f32 s7, s7, s22\n\t"         \
    "vmul.f32 s6, s6, s8\n\tvmul.f32 s7, s7, s9\n\tvadd.f32 s6, s6, s23\n\tvadd.f32 s7, s7, s23\n\t"         \
    "vmul.f32 s6, s6, s8\n\tvmul.f32 s7, s7, s9\n\tvadd.f32 s6, s6, s24\n\tvadd.f32 s7, s7, s24\n\t"         \
    "vmul.f32 s6, s6, s10\n\tvmul.f32 s7, s7, s11\n\tvsub.f32 s6, s6, s8\n\tvsub.f32 s7, s7, s9\n\t"         \
    "vadd.f32 s6, s6, s25\n\tvadd.f32 s7, s7, s25\n\tvmov r4, r5, s4, s5\n\tvmov r6, r12, s6, s7\n\t"        \
    "add r6, r6, r4, lsl #23\n\tadd r12, r12, r5, lsl #23\n\tvmov s6, s7, r6, r12\n\t"                       \
    "vcmp.f32 " x ", s26\n\tvmrs APSR_nzcv, fpscr\n\tit pl\n\tvaddpl.f32 s6, s6, s25\n\t"                    \
    "vcmp.f32 " y ", s26\n\tvmrs APSR_nzcv, fpscr\n\tit pl\n\tvaddpl.f32 s7, s7, s25\n\t"                    \
    "vdiv.f32 " x ", s25, s6\n\tvdiv.f32 " y ", s25, s7\n\t"

/* Blocks of four elements, whose squares sum to less than that of 87.3: 119 instructions. */
#define TFLMGEN_LOGISTIC_LOOP                                                                                          \
    do {                                                                                                               \
        static const float numbers[] = {TFLMGEN_LOGISTIC_NUMBERS, 1.0f, -9.0f, 7621.0f};                               \
        TFLMGEN_IN_REGISTERS_4(input, output, (const tflmgen_f32 *)numbers, count);                                    \
        __asm__ volatile(                                                                                              \
            "vldmia r2, {s16-s27}\n\t"                                                                                 \
            "subs r3, #4\n\t"                                                                                          \
            "blt 2f\n"                                                                                                 \
            "1:\n\t"                                                                                                   \
            "vldmia r0, {s0-s3}\n\t"                                                                                   \
            "vmul.f32 s4, s0, s0\n\tvmul.f32 s5, s1, s1\n\tvmul.f32 s6, s2, s2\n\tvmul.f32 s7, s3, s3\n\t"             \
            "vadd.f32 s4, s4, s5\n\tvadd.f32 s6, s6, s7\n\tvadd.f32 s4, s4, s6\n\t"                                    \
            "vcmp.f32 s4, s27\n\t"                                                                                     \
            "vmrs APSR_nzcv, fpscr\n\t"                                                                                \
            "bpl 2f\n\t" TFLMGEN_LOGISTIC_PAIR("s0", "s1") TFLMGEN_LOGISTIC_PAIR("s2", "s3") "add r0, #16\n\t"         \
                                                                                             "vstmia r1!, {s0-s3}\n\t" \
                                                                                             "subs r3, #4\n\t"         \
                                                                                             "bge 1b\n"                \
                                                                                             "2:\n\t"                  \
                                                                                             "add r3, #4"              \
            : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                                   \
            :                                                                                                          \
            : "r4", "r5", "r6", "r12", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",       \
              "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "cc", "memory");     \
        input = r0;                                                                                                    \
        output = r1;                                                                                                   \
        count = r3;                                                                                                    \
    } while (0)

TFLMGEN_DEFINE_ROW_F32(TFLMGEN_ROW_F32, tflmgen_logistic_row_f32, TFLMGEN_LOGISTIC_LOOP, TFLMGEN_LOGISTIC_SCALAR)
#else
TFLMGEN_DEFINE_PLAIN_ROW_F32(tflmgen_logistic_row_f32, TFLMGEN_LOGISTIC_SCALAR)
#endif

TFLMGEN_DEFINE_PLAIN_ROW_F32(tflmgen_exp_row_f32, TFLMGEN_EXP_SCALAR)
TFLMGEN_DEFINE_PLAIN_ROW_F32(tflmgen_tanh_row_f32, TFLMGEN_TANH_SCALAR)
TFLMGEN_DEFINE_PLAIN_ROW_F32(tflmgen_tanh_product_row_f32, TFLMGEN_TANH_PRODUCT_SCALAR)
#endif

#endif
