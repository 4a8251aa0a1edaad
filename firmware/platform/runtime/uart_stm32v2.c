/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The STM32's USART, second generation. Clocks and pins are set by board.json's uart.setup. */
#include "stm32v2.h"

void tflmgen_uart_init(void)
{
    stm32v2_init(1u);
}
int tflmgen_uart_get(void)
{
    return stm32v2_get();
}
void tflmgen_uart_put(uint8_t byte)
{
    stm32v2_put(byte);
}
