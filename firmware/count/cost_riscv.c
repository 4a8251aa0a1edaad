/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* RISC-V cores of 32 bits that issue one instruction at a time, zero wait states.
 *
 * low   values of loads and products are never used at once; on the FE310 all branches are foreseen, too
 * high  each is used by the next instruction
 *
 * hazard3  Hazard3 as in the RP2350. Source: Hazard3's documentation, "Instruction Cycle Counts". The RP2350 computes
 *          MULH in a cycle, as MUL. Targets that are not aligned, and take one cycle more, are not told apart.
 * fe310    FE310-G000 Manual, sections 3.2 and 3.3: LW has its value after 2 cycles, narrower loads after 3,
 *          multiplications after 5, divisions after 2 to 33, and a branch that was not foreseen takes 3 more.
 * rv32     any other core: from a cycle for each instruction and a second one for a jump, to the FE310's without
 *          foresight */
#include "cost.h"

static struct cycles hazard3(const struct instruction *i, struct pipeline *pipeline)
{
    (void)pipeline;
    switch (i->kind) {
    case KIND_LOAD:
    case KIND_LOAD_NARROW:
        return between(1, 2);
    case KIND_DIVIDE:
        return between(18, 19);
    default:
        return exactly(1);
    }
}

static struct cycles fe310(const struct instruction *i, struct pipeline *pipeline)
{
    (void)pipeline;
    switch (i->kind) {
    case KIND_LOAD:
    case KIND_FLOAT_LOAD:
        return between(1, 2);
    case KIND_LOAD_NARROW:
    case KIND_SYSTEM:
        return between(1, 3);
    case KIND_MULTIPLY:
    case KIND_MULTIPLY_LONG:
        return between(1, 5);
    case KIND_DIVIDE:
        return between(2, 33);
    default:
        return exactly(1);
    }
}

const struct model model_rv32 = {"rv32", &riscv_decoder, fe310, {1, 3}};
const struct model model_hazard3 = {"hazard3", &riscv_decoder, hazard3, {1, 1}};
const struct model model_fe310 = {"fe310", &riscv_decoder, fe310, {0, 3}};
