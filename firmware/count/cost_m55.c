/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Cortex-M55, from tightly coupled memory: Helium in beats, all else roughly.
 *
 * A Helium instruction has four beats of 32 bits, and the M55 does two per cycle: 2 cycles. The second half of one may
 * overlap the first half of the next if they use different units (memory, multiplier and floating point, the rest), so
 * that a change of units saves a cycle.
 *
 * low   units overlap whenever they differ; loads don't wait; branches are foreseen
 * high  nothing overlaps; the value of a load is used at once
 *
 * LE, which the core remembers from the first iteration on, costs nothing.
 *
 * Sources: Armv8-M Architecture Reference Manual, DDI 0553, section B5 (beats, overlap, low-overhead loops);
 * J. Marsh, "Arm Helium Technology Reference Book" (dual-beat cores). Scalar instructions: as the Cortex-M4's, with
 * loads of 1 to 2 cycles. */
#include "cost.h"

static bool is_vector(const struct instruction *i)
{
    return i->kind == KIND_VECTOR_MEMORY || i->kind == KIND_VECTOR_MULTIPLY || i->kind == KIND_VECTOR_ALU;
}

static struct cycles cost(const struct instruction *i, struct pipeline *pipeline)
{
    const struct instruction *previous = pipeline->previous;
    if (is_vector(i)) {
        return between(previous && is_vector(previous) && previous->kind != i->kind ? 1 : 2, 2);
    }
    switch (i->kind) {
    case KIND_LOAD:
    case KIND_FLOAT_LOAD:
        return between(1, 2);
    case KIND_LOAD_DOUBLE:
    case KIND_STORE_DOUBLE:
    case KIND_TABLE_BRANCH:
        return exactly(2);
    case KIND_LOAD_MULTIPLE:
    case KIND_STORE_MULTIPLE:
    case KIND_FLOAT_LOAD_MULTIPLE:
    case KIND_FLOAT_STORE_MULTIPLE:
        return exactly(1 + i->registers + i->to_pc);
    case KIND_LOOP_END:
        return exactly(0);
    case KIND_DIVIDE:
        return exactly(7);
    case KIND_FLOAT_DIVIDE:
        return exactly(14);
    default:
        return exactly(1);
    }
}

const struct model model_m55 = {"cortex-m55", &thumb_decoder, cost, {0, 2}};
