/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What board.c needs of any RISC-V core of 32 bits. */
#include "runtime.h"

void tflmgen_wake_emulator(void)
{
}

/* RISC-V Semihosting 1.0: three instructions, none of them compressed, that no compiler makes. */
void tflmgen_semihosting(uint32_t operation, const volatile uint32_t *arguments)
{
    register uint32_t number __asm__("a0") = operation;
    register const volatile uint32_t *block __asm__("a1") = arguments;
    __asm__ volatile(".option push\n\t"
                     ".balign 16\n\t" /* all three in one page; before norvc, behind which GCC reserves too little */
                     ".option norvc\n\t"
                     "slli x0, x0, 0x1f\n\t"
                     "ebreak\n\t"
                     "srai x0, x0, 7\n\t"
                     ".option pop"
                     : "+r"(number)
                     : "r"(block)
                     : "memory");
}

/* The address of an access, mtval, has come with the trap. */
void tflmgen_read_fault_registers(tflmgen_fault *fault)
{
    uint32_t address;
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\tcsrr %0, mtval\n\t.option pop" : "=r"(address));
    fault->address = address;
}
