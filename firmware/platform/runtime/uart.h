/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The driver of the board's UART: one uart_NAME.c, chosen by board.json, implements it. */
#ifndef TFLMGEN_UART_H
#define TFLMGEN_UART_H

#include <stdint.h>
#include "tflmgen_board_config.h"

#ifndef TFLMGEN_UART_REGISTER
#define TFLMGEN_UART_REGISTER(offset) (*(volatile uint32_t *)(TFLMGEN_UART_BASE + (offset)))
#endif

void tflmgen_uart_init(void);
int tflmgen_uart_get(void);
void tflmgen_uart_put(uint8_t byte);

#endif
