/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Copies of short runs of bytes at any address: rows of tensors that operators only move.
 *
 * The C library's memcpy goes byte by byte, at six instructions each, where two addresses are not both whole words.
 */
#ifndef TFLMGEN_KERNELS_MOVE_H
#define TFLMGEN_KERNELS_MOVE_H

#include <string.h>

#include "common.h"
#include "mve.h"

/* Words can be loaded from any address, one at a time; LDM and STM need whole words. */
#if defined(__ARM_FEATURE_UNALIGNED) && defined(__thumb2__) && !(defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE)
#define TFLMGEN_MOVE_UNALIGNED 1
#else
#define TFLMGEN_MOVE_UNALIGNED 0
#endif

#define TFLMGEN_MOVE_FOUR_LOADS \
    "ldr r3, [r1], #4\n\t"      \
    "ldr r4, [r1], #4\n\t"      \
    "ldr r5, [r1], #4\n\t"      \
    "ldr r12, [r1], #4\n\t"     \
    "stmia r0!, {r3, r4, r5, r12}\n\t"

#define TFLMGEN_MOVE_FOUR_WORDS        \
    "ldmia r1!, {r3, r4, r5, r12}\n\t" \
    "stmia r0!, {r3, r4, r5, r12}\n\t"

/* clang-format off */
/* Eight bytes whose first byte is byte `right` / 8 of a word: the rest of that word, in r3, and two words. */
#define TFLMGEN_MOVE_MERGED(label, right, left) \
    label ":\n\t"                               \
    "ldmia r1!, {r3}\n\t"                       \
    "lsrs r3, r3, #" right "\n"                 \
    label "1:\n\t"                              \
    "ldmia r1!, {r4, r5}\n\t"                   \
    "lsls r6, r4, #" left "\n\t"                \
    "orrs r6, r3\n\t"                           \
    "lsrs r4, r4, #" right "\n\t"               \
    "lsls r7, r5, #" left "\n\t"                \
    "orrs r7, r4\n\t"                           \
    "lsrs r3, r5, #" right "\n\t"               \
    "stmia r0!, {r6, r7}\n\t"                   \
    "subs r2, r2, #8\n\t"                       \
    "bhs " label "1b\n\t"                       \
    "subs r1, r1, #" left " / 8\n\t"            \
    "pop {r4, r5, r6, r7}\n\t"                 \
    "b 7f\n"
/* clang-format on */

#define TFLMGEN_MOVE_TWO_BYTES(first, second) \
    "ldrb r3, [r1, #" first "]\n\t"           \
    "strb r3, [r0, #" first "]\n\t"           \
    "ldrb r3, [r1, #" second "]\n\t"          \
    "strb r3, [r0, #" second "]\n\t"

