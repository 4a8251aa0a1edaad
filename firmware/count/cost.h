/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Cost models: estimated cycles of straight-line code, per core. docs/understand/counting.md explains them. */
#ifndef TFLMGEN_COUNT_COST_H
#define TFLMGEN_COUNT_COST_H

#include "instruction.h"

/* A range, where the timing depends on the core's configuration, on operands, or on what is not published. */
struct cycles {
    unsigned low, high;
};

/* What a model may know of the instructions before; all zero at the start of a block. */
struct pipeline {
    const struct instruction *previous;
    bool paired; /* `previous` was issued together with the one before it */
};

struct model {
    const char *core;
    const struct decoder *decoder;
    struct cycles (*cost)(const struct instruction *instruction, struct pipeline *pipeline);
    struct cycles taken; /* what a taken branch costs more */
};

extern const struct model model_m0, model_m0plus, model_m3, model_m4, model_m7, model_m55;
extern const struct model model_rv32, model_hazard3, model_fe310;

/* LDR, LDRB ..., STR, VLDR ...: single loads and stores, which follow each other in a pipeline. */
static inline bool is_single_access(const struct instruction *i)
{
    if (!i || i->registers > 1) {
        return false;
    }
    return i->kind == KIND_LOAD || i->kind == KIND_STORE || i->kind == KIND_FLOAT_LOAD || i->kind == KIND_FLOAT_STORE;
}

static inline struct cycles exactly(unsigned cycles)
{
    return (struct cycles){cycles, cycles};
}

static inline struct cycles between(unsigned low, unsigned high)
{
    return (struct cycles){low, high};
}

#endif
