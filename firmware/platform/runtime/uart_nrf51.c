/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Nordic nRF51 UART (nRF51 Series Reference Manual, "UART"). Pins and baud rate are set by board.json's uart.setup. */
#include "uart.h"

#define TASKS_STARTRX TFLMGEN_UART_REGISTER(0x000u)
#define TASKS_STARTTX TFLMGEN_UART_REGISTER(0x008u)
#define EVENTS_RXDRDY TFLMGEN_UART_REGISTER(0x108u)
#define EVENTS_TXDRDY TFLMGEN_UART_REGISTER(0x11Cu)
#define ENABLE TFLMGEN_UART_REGISTER(0x500u)
#define RXD TFLMGEN_UART_REGISTER(0x518u)
#define TXD TFLMGEN_UART_REGISTER(0x51Cu)
#define ENABLED 4u

void tflmgen_uart_init(void)
{
    ENABLE = ENABLED;
    TASKS_STARTRX = 1;
    TASKS_STARTTX = 1;
}

int tflmgen_uart_get(void)
{
    while (EVENTS_RXDRDY == 0) {
    }
    EVENTS_RXDRDY = 0; /* before RXD is read: reading lets the next byte of the FIFO raise the event again */
    return (int)(RXD & 0xFFu);
}

void tflmgen_uart_put(uint8_t byte)
{
    EVENTS_TXDRDY = 0;
    TXD = byte;
    while (EVENTS_TXDRDY == 0) {
    }
}
