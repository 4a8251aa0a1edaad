/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Wait states of a flash memory behind a line buffer, a prefetch of the next line, and caches.
 *
 * The flash makes one read at a time, of `read_bytes` (a line). The line that was fetched last stays in a buffer: its
 * other instructions cost nothing. Then, in this order: the prefetched line, the instruction cache, a read. With
 * `prefetch`, the line behind each fetched one is read as soon as the flash is free, unless it is cached. A fetch that
 * had to wait is cached, the first time; a prefetched line that arrived in time is not ("each time a miss occurs, the
 * line read is copied into the instruction cache memory", RM0090, 3.5.2). Loads look into the data cache, else read.
 * A serial flash that stays selected needs no new address for the line behind the one that it read last.
 *
 * Caches are set-associative; the least recently used line of a set is replaced (J. L. Hennessy, D. A. Patterson,
 * Computer Architecture, appendix B.1). Where a cache's lines are longer than a read, a line's reads are filled in as
 * they are asked for. Not modelled: writes, other masters, the bus, the core's own queue of fetched instructions. */
#ifndef TFLMGEN_COUNT_FLASH_H
#define TFLMGEN_COUNT_FLASH_H

#include <stdbool.h>
#include <stdint.h>

enum { FLASH_REGIONS = 8 };

struct cache_line {
    uint32_t number; /* address / line_bytes */
    uint32_t reads;  /* bit i: read i of the line is there; 0: an empty line */
};

/* `lines`: the sets, one after the other, each with its most recently used line first. */
struct cache {
    uint32_t sets, ways, line_bytes;
    struct cache_line *lines;
};

struct region {
    uint32_t origin, bytes;
};

struct flash {
    struct region regions[FLASH_REGIONS];
    unsigned region_count;
    uint32_t read_bytes;
    uint32_t wait;            /* cycles that a read takes beyond one */
    uint32_t sequential_wait; /* the same of the line behind the one that was read last */
    bool prefetch;
    bool low; /* time passes by the low end of the core's cycles, else by the high one */
    struct cache code, constants;
    bool unified;                    /* loads use the cache `code` */
    uint32_t buffer, next, last;     /* lines in the buffer, prefetched, and read last; NO_LINE: none */
    uint64_t next_ready, busy_until; /* cycles */
};

/* Reads a description: lines "region ORIGIN BYTES" (hexadecimal), "read BYTES", "wait CYCLES", "sequential CYCLES"
 * (else as "wait"), "prefetch", "low",
 * "code SETS WAYS BYTES", "constants SETS WAYS BYTES", "unified". False if it cannot be read. */
bool flash_read_description(struct flash *flash, const char *path);

/* The state after a reset: nothing is cached, and the flash is free. */
void flash_reset(struct flash *flash);

bool flash_contains(const struct flash *flash, uint64_t address);

/* Cycles that the core waits for the instruction at `address`, or for a word there, at the time `now` in cycles. */
uint32_t flash_fetch(struct flash *flash, uint32_t address, uint64_t now);
uint32_t flash_load(struct flash *flash, uint32_t address, uint64_t now);

#endif
