/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Sorts Thumb instructions into kinds. Encodings: Armv8-M Architecture Reference Manual, DDI 0553, chapter C2. */
#include "instruction.h"

static unsigned population(uint32_t bits)
{
    unsigned count = 0;
    for (; bits; bits &= bits - 1) {
        count++;
    }
    return count;
}

static struct instruction of(enum kind kind)
{
    return (struct instruction){kind, 1, false};
}

static struct instruction multiple(enum kind kind, uint32_t list, bool to_pc)
{
    return (struct instruction){kind, population(list), to_pc};
}

static bool within(uint32_t value, uint32_t first, uint32_t last)
{
    return value >= first && value <= last;
}

static struct instruction narrow(uint32_t a)
{
    if ((a & 0xFFC0) == 0x4340) {
        return of(KIND_MULTIPLY);
    }
    if ((a & 0xFF87) == 0x4487 || (a & 0xFF87) == 0x4687) {
        return of(KIND_BRANCH); /* ADD and MOV to the PC */
    }
    if ((a & 0xFF80) == 0x4780) {
        return of(KIND_CALL_REGISTER);
    }
    if ((a & 0xFF80) == 0x4700) {
        return of(KIND_BRANCH); /* BX */
    }
    if ((a & 0xF800) == 0x4800) {
        return of(KIND_LOAD); /* literal */
    }
    if ((a & 0xF000) == 0x5000) {
        return of((a & 0x0E00) >= 0x0600 ? KIND_LOAD : KIND_STORE);
    }
    if (within(a, 0x6000, 0x9FFF)) {
        return of(a & 0x0800 ? KIND_LOAD : KIND_STORE);
    }
    if ((a & 0xF500) == 0xB100) {
        return of(KIND_BRANCH); /* CBZ, CBNZ */
    }
    if ((a & 0xFE00) == 0xB400) {
        return multiple(KIND_STORE_MULTIPLE, a & 0x1FF, false);
    }
    if ((a & 0xFE00) == 0xBC00) {
        return multiple(KIND_LOAD_MULTIPLE, a & 0xFF, (a & 0x100) != 0);
    }
    if ((a & 0xFF00) == 0xBF00 && (a & 0xF)) {
        return of(KIND_IT);
    }
    if ((a & 0xF000) == 0xC000) {
        return multiple(a & 0x0800 ? KIND_LOAD_MULTIPLE : KIND_STORE_MULTIPLE, a & 0xFF, false);
    }
    if (within(a, 0xD000, 0xDDFF) || within(a, 0xE000, 0xE7FF)) {
        return of(KIND_BRANCH);
    }
    return of(KIND_ALU);
}

static struct instruction multiplication(uint32_t a, uint32_t b)
{
    const uint32_t operation = (a >> 4) & 0xF;
    const bool accumulates = (b & 0xF000) != 0xF000;
    switch (operation) {
    case 0x0:
        return of(accumulates ? KIND_MULTIPLY_ACCUMULATE : KIND_MULTIPLY);
    case 0x8:
    case 0xA:
        return of(KIND_MULTIPLY_LONG);
    case 0x9:
    case 0xB:
        return of(KIND_DIVIDE);
    case 0xC:
    case 0xD:
    case 0xE:
        return of(KIND_MULTIPLY_LONG_ACCUMULATE);
    default:
        return of(accumulates ? KIND_DSP_MULTIPLY : KIND_MULTIPLY);
    }
}

/* 11110...: branches, low-overhead loops, system instructions; data processing with immediates. */
static struct instruction branch_or_immediate(uint32_t a, uint32_t b)
{
    if (!(b & 0x8000)) {
        return of(KIND_ALU);
    }
    switch (b & 0xD000) {
    case 0xD000:
        return of(KIND_CALL);
    case 0xC000:
        if ((a & 0xFFCF) == 0xF00F) {
            return of(KIND_LOOP_END);
        }
        return of((a & 0xFF80) == 0xF000 && (b & 0x2000) == 0 ? KIND_BRANCH : KIND_ALU); /* WLS branches, DLS doesn't */
    case 0x9000:
        return of(KIND_BRANCH);
    default:
        return of((a & 0x0380) == 0x0380 ? KIND_SYSTEM : KIND_BRANCH);
    }
}

