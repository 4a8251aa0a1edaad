/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* QEMU plugin: what each invoke of a model executes, by step of its plan. It runs on the host and changes nothing in
 * the firmware.
 *
 *   qemu-system-ARCHITECTURE ... -plugin count.so,from=ADDRESS,to=ADDRESS,core=CORE,sites=FILE,out=FILE[,flash=FILE]
 *
 * from, to  counting starts with the instruction at `from` and ends before the one at `to`
 * core      name of the processor whose cycles are estimated, as a cost model has it
 * sites     lines "ADDRESS STEP", sorted: from the instruction at ADDRESS (hexadecimal) on, all that is executed
 *           belongs to STEP (-1: to none), called functions included, until an instruction with another step
 * out       gets one line of JSON per interval: [[step, instructions, cycles from low, to high, waits for code, waits
 *           for constants], ...]. The steps' instructions sum up to all that was executed.
 * flash     description of the memory whose wait states are counted (flash.h); without it there are none. Each interval
 *           begins with empty caches.
 */
#include "qemu_plugin.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "flash.h"

int qemu_plugin_version = TFLMGEN_PLUGIN_API;

enum { NO_STEP = -1, SAME_STEP = -2 };

struct site {
    uint64_t address;
    int step;
};

struct tally {
    uint64_t instructions, low, high;
    uint64_t code_waits, constant_waits; /* cycles */
};

/* Instructions of a translated block that belong to one step and, with a flash, end in one line of it. */
struct run {
    int step;
    bool starts, ends; /* the interval */
    bool is_in_flash;
    uint32_t start, end; /* addresses of its first byte, and of the last byte of its first instruction */
    struct tally tally;
};

/* QEMU executes a block from its first instruction to its last. */
struct block {
    uint64_t start, end;
    struct cycles taken; /* what it costs more if the next block isn't the one behind it */
    size_t count;
    struct run runs[];
};

static uint64_t from, to;
static const struct model *model;
static FILE *out;
static struct site *sites;
static size_t site_count;

static struct tally *tallies; /* of NO_STEP first */
static size_t step_count;

static struct flash *flash; /* NULL: no wait states */
static uint64_t now;        /* cycles since the interval's start, waits included */

static bool inside;
static int current;
static const struct block *last;

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fputs("count: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void add(const struct tally *tally)
{
    struct tally *sum = &tallies[current + 1];
    sum->instructions += tally->instructions;
    sum->low += tally->low;
    sum->high += tally->high;
    sum->code_waits += tally->code_waits;
    sum->constant_waits += tally->constant_waits;
    now += (flash && flash->low ? tally->low : tally->high) + tally->code_waits + tally->constant_waits;
}

static void start_interval(void)
{
    inside = true;
    current = NO_STEP;
    now = 0;
    if (flash) {
        flash_reset(flash);
    }
    memset(tallies, 0, (step_count + 1) * sizeof *tallies);
}

static void end_interval(void)
{
    const char *separator = "";
    inside = false;
    fputs("[", out);
    for (size_t i = 0; i <= step_count; i++) {
        const struct tally *t = &tallies[i];
        if (t->instructions == 0 && t->high == 0) {
            continue;
        }
        fprintf(out, "%s[%d, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", separator, (int)i - 1,
                t->instructions, t->low, t->high, t->code_waits, t->constant_waits);
        separator = ", ";
    }
    fputs("]\n", out);
    fflush(out);
}

/* An instruction may begin in one line of the flash and end in the next. */
static void fetch_run(const struct run *run)
{
    const uint32_t addresses[] = {run->start, run->end};
    for (int i = 0; i < 2; i++) {
        add(&(struct tally){.code_waits = flash_fetch(flash, addresses[i], now)});
    }
}

static void execute(const struct run *run)
{
    if (run->ends && inside) {
        end_interval();
    }
    if (run->starts) {
        start_interval();
    }
    if (!inside) {
        return;
    }
    if (run->step != SAME_STEP) {
        current = run->step;
    }
    if (run->is_in_flash) {
        fetch_run(run);
    }
    add(&run->tally);
}

static void on_block(unsigned cpu, void *data)
{
    const struct block *block = data;
    (void)cpu;
    if (inside && last && block->start != last->end) {
        add(&(struct tally){.low = last->taken.low, .high = last->taken.high});
    }
    last = block;
    for (const struct run *run = block->runs; !flash && run != block->runs + block->count; run++) {
        execute(run);
    }
}

static void on_run(unsigned cpu, void *data)
{
    (void)cpu;
    execute(data);
}

/* Loads and stores: QEMU 7.2 confuses them where only one kind is asked for, and nothing stores into flash. */
static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu, (void)info, (void)data;
    if (inside && flash_contains(flash, address)) {
        const uint64_t start = now ? now - 1 : 0; /* a cycle of its own is among those of its run */
        add(&(struct tally){.constant_waits = flash_load(flash, (uint32_t)address, start)});
    }
}

static int compare(const void *key, const void *entry)
{
    const uint64_t address = *(const uint64_t *)key;
    const struct site *site = entry;
    return address < site->address ? -1 : address > site->address;
}

