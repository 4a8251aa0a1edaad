/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
#include "measure.h"

#include <stddef.h>

#if defined(__GNUC__) && !defined(__clang__)
#define NEVER_INLINED __attribute__((noinline, noclone))
#else
#define NEVER_INLINED __attribute__((noinline))
#endif

#if defined(__arm__) || defined(__riscv)
#ifdef __riscv
#define STACK_POINTER(variable) __asm__ volatile("mv %0, sp" : "=r"(variable))
#else
#define STACK_POINTER(variable) __asm__ volatile("mov %0, sp" : "=r"(variable))
#endif
/* A symbol at this very place in the code. The pointer passes through it, so that it is loaded before the symbol. */
#define MARK(symbol, pointer) __asm__ volatile(".global " symbol "\n" symbol ":" : "+r"(pointer) : : "memory")
#else
#define STACK_POINTER(variable) ((variable) = NULL)
#define MARK(symbol, pointer) ((void)(pointer))
#endif

#if defined(__ARM_ARCH) && __ARM_ARCH >= 7 && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define REGISTER(address) (*(volatile uint32_t *)(address))
static void start_cycle_counter(void)
{
    REGISTER(0xE000EDFCu) |= 1u << 24;   /* DEMCR.TRCENA */
    REGISTER(0xE0001FB0u) = 0xC5ACCE55u; /* DWT_LAR: a Cortex-M7 may be locked */
    REGISTER(0xE0001004u) = 0;           /* DWT_CYCCNT */
    REGISTER(0xE0001000u) |= 1u;         /* DWT_CTRL.CYCCNTENA */
}
static uint32_t read_cycle_counter(void)
{
    return REGISTER(0xE0001004u);
}
#else
static void start_cycle_counter(void)
{
}
static uint32_t read_cycle_counter(void)
{
    return 0;
}
#endif

static const uint32_t paint = 0xA5C3F00Du;

NEVER_INLINED void tflmgen_timed_invoke(const tflmgen_signature *signature, uint32_t *stack_limit,
                                        tflmgen_measurement *measurement)
{
    tflmgen_status (*invoke)(void) = signature->invoke;
    volatile uint32_t *top; /* volatile: a call of memset, whose frame would be painted over, is no replacement */
    volatile uint32_t *const bottom = stack_limit;
    STACK_POINTER(top);
    if (bottom == NULL) {
        top = NULL;
    }
    for (volatile uint32_t *word = bottom; word < top; word++) {
        *word = paint;
    }
    start_cycle_counter();
    const uint32_t start = read_cycle_counter();
    MARK("tflmgen_count_from", invoke);
    tflmgen_status status = invoke();
    MARK("tflmgen_count_to", status);
    measurement->cycles = read_cycle_counter() - start;
    measurement->status = status;
    volatile uint32_t *word = bottom;
    while (word < top && *word == paint) {
        word++;
    }
    measurement->stack_room = (uint32_t)((uintptr_t)top - (uintptr_t)bottom);
    measurement->stack_bytes = (uint32_t)((uintptr_t)top - (uintptr_t)word);
}
