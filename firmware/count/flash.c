/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Wait states of a flash memory; flash.h describes the model. */
#include "flash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_LINE UINT32_MAX

static uint32_t read_bit(const struct flash *flash, const struct cache *cache, uint32_t address)
{
    return UINT32_C(1) << (address % cache->line_bytes / flash->read_bytes);
}

/* The line of `address` at the front of its set: the cached one, or an empty one for the least recently used. */
static struct cache_line *use(struct cache *cache, uint32_t address)
{
    const uint32_t number = address / cache->line_bytes;
    struct cache_line *set = cache->lines + (size_t)(number % cache->sets) * cache->ways;
    uint32_t way = 0;
    while (way + 1 < cache->ways && !(set[way].number == number && set[way].reads)) {
        way++;
    }
    struct cache_line line = set[way];
    if (line.number != number) {
        line = (struct cache_line){number, 0};
    }
    memmove(set + 1, set, way * sizeof *set);
    set[0] = line;
    return set;
}

/* Without moving anything: whether the read with `address` is cached. */
static bool holds(const struct flash *flash, const struct cache *cache, uint32_t address)
{
    if (cache->ways == 0) {
        return false;
    }
    const uint32_t number = address / cache->line_bytes;
    const struct cache_line *set = cache->lines + (size_t)(number % cache->sets) * cache->ways;
    for (uint32_t way = 0; way < cache->ways; way++) {
        if (set[way].number == number && set[way].reads & read_bit(flash, cache, address)) {
            return true;
        }
    }
    return false;
}

static void keep(const struct flash *flash, struct cache *cache, uint32_t address)
{
    if (cache->ways) {
        use(cache, address)->reads |= read_bit(flash, cache, address);
    }
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Reads a line, asked for at `now`, behind what the flash is reading; returns when it is there. */
static uint64_t read_at(struct flash *flash, uint32_t line, uint64_t now)
{
    const uint32_t wait = flash->last != NO_LINE && line == flash->last + 1 ? flash->sequential_wait : flash->wait;
    flash->busy_until = later(now, flash->busy_until) + wait + 1;
    flash->last = line;
    return flash->busy_until;
}

/* Cycles to wait for a read that is asked for at `now`. */
static uint32_t demand(struct flash *flash, uint32_t address, uint64_t now)
{
    return (uint32_t)(read_at(flash, address / flash->read_bytes, now) - now - 1);
}

static void prefetch(struct flash *flash, uint32_t line, uint64_t now)
{
    const uint32_t address = line * flash->read_bytes;
    if (!flash->prefetch || flash->next == line || holds(flash, &flash->code, address)) {
        return;
    }
    flash->next = line;
    flash->next_ready = read_at(flash, line, now);
}

uint32_t flash_fetch(struct flash *flash, uint32_t address, uint64_t now)
{
    const uint32_t line = address / flash->read_bytes;
    uint32_t waits = 0;
    if (line == flash->buffer) {
        return 0;
    }
    if (line == flash->next) {
        waits = flash->next_ready > now + 1 ? (uint32_t)(flash->next_ready - now - 1) : 0;
    } else if (holds(flash, &flash->code, address)) {
        keep(flash, &flash->code, address);
    } else {
        waits = demand(flash, address, now);
    }
    if (waits) {
        keep(flash, &flash->code, address);
    }
    flash->buffer = line;
    prefetch(flash, line + 1, now + waits);
    return waits;
}

uint32_t flash_load(struct flash *flash, uint32_t address, uint64_t now)
{
    struct cache *cache = flash->unified ? &flash->code : &flash->constants;
    const bool is_cached = holds(flash, cache, address);
    keep(flash, cache, address);
    return is_cached ? 0 : demand(flash, address, now);
}

bool flash_contains(const struct flash *flash, uint64_t address)
{
    for (unsigned i = 0; i < flash->region_count; i++) {
        if (address - flash->regions[i].origin < flash->regions[i].bytes) {
            return true;
        }
    }
    return false;
}

static void empty(struct cache *cache)
{
    if (cache->ways) {
        memset(cache->lines, 0, (size_t)cache->sets * cache->ways * sizeof *cache->lines);
    }
}

void flash_reset(struct flash *flash)
{
    empty(&flash->code);
    empty(&flash->constants);
    flash->buffer = flash->next = flash->last = NO_LINE;
    flash->next_ready = flash->busy_until = 0;
}

static bool read_cache(struct cache *cache, const char *numbers)
{
    if (sscanf(numbers, "%" SCNu32 " %" SCNu32 " %" SCNu32, &cache->sets, &cache->ways, &cache->line_bytes) != 3) {
        return false;
    }
    cache->lines = calloc((size_t)cache->sets * cache->ways, sizeof *cache->lines);
    return cache->lines != NULL;
}

static bool read_line(struct flash *flash, const char *name, const char *numbers)
{
    if (!strcmp(name, "region")) {
        struct region *region = &flash->regions[flash->region_count];
        return flash->region_count++ < FLASH_REGIONS &&
               sscanf(numbers, "%" SCNx32 " %" SCNx32, &region->origin, &region->bytes) == 2;
    }
    if (!strcmp(name, "read")) {
        return sscanf(numbers, "%" SCNu32, &flash->read_bytes) == 1;
    }
    if (!strcmp(name, "wait")) {
        const bool is_number = sscanf(numbers, "%" SCNu32, &flash->wait) == 1;
        flash->sequential_wait = flash->wait;
        return is_number;
    }
    if (!strcmp(name, "sequential")) {
        return sscanf(numbers, "%" SCNu32, &flash->sequential_wait) == 1;
    }
    if (!strcmp(name, "code")) {
        return read_cache(&flash->code, numbers);
    }
    if (!strcmp(name, "constants")) {
        return read_cache(&flash->constants, numbers);
    }
    flash->prefetch = flash->prefetch || !strcmp(name, "prefetch");
    flash->low = flash->low || !strcmp(name, "low");
    flash->unified = flash->unified || !strcmp(name, "unified");
    return true;
}

bool flash_read_description(struct flash *flash, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[80], name[16];
    int length;
    bool is_read = file != NULL;
    memset(flash, 0, sizeof *flash);
    while (is_read && fgets(line, sizeof line, file)) {
        is_read = sscanf(line, "%15s%n", name, &length) == 1 && read_line(flash, name, line + length);
    }
    if (file) {
        fclose(file);
    }
    flash_reset(flash);
    return is_read && flash->read_bytes && flash->region_count;
}
