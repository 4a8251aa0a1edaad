/* A NOR flash on this computer, whose power can be cut at any byte: erased bytes are 0xFF, and writes only clear bits.
 *
 * It ends the program if the rules of flash are broken: a unit written twice, or partly, a write across pages. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tflmgen_flash.h"

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))
#ifndef AREA
#define AREA 4096
#endif
#define ERASE_STEPS 16 /* of a sector, one after another */

/* What the byte at which the power is cut becomes, and those behind it that the same operation was to change. */
enum tear { UNTOUCHED, BYTE, REST, WHOLE, TEARS };

static struct {
    uint8_t cells[AREA];
    bool is_written[AREA];
    bool is_torn[AREA];
    uint32_t sector, unit;
    enum tear tear;
    bool has_error_correction; /* bytes that a cut tore cannot be read until they are erased */
    bool is_dead;
    int32_t steps; /* until the power is cut; negative: never */
    uint32_t stuck; /* this byte keeps its bits; AREA: none does */
    uint32_t erases;
    uint32_t last_erased;
} nor;

static void fail(int line, const char *condition)
{
    fprintf(stderr, "line %d: %s\n", line, condition);
    exit(1);
}

static uint32_t noise(void)
{
    static uint32_t number = 1;
    number = number * 1664525u + 1013904223u;
    return number >> 16;
}

static bool is_powered(void)
{
    nor.is_dead = nor.is_dead || nor.steps == 0;
    nor.steps -= nor.steps > 0;
    return !nor.is_dead;
}

/* Leaves an operation on some bytes at `cut`; bits become `target`'s, or stay. */
static void tear(uint32_t begin, uint32_t cut, uint32_t end, const uint8_t *target)
{
    const uint32_t first = nor.tear == WHOLE ? begin : cut;
    const uint32_t last = nor.tear == UNTOUCHED ? cut : nor.tear == BYTE ? cut + 1 : end;
    for (uint32_t i = first; i < last; ++i) {
        const uint8_t mask = (uint8_t)noise();
        const uint8_t before = target == NULL ? (uint8_t)(nor.cells[i] & noise()) : 0xFF; /* erasing clears first */
        const uint8_t after = target == NULL ? 0xFF : target[i - begin];
        nor.cells[i] = (uint8_t)((before & mask) | (after & ~mask));
    }
    memset(nor.is_torn + begin, true, end - begin);
    memset(nor.is_written + begin, true, end - begin);
}

static bool nor_erase(void *context, uint32_t offset)
{
    CHECK(context == &nor && offset % nor.sector == 0 && offset + nor.sector <= AREA);
    const uint32_t part = nor.sector / ERASE_STEPS;
    for (uint32_t begin = offset; begin < offset + nor.sector; begin += part) {
        const bool was_dead = nor.is_dead;
        if (!is_powered()) {
            if (!was_dead) {
                tear(offset, begin, offset + nor.sector, NULL);
            }
            return false;
        }
        memset(nor.cells + begin, 0xFF, part);
    }
    memset(nor.is_torn + offset, false, nor.sector);
    memset(nor.is_written + offset, false, nor.sector);
    ++nor.erases;
    nor.last_erased = offset;
    return true;
}

static bool nor_write(void *context, uint32_t offset, const void *data, uint32_t bytes)
{
    CHECK(context == &nor && bytes > 0 && offset + bytes <= AREA);
    CHECK(offset % nor.unit == 0 && bytes % nor.unit == 0 && (uintptr_t)data % 8 == 0);
    CHECK(offset / TFLMGEN_FLASH_PAGE == (offset + bytes - 1) / TFLMGEN_FLASH_PAGE);
    const uint8_t *const byte = data;
    for (uint32_t i = 0; i < bytes; ++i) {
        const bool was_dead = nor.is_dead;
        if (!is_powered()) {
            if (!was_dead) {
                tear(offset, offset + i, offset + bytes, byte);
            }
            return false;
        }
        CHECK(!nor.is_written[offset + i]);
        nor.is_written[offset + i] = true;
        nor.cells[offset + i] = (uint8_t)(nor.cells[offset + i] & (offset + i == nor.stuck ? 0xFF : byte[i]));
    }
    return true;
}

static bool nor_read(void *context, uint32_t offset, void *data, uint32_t bytes)
{
    CHECK(context == &nor && offset + bytes <= AREA);
    const bool is_torn = memchr(nor.is_torn + offset, true, bytes) != NULL;
    memcpy(data, nor.cells + offset, bytes);
    return !nor.is_dead && !(nor.has_error_correction && is_torn);
}

/* An empty flash, and its driver. */
static struct tflmgen_flash nor_flash(uint32_t unit, uint32_t sector, uint32_t slot)
{
    memset(&nor, 0, sizeof nor);
    memset(nor.cells, 0xFF, AREA);
    nor.unit = unit;
    nor.sector = sector;
    nor.steps = -1;
    nor.stuck = AREA;
    const struct tflmgen_flash flash = {nor_erase, nor_write, nor_read, &nor, sector, slot, unit};
    return flash;
}
