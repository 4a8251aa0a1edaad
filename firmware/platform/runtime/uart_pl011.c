/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Arm PL011 (DDI 0183, "Programmers model"), as in the RP2040. Clocks and pins are set by board.json's uart.setup. */
#include "uart.h"

#define DR TFLMGEN_UART_REGISTER(0x00u)
#define FR TFLMGEN_UART_REGISTER(0x18u)
#define IBRD TFLMGEN_UART_REGISTER(0x24u)
#define FBRD TFLMGEN_UART_REGISTER(0x28u)
#define LCR_H TFLMGEN_UART_REGISTER(0x2Cu)
#define CR TFLMGEN_UART_REGISTER(0x30u)
#define FR_RXFE (1u << 4)
#define FR_TXFF (1u << 5)
#define LCR_H_8_BITS_FIFO (3u << 5 | 1u << 4)
#define CR_RXE_TXE_UARTEN (1u << 9 | 1u << 8 | 1u)

/* Of the clock, in 64ths: the bit time is 16 times this. */
#define DIVISOR ((TFLMGEN_UART_CLOCK * 4u + TFLMGEN_UART_BAUD / 2u) / TFLMGEN_UART_BAUD)

void tflmgen_uart_init(void)
{
    CR = 0;
    IBRD = DIVISOR >> 6;
    FBRD = DIVISOR & 63u;
    LCR_H = LCR_H_8_BITS_FIFO; /* also what makes the divisor count */
    CR = CR_RXE_TXE_UARTEN;
}

int tflmgen_uart_get(void)
{
    while ((FR & FR_RXFE) != 0) {
    }
    return (int)(DR & 0xFFu);
}

void tflmgen_uart_put(uint8_t byte)
{
    while ((FR & FR_TXFF) != 0) {
    }
    DR = byte;
}
