/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* 16550 with registers of a byte (National Semiconductor, "PC16550D Universal Asynchronous Receiver/Transmitter with
 * FIFOs"), as in QEMU's `virt`. */
#include "uart.h"

#define REGISTER(offset) (*(volatile uint8_t *)(TFLMGEN_UART_BASE + (offset)))
#define DATA REGISTER(0u) /* receiver buffer and transmitter holding register; with DLAB the divisor's lower byte */
#define IER REGISTER(1u)  /* with DLAB the divisor's upper byte */
#define FCR REGISTER(2u)
#define LCR REGISTER(3u)
#define LSR REGISTER(5u)
#define FCR_FIFOS_CLEARED 7u
#define LCR_DLAB 0x80u
#define LCR_8_BITS 3u
#define LSR_RECEIVED 1u
#define LSR_ROOM 0x20u

/* A bit takes 16 cycles of the divided clock. */
#define DIVISOR ((TFLMGEN_UART_CLOCK + TFLMGEN_UART_BAUD * 8u) / (TFLMGEN_UART_BAUD * 16u))

void tflmgen_uart_init(void)
{
    LCR = LCR_DLAB | LCR_8_BITS;
    DATA = (uint8_t)DIVISOR;
    IER = (uint8_t)(DIVISOR >> 8);
    LCR = LCR_8_BITS;
    IER = 0;
    FCR = FCR_FIFOS_CLEARED;
    (void)DATA; /* QEMU offers bytes that it had refused after a read, else only when its main loop turns */
}

int tflmgen_uart_get(void)
{
    while ((LSR & LSR_RECEIVED) == 0) {
    }
    return DATA;
}

void tflmgen_uart_put(uint8_t byte)
{
    while ((LSR & LSR_ROOM) == 0) {
    }
    DATA = byte;
}
