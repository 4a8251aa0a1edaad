/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Arm CMSDK APB UART (DDI 0479, "APB UART programmer's model"). */
#include "uart.h"

#define DATA TFLMGEN_UART_REGISTER(0x00u)
#define STATE TFLMGEN_UART_REGISTER(0x04u)
#define CTRL TFLMGEN_UART_REGISTER(0x08u)
#define BAUDDIV TFLMGEN_UART_REGISTER(0x10u)
#define TX_FULL 1u
#define RX_FULL 2u
#define TX_RX_ENABLE 3u

void tflmgen_uart_init(void)
{
    BAUDDIV = TFLMGEN_UART_CLOCK / TFLMGEN_UART_BAUD;
    CTRL = TX_RX_ENABLE;
}

int tflmgen_uart_get(void)
{
    while ((STATE & RX_FULL) == 0) {
    }
    return (int)(DATA & 0xFFu);
}

void tflmgen_uart_put(uint8_t byte)
{
    while ((STATE & TX_FULL) != 0) {
    }
    DATA = byte;
}
