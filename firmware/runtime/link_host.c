/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The host as a board: standard input and output in place of a UART. With TFLMGEN_HOST_MODEL defined as the name of a
 * model's tflmgen_model object, it also has the main() that serves this model. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <tflmgen/board.h>

static int get(void)
{
    if (fflush(stdout) != 0) {
        return -1; /* the other side may wait for these bytes before it sends more */
    }
    const int byte = getchar();
    return byte == EOF ? -1 : byte;
}

static void put(uint8_t byte)
{
    putchar(byte);
}

const tflmgen_link tflmgen_board_link = {get, put, NULL};

void tflmgen_board_exit(int code)
{
    exit(code);
}

#ifdef TFLMGEN_HOST_MODEL
#include <tflmgen/serve.h>

extern const tflmgen_model TFLMGEN_HOST_MODEL;

int main(void)
{
    tflmgen_serve(&TFLMGEN_HOST_MODEL, &tflmgen_board_link);
    return 0;
}
#endif
