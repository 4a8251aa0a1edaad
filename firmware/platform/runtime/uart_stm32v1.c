/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* USART of the STM32F1, F2, F4 and L1 (RM0090, "USART registers"). Clocks and pins are set by board.json's
 * uart.setup. */
#include "uart.h"

#define SR TFLMGEN_UART_REGISTER(0x00u)
#define DR TFLMGEN_UART_REGISTER(0x04u)
#define BRR TFLMGEN_UART_REGISTER(0x08u)
#define CR1 TFLMGEN_UART_REGISTER(0x0Cu)
#define SR_RXNE (1u << 5)
#define SR_TXE (1u << 7)
#define CR1_UE_TE_RE (1u << 13 | 1u << 3 | 1u << 2)

void tflmgen_uart_init(void)
{
    BRR = (TFLMGEN_UART_CLOCK + TFLMGEN_UART_BAUD / 2u) / TFLMGEN_UART_BAUD;
    CR1 = CR1_UE_TE_RE;
}

int tflmgen_uart_get(void)
{
    while ((SR & SR_RXNE) == 0) {
    }
    return (int)(DR & 0xFFu); /* this, after the read of SR, ends an overrun too */
}

void tflmgen_uart_put(uint8_t byte)
{
    while ((SR & SR_TXE) == 0) {
    }
    DR = byte;
}
