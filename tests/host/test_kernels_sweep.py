"""Random shapes up to six dimensions against NumPy, random scales against TFLite Micro."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernel_harness import (
    Array,
    Case,
    broken_rules,
    check_against_tflm,
    constant,
    make_case,
    random_values,
    tensor,
)
from support.moved_elements import check_movement

Result = tuple[Case, list[Array | None], Array]


def shape_of(rng: np.random.Generator, rank: int) -> tuple[int, ...]:
    return tuple(int(d) for d in rng.integers(1, 5, rng.integers(1, rank + 1)))


def partner(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts with `shape`: ones and missing dimensions here and there."""
    kept = shape[int(rng.integers(0, len(shape))) :] if rng.random() < 0.4 else shape
    return tuple(1 if rng.random() < 0.3 else d for d in kept)


def broadcast(rng: np.random.Generator) -> Result:
    shape = shape_of(rng, 6)
    case = make_case("SUB", [tensor("int32", partner(rng, shape)), tensor("int32", shape)], [tensor("int32", ())])
    values = random_values(case, rng)
    return case, values, values[0] - values[1]  # type: ignore[operator]


def transpose(rng: np.random.Generator) -> Result:
    shape = shape_of(rng, 6)
    order = rng.permutation(len(shape))
    case = make_case("TRANSPOSE", [tensor("int16", shape, 1.0), constant("int32", order)], [tensor("int16", (), 1.0)])
    values = random_values(case, rng)
    return case, values, np.transpose(values[0], order)  # type: ignore[arg-type]


def strided_slice(rng: np.random.Generator) -> Result:
    shape = shape_of(rng, 6)
    steps = rng.choice([-2, -1, 1, 2], len(shape))
    begin = [int(rng.integers(0, d)) for d in shape]
    end = [b + int(np.sign(s)) * int(rng.integers(1, 5)) for b, s in zip(begin, steps, strict=True)]
    end = [e if e >= 0 else e - d - 1 for e, d in zip(end, shape, strict=True)]
    inputs = [tensor("float32", shape), *(constant("int32", v) for v in (begin, end, steps))]
    case = make_case("STRIDED_SLICE", inputs, [tensor("float32", ())])
    values = random_values(case, rng)
    cuts = tuple(
        slice(b, None if s < 0 and e < -d else e, s) for b, e, s, d in zip(begin, end, steps, shape, strict=True)
    )
    return case, values, values[0][cuts]  # type: ignore[index]


def pad(rng: np.random.Generator) -> Result:
    shape = shape_of(rng, 5)
    table = rng.integers(0, 3, (len(shape), 2))
    case = make_case("PAD", [tensor("int64", shape), constant("int32", table)], [tensor("int64", ())])
    values = random_values(case, rng)
    return case, values, np.pad(values[0], table)  # type: ignore[arg-type]


def check(results: list[Result]) -> None:
    check_movement([(case, values) for case, values, _ in results], [[want] for _, _, want in results])


@pytest.mark.parametrize("make", [broadcast, transpose, strided_slice, pad])
def test_a_few(make) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(199)
    check([make(rng) for _ in range(20)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("make", [broadcast, transpose, strided_slice, pad])
def test_many(make, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng([211, seed])
    check([make(rng) for _ in range(100)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("operator", ["ADD", "SUB", "MUL", "SQUARED_DIFFERENCE"])
def test_many_int8_scales(operator: str, seed: int) -> None:
    rng = np.random.default_rng([223, seed])
    runs = []
    for _ in range(40):
        scales, points = 10 ** rng.uniform(-4, 1, 3), rng.integers(-128, 128, 3)
        shape = shape_of(rng, 4)
        sides = [tensor("int8", s, scales[i], points[i]) for i, s in enumerate((shape, partner(rng, shape)))]
        options = {} if operator == "SQUARED_DIFFERENCE" else {"fused_activation_function": int(rng.integers(0, 4))}
        case = make_case(operator, sides, [tensor("int8", (), scales[2], points[2])], options)
        if not broken_rules(case):
            runs.append((case, random_values(case, rng)))
    check_against_tflm(runs)