/* QEMU may say that an instruction is larger than it is: before the end of a page it has looked at the next one. */
static struct instruction fetch(const struct qemu_plugin_insn *insn, size_t *size)
{
#if TFLMGEN_PLUGIN_API >= 3
    uint8_t code[4];
    qemu_plugin_insn_data(insn, code, sizeof code);
#else
    const uint8_t *const code = qemu_plugin_insn_data(insn);
#endif
    *size = model->decoder->size_of(code);
    return model->decoder->decode(code, *size);
}

/* With a flash, a run ends with the last instruction that ends in the line. */
static bool leaves_line(const struct run *run, uint64_t address, size_t size)
{
    return flash && (address + size - 1) / flash->read_bytes != run->end / flash->read_bytes;
}

/* Counts waits in the order in which instructions fetch and load. */
static void watch(struct qemu_plugin_insn *insn, struct run *begun)
{
    if (!flash) {
        return;
    }
    if (begun) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_run, 0, begun);
    }
    qemu_plugin_register_vcpu_mem_cb(insn, on_access, 0, QEMU_PLUGIN_MEM_RW, NULL);
}

static struct run *begin_run(struct block *block, const struct site *site, uint64_t address, size_t size)
{
    struct run *run = &block->runs[block->count++];
    run->step = site ? site->step : SAME_STEP;
    run->starts = address == from;
    run->ends = address == to;
    run->start = (uint32_t)address;
    run->end = (uint32_t)(address + size - 1);
    run->is_in_flash = flash && flash_contains(flash, address);
    return run;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    const size_t count = qemu_plugin_tb_n_insns(tb);
    struct block *block = allocate(1, sizeof *block + count * sizeof *block->runs);
    struct run *run = NULL;
    struct instruction previous = {0}, instruction = {0};
    struct pipeline pipeline = {NULL, false};
    (void)id;
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t address = qemu_plugin_insn_vaddr(insn);
        const struct site *site = site_count ? bsearch(&address, sites, site_count, sizeof *sites, compare) : NULL;
        size_t size;
        instruction = fetch(insn, &size);
        const bool begins = !run || address == from || address == to || (site && site->step != run->step) ||
                            leaves_line(run, address, size);
        if (begins) {
            run = begin_run(block, site, address, size);
        }
        watch(insn, begins ? run : NULL);
        if (i == 0) {
            block->start = address;
        }
        block->end = address + size;
        const struct cycles cycles = model->cost(&instruction, &pipeline);
        run->tally.instructions++;
        run->tally.low += cycles.low;
        run->tally.high += cycles.high;
        previous = instruction;
        pipeline.previous = &previous;
    }
    if (instruction.kind != KIND_LOOP_END) {
        block->taken = model->taken;
    }
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, 0, block);
}

static void read_sites(const char *path)
{
    FILE *file = fopen(path, "r");
    struct site site;
    size_t room = 0;
    if (!file) {
        return;
    }
    while (fscanf(file, "%" SCNx64 " %d", &site.address, &site.step) == 2) {
        if (site_count == room) {
            room = room ? 2 * room : 1024;
            struct site *larger = allocate(room, sizeof *sites);
            if (site_count) {
                memcpy(larger, sites, site_count * sizeof *sites);
            }
            free(sites);
            sites = larger;
        }
        sites[site_count++] = site;
        if (site.step >= 0 && (size_t)site.step >= step_count) {
            step_count = (size_t)site.step + 1;
        }
    }
    fclose(file);
}

static const struct model *find_model(const char *core)
{
    static const struct model *const models[] = {
        &model_m0,  &model_m0plus, &model_m3,      &model_m4,    &model_m7,
        &model_m55, &model_rv32,   &model_hazard3, &model_fe310,
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (!strcmp(core, models[i]->core)) {
            return models[i];
        }
    }
    return NULL;
}

static struct flash *read_flash(const char *path)
{
    struct flash *described = allocate(1, sizeof *described);
    if (!flash_read_description(described, path)) {
        fprintf(stderr, "count: %s describes no flash\n", path);
        exit(1);
    }
    return described;
}

static const char *value(const char *argument, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(argument, name, length) || argument[length] != '=' ? NULL : argument + length + 1;
}

QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        const char *given;
        if ((given = value(argv[i], "from"))) {
            from = strtoull(given, NULL, 0);
        } else if ((given = value(argv[i], "to"))) {
            to = strtoull(given, NULL, 0);
        } else if ((given = value(argv[i], "core"))) {
            model = find_model(given);
        } else if ((given = value(argv[i], "sites"))) {
            read_sites(given);
        } else if ((given = value(argv[i], "flash"))) {
            flash = read_flash(given);
        } else if ((given = value(argv[i], "out"))) {
            out = fopen(given, "w");
        } else {
            fprintf(stderr, "count: unknown option %s\n", argv[i]);
            return -1;
        }
    }
    if (!model || !out) {
        fputs("count: no known core, or no file for the counts\n", stderr);
        return -1;
    }
    tallies = allocate(step_count + 1, sizeof *tallies);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
