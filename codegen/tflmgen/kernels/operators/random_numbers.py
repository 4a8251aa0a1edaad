"""RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL and MULTINOMIAL, whose generator is the model's state, and
STABLEHLO_RNG_BIT_GENERATOR, whose state is an operand.

Seeds 0 and 0, for which LiteRT takes other ones at each start, are seeds like others here: NAME_reset() begins the same
numbers again, and so does each start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Scratch, Target
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.copying import constants_of
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape, State
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, output_is

HEADER = "random_numbers.h"
F64_BYTES = 8
"""Size of a sum of weights, in float64."""

SKIPPED_BLOCKS = 2 * 256
"""Blocks that MULTINOMIAL uses up for each sample, samples rounded up to four: TensorFlow's bound of what it draws."""

MAX_SAMPLES = 1 << 24
"""Largest number of results of MULTINOMIAL: more have no room on a board."""


@dataclass(frozen=True, slots=True)
class RandomAttributes:
    """Seeds of 64 bits: the key of the generator, and the upper half of its first counter."""

    seed: int
    seed2: int


@dataclass(frozen=True, slots=True)
class BitsAttributes:
    """threefry: the generator is Threefry2x32, else Philox4x32."""

    threefry: bool


def _seeds(options: Options | None) -> RandomAttributes:
    options = present(options)
    return RandomAttributes(*(int(options.get(name, 0)) for name in ("seed", "seed2")))


def _words(number: int, bits: int = 64) -> tuple[int, ...]:
    """Words of an integer, low word first, as signed ones."""
    return tuple(np.array([number >> i & 0xFFFFFFFF for i in range(0, bits, 32)], np.uint32).view(np.int32).tolist())


def _state(op: OperatorInstance) -> tuple[State, ...]:
    return (State(DType.UINT32, (4,), np.array([0, 0, *_words(op.attributes.seed2)], "<i4").tobytes()),)


def _numbers_kernel(function: str) -> Callable[[OperatorInstance, Target], Kernel]:
    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        fields = (("elements", op.outputs[0].elements), ("key", _words(op.attributes.seed)))
        operands = (Input(1), Output(0), Output(1))
        return Kernel(function, HEADER, operands, Params("tflmgen_random", fields), (Overlap(1, 1),))

    return kernel


def _classes_kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    (batches, classes), (samples,) = input_shape(op), constants_of(op, 1)
    fields = (
        ("batches", batches),
        ("classes", classes),
        ("samples", samples),
        ("key", _words(op.attributes.seed)),
        ("skip", _words(batches * ((samples + 3) // 4 * 4) * SKIPPED_BLOCKS)),
    )
    function = f"tflmgen_multinomial_{SUFFIX[op.outputs[0].dtype]}"
    operands = (Input(0), Input(2), Scratch(classes * F64_BYTES), Output(0), Output(1))
    return Kernel(function, HEADER, operands, Params("tflmgen_multinomial", fields), (Overlap(2, 1),))


def _bits_kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    words = op.outputs[1].bytes // 4
    fields = (("words", words), ("state_words", 2 * input_shape(op)[0]))
    function = f"tflmgen_random_bits_{'threefry' if op.attributes.threefry else 'philox'}"
    return Kernel(function, HEADER, (Input(0), Output(0), Output(1)), Params("tflmgen_random_bits", fields))


def _algorithm(options: Options | None) -> BitsAttributes:
    algorithm = int(present(options).get("algorithm", 0))
    if algorithm not in (0, 1, 2):
        raise ValueError(f"algorithm {algorithm} of random bits is none: it is 0 or 1 (Philox) or 2 (Threefry)")
    return BitsAttributes(algorithm == 2)


def _numbers_shape(op: OperatorInstance) -> tuple[Shape]:
    return (tuple(constants_of(op, 0)),)


def _classes_shape(op: OperatorInstance) -> tuple[Shape]:
    return ((input_shape(op)[0], constants_of(op, 1)[0]),)


def _bits_shapes(op: OperatorInstance) -> tuple[Shape, Shape]:
    return input_shape(op), op.outputs[1].max_shape


SHAPE_RULES = (
    *COMMON,
    input_is(0, "shape", DType.INT32),
    constant(0, "shape"),
    Rule(
        "a shape of one dimension without negative numbers",
        lambda op: len(input_shape(op)) == 1 and min(constants_of(op, 0), default=0) >= 0,
    ),
    output_is(DType.FLOAT32),
)

CLASSES_RULES = (
    *COMMON,
    input_is(0, "tensor of logits", DType.FLOAT32),
    Rule(
        "logits of two dimensions, batches and classes, of which there are some",
        lambda op: len(input_shape(op)) == 2 and input_shape(op)[1] > 0,
    ),
    input_is(1, "number of samples", DType.INT32),
    constant(1, "number of samples"),
    Rule(
        f"a single number of samples from 0 on, and at most {MAX_SAMPLES:,} results",
        lambda op: (
            len(constants_of(op, 1)) == 1 and 0 <= constants_of(op, 1)[0] * max(1, input_shape(op)[0]) <= MAX_SAMPLES
        ),
    ),
    output_is(DType.INT32, DType.INT64),
)

BITS_RULES = (
    *COMMON,
    input_is(0, "state", DType.UINT64),
    Rule(
        "a state of two numbers; of Philox it may have three",
        lambda op: input_shape(op) == (2,) or (input_shape(op) == (3,) and not op.attributes.threefry),
    ),
    Rule("a new state of uint64", lambda op: op.outputs[0].dtype is DType.UINT64),
    Rule(
        "bits in int32, uint32, int64 or uint64",
        lambda op: op.outputs[1].dtype in (DType.INT32, DType.UINT32, DType.INT64, DType.UINT64),
    ),
)

OPERATORS = (
    *(
        OperatorSpec(name, _seeds, (1, 1), 1, SHAPE_RULES, _numbers_shape, _numbers_kernel(function), state=_state)
        for name, function in (
            ("RANDOM_UNIFORM", "tflmgen_random_uniform"),
            ("RANDOM_STANDARD_NORMAL", "tflmgen_random_normal"),
        )
    ),
    OperatorSpec("MULTINOMIAL", _seeds, (2, 2), 1, CLASSES_RULES, _classes_shape, _classes_kernel, state=_state),
    OperatorSpec("STABLEHLO_RNG_BIT_GENERATOR", _algorithm, (1, 1), 2, BITS_RULES, _bits_shapes, _bits_kernel),
)
