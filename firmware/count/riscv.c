/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Sorts instructions of RV32 into kinds, compressed ones and vectors' included. Encodings: The RISC-V Instruction Set
 * Manual, volume I, "RV32/64G Instruction Set Listings" and "C"; RISC-V "V" Vector Extension 1.0. */
#include "instruction.h"

static struct instruction of(enum kind kind)
{
    return (struct instruction){kind, 1, false};
}

static struct instruction narrow(uint32_t a)
{
    const uint32_t operation = (a >> 13) & 7;
    switch (a & 3) {
    case 0:
        switch (operation) {
        case 2:
            return of(KIND_LOAD);
        case 4: /* Zcb: C.LBU, C.LHU and C.LH, or C.SB and C.SH */
            return of(a & 0x0800 ? KIND_STORE : KIND_LOAD_NARROW);
        case 6:
            return of(KIND_STORE);
        default:
            return of(operation == 0 ? KIND_ALU : operation < 4 ? KIND_FLOAT_LOAD : KIND_FLOAT_STORE);
        }
    case 1:
        return of(operation == 1 ? KIND_CALL : operation >= 5 ? KIND_BRANCH : KIND_ALU);
    default:
        switch (operation) {
        case 0:
            return of(KIND_ALU);
        case 2:
            return of(KIND_LOAD);
        case 4: /* C.JR and C.JALR have no second register; C.MV and C.ADD have one */
            if ((a & 0x7C) != 0) {
                return of(KIND_ALU);
            }
            return of(a & 0x1000 ? KIND_CALL_REGISTER : KIND_BRANCH);
        case 6:
            return of(KIND_STORE);
        default:
            return of(operation < 4 ? KIND_FLOAT_LOAD : KIND_FLOAT_STORE);
        }
    }
}

/* OP-V: multiplications are those of funct6 100100 to 100111 and 101001 to 101111, and widening ones of 111000 on. */
static struct instruction vector(uint32_t a)
{
    const uint32_t operation = a >> 26, form = (a >> 12) & 7;
    if (form == 7) {
        return of(KIND_ALU); /* VSETVLI and its like */
    }
    if (form == 1 || form == 5) {
        return of(KIND_VECTOR_MULTIPLY); /* floating point */
    }
    const bool is_multiplication_form = form == 2 || form == 6;
    const bool multiplies = (operation >= 0x24 && operation <= 0x2F) || operation >= 0x38;
    return of(is_multiplication_form && multiplies ? KIND_VECTOR_MULTIPLY : KIND_VECTOR_ALU);
}

static struct instruction arithmetic(uint32_t a)
{
    if (a >> 25 != 1) {
        return of(KIND_ALU);
    }
    const uint32_t operation = (a >> 12) & 7;
    return of(operation == 0 ? KIND_MULTIPLY : operation < 4 ? KIND_MULTIPLY_LONG : KIND_DIVIDE);
}

static struct instruction floating_point(uint32_t a)
{
    const uint32_t operation = a >> 27;
    return of(operation == 3 || operation == 11 ? KIND_FLOAT_DIVIDE : KIND_FLOAT); /* FDIV, FSQRT */
}

static struct instruction wide(uint32_t a)
{
    const uint32_t width = (a >> 12) & 7;
    const bool is_scalar_float = width >= 1 && width <= 4;
    switch (a & 0x7F) {
    case 0x03:
        return of(width == 2 ? KIND_LOAD : KIND_LOAD_NARROW);
    case 0x07:
        return of(is_scalar_float ? KIND_FLOAT_LOAD : KIND_VECTOR_MEMORY);
    case 0x23:
        return of(KIND_STORE);
    case 0x27:
        return of(is_scalar_float ? KIND_FLOAT_STORE : KIND_VECTOR_MEMORY);
    case 0x2F: /* atomic accesses */
        return of(KIND_LOAD);
    case 0x33:
        return arithmetic(a);
    case 0x43: /* FMADD, FMSUB, FNMSUB, FNMADD */
    case 0x47:
    case 0x4B:
    case 0x4F:
        return of(KIND_FLOAT_MULTIPLY_ACCUMULATE);
    case 0x53:
        return floating_point(a);
    case 0x57:
        return vector(a);
    case 0x63:
        return of(KIND_BRANCH);
    case 0x67:
        return of(a & 0xF80 ? KIND_CALL_REGISTER : KIND_BRANCH);
    case 0x6F:
        return of(a & 0xF80 ? KIND_CALL : KIND_BRANCH);
    case 0x0F:
    case 0x73:
        return of(KIND_SYSTEM);
    default:
        return of(KIND_ALU);
    }
}

static size_t size_of(const uint8_t *code)
{
    return (code[0] & 3) == 3 ? 4 : 2;
}

static struct instruction decode(const uint8_t *code, size_t size)
{
    const uint32_t a = code[0] | (uint32_t)code[1] << 8;
    return size == 2 ? narrow(a) : wide(a | (uint32_t)code[2] << 16 | (uint32_t)code[3] << 24);
}

const struct decoder riscv_decoder = {size_of, decode};
