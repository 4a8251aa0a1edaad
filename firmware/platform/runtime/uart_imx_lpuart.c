/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* NXP's LPUART, as in the i.MX RT (Reference Manual, "LPUART"). Clocks and pins are set by board.json's uart.setup. */
#include "uart.h"

#define BAUD TFLMGEN_UART_REGISTER(0x10u)
#define STAT TFLMGEN_UART_REGISTER(0x14u)
#define CTRL TFLMGEN_UART_REGISTER(0x18u)
#define DATA TFLMGEN_UART_REGISTER(0x1Cu)
#define STAT_TDRE (1u << 23)
#define STAT_RDRF (1u << 21)
#define STAT_OR (1u << 19) /* a byte was lost; cleared by writing 1, and nothing is received before */
#define CTRL_TE_RE (3u << 18)

/* A bit takes this many sixteenths of the clock. */
#define DIVISOR ((TFLMGEN_UART_CLOCK + TFLMGEN_UART_BAUD * 8u) / (TFLMGEN_UART_BAUD * 16u))

void tflmgen_uart_init(void)
{
    CTRL = 0;
    BAUD = 15u << 24 | DIVISOR; /* 16 samples of a bit, one stop bit */
    CTRL = CTRL_TE_RE;
}

int tflmgen_uart_get(void)
{
    uint32_t status;
    while (((status = STAT) & STAT_RDRF) == 0) {
        if ((status & STAT_OR) != 0) {
            STAT = STAT_OR;
        }
    }
    return (int)(DATA & 0xFFu);
}

void tflmgen_uart_put(uint8_t byte)
{
    while ((STAT & STAT_TDRE) == 0) {
    }
    DATA = byte;
}
