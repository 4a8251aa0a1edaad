/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
#include "frame.h"

#define SYNC TFLMGEN_FRAME_SYNC
#define ESCAPE 0x7Du
#define ESCAPED 0x20u
#define HEADER 4u
#define CRC 2u
#define NEW_FRAME (-2)

static uint8_t buffer[HEADER + TFLMGEN_PROTOCOL_PAYLOAD + CRC];

/* CRC-16 with the CCITT polynomial 0x1021 and initial value 0xFFFF, most significant bit first, a byte at a time. */
static uint16_t crc_step(uint16_t crc, uint8_t byte)
{
    uint32_t x = ((uint32_t)crc >> 8) ^ byte;
    x ^= x >> 4;
    return (uint16_t)(((uint32_t)crc << 8) ^ (x << 12) ^ (x << 5) ^ x);
}

static void put_escaped(const tflmgen_link *link, uint8_t byte)
{
    if (byte == SYNC || byte == ESCAPE) {
        link->put(ESCAPE);
        byte ^= ESCAPED;
    }
    link->put(byte);
}

static uint16_t put_counted(const tflmgen_link *link, const uint8_t *bytes, uint32_t count, uint16_t crc)
{
    for (uint32_t i = 0; i < count; i++) {
        put_escaped(link, bytes[i]);
        crc = crc_step(crc, bytes[i]);
    }
    return crc;
}

void tflmgen_frame_send(const tflmgen_link *link, uint8_t type, uint8_t sequence, const uint8_t *head,
                        uint32_t head_length, const uint8_t *body, uint32_t body_length)
{
    const uint32_t length = head_length + body_length;
    const uint8_t header[HEADER] = {type, sequence, (uint8_t)length, (uint8_t)(length >> 8)};
    link->put(SYNC);
    uint16_t crc = put_counted(link, header, HEADER, 0xFFFFu);
    crc = put_counted(link, head, head_length, crc);
    crc = put_counted(link, body, body_length, crc);
    put_escaped(link, (uint8_t)(crc >> 8));
    put_escaped(link, (uint8_t)crc);
}

/* The next byte with its escape undone, NEW_FRAME where a frame begins instead, -1 when the link is closed. */
static int get_unescaped(const tflmgen_link *link)
{
    int byte = link->get();
    if (byte == (int)ESCAPE) {
        byte = link->get();
        if (byte >= 0 && byte != (int)SYNC) {
            return byte ^ (int)ESCAPED;
        }
    }
    return byte == (int)SYNC ? NEW_FRAME : byte;
}

bool tflmgen_frame_receive(const tflmgen_link *link, tflmgen_frame *frame)
{
    bool inside = false;
    uint32_t used = 0, length = 0;
    uint16_t crc = 0xFFFFu;
    for (;;) {
        const int byte = get_unescaped(link);
        if (byte == NEW_FRAME) {
            inside = true;
            used = 0;
            crc = 0xFFFFu;
            continue;
        }
        if (byte < 0) {
            return false;
        }
        if (!inside) {
            continue;
        }
        buffer[used++] = (uint8_t)byte;
        crc = crc_step(crc, (uint8_t)byte);
        if (used < HEADER) {
            continue;
        }
        length = buffer[2] | (uint32_t)buffer[3] << 8;
        inside = length <= TFLMGEN_PROTOCOL_PAYLOAD;
        if (!inside || used < HEADER + length + CRC) {
            continue;
        }
        inside = false;
        if (crc != 0) {
            continue; /* a CRC run over the data and its own CRC ends at 0 */
        }
        frame->type = buffer[0];
        frame->sequence = buffer[1];
        frame->length = (uint16_t)length;
        frame->payload = buffer + HEADER;
        return true;
    }
}
