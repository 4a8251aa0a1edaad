/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What the cost models need to know of an instruction. */
#ifndef TFLMGEN_COUNT_INSTRUCTION_H
#define TFLMGEN_COUNT_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind {
    KIND_ALU, /* data processing, saturation, bit fields, DSP additions, hints: whatever is not listed below */
    KIND_LOAD,
    KIND_LOAD_NARROW, /* a byte or half a word, on cores where they take longer than a word */
    KIND_STORE,
    KIND_LOAD_DOUBLE,
    KIND_STORE_DOUBLE,
    KIND_LOAD_MULTIPLE, /* also POP; `registers` without the PC, `to_pc` where the PC is loaded */
    KIND_STORE_MULTIPLE,
    KIND_TABLE_BRANCH,
    KIND_BRANCH, /* B, BX, CBZ, CBNZ, writes of the PC */
    KIND_CALL,   /* BL */
    KIND_CALL_REGISTER,
    KIND_LOOP_END, /* LE, LETP */
    KIND_IT,
    KIND_MULTIPLY,            /* MUL; SMULxy, SMUAD, SMMUL and the like */
    KIND_MULTIPLY_ACCUMULATE, /* MLA, MLS */
    KIND_DSP_MULTIPLY,        /* SMLAD, SMLAxy, SMMLA and the like */
    KIND_MULTIPLY_LONG,       /* SMULL, UMULL; MULH */
    KIND_MULTIPLY_LONG_ACCUMULATE,
    KIND_DIVIDE,
    KIND_SYSTEM, /* MRS, MSR, barriers */
    KIND_FLOAT,  /* VADD, VMUL, VCVT, VCMP, VMOV, VMRS ... */
    KIND_FLOAT_MULTIPLY_ACCUMULATE,
    KIND_FLOAT_DIVIDE, /* also VSQRT */
    KIND_FLOAT_LOAD,
    KIND_FLOAT_STORE,
    KIND_FLOAT_LOAD_MULTIPLE,
    KIND_FLOAT_STORE_MULTIPLE,
    KIND_VECTOR_MEMORY,   /* loads and stores of Helium (MVE) and of RVV */
    KIND_VECTOR_MULTIPLY, /* their multiplications, multiply-accumulates and floating point */
    KIND_VECTOR_ALU,      /* the rest of them */
};

struct instruction {
    enum kind kind;
    unsigned registers; /* of loads and stores: words */
    bool to_pc;
};

/* An instruction set. size_of: bytes, 2 or 4, of the instruction that begins at `code`; decode: of these bytes. */
struct decoder {
    size_t (*size_of)(const uint8_t *code);
    struct instruction (*decode)(const uint8_t *code, size_t size);
};

extern const struct decoder thumb_decoder, riscv_decoder;

#endif
