/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Stands before a model's C in which TFLMGEN_RAN(step) begins each step of the plan: an instruction of its own, whose
 * address and step are noted in a section that is not loaded, and that linkers keep for its name. Only the firmware
 * that tells how often each step runs has it. */
#ifndef TFLMGEN_COUNT_MARK_H
#define TFLMGEN_COUNT_MARK_H

#define TFLMGEN_RAN(step)                                                                                              \
    __asm__ volatile("1: nop\n2:\n\t.pushsection .debug_tflmgen, \"\", %%progbits\n\t.word 1b, 2b, %c0\n\t.popsection" \
                     :                                                                                                 \
                     : "i"(step));

#endif
