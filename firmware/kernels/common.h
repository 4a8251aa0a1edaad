/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What every kernel shares: how kernels are declared, and small helpers on integers and floats.
 *
 * Kernels rely on two properties that C99 leaves to the implementation and that GCC and clang document: a right shift
 * of a negative integer is arithmetic, and a conversion to a narrower signed integer wraps.
 */
#ifndef TFLMGEN_KERNELS_COMMON_H
#define TFLMGEN_KERNELS_COMMON_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(INT_MAX) && INT_MAX < 0x7fffffff
#error "the kernels of tflmgen compute with an int of 32 bits"
#endif

/* Elements of tensors and of packed arrays, as pointers to them see them. A byte of the arena holds values of several
 * types one after another, and some kernels read narrow elements by words: what is read and written through these
 * types may alias any other type, as int8_t and uint8_t may by themselves. */
#define TFLMGEN_ELEMENT __attribute__((may_alias))
typedef bool TFLMGEN_ELEMENT tflmgen_bool;
typedef int16_t TFLMGEN_ELEMENT tflmgen_s16;
typedef int32_t TFLMGEN_ELEMENT tflmgen_s32;
typedef int64_t TFLMGEN_ELEMENT tflmgen_s64;
typedef uint16_t TFLMGEN_ELEMENT tflmgen_u16;
typedef uint32_t TFLMGEN_ELEMENT tflmgen_u32;
typedef uint64_t TFLMGEN_ELEMENT tflmgen_u64;
typedef float TFLMGEN_ELEMENT tflmgen_f32;

/* GCC 12 counts 4 bytes for a load of a constant vector, which takes 8, and so emits branches that do not reach:
 * "branch out of range", says the assembler. Its own vectorisation is what makes constant vectors; kernels for MVE
 * need none. Older releases do not vectorise at -O2, and GCC 13 counts 8. */
#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && __GNUC__ <= 12 && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize")
#endif

/* Without optimisation GCC keeps a register for frames and more for variables: statements of assembly with as many
 * operands as some kernels for MVE have are then an error. */
#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && !defined(__OPTIMIZE__) && !defined(__clang__)
#pragma GCC optimize("O1", "omit-frame-pointer")
#endif

/* Inlined, a kernel is specialised for the literal parameters of its call. With TFLMGEN_OPTIMIZE_SIZE it is compiled
 * once per source file and shared by all its calls. */
#ifdef TFLMGEN_OPTIMIZE_SIZE
#define TFLMGEN_KERNEL static __attribute__((noinline, unused))
#define TFLMGEN_FOR_SPEED 0
#else
#define TFLMGEN_KERNEL static inline __attribute__((unused))
#define TFLMGEN_FOR_SPEED 1
#endif

/* Before a short loop: rows of up to four elements become straight code. */
#if defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__) && !defined(TFLMGEN_OPTIMIZE_SIZE)
#define TFLMGEN_UNROLL_4 _Pragma("GCC unroll 4")
#else
#define TFLMGEN_UNROLL_4
#endif

/* Small functions that kernels are made of: inlined at either setting. */
#define TFLMGEN_HELPER static inline __attribute__((always_inline, unused))

/* Inlined where speed matters, else compiled once. */
#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_SPEED_HELPER static __attribute__((noinline, unused))
#else
#define TFLMGEN_SPEED_HELPER TFLMGEN_HELPER
#endif

/* Values in r0 to r3, for a statement of assembly that follows: variables of these names, of the values' types. */
#define TFLMGEN_IN_REGISTERS_1(a) register __typeof__(a) r0 __asm__("r0") = a
#define TFLMGEN_IN_REGISTERS_2(a, b) \
    TFLMGEN_IN_REGISTERS_1(a);       \
    register __typeof__(b) r1 __asm__("r1") = b
#define TFLMGEN_IN_REGISTERS_3(a, b, c) \
    TFLMGEN_IN_REGISTERS_2(a, b);       \
    register __typeof__(c) r2 __asm__("r2") = c
#define TFLMGEN_IN_REGISTERS_4(a, b, c, d) \
    TFLMGEN_IN_REGISTERS_3(a, b, c);       \
    register __typeof__(d) r3 __asm__("r3") = d

/* Elements up to which an element-wise kernel that is compiled once is inlined and specialised instead: a call and what
 * it reads take as long as 10 to 30 elements, and its parameters as much flash as its code. */
#define TFLMGEN_FEW_ELEMENTS 32
#define TFLMGEN_FEWEST_ELEMENTS 2 /* the same where code is to be small */

TFLMGEN_HELPER bool tflmgen_is_few(int32_t count)
{
    return count <= (TFLMGEN_FOR_SPEED ? TFLMGEN_FEW_ELEMENTS : TFLMGEN_FEWEST_ELEMENTS);
}

/* -1 for a negative value, else 0. */
TFLMGEN_HELPER int32_t tflmgen_sign_mask(int32_t value)
{
    return value < 0 ? -1 : 0;
}

TFLMGEN_HELPER int32_t tflmgen_min_s32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

TFLMGEN_HELPER int32_t tflmgen_max_s32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

TFLMGEN_HELPER int32_t tflmgen_clamp_s32(int32_t value, int32_t least, int32_t greatest)
{
    return tflmgen_min_s32(tflmgen_max_s32(value, least), greatest);
}

/* NaN passes through. */
TFLMGEN_HELPER float tflmgen_clamp_f32(float value, float least, float greatest)
{
    const float raised = value < least ? least : value;
    return raised > greatest ? greatest : raised;
}

/* Addition that wraps instead of overflowing. */
TFLMGEN_HELPER int32_t tflmgen_add_wrap_s32(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

#endif
