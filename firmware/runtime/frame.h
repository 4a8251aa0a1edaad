/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Frames of the protocol: byte stuffing, length and CRC. docs/understand/protocol.md describes them. */
#ifndef TFLMGEN_FRAME_H
#define TFLMGEN_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <tflmgen/serve.h>

#define TFLMGEN_FRAME_SYNC 0x7Eu

typedef struct {
    uint8_t type;
    uint8_t sequence;
    uint16_t length;
    const uint8_t *payload; /* valid until the next tflmgen_frame_receive() */
} tflmgen_frame;

/* Waits for the next frame that arrives whole and right; drops all others. False when the link is closed. */
bool tflmgen_frame_receive(const tflmgen_link *link, tflmgen_frame *frame);

/* Sends one frame: its payload is `head` followed by `body`. */
void tflmgen_frame_send(const tflmgen_link *link, uint8_t type, uint8_t sequence, const uint8_t *head,
                        uint32_t head_length, const uint8_t *body, uint32_t body_length);

#endif
