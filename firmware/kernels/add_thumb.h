/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD and SUB of int8 tensors of one shape, for every Cortex-M: the affine map of add_affine.h. */
#ifndef TFLMGEN_KERNELS_ADD_THUMB_H
#define TFLMGEN_KERNELS_ADD_THUMB_H

#include "add_affine.h"
#include "thumb.h"

#ifdef __thumb__

/* Registers: r0, r1 behind the inputs, r2 behind the output, r3 from there to the next element, r4 sum, r5 second
 * product, then shift, r6 and r7 factors, r12 start, lr shift. An element takes 2 LDRSB, 2 MULS, 2 ADDS, MOV and ASRS,
 * 3 to find out whether it saturates, 1 STRB, 2 to loop: 14 instructions, 2 more where it saturates, in the same
 * cycles. */
TFLMGEN_SHARED void tflmgen_add_thumb_row(const int8_t *input1, const int8_t *input2, int8_t *output,
                                          const struct tflmgen_add_affine_s8 *p)
{
    TFLMGEN_IN_REGISTERS_4(input1, input2, output, p);
    /* clang-format off */
    __asm__ volatile(".syntax unified\n\t"
                     "push {r4, r5, r6, r7, lr}\n\t"
                     "ldmia r3!, {r4, r6, r7}\n\t"
                     "ldr r5, [r3]\n\t"
                     "mov r12, r5\n\t"
                     "ldr r5, [r3, #4]\n\t"
                     "mov lr, r5\n\t"
                     "adds r0, r0, r4\n\t"
                     "adds r1, r1, r4\n\t"
                     "adds r2, r2, r4\n\t"
                     "negs r3, r4\n\t"
                     "beq 3f\n"
                     "1:\n\t"
                     "ldrsb r4, [r0, r3]\n\t"
                     "ldrsb r5, [r1, r3]\n\t"
                     "muls r4, r6, r4\n\t"
                     "muls r5, r7, r5\n\t"
                     "add r4, r4, r12\n\t"
                     "adds r4, r4, r5\n\t"
                     "mov r5, lr\n\t"
                     "asrs r4, r4, r5\n\t"
                     "sxtb r5, r4\n\t"
                     "cmp r4, r5\n\t"
                     "beq 2f\n\t"
                     "lsrs r4, r4, #31\n\t"
                     "adds r4, #127\n"
                     "2:\n\t"
                     "strb r4, [r2, r3]\n\t"
                     "adds r3, #1\n\t"
                     "bne 1b\n"
                     "3:\n\t"
                     "pop {r4, r5, r6, r7}\n\t"
                     "pop {r3}\n\t"
                     "mov lr, r3"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
}

TFLMGEN_HELPER void tflmgen_add_thumb_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                         const struct tflmgen_add_affine_s8 *p)
{
    if (tflmgen_is_few(p->count)) {
        for (int32_t i = 0; i < p->count; ++i) {
            const int32_t sum = p->start + input1[i] * p->factor1 + input2[i] * p->factor2;
            output[i] = tflmgen_finish_thumb_s8(sum, p->shift);
        }
    } else {
        tflmgen_add_thumb_row(input1, input2, output, p);
    }
    tflmgen_clamp_thumb_s8(output, p->count, p->least, p->greatest);
}

#endif

#endif
