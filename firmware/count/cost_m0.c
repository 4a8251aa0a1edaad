/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Cortex-M0 and Cortex-M0+, zero wait states. From low to high: with the single-cycle and the 32-cycle multiplier.
 *
 * Sources: Cortex-M0 Technical Reference Manual, DDI 0432C, table 3.1; Cortex-M0+ Technical Reference Manual,
 * DDI 0484C, table 3.1 (instructions and their cycles). A taken branch is 3 cycles on M0 and 2 on M0+. */
#include "cost.h"

enum { TAKEN_M0 = 2, TAKEN_M0PLUS = 1 };

static struct cycles common(const struct instruction *i)
{
    switch (i->kind) {
    case KIND_LOAD:
    case KIND_STORE:
        return exactly(2);
    case KIND_STORE_MULTIPLE:
        return exactly(1 + i->registers);
    case KIND_LOAD_MULTIPLE: /* POP with the PC: 4 + N on M0, 3 + N on M0+, PC included; less what `taken` adds */
        return exactly(i->to_pc ? 3 + i->registers : 1 + i->registers);
    case KIND_CALL: /* 4 on M0, 3 on M0+ */
        return exactly(2);
    case KIND_MULTIPLY:
        return between(1, 32);
    default:
        return exactly(1);
    }
}

static struct cycles m0(const struct instruction *i, struct pipeline *pipeline)
{
    (void)pipeline;
    return i->kind == KIND_SYSTEM ? exactly(4) : common(i);
}

static struct cycles m0plus(const struct instruction *i, struct pipeline *pipeline)
{
    (void)pipeline;
    return i->kind == KIND_SYSTEM ? exactly(3) : common(i);
}

const struct model model_m0 = {"cortex-m0", &thumb_decoder, m0, {TAKEN_M0, TAKEN_M0}};
const struct model model_m0plus = {"cortex-m0plus", &thumb_decoder, m0plus, {TAKEN_M0PLUS, TAKEN_M0PLUS}};
