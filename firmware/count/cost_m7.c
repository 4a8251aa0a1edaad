/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Cortex-M7, from tightly coupled memory or warm caches: a range, since Arm publishes no timings.
 *
 * high  one instruction at a time, a taken branch one more cycle
 * low   every pair that the execution units allow issues together, whatever depends on what; branches are foreseen
 *
 * Units: Cortex-M7 Technical Reference Manual, DDI 0489, section 2.1 (two ALUs, one of them with the multiplier, two
 * 32-bit loads or one store per cycle, one FPU). Pairs measured on a chip: M. Owen, "Cortex-M7 instruction cycle
 * counts, timings, and dual-issue combinations", quinapalus.com/cm7cycles.html. */
#include "cost.h"

enum unit { UNIT_ALU, UNIT_LOAD, UNIT_STORE, UNIT_MULTIPLIER, UNIT_FLOAT, UNIT_BRANCH, UNIT_ALL };

static enum unit unit_of(const struct instruction *i)
{
    switch (i->kind) {
    case KIND_ALU:
    case KIND_IT:
        return UNIT_ALU;
    case KIND_LOAD:
    case KIND_FLOAT_LOAD:
        return UNIT_LOAD;
    case KIND_STORE:
    case KIND_FLOAT_STORE:
        return UNIT_STORE;
    case KIND_MULTIPLY:
    case KIND_MULTIPLY_ACCUMULATE:
    case KIND_DSP_MULTIPLY:
    case KIND_MULTIPLY_LONG:
    case KIND_MULTIPLY_LONG_ACCUMULATE:
        return UNIT_MULTIPLIER;
    case KIND_FLOAT:
    case KIND_FLOAT_MULTIPLY_ACCUMULATE:
        return UNIT_FLOAT;
    case KIND_BRANCH:
    case KIND_CALL:
    case KIND_CALL_REGISTER:
        return UNIT_BRANCH;
    default:
        return UNIT_ALL;
    }
}

static bool may_pair(enum unit first, enum unit second)
{
    if (first == UNIT_ALL || second == UNIT_ALL || first == UNIT_BRANCH) {
        return false;
    }
    return first != second || first == UNIT_ALU || first == UNIT_LOAD;
}

static unsigned alone(const struct instruction *i)
{
    switch (i->kind) {
    case KIND_LOAD_MULTIPLE:
    case KIND_STORE_MULTIPLE:
    case KIND_FLOAT_LOAD_MULTIPLE:
    case KIND_FLOAT_STORE_MULTIPLE:
        return 1 + i->registers + i->to_pc;
    case KIND_LOAD_DOUBLE:
    case KIND_STORE_DOUBLE:
    case KIND_TABLE_BRANCH:
        return 2;
    case KIND_DIVIDE:
        return 7;
    case KIND_FLOAT_DIVIDE:
        return 14;
    default:
        return 1;
    }
}

/* Pairs are found greedily, from the first instruction on. */
static struct cycles cost(const struct instruction *i, struct pipeline *pipeline)
{
    const struct instruction *previous = pipeline->previous;
    pipeline->paired = previous && !pipeline->paired && may_pair(unit_of(previous), unit_of(i));
    return between(pipeline->paired ? 0 : alone(i), alone(i));
}

const struct model model_m7 = {"cortex-m7", &thumb_decoder, cost, {0, 1}};
