/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* UART of the ESP32-C3 and ESP32-C6 (ESP32-C3 Technical Reference Manual, "UART Controller"), as the boot loader leaves
 * it: 115200 baud, 8 bits. */
#include "uart.h"

#define FIFO TFLMGEN_UART_REGISTER(0x00u)
#define STATUS TFLMGEN_UART_REGISTER(0x1Cu)
#define RECEIVED (STATUS & 0x3FFu)
#define TO_SEND ((STATUS >> 16) & 0x3FFu)
#define ROOM 127u

void tflmgen_uart_init(void)
{
}

int tflmgen_uart_get(void)
{
    while (RECEIVED == 0) {
    }
    return (int)(FIFO & 0xFFu);
}

void tflmgen_uart_put(uint8_t byte)
{
    while (TO_SEND >= ROOM) {
    }
    FIFO = byte;
}
