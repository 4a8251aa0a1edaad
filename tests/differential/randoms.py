"""Random numbers: bits and uniform numbers bit for bit, normal ones within 4 units in the last place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from support.differential import Family, Rng, Run, typed
from support.kernel_harness import Array, Case, constant, make_case, random_values, tensor
from support.litert import run_litert
from tflmgen.ir.types import DType

ULP = float(np.finfo(np.float32).eps)
SKIPPED = 2 * 256


def seeds(rng: Rng) -> dict[str, int]:
    """Not both zero, for which LiteRT takes others, and of 32 bits, more of which it forgets."""
    return {"seed": int(rng.integers(1, 2**31)), "seed2": int(rng.integers(-(2**31), 2**31))}


def started(rng: Rng, case: Case) -> Run:
    """The case with the state of its first call."""
    values = random_values(case, rng)
    seed2 = int(case.options["seed2"])
    values[-1] = np.array([0, 0, seed2 & 0xFFFFFFFF, seed2 >> 32 & 0xFFFFFFFF], np.uint32)
    return case, values


def numbers(name: str) -> Callable[[Rng, str], Run]:
    def make(rng: Rng, dtype: str) -> Run:
        # LiteRT writes normal numbers in pairs, behind its output where that is odd.
        shape = [2 * int(rng.integers(1, 8)), *(int(d) for d in rng.integers(0, 4, int(rng.integers(3))))]
        return started(rng, make_case(name, [constant("int32", shape)], [tensor(dtype, ())], seeds(rng)))

    return make


def multinomial(rng: Rng, dtype: str) -> Run:
    batches, classes, samples = (int(n) for n in rng.integers(1, 7, 3))
    inputs = [tensor("float32", (batches, classes)), constant("int32", np.array(samples))]
    case, values = started(rng, make_case("MULTINOMIAL", inputs, [tensor(dtype, ())], seeds(rng)))
    odd = rng.random((batches, classes)) < 0.1
    assert values[0] is not None
    values[0] = np.where(odd, rng.choice([np.inf, -np.inf, np.nan]), values[0] * 3).astype(np.float32)
    return case, values


def random_bits(rng: Rng, dtype: str) -> Run:
    algorithm = int(rng.integers(3))
    shape = tuple(int(d) for d in rng.integers(1, 5, int(rng.integers(3))))
    state = typed(rng, "uint64", (2 if algorithm == 2 else int(rng.integers(2, 4)),))
    case = make_case("STABLEHLO_RNG_BIT_GENERATOR", [state], [state, tensor(dtype, shape)], {"algorithm": algorithm})
    values = random_values(case, rng)
    if rng.random() < 0.3:
        assert values[0] is not None
        values[0][1] = np.iinfo(np.uint64).max - np.uint64(rng.integers(3))
    return case, values


def by_litert(case: Case, values: list[Array | None]) -> list[Array]:
    """LiteRT's outputs, and the counter behind the blocks of four numbers that they are made of."""
    outputs = run_litert(case.without_state, values[: len(values) - 1])
    blocks = -(-case.outputs[0].elements // 4)
    if case.operator == "MULTINOMIAL":
        batches, samples = case.outputs[0].max_shape
        blocks = batches * (-(-samples // 4) * 4) * SKIPPED
    before = values[-1]
    assert before is not None
    after = sum(int(word) << 32 * i for i, word in enumerate(before)) + blocks
    return [*outputs, np.array([after >> 32 * i & 0xFFFFFFFF for i in range(4)], DType.UINT32.numpy)]


FAMILIES = (
    Family("RANDOM_UNIFORM", ("float32",), numbers("RANDOM_UNIFORM"), tflm=False, litert=False, expected=by_litert),
    Family(
        "RANDOM_STANDARD_NORMAL",
        ("float32",),
        numbers("RANDOM_STANDARD_NORMAL"),
        tflm=False,
        litert=False,
        expected=by_litert,
        rtol=4 * ULP,
        atol=1e-6,
    ),
    Family("MULTINOMIAL", ("int32", "int64"), multinomial, tflm=False, litert=False, expected=by_litert),
    Family("STABLEHLO_RNG_BIT_GENERATOR", ("int32", "uint32", "int64", "uint64"), random_bits, tflm=False),
)
