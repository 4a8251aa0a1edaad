/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Cortex-M4 and Cortex-M33, zero wait states: one figure, divisions at 7 of their 2 to 12 cycles.
 *
 * Source: Cortex-M4 Technical Reference Manual, DDI 0439D, tables 3-1, 3-2 and 7-1 (processor, DSP instructions, FPU),
 * and section 3.3.2, of which the rules that depend on operands are left out (docs/understand/counting.md lists
 * them). Loads and stores of single registers pipeline: a load right behind another access takes 1 cycle, not 2.
 * Refilling the pipeline after a taken branch takes 1 to 3 cycles, counted as 2. */
#include "cost.h"

static struct cycles cost(const struct instruction *i, struct pipeline *pipeline)
{
    switch (i->kind) {
    case KIND_LOAD:
    case KIND_FLOAT_LOAD:
        if (i->registers == 2) {
            return exactly(3);
        }
        return exactly(is_single_access(pipeline->previous) ? 1 : 2);
    case KIND_FLOAT_STORE:
        return exactly(1 + i->registers);
    case KIND_TABLE_BRANCH:
        return exactly(2);
    case KIND_LOAD_DOUBLE:
    case KIND_STORE_DOUBLE:
    case KIND_FLOAT_MULTIPLY_ACCUMULATE:
        return exactly(3);
    case KIND_LOAD_MULTIPLE:
    case KIND_STORE_MULTIPLE:
    case KIND_FLOAT_LOAD_MULTIPLE:
    case KIND_FLOAT_STORE_MULTIPLE:
        return exactly(1 + i->registers + i->to_pc);
    case KIND_DIVIDE:
        return exactly(7);
    case KIND_FLOAT_DIVIDE:
        return exactly(14);
    default:
        return exactly(1);
    }
}

const struct model model_m4 = {"cortex-m4", &thumb_decoder, cost, {2, 2}};
