/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Nordic UARTE (nRF52840 Product Specification, "UARTE"): a UART that moves bytes by DMA only, here one at a time.
 * Pins and baud rate are set by board.json's uart.setup. */
#include "uart.h"

#define TASKS_STARTRX TFLMGEN_UART_REGISTER(0x000u)
#define TASKS_STARTTX TFLMGEN_UART_REGISTER(0x008u)
#define EVENTS_ENDRX TFLMGEN_UART_REGISTER(0x110u)
#define EVENTS_ENDTX TFLMGEN_UART_REGISTER(0x120u)
#define ENABLE TFLMGEN_UART_REGISTER(0x500u)
#define RXD_PTR TFLMGEN_UART_REGISTER(0x534u)
#define RXD_MAXCNT TFLMGEN_UART_REGISTER(0x538u)
#define TXD_PTR TFLMGEN_UART_REGISTER(0x544u)
#define TXD_MAXCNT TFLMGEN_UART_REGISTER(0x548u)
#define ENABLED 8u

static volatile uint8_t received, to_send;

void tflmgen_uart_init(void)
{
    ENABLE = ENABLED;
    RXD_PTR = (uint32_t)(uintptr_t)&received;
    RXD_MAXCNT = 1;
    TXD_PTR = (uint32_t)(uintptr_t)&to_send;
    TXD_MAXCNT = 1;
    EVENTS_ENDRX = 0;
    TASKS_STARTRX = 1;
}

/* Until reception is started again, further bytes wait in the UARTE's own FIFO. */
int tflmgen_uart_get(void)
{
    while (EVENTS_ENDRX == 0) {
    }
    EVENTS_ENDRX = 0;
    const int byte = received;
    TASKS_STARTRX = 1;
    return byte;
}

void tflmgen_uart_put(uint8_t byte)
{
    to_send = byte;
    EVENTS_ENDTX = 0;
    TASKS_STARTTX = 1;
    while (EVENTS_ENDTX == 0) {
    }
}
