/* Copies of short runs of bytes at any address: rows of tensors that operators only move.
 *
 * The C library's memcpy goes byte by byte, at six instructions each, where two addresses are not both whole words.
 */
#ifndef TFLMGEN_KERNELS_MOVE_H
#define TFLMGEN_KERNELS_MOVE_H

#include <string.h>

#include "common.h"
#include "mve.h"

/* Copies `bytes` to another place. 16 bytes with MVE: 3 instructions; with words at any address: 10, and up to 18 for
 * all that are left over; by bytes 40, and 4 for each that is left over. */
TFLMGEN_HELPER void tflmgen_move(void *restrict to, const void *restrict from, int32_t bytes)
{
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
    tflmgen_copy_mve((int8_t *)to, (const int8_t *)from, bytes);
#elif defined(__ARM_FEATURE_UNALIGNED) && defined(__thumb2__)
    uint32_t a, b;
    /* What is left over are the low four bits of the count, below zero as it is then. */
    __asm__ volatile("subs %[bytes], %[bytes], #16\n\t"
                     "blo 2f\n"
                     "1:\n\t"
                     "ldr %[a], [%[from]], #4\n\t"
                     "ldr %[b], [%[from]], #4\n\t"
                     "str %[a], [%[to]], #4\n\t"
                     "str %[b], [%[to]], #4\n\t"
                     "ldr %[a], [%[from]], #4\n\t"
                     "ldr %[b], [%[from]], #4\n\t"
                     "str %[a], [%[to]], #4\n\t"
                     "str %[b], [%[to]], #4\n\t"
                     "subs %[bytes], %[bytes], #16\n\t"
                     "bhs 1b\n"
                     "2:\n\t"
                     "lsls %[a], %[bytes], #28\n\t"
                     "beq 3f\n\t"
                     "lsls %[a], %[a], #1\n\t"
                     "itttt cs\n\t"
                     "ldrcs %[a], [%[from]], #4\n\t"
                     "ldrcs %[b], [%[from]], #4\n\t"
                     "strcs %[a], [%[to]], #4\n\t"
                     "strcs %[b], [%[to]], #4\n\t"
                     "itt mi\n\t"
                     "ldrmi %[a], [%[from]], #4\n\t"
                     "strmi %[a], [%[to]], #4\n\t"
                     "lsls %[b], %[bytes], #31\n\t"
                     "itt cs\n\t"
                     "ldrhcs %[a], [%[from]], #2\n\t"
                     "strhcs %[a], [%[to]], #2\n\t"
                     "itt mi\n\t"
                     "ldrbmi %[a], [%[from]], #1\n\t"
                     "strbmi %[a], [%[to]], #1\n"
                     "3:"
                     : [to] "+r"(to), [from] "+r"(from), [bytes] "+r"(bytes), [a] "=&r"(a), [b] "=&r"(b)
                     :
                     : "cc", "memory");
#elif defined(__arm__)
    uint32_t a, b;
    if ((((uintptr_t)to | (uintptr_t)from) & 3u) == 0 && bytes >= 16) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    __asm__ volatile(".syntax unified\n\t"
                     "subs %[bytes], %[bytes], #8\n\t"
                     "blo 2f\n"
                     "1:\n\t"
                     "ldrb %[a], [%[from]]\n\t"
                     "ldrb %[b], [%[from], #1]\n\t"
                     "strb %[a], [%[to]]\n\t"
                     "strb %[b], [%[to], #1]\n\t"
                     "ldrb %[a], [%[from], #2]\n\t"
                     "ldrb %[b], [%[from], #3]\n\t"
                     "strb %[a], [%[to], #2]\n\t"
                     "strb %[b], [%[to], #3]\n\t"
                     "ldrb %[a], [%[from], #4]\n\t"
                     "ldrb %[b], [%[from], #5]\n\t"
                     "strb %[a], [%[to], #4]\n\t"
                     "strb %[b], [%[to], #5]\n\t"
                     "ldrb %[a], [%[from], #6]\n\t"
                     "ldrb %[b], [%[from], #7]\n\t"
                     "strb %[a], [%[to], #6]\n\t"
                     "strb %[b], [%[to], #7]\n\t"
                     "adds %[from], %[from], #8\n\t"
                     "adds %[to], %[to], #8\n\t"
                     "subs %[bytes], %[bytes], #8\n\t"
                     "bhs 1b\n"
                     "2:\n\t"
                     "adds %[bytes], %[bytes], #8\n\t"
                     "beq 4f\n\t"
                     "adds %[from], %[from], %[bytes]\n\t"
                     "adds %[to], %[to], %[bytes]\n\t"
                     "rsbs %[bytes], %[bytes], #0\n"
                     "3:\n\t"
                     "ldrb %[a], [%[from], %[bytes]]\n\t"
                     "strb %[a], [%[to], %[bytes]]\n\t"
                     "adds %[bytes], %[bytes], #1\n\t"
                     "bne 3b\n"
                     "4:"
                     : [to] "+l"(to), [from] "+l"(from), [bytes] "+l"(bytes), [a] "=&l"(a), [b] "=&l"(b)
                     :
                     : "cc", "memory");
#else
    memcpy(to, from, (size_t)bytes);
#endif
}

/* The same of a block whose size is a number of the call: where words may lie anywhere, compilers copy it in line. */
TFLMGEN_HELPER void tflmgen_move_block(void *restrict to, const void *restrict from, int32_t bytes)
{
#if defined(__ARM_FEATURE_UNALIGNED) && !(defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE)
    memcpy(to, from, (size_t)bytes);
#else
    tflmgen_move(to, from, bytes);
#endif
}

#endif