/* Copies `bytes` to another place.
 *
 * 16 bytes take 3 instructions with MVE. With words at any address the output's first word comes by itself, and then
 * whole words of the output: 32 bytes take 12 instructions, or 6 where the input's are whole words too; 16 that are
 * left 10, and up to 18 what is left then. Without, 8 bytes take 10 instructions: two words are loaded, and put
 * together with the rest of the word before; 16 of whole words take 4; single bytes 2 each. */
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
TFLMGEN_HELPER void tflmgen_move(void *restrict to, const void *restrict from, int32_t bytes)
{
    tflmgen_copy_mve((int8_t *)to, (const int8_t *)from, bytes);
}
#else
/* Compiled once per source file, and called. */
static __attribute__((noinline, unused)) void tflmgen_move(void *restrict to, const void *restrict from, int32_t bytes)
{
#if TFLMGEN_MOVE_UNALIGNED
    TFLMGEN_IN_REGISTERS_3(to, from, bytes);
    /* What is left over are the low four bits of the count, below zero as it is then. */
    __asm__ volatile("cmp r2, #40\n\t"
                     "blo 4f\n\t"
                     "ldr r3, [r1]\n\t"
                     "str r3, [r0]\n\t"
                     "rsb r3, r0, #0\n\t"
                     "and r3, r3, #3\n\t"
                     "add r0, r0, r3\n\t"
                     "add r1, r1, r3\n\t"
                     "sub r2, r2, r3\n\t"
                     "sub r2, r2, #32\n\t"
                     "tst r1, #3\n\t"
                     "beq 2f\n"
                     "1:\n\t" TFLMGEN_MOVE_FOUR_LOADS TFLMGEN_MOVE_FOUR_LOADS "subs r2, r2, #32\n\t"
                     "bhs 1b\n\t"
                     "b 3f\n"
                     "2:\n\t" TFLMGEN_MOVE_FOUR_WORDS TFLMGEN_MOVE_FOUR_WORDS "subs r2, r2, #32\n\t"
                     "bhs 2b\n"
                     "3:\n\t"
                     "add r2, r2, #32\n"
                     "4:\n\t"
                     "subs r2, r2, #16\n\t"
                     "blo 6f\n"
                     "5:\n\t"
                     "ldr r3, [r1], #4\n\t"
                     "ldr r4, [r1], #4\n\t"
                     "str r3, [r0], #4\n\t"
                     "str r4, [r0], #4\n\t"
                     "ldr r3, [r1], #4\n\t"
                     "ldr r4, [r1], #4\n\t"
                     "str r3, [r0], #4\n\t"
                     "str r4, [r0], #4\n\t"
                     "subs r2, r2, #16\n\t"
                     "bhs 5b\n"
                     "6:\n\t"
                     "lsls r3, r2, #28\n\t"
                     "beq 7f\n\t"
                     "lsls r3, r3, #1\n\t"
                     "itttt cs\n\t"
                     "ldrcs r3, [r1], #4\n\t"
                     "ldrcs r4, [r1], #4\n\t"
                     "strcs r3, [r0], #4\n\t"
                     "strcs r4, [r0], #4\n\t"
                     "itt mi\n\t"
                     "ldrmi r3, [r1], #4\n\t"
                     "strmi r3, [r0], #4\n\t"
                     "lsls r4, r2, #31\n\t"
                     "itt cs\n\t"
                     "ldrhcs r3, [r1], #2\n\t"
                     "strhcs r3, [r0], #2\n\t"
                     "itt mi\n\t"
                     "ldrbmi r3, [r1], #1\n\t"
                     "strbmi r3, [r0], #1\n"
                     "7:"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "r4", "r5", "r12", "cc", "memory");
#elif defined(__thumb__)
    TFLMGEN_IN_REGISTERS_3(to, from, bytes);
    /* clang-format off */
    __asm__ volatile(".syntax unified\n\t"
                     "cmp r2, #16\n\t"
                     "blo 6f\n\t"
                     "push {r4, r5, r6, r7}\n\t"
                     "lsls r3, r0, #31\n\t"
                     "beq 1f\n\t"
                     "ldrb r3, [r1]\n\t"
                     "strb r3, [r0]\n\t"
                     "adds r1, r1, #1\n\t"
                     "adds r0, r0, #1\n\t"
                     "subs r2, r2, #1\n"
                     "1:\n\t"
                     "lsls r3, r0, #30\n\t"
                     "beq 2f\n\t"
                     TFLMGEN_MOVE_TWO_BYTES("0", "1")
                     "adds r1, r1, #2\n\t"
                     "adds r0, r0, #2\n\t"
                     "subs r2, r2, #2\n"
                     "2:\n\t"
                     "subs r2, r2, #8\n\t"
                     "movs r3, #3\n\t"
                     "ands r3, r1\n\t"
                     "beq 3f\n\t"
                     "subs r1, r1, r3\n\t"
                     "cmp r3, #2\n\t"
                     "beq 20f\n\t"
                     "bhi 30f\n"
                     TFLMGEN_MOVE_MERGED("10", "8", "24")
                     TFLMGEN_MOVE_MERGED("20", "16", "16")
                     TFLMGEN_MOVE_MERGED("30", "24", "8")
                     "3:\n\t"
                     "subs r2, r2, #8\n\t"
                     "blo 5f\n"
                     "4:\n\t"
                     "ldmia r1!, {r4, r5, r6, r7}\n\t"
                     "stmia r0!, {r4, r5, r6, r7}\n\t"
                     "subs r2, r2, #16\n\t"
                     "bhs 4b\n"
                     "5:\n\t"
                     "adds r2, r2, #12\n\t"
                     "bmi 5f\n"
                     "4:\n\t"
                     "ldmia r1!, {r3}\n\t"
                     "stmia r0!, {r3}\n\t"
                     "subs r2, r2, #4\n\t"
                     "bhs 4b\n"
                     /* Less than a word is left over: the low two bits of the count. */
                     "5:\n\t"
                     "pop {r4, r5, r6, r7}\n\t"
                     "b 8f\n"
                     "6:\n\t"
                     "subs r2, r2, #8\n\t"
                     "blo 7f\n\t"
                     TFLMGEN_MOVE_TWO_BYTES("0", "1")
                     TFLMGEN_MOVE_TWO_BYTES("2", "3")
                     TFLMGEN_MOVE_TWO_BYTES("4", "5")
                     TFLMGEN_MOVE_TWO_BYTES("6", "7")
                     "adds r1, r1, #8\n\t"
                     "adds r0, r0, #8\n"
                     /* The low three bits of the count are what is left over. */
                     "7:\n\t"
                     "lsls r3, r2, #29\n\t"
                     "bpl 8f\n\t"
                     TFLMGEN_MOVE_TWO_BYTES("0", "1")
                     TFLMGEN_MOVE_TWO_BYTES("2", "3")
                     "adds r1, r1, #4\n\t"
                     "adds r0, r0, #4\n"
                     "8:\n\t"
                     "lsls r3, r2, #30\n\t"
                     "bpl 9f\n\t"
                     TFLMGEN_MOVE_TWO_BYTES("0", "1")
                     "adds r1, r1, #2\n\t"
                     "adds r0, r0, #2\n"
                     "9:\n\t"
                     "lsls r3, r2, #31\n\t"
                     "beq 9f\n\t"
                     "ldrb r3, [r1]\n\t"
                     "strb r3, [r0]\n"
                     "9:"
                     : "+l"(r0), "+l"(r1), "+l"(r2)
                     :
                     : "r3", "cc", "memory");
    /* clang-format on */
#else
    memcpy(to, from, (size_t)bytes);
#endif
}
#endif

