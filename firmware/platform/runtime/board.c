/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The emulated or bare board as tflmgen/board.h wants it. */
#include <stdbool.h>

#include "runtime.h"
#include "uart.h"

extern uint32_t __stack_limit[];

const tflmgen_link tflmgen_board_link = {tflmgen_uart_get, tflmgen_uart_put, __stack_limit};

typedef struct {
    uint32_t address, clear, set, wait;
} register_setup;

void tflmgen_board_start(void)
{
    static const register_setup setup[] = {TFLMGEN_UART_SETUP{0, 0, 0, 0}};
    for (const register_setup *s = setup; s->address != 0; s++) {
        volatile uint32_t *reg = (volatile uint32_t *)s->address;
        if ((s->clear | s->set) != 0) {
            *reg = (*reg & ~s->clear) | s->set;
        }
        while ((*reg & s->wait) != s->wait) {
        }
    }
    tflmgen_uart_init();
    tflmgen_wake_emulator();
}

static volatile bool ending;

/* Semihosting's SYS_EXIT_EXTENDED. Without a debugger or emulator the breakpoint is a fault, which is no news then. */
void tflmgen_board_exit(int code)
{
    if (!ending) {
        ending = true;
        const volatile uint32_t block[2] = {0x20026u /* ADP_Stopped_ApplicationExit */, (uint32_t)code};
        tflmgen_semihosting(0x20u, block);
    }
    for (;;) {
    }
}

__attribute__((weak)) void tflmgen_on_fault(const tflmgen_fault *fault)
{
    (void)fault;
}

static void put_text(const char *text)
{
    while (*text != '\0') {
        tflmgen_uart_put((uint8_t)*text++);
    }
}

static void put_hex(const char *name, uint32_t value)
{
    put_text(name);
    for (int shift = 28; shift >= 0; shift -= 4) {
        tflmgen_uart_put((uint8_t)"0123456789abcdef"[(value >> shift) & 15u]);
    }
}

void tflmgen_board_fault(uint32_t exception, uint32_t pc, uint32_t lr)
{
    static bool faulted;
    tflmgen_fault fault = {exception, pc, lr, 0, 0};
    tflmgen_read_fault_registers(&fault);
    if (!faulted && !ending) {
        faulted = true;
        tflmgen_on_fault(&fault);
        put_hex("\r\nFAULT exception=", fault.exception);
        put_hex(" pc=", fault.pc);
        put_hex(" lr=", fault.lr);
        put_hex(" cfsr=", fault.cfsr);
        put_hex(" address=", fault.address);
        put_text("\r\n");
    }
    tflmgen_board_exit(70);
    for (;;) {
    }
}
