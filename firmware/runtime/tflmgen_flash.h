/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Saved states in flash that survive a power cut at any byte: two slots, of which the newest whole one counts.
 *
 * Slot 0 begins at offset 0 of the flash area, slot 1 at slot_bytes:
 *
 *     magic | sequence number | bytes of the state | CRC-32 | filled to whole units of write_bytes | state
 *
 * all numbers 32-bit in the core's byte order. The CRC is that of the three numbers before it and of the state. A save
 * erases the slot that does not hold the newest state, writes the state, and last the header. Until that is complete,
 * the slot has no header or a wrong CRC, and loading takes the other slot. Each unit is written once after an erase, as
 * flash with error correction demands, and slots wear equally. Cells that a cut left half written and that read
 * differently each time are the one thing that two slots cannot mend: they are taken as they read.
 *
 * Nothing includes this header by itself, and what is not called takes no flash. It needs no other file of tflmgen. */
#ifndef TFLMGEN_FLASH_H
#define TFLMGEN_FLASH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most bytes of one write, and of a copy on the stack: a power of two. Writes do not cross its multiples. */
#define TFLMGEN_FLASH_PAGE 256

/* Bytes at the beginning of a state that name its model and layout: NAME_state_save()'s header. */
#define TFLMGEN_FLASH_LAYOUT_BYTES 28

/* A flash area of 2 * slot_bytes, and the driver's three functions, which return false if they fail. Offsets count from
 * the area's beginning, which is that of a sector.
 *
 * erase   sets a sector, which begins at offset, to 0xFF
 * write   writes whole units of write_bytes, which are erased; offset is a multiple of write_bytes, and data of 8
 * read    fails, or reads anything, where a cut left bytes that error correction cannot mend; it must not trap */
struct tflmgen_flash {
    bool (*erase)(void *context, uint32_t offset);
    bool (*write)(void *context, uint32_t offset, const void *data, uint32_t bytes);
    bool (*read)(void *context, uint32_t offset, void *data, uint32_t bytes);
    void *context;
    uint32_t sector_bytes; /* what erase() erases; a multiple of write_bytes */
    uint32_t slot_bytes;   /* a multiple of sector_bytes */
    uint32_t write_bytes;  /* the flash's unit of writing: a power of two up to TFLMGEN_FLASH_PAGE */
};

struct tflmgen_flash_header {
    uint32_t magic;
    uint32_t sequence;
    uint32_t bytes;
    uint32_t crc; /* of the numbers above and the state */
};

#define TFLMGEN_FLASH_MAGIC 0x57464C54u

/* Bytes of the header that its CRC covers. */
#define TFLMGEN_FLASH_HEADER_CHECKED 12

