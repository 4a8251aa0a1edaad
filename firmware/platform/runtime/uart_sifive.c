/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* UART of SiFive's FE310 (FE310-G002 Manual, "Universal Asynchronous Receiver/Transmitter"). Clocks and pins are set by
 * board.json's uart.setup. */
#include "uart.h"

#define TXDATA TFLMGEN_UART_REGISTER(0x00u)
#define RXDATA TFLMGEN_UART_REGISTER(0x04u)
#define TXCTRL TFLMGEN_UART_REGISTER(0x08u)
#define RXCTRL TFLMGEN_UART_REGISTER(0x0Cu)
#define DIV TFLMGEN_UART_REGISTER(0x18u)
#define FULL_OR_EMPTY (1u << 31)
#define ENABLED 1u

void tflmgen_uart_init(void)
{
    DIV = (TFLMGEN_UART_CLOCK + TFLMGEN_UART_BAUD / 2u) / TFLMGEN_UART_BAUD - 1u;
    TXCTRL = ENABLED;
    RXCTRL = ENABLED;
}

int tflmgen_uart_get(void)
{
    for (;;) {
        const uint32_t data = RXDATA;
        if ((data & FULL_OR_EMPTY) == 0) {
            return (int)(data & 0xFFu);
        }
    }
}

void tflmgen_uart_put(uint8_t byte)
{
    while ((TXDATA & FULL_OR_EMPTY) != 0) {
    }
    TXDATA = byte;
}
