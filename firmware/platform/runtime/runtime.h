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

#endif
