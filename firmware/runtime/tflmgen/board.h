/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What tflmgen needs of a board: a byte link and a way to end. The project's platform/runtime implements it for
 * emulated boards, link_host.c for the host. On a board with a vendor's framework, write these few functions on top
 * of its UART. */
#ifndef TFLMGEN_BOARD_H
#define TFLMGEN_BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int (*get)(void);          /* waits for the next byte: 0..255, or -1 when the other side is gone for good */
    void (*put)(uint8_t byte); /* sends one byte, waiting for room */
    uint32_t *stack_limit;     /* lowest word of the stack, for measuring its use; NULL where that is unknown */
} tflmgen_link;

/* The board's UART, ready for use when main() begins. */
extern const tflmgen_link tflmgen_board_link;

/* Ends the program where something waits for its end (an emulator, the host); elsewhere it stops for ever. */
void tflmgen_board_exit(int code);

typedef struct {
    uint32_t exception; /* as in IPSR: 3 HardFault, 4 MemManage, 5 BusFault, 6 UsageFault; RISC-V: mcause */
    uint32_t pc;
    uint32_t lr;
    uint32_t cfsr;    /* 0 on cores without it (ARMv6-M, RISC-V) */
    uint32_t address; /* of the access that failed, where cfsr says that it is valid, or mtval; else 0 */
} tflmgen_fault;

/* Called by the start-up code's fault handlers. A program that serves has serve.c's, which reports over the
 * protocol; any other may define its own. Without one, and where it returns, the start-up code writes one line of
 * text and ends the program. */
void tflmgen_on_fault(const tflmgen_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
