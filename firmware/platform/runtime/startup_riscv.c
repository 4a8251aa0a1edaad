/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Reset and trap handlers for any RISC-V core of 32 bits in machine mode (The RISC-V Instruction Set Manual, volume
 * II).
 *
 * GCC 12 links another library where -march names Zicsr; of the assembly here it is enabled by .option. */
#include <stdint.h>

#include "runtime.h"
#include "tflmgen_board_config.h"

extern uint32_t __data_start[], __data_end[], __data_load[], __bss_start[], __bss_end[];
extern uint32_t __state_start[], __state_end[], __state_load[];
#ifdef TFLMGEN_CODE_IN_RAM
extern uint32_t __code_start[], __code_end[], __code_load[];
#endif
typedef void (*function)(void);
extern const function __init_array_start[], __init_array_end[];
extern int main(void);

void Reset_Handler(void);
__attribute__((noreturn, used)) void tflmgen_start(void);

/* The first instructions of the program, where cores begin whose reset vector is its origin. The library's errno is a
 * variable of the thread, beside the thread pointer. */
__attribute__((naked, section(".isr_vector"), used)) void Reset_Handler(void)
{
    __asm__ volatile(".option push\n\t"
                     ".option arch, +zicsr\n\t"
                     ".option norelax\n\t"
                     "lui t0, %hi(1f)\n\t" /* some chips begin at an alias of the flash, where addresses are others */
                     "jr %lo(1f)(t0)\n"
                     "1:\n\t"
                     "la gp, __global_pointer$\n\t"
                     ".option relax\n\t"
                     "la sp, __stack_top\n\t"
                     "la tp, __tls_base\n\t"
                     "la t0, tflmgen_trap\n\t"
                     "csrw mtvec, t0\n\t"
#ifdef __riscv_flen
                     "li t0, 0x2000\n\t" /* mstatus.FS: the floating-point unit is on */
                     "csrs mstatus, t0\n\t"
                     "fscsr x0\n\t"
#endif
#ifdef __riscv_vector
                     "li t0, 0x200\n\t" /* mstatus.VS: so is the vector unit */
                     "csrs mstatus, t0\n\t"
#endif
                     "j tflmgen_start\n\t"
                     ".option pop");
}

static void copy(volatile uint32_t *to, const uint32_t *end, const volatile uint32_t *from)
{
    while (to < end) {
        *to++ = *from++;
    }
}

static void clear(volatile uint32_t *from, const uint32_t *end)
{
    while (from < end) {
        *from++ = 0;
    }
}

void tflmgen_start(void)
{
    copy(__data_start, __data_end, __data_load);
    copy(__state_start, __state_end, __state_load);
#ifdef TFLMGEN_CODE_IN_RAM
    copy(__code_start, __code_end, __code_load);
    __asm__ volatile(".word 0x0000100F" : : : "memory"); /* FENCE.I */
#endif
    clear(__bss_start, __bss_end);
    tflmgen_board_start();
    for (const function *f = __init_array_start; f != __init_array_end; f++) {
        (*f)();
    }
    tflmgen_board_exit(main());
    for (;;) {
    }
}

/* Every trap: its cause, pc and return address go to tflmgen_board_fault(), on a fresh stack, since the old one may be
 * what failed. */
__attribute__((naked, aligned(64), used)) void tflmgen_trap(void)
{
    __asm__ volatile(".option push\n\t"
                     ".option arch, +zicsr\n\t"
                     "mv a2, ra\n\t"
                     "csrr a0, mcause\n\t"
                     "csrr a1, mepc\n\t"
                     ".option norelax\n\t"
                     "la gp, __global_pointer$\n\t"
                     ".option relax\n\t"
                     "la sp, __stack_top\n\t"
                     "j tflmgen_board_fault\n\t"
                     ".option pop");
}
