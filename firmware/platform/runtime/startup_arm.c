/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Vector table and reset handler for any Cortex-M. */
#include <stdint.h>

#include "runtime.h"
#include "tflmgen_board_config.h"

extern uint32_t __stack_top[];
extern uint32_t __data_start[], __data_end[], __data_load[], __bss_start[], __bss_end[];
extern uint32_t __state_start[], __state_end[], __state_load[];
extern uint32_t __zero_state_start[], __zero_state_end[];
#ifdef TFLMGEN_CODE_IN_RAM
extern uint32_t __code_start[], __code_end[], __code_load[];
#endif
typedef void (*function)(void);
extern const function __init_array_start[], __init_array_end[];
extern int main(void);

void Reset_Handler(void);
void Default_Handler(void);

#define WEAK __attribute__((weak, alias("Default_Handler")))
void NMI_Handler(void) WEAK;
void HardFault_Handler(void) WEAK;
void MemManage_Handler(void) WEAK;
void BusFault_Handler(void) WEAK;
void UsageFault_Handler(void) WEAK;
void SecureFault_Handler(void) WEAK;
void SVC_Handler(void) WEAK;
void DebugMon_Handler(void) WEAK;
void PendSV_Handler(void) WEAK;
void SysTick_Handler(void) WEAK;

extern const function tflmgen_vectors[];
__attribute__((section(".isr_vector"), used)) const function tflmgen_vectors[48] = {
    (function)(uintptr_t)__stack_top,
    Reset_Handler,
    NMI_Handler,
    HardFault_Handler,
    MemManage_Handler,
    BusFault_Handler,
    UsageFault_Handler,
    SecureFault_Handler,
    0,
    0,
    0,
    SVC_Handler,
    DebugMon_Handler,
    0,
    PendSV_Handler,
    SysTick_Handler,
    [16 ... 47] = Default_Handler,
};

/* Before .data and .bss exist and, on cores with an FPU, before it is switched on: volatile keeps these loops plain. */
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

__attribute__((noreturn)) void Reset_Handler(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: full access to CP10 and CP11 */
    __asm__ volatile("dsb\n isb" : : : "memory");
#endif
#if __ARM_ARCH >= 7
    *(volatile uint32_t *)0xE000ED08u = (uint32_t)(uintptr_t)tflmgen_vectors; /* VTOR */
#endif
    copy(__data_start, __data_end, __data_load);
    copy(__state_start, __state_end, __state_load);
#ifdef TFLMGEN_CODE_IN_RAM
    copy(__code_start, __code_end, __code_load);
    __asm__ volatile("dsb\n isb" : : : "memory");
#endif
    clear(__bss_start, __bss_end);
    clear(__zero_state_start, __zero_state_end);
    tflmgen_board_start();
    for (const function *f = __init_array_start; f != __init_array_end; f++) {
        (*f)();
    }
    tflmgen_board_exit(main());
    for (;;) {
    }
}

/* Every exception that nothing handles: its number, pc and lr go to tflmgen_board_fault(), on a fresh stack, since
 * the old one may be what failed. */
__attribute__((naked, used)) void Default_Handler(void)
{
    __asm__ volatile("mov  r0, lr        \n"
                     "movs r1, #4        \n"
                     "tst  r0, r1        \n"
                     "bne  1f            \n"
                     "mrs  r3, msp       \n"
                     "b    2f            \n"
                     "1: mrs r3, psp     \n"
                     "2: mrs r0, ipsr    \n"
                     "ldr  r1, [r3, #24] \n"
                     "ldr  r2, [r3, #20] \n"
                     "ldr  r3, =__stack_top \n"
                     "mov  sp, r3        \n"
                     "ldr  r3, =tflmgen_board_fault \n"
                     "bx   r3            \n"
                     ".ltorg             \n");
}
