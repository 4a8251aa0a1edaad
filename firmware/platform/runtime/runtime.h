/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What the start-up code and the rest of the runtime share. */
#ifndef TFLMGEN_RUNTIME_H
#define TFLMGEN_RUNTIME_H

#include <stdint.h>
#include <tflmgen/board.h>

/* The board's own registers (clocks, pins: board.json's uart.setup), then its UART. */
void tflmgen_board_start(void);

/* Reports a fault and does not return. */
__attribute__((noreturn)) void tflmgen_board_fault(uint32_t exception, uint32_t pc, uint32_t lr);

/* What each architecture has in a processor.c of its own. */
/* Makes the emulator look for events, where it offers bytes that a UART refused only then. */
void tflmgen_wake_emulator(void);

/* A call of the debugger or emulator: Arm's "Semihosting for AArch32 and AArch64". */
void tflmgen_semihosting(uint32_t operation, const volatile uint32_t *arguments);

/* cfsr and address, where the processor has registers for them. */
void tflmgen_read_fault_registers(tflmgen_fault *fault);

#endif
