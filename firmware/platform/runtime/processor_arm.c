/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What board.c needs of any Cortex-M. */
#include "runtime.h"

/* QEMU offers bytes to a UART that refused them earlier only when its main loop turns, which without an event takes a
 * second. Arming a timer is such an event; SysTick is in every Cortex-M of QEMU, and stays off. */
void tflmgen_wake_emulator(void)
{
    *(volatile uint32_t *)0xE000E014u = 1; /* SYST_RVR */
    *(volatile uint32_t *)0xE000E010u = 5; /* SYST_CSR: enabled, no interrupt */
    *(volatile uint32_t *)0xE000E010u = 0;
}

/* A breakpoint that QEMU and debuggers take as a call. */
void tflmgen_semihosting(uint32_t operation, const volatile uint32_t *arguments)
{
    register uint32_t number __asm__("r0") = operation;
    register const volatile uint32_t *block __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(number) : "r"(block) : "memory");
}

void tflmgen_read_fault_registers(tflmgen_fault *fault)
{
#if __ARM_ARCH >= 7
    const uint32_t cfsr = *(volatile uint32_t *)0xE000ED28u;
    fault->cfsr = cfsr;
    if ((cfsr & 1u << 7) != 0) {
        fault->address = *(volatile uint32_t *)0xE000ED34u; /* MMARVALID: MMFAR */
    }
    if ((cfsr & 1u << 15) != 0) {
        fault->address = *(volatile uint32_t *)0xE000ED38u; /* BFARVALID: BFAR */
    }
#else
    (void)fault;
#endif
}