/* Longest block of a size known to the compiler that GCC copies in line, in bytes; it calls memcpy for others. */
#define TFLMGEN_MOVE_IN_LINE 64

/* The same of a block whose size is a number of the call: in line where words may lie anywhere. */
TFLMGEN_HELPER void tflmgen_move_block(void *restrict to, const void *restrict from, int32_t bytes)
{
    if (TFLMGEN_MOVE_UNALIGNED && __builtin_constant_p(bytes) && bytes <= TFLMGEN_MOVE_IN_LINE) {
        memcpy(to, from, (size_t)bytes);
    } else {
        tflmgen_move(to, from, bytes);
    }
}

/* Fills bytes with a pattern of four, from any address on; from a whole word on 16 of them take 3 instructions. */
static __attribute__((noinline, unused)) void tflmgen_fill(void *begin, uint32_t pattern, int32_t bytes)
{
    uint8_t *to = (uint8_t *)begin;
    for (; bytes > 0 && ((uintptr_t)to & 3u) != 0; --bytes) {
        *to++ = (uint8_t)pattern;
        pattern = pattern >> 8 | pattern << 24;
    }
#if defined(__thumb__)
    if (bytes >= 16) {
        __asm__ volatile(".syntax unified\n\t"
                         "subs %[bytes], %[bytes], #16\n\t"
                         "movs r3, %[pattern]\n\t"
                         "movs r4, %[pattern]\n\t"
                         "movs r5, %[pattern]\n\t"
                         "movs r6, %[pattern]\n"
                         "1:\n\t"
                         "stmia %[to]!, {r3, r4, r5, r6}\n\t"
                         "subs %[bytes], %[bytes], #16\n\t"
                         "bhs 1b\n\t"
                         "adds %[bytes], %[bytes], #16"
                         : [to] "+l"(to), [bytes] "+l"(bytes)
                         : [pattern] "l"(pattern)
                         : "r3", "r4", "r5", "r6", "cc", "memory");
    }
#endif
    for (; bytes > 0; --bytes) {
        *to++ = (uint8_t)pattern;
        pattern = pattern >> 8 | pattern << 24;
    }
}

#endif
