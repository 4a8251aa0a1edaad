"""Linker script and start of the programs that run kernels in QEMU, for Cortex-M and RISC-V."""

from __future__ import annotations

SCRIPT = """
SECTIONS {
  .vectors VECTORS : { KEEP(*(.vectors)) }
  .text CODE : { *(.text .text.*) *(.rodata .rodata.* .srodata .srodata.*) *(.ARM.exidx*) }
  .bss DATA (NOLOAD) : { *(.data .sdata .sbss .bss COMMON) }
  stack_top = DATA + 0x200000;
}
"""

START = """
#include <string.h>
static uint8_t ram[1u << 20] __attribute__((aligned(64)));
static volatile uint32_t current;
int main(void);
#ifdef __riscv
static void call_host(uint32_t operation, const void *argument)
{
    register uint32_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\\n.balign 16\\n.option norvc\\nslli x0, x0, 0x1f\\nebreak\\nsrai x0, x0, 7\\n"
                     ".option pop" : "+r"(a0) : "r"(a1) : "memory");
}
#else
static void call_host(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}
#endif
static void say(const char *word, uint32_t number)
{
    char digits[12];
    char *at = digits + 11;
    *at = 0;
    do {
        *--at = (char)('0' + number % 10);
    } while (number /= 10);
    call_host(4, word);
    call_host(4, at);
}
static void stop(void)
{
    static const uint32_t block[2] = {0x20026, 0};
    call_host(0x20, block);
    for (;;) {
    }
}
static void fault(void)
{
    say("fault in case ", current);
    stop();
}
#ifdef __riscv
__attribute__((aligned(64), used)) static void trap(void)
{
    fault();
}
__attribute__((used)) static void begin(void)
{
    main();
    stop();
}
__attribute__((section(".vectors"), used, naked)) void reset(void)
{
    __asm__ volatile(".option push\\n.option norelax\\n.option arch, +zicsr\\nla sp, stack_top\\nla t0, trap\\n"
                     "csrw mtvec, t0\\n.option pop\\nj begin");
}
#else
extern uint32_t stack_top[];
static void reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    __asm__ volatile("dsb; isb" : : : "memory");
#endif
    main();
    stop();
}
__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))stack_top, reset, fault, fault, fault, fault, fault};
#endif
"""
