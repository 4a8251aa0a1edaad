/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* A board under the Arduino core as tflmgen/board.h wants it: the link is Serial, which on boards with USB is the USB
 * port. */
#include <Arduino.h>
#include <tflmgen/board.h>

static uint8_t waiting[64];
static unsigned count;

static void flush()
{
    static bool begun;
    if (!begun) {
        Serial.begin(115200);
    }
    begun = true;
    if (count != 0) {
        Serial.write(waiting, count);
    }
    count = 0;
}

static int get()
{
    flush(); /* the other side may wait for these bytes before it sends more */
    while (Serial.available() <= 0) {
        yield();
    }
    return Serial.read();
}

static void put(uint8_t byte)
{
    waiting[count++] = byte;
    if (count == sizeof waiting) {
        flush();
    }
}

const tflmgen_link tflmgen_board_link = {get, put, nullptr};

void tflmgen_board_exit(int)
{
    flush();
    for (;;) {
        yield();
    }
}