static inline uint32_t tflmgen_flash_minimum(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Continues a CRC-32 (zlib's) that began with 0xFFFFFFFF and is inverted at its end. */
static inline uint32_t tflmgen_flash_crc(uint32_t crc, const void *data, uint32_t bytes)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
        0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    const uint8_t *const byte = (const uint8_t *)data;
    for (uint32_t i = 0; i < bytes; ++i) {
        crc ^= byte[i];
        crc = crc >> 4 ^ table[crc & 15u];
        crc = crc >> 4 ^ table[crc & 15u];
    }
    return crc;
}

/* The header's bytes, in whole units of writing. */
static inline uint32_t tflmgen_flash_header_bytes(const struct tflmgen_flash *flash)
{
    const uint32_t whole = (uint32_t)sizeof(struct tflmgen_flash_header) + flash->write_bytes - 1u;
    return whole & (0u - flash->write_bytes);
}

static inline bool tflmgen_flash_fits(const struct tflmgen_flash *flash, uint32_t bytes)
{
    const uint32_t header_bytes = tflmgen_flash_header_bytes(flash);
    return bytes > 0 && header_bytes < flash->slot_bytes && bytes <= flash->slot_bytes - header_bytes;
}

/* Whether a slot holds a whole state with the size and layout of `state`, and its sequence number. */
static inline bool tflmgen_flash_is_valid(const struct tflmgen_flash *flash, uint32_t slot, const void *state,
                                          uint32_t bytes, uint32_t *sequence)
{
    uint8_t page[TFLMGEN_FLASH_PAGE];
    struct tflmgen_flash_header header;
    uint32_t offset = slot * flash->slot_bytes;
    if (!flash->read(flash->context, offset, &header, sizeof header) || header.magic != TFLMGEN_FLASH_MAGIC ||
        header.bytes != bytes) {
        return false;
    }
    offset += tflmgen_flash_header_bytes(flash);
    uint32_t crc = tflmgen_flash_crc(0xFFFFFFFFu, &header, TFLMGEN_FLASH_HEADER_CHECKED);
    for (uint32_t done = 0; done < bytes;) {
        const uint32_t part = tflmgen_flash_minimum(sizeof page, bytes - done);
        if (!flash->read(flash->context, offset + done, page, part)) {
            return false;
        }
        if (done == 0 && memcmp(page, state, tflmgen_flash_minimum(part, TFLMGEN_FLASH_LAYOUT_BYTES)) != 0) {
            return false;
        }
        crc = tflmgen_flash_crc(crc, page, part);
        done += part;
    }
    *sequence = header.sequence;
    return ~crc == header.crc;
}

/* The slot with the newest state of `state`'s size and layout, and its sequence number; 2 and 0 if there is none. */
static inline uint32_t tflmgen_flash_newest(const struct tflmgen_flash *flash, const void *state, uint32_t bytes,
                                            uint32_t *sequence)
{
    uint32_t newest = 2;
    *sequence = 0;
    for (uint32_t slot = 0; slot < 2; ++slot) {
        uint32_t number = 0;
        if (tflmgen_flash_is_valid(flash, slot, state, bytes, &number) &&
            (newest == 2 || (number - *sequence) - 1u < 0x7FFFFFFFu)) {
            newest = slot;
            *sequence = number;
        }
    }
    return newest;
}

/* Writes data to erased flash, page by page; bytes up to a whole unit are 0xFF. */
static inline bool tflmgen_flash_write(const struct tflmgen_flash *flash, uint32_t offset, const void *data,
                                       uint32_t bytes)
{
    union {
        uint8_t bytes[TFLMGEN_FLASH_PAGE];
        uint64_t alignment;
    } page;
    for (uint32_t done = 0; done < bytes;) {
        const uint32_t room = TFLMGEN_FLASH_PAGE - (offset + done) % TFLMGEN_FLASH_PAGE;
        const uint32_t part = tflmgen_flash_minimum(room, bytes - done);
        const uint32_t whole = part + flash->write_bytes - 1u;
        memset(page.bytes, 0xFF, sizeof page.bytes);
        memcpy(page.bytes, (const uint8_t *)data + done, part);
        if (!flash->write(flash->context, offset + done, page.bytes, whole & (0u - flash->write_bytes))) {
            return false;
        }
        done += part;
    }
    return true;
}

/* Saves a state, a blob of NAME_state_save(). False if it does not fit into a slot, a function of the driver failed, or
 * the flash does not read as it was written; the state that was saved last is then still there. */
static inline bool tflmgen_flash_save(const struct tflmgen_flash *flash, const void *state, uint32_t bytes)
{
    if (!tflmgen_flash_fits(flash, bytes)) {
        return false;
    }
    uint32_t sequence;
    const uint32_t slot = tflmgen_flash_newest(flash, state, bytes, &sequence) == 0 ? 1 : 0;
    const uint32_t start = slot * flash->slot_bytes;
    const uint32_t header_bytes = tflmgen_flash_header_bytes(flash);
    for (uint32_t offset = 0; offset < header_bytes + bytes; offset += flash->sector_bytes) {
        if (!flash->erase(flash->context, start + offset)) {
            return false;
        }
    }
    struct tflmgen_flash_header header = {TFLMGEN_FLASH_MAGIC, sequence + 1u, bytes, 0};
    const uint32_t crc = tflmgen_flash_crc(0xFFFFFFFFu, &header, TFLMGEN_FLASH_HEADER_CHECKED);
    header.crc = ~tflmgen_flash_crc(crc, state, bytes);
    uint32_t written;
    return tflmgen_flash_write(flash, start + header_bytes, state, bytes) &&
           tflmgen_flash_write(flash, start, &header, sizeof header) &&
           tflmgen_flash_is_valid(flash, slot, state, bytes, &written) && written == header.sequence;
}

/* Replaces a blob of NAME_state_save(), which says by its first bytes whose states count, by the newest saved state of
 * the same model, size and layout. False if there is none, or a function of the driver failed: do not load it then. */
static inline bool tflmgen_flash_load(const struct tflmgen_flash *flash, void *state, uint32_t bytes)
{
    uint32_t sequence;
    if (!tflmgen_flash_fits(flash, bytes)) {
        return false;
    }
    const uint32_t slot = tflmgen_flash_newest(flash, state, bytes, &sequence);
    const uint32_t offset = slot * flash->slot_bytes + tflmgen_flash_header_bytes(flash);
    return slot < 2 && flash->read(flash->context, offset, state, bytes);
}

#ifdef __cplusplus
}
#endif
#endif