static struct instruction vector(uint32_t a, uint32_t b)
{
    const uint32_t coprocessor = (b >> 8) & 0xF;
    if ((a & 0xFFA0) == 0xEC00 && (b & 0x1FE0) == 0x0F00) {
        return of(KIND_VECTOR_ALU); /* VMOV of two lanes */
    }
    if ((a & 0xEE00) == 0xEC00) {
        return of(KIND_VECTOR_MEMORY);
    }
    if ((a & 0xEF00) == 0xEF00) {
        const bool multiplies = (b & 0x0F50) == 0x0950 || (b & 0x0F50) == 0x0B40;
        const bool floats = (b & 0x0E00) == 0x0C00;
        return of((a & 0x0080) == 0 && (multiplies || floats) ? KIND_VECTOR_MULTIPLY : KIND_VECTOR_ALU);
    }
    /* VMLADAV and its relatives, VMULL, VMULH, VMLA and VMUL by a scalar; narrowing moves have size 3 there. */
    if (coprocessor == 0xE && ((a & 0x0080) || (a & 0x0030) != 0x0030)) {
        return of(KIND_VECTOR_MULTIPLY);
    }
    return of(KIND_VECTOR_ALU);
}

static struct instruction floating_point(uint32_t a, uint32_t b)
{
    if ((a & 0x0E00) == 0x0C00) {
        if ((a & 0x0FE0) == 0x0C40) {
            return of(KIND_FLOAT); /* VMOV of two core registers */
        }
        const bool load = (a & 0x10) != 0;
        if ((a & 0x0F20) == 0x0D00) {
            return (struct instruction){load ? KIND_FLOAT_LOAD : KIND_FLOAT_STORE, b & 0x100 ? 2 : 1, false};
        }
        return (struct instruction){load ? KIND_FLOAT_LOAD_MULTIPLE : KIND_FLOAT_STORE_MULTIPLE, b & 0xFF, false};
    }
    if ((a & 0xFF00) != 0xEE00 || (b & 0x10)) {
        return of(KIND_FLOAT);
    }
    switch ((a >> 4) & 0xB) {
    case 0x0: /* VMLA, VMLS */
    case 0x1: /* VNMLA, VNMLS */
    case 0x9: /* VFNMA, VFNMS */
    case 0xA: /* VFMA, VFMS */
        return of(KIND_FLOAT_MULTIPLY_ACCUMULATE);
    case 0x8:
        return of(KIND_FLOAT_DIVIDE);
    case 0xB:
        return of((a & 0xF) == 1 && (b & 0xC0) == 0xC0 ? KIND_FLOAT_DIVIDE : KIND_FLOAT); /* VSQRT */
    default:
        return of(KIND_FLOAT);
    }
}

static struct instruction wide(uint32_t a, uint32_t b)
{
    if ((a & 0xFE40) == 0xE800) {
        return multiple(a & 0x10 ? KIND_LOAD_MULTIPLE : KIND_STORE_MULTIPLE, b & 0x7FFF, (a & 0x10) && (b & 0x8000));
    }
    if ((a & 0xFFF0) == 0xE8D0 && (b & 0xFFE0) == 0xF000) {
        return of(KIND_TABLE_BRANCH);
    }
    if ((a & 0xFF60) == 0xE840) {
        return of(a & 0x10 ? KIND_LOAD : KIND_STORE); /* exclusive and ordered accesses */
    }
    if ((a & 0xFE40) == 0xE840) {
        return of(a & 0x10 ? KIND_LOAD_DOUBLE : KIND_STORE_DOUBLE);
    }
    if ((a & 0xEC00) == 0xEC00) {
        const uint32_t coprocessor = (b >> 8) & 0xF;
        return coprocessor >= 0xE || (a & 0xEF00) == 0xEF00 ? vector(a, b) : floating_point(a, b);
    }
    if ((a & 0xF800) == 0xF000) {
        return branch_or_immediate(a, b);
    }
    if ((a & 0xFE00) == 0xF800) {
        if (!(a & 0x10)) {
            return of(KIND_STORE);
        }
        return (struct instruction){KIND_LOAD, 1, (a & 0x60) == 0x40 && (b & 0xF000) == 0xF000};
    }
    if ((a & 0xFF00) == 0xFB00) {
        return multiplication(a, b);
    }
    return of(KIND_ALU);
}

static size_t size_of(const uint8_t *code)
{
    return code[1] >= 0xE8 ? 4 : 2;
}

static struct instruction decode(const uint8_t *code, size_t size)
{
    const uint32_t a = code[0] | (uint32_t)code[1] << 8;
    return size == 2 ? narrow(a) : wide(a, code[2] | (uint32_t)code[3] << 8);
}

const struct decoder thumb_decoder = {size_of, decode};
