/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* USART and LPUART of the STM32F0, F3, F7, G, H, L0, L4, L5, U and W (RM0410, "USART registers"). */
#ifndef TFLMGEN_STM32V2_H
#define TFLMGEN_STM32V2_H

#include "uart.h"

#define CR1 TFLMGEN_UART_REGISTER(0x00u)
#define CR3 TFLMGEN_UART_REGISTER(0x08u)
#define BRR TFLMGEN_UART_REGISTER(0x0Cu)
#define ISR TFLMGEN_UART_REGISTER(0x1Cu)
#define RDR TFLMGEN_UART_REGISTER(0x24u)
#define TDR TFLMGEN_UART_REGISTER(0x28u)
#define ISR_RXNE (1u << 5)
#define ISR_TXE (1u << 7)
#define CR1_TE_RE (1u << 3 | 1u << 2)
#define CR1_UE 1u
#define CR3_OVRDIS (1u << 12)

/* `divider`: the baud rate register counts the UART's clock (1) or 256ths of it (256). */
static inline void stm32v2_init(uint32_t divider)
{
    CR3 = CR3_OVRDIS; /* a byte that came too late is lost, and reception goes on */
    BRR = (uint32_t)(((uint64_t)TFLMGEN_UART_CLOCK * divider + TFLMGEN_UART_BAUD / 2u) / TFLMGEN_UART_BAUD);
    CR1 = CR1_TE_RE;
    CR1 = CR1_TE_RE | CR1_UE;
}

static inline int stm32v2_get(void)
{
    while ((ISR & ISR_RXNE) == 0) {
    }
    return (int)(RDR & 0xFFu);
}

static inline void stm32v2_put(uint8_t byte)
{
    while ((ISR & ISR_TXE) == 0) {
    }
    TDR = byte;
}

#endif
