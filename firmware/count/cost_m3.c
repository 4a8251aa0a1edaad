/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Cortex-M3, zero wait states. Ranges: long multiplications and divisions stop early for small operands.
 *
 * Source: Cortex-M3 Technical Reference Manual, 100165, table 3-1 and section 3.3.2, of which the rules that depend on
 * operands are left out (docs/understand/counting.md lists them). Refilling the pipeline
 * after a taken branch takes 1 to 3 cycles, counted as 2. */
#include "cost.h"

static struct cycles cost(const struct instruction *i, struct pipeline *pipeline)
{
    switch (i->kind) {
    case KIND_LOAD:
        return exactly(is_single_access(pipeline->previous) ? 1 : 2);
    case KIND_LOAD_DOUBLE:
    case KIND_STORE_DOUBLE:
        return exactly(3);
    case KIND_LOAD_MULTIPLE:
    case KIND_STORE_MULTIPLE:
        return exactly(1 + i->registers + i->to_pc);
    case KIND_TABLE_BRANCH:
    case KIND_MULTIPLY_ACCUMULATE:
        return exactly(2);
    case KIND_MULTIPLY_LONG:
        return between(3, 5);
    case KIND_MULTIPLY_LONG_ACCUMULATE:
        return between(4, 7);
    case KIND_DIVIDE:
        return between(2, 12);
    default:
        return exactly(1);
    }
}

const struct model model_m3 = {"cortex-m3", &thumb_decoder, cost, {2, 2}};
