"""Differential tests: families of seeded random models of one operator, and the reference that each is compared with.

A family makes any case that the support rules let through: shapes, ranks, options, scales, constant operands. The
reference is TFLite Micro where it takes the case, else LiteRT's BUILTIN_REF, else what the family says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tflmgen.ir.types import DType, Quantization, TensorType
from tflmgen.kernels.folding.evaluate import fold
from tflmgen.kernels.table import OPERATORS

from support.case_models import model_bytes
from support.kernel_harness import Array, Case, Tensor, broken_rules, random_values, run_tflm, tensor
from support.litert import run_litert
from support.moved_elements import check_movement
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes

Run = tuple[Case, list[Array | None]]
Rng = np.random.Generator
SAME_BITS = {
    DType.FLOAT16: DType.INT16,
    DType.UINT16: DType.INT16,
    DType.UINT32: DType.INT32,
    DType.UINT64: DType.INT64,
    DType.BOOL: DType.INT8,
    DType.UINT8: DType.INT8,
}
"""For operators that move elements: a type that references take, in place of one that they don't."""


@dataclass(frozen=True)
class Family:
    """One operator's random cases.

    types    the element types; `make` gets each of them in turn
    make     a case and its values; what breaks a support rule is drawn again
    tflm     whether TFLite Micro is the reference where it takes the case
    litert   whether LiteRT is, where TFLite Micro isn't
    moves    the type that stands for the elements only says how wide they are
    expected the outputs, where neither reference takes the case
    """

    operator: str
    types: tuple[str, ...]
    make: Callable[[Rng, str], Run]
    tflm: bool = True
    litert: bool = True
    moves: bool = False
    expected: Callable[[Case, list[Array | None]], list[Array]] | None = None
    rtol: float = 0.0
    atol: float = 0.0


class NoReferenceError(Exception):
    """Nobody says what the case's outputs should be."""


def draw(family: Family, dtype: str, rng: Rng) -> Run:
    """A case that every support rule lets through."""
    for _ in range(200):
        case, values = family.make(rng, dtype)
        if not broken_rules(case):
            return case, values
    raise AssertionError(f"{family.operator} {dtype}: no case keeps the rules, the last broke {broken_rules(case)}")


def reference(family: Family, case: Case, values: list[Array | None]) -> tuple[str, list[Array]]:
    """Who says so, and the outputs of the case. Raises NoReferenceError."""
    attempts: list[tuple[str, Callable[[Case, Sequence[Array | None]], list[Array]]]] = []
    if family.tflm:
        attempts.append(("tflm", run_tflm))
    if family.litert:
        attempts.append(("litert", run_litert))
    for name, run in attempts:
        for asked in askings(family, case, values):
            try:
                outputs = run(*asked)
            except (RuntimeError, ValueError):
                continue
            if [a.size for a in outputs] == [t.elements for t in case.outputs]:
                pairs = zip(outputs, case.outputs, strict=True)
                return name, [np.ascontiguousarray(a).view(t.dtype.numpy).reshape(t.max_shape) for a, t in pairs]
    if family.expected is None:
        raise NoReferenceError(f"{case}")
    return "numpy", family.expected(case, values)


def askings(family: Family, case: Case, values: list[Array | None]) -> list[Run]:
    """The case, and for one that only moves elements the same with a type of the same width."""
    if not family.moves:
        return [(case, values)]
    # TFLite Micro reads constants of 64 bits as if they had 32.
    inputs = tuple(
        Tensor(replace(t.type, dtype=DType.INT32), t.data.astype(np.int32))
        if t and t.data is not None and t.type.dtype is DType.INT64
        else t
        for t in case.inputs
    )
    case = replace(case, inputs=inputs)
    asked = [(case, values)]
    kind = case.outputs[0].dtype
    if kind in SAME_BITS:
        other = SAME_BITS[kind]
        changed = retyped(case, lambda t: t.dtype is kind, other)
        pairs = zip(case.inputs, values, strict=True)
        viewed = [
            v.view(other.numpy) if v is not None and item is not None and item.type.dtype is kind else v
            for item, v in pairs
        ]
        asked.append((changed, viewed))
    return asked


def retyped(case: Case, is_chosen: Callable[[TensorType], bool], dtype: DType) -> Case:
    """The case with another element type for the tensors that `which` picks; constants keep their bits or values."""

    def changed(kind: TensorType) -> TensorType:
        return replace(kind, dtype=dtype) if is_chosen(kind) else kind

    def item(item: Tensor | None) -> Tensor | None:
        if item is None or not is_chosen(item.type):
            return item
        data = item.data
        if data is not None:
            same = data.dtype.itemsize == dtype.numpy.itemsize and item.type.dtype in SAME_BITS
            with np.errstate(all="ignore"):
                data = data.view(dtype.numpy) if same else data.astype(dtype.numpy)
        return Tensor(changed(item.type), data)

    return Case(case.operator, tuple(map(item, case.inputs)), tuple(map(changed, case.outputs)), case.options)


def check_runs(family: Family, runs: Sequence[Run]) -> Counter[str]:
    """The kernels equal the reference in every run, also at each overlap that they claim. Counts the references."""
    return check_all([(family, *run) for run in runs])


def check_all(runs: Sequence[tuple[Family, Case, list[Array | None]]]) -> Counter[str]:
    """check_runs() for runs of many families, in one C program for each tolerance."""
    counts: Counter[str] = Counter()
    groups: dict[tuple[float, float], tuple[list[Run], list[list[Array]]]] = {}
    for family, case, values in runs:
        name, outputs = reference(family, case, values)
        counts[name] += 1
        check_folding(family, case, values, outputs)
        group = groups.setdefault((family.rtol, family.atol), ([], []))
        group[0].append((case, values))
        group[1].append(outputs)
    for (rtol, atol), (cases, expected) in groups.items():
        check_movement(cases, expected, rtol, atol)
    return counts


def check_folding(family: Family, case: Case, values: list[Array | None], outputs: list[Array]) -> None:
    """Asserts that compile-time evaluation of the case, where there is one, equals the reference's outputs."""
    folded = fold(case.operator, replace(case.instance, constants=tuple(_constants(case, values))))
    for got, want in zip(folded or (), outputs, strict=False):
        tolerance = (family.rtol, family.atol) if got.dtype.kind == "f" else (0.0, 0.0)
        np.testing.assert_allclose(got.reshape(-1), want.reshape(-1), *tolerance, err_msg=f"folding of {case}")


def _constants(case: Case, values: list[Array | None]) -> Iterator[Array | None]:
    for item, value in zip(case.inputs, values, strict=True):
        yield item.data if item is not None and item.data is not None else value


def signature(case: Case) -> tuple[str, ...]:
    """The element types of all inputs and outputs; those of lists count once for all equal ones."""
    inputs = [t.type.dtype.label if t else "-" for t in case.inputs]
    if OPERATORS[case.operator].inputs[1] < 0 or len(inputs) > 12:
        inputs = sorted(set(inputs))
    return (*inputs, "->", *sorted({t.dtype.label for t in case.outputs}))


def neighbours(case: Case) -> list[Case]:
    """The case with other element types: one tensor's changed, or those of all tensors of one type."""
    cases = []
    kinds = {t.type.dtype for t in case.inputs if t} | {t.dtype for t in case.outputs}
    for dtype in DType:
        for kind in kinds - {dtype}:
            cases.append(retyped(case, lambda t, k=kind: t.dtype is k, dtype))  # type: ignore[misc]
            cases.append(_centred(cases[-1]))
        for index, item in enumerate(case.inputs):
            if item and item.type.dtype is not dtype:
                alone = retyped(Case(case.operator, (item,), (), case.options), lambda _: True, dtype)
                inputs = (*case.inputs[:index], alone.inputs[0], *case.inputs[index + 1 :])
                cases.append(replace(case, inputs=inputs))
        for index, output in enumerate(case.outputs):
            outputs = (*case.outputs[:index], replace(output, dtype=dtype), *case.outputs[index + 1 :])
            cases.append(replace(case, outputs=outputs))
    return cases


def _centred(case: Case) -> Case:
    """The case quantised without zero points, with a scale where there is none."""

    def centred(kind: TensorType) -> TensorType:
        scales = kind.quantization.scales if kind.quantization else (2.0**-7,)
        axis = kind.quantization.axis if kind.quantization else 0
        return replace(kind, quantization=Quantization(scales, (0,) * len(scales), axis))

    inputs = tuple(t and Tensor(centred(t.type), t.data) for t in case.inputs)
    return Case(case.operator, inputs, tuple(map(centred, case.outputs)), case.options)


def accepted(case: Case) -> bool:
    """Whether every support rule lets the case through; its output shapes follow from its inputs'."""
    try:
        return not broken_rules(case)
    except ValueError:
        return False


def typed(rng: Rng, dtype: str, shape: Sequence[int] = (), low: float = 1e-3, high: float = 1.0) -> Tensor:
    """A run-time tensor, quantised where its type is: scales mostly from low to high, any zero point."""
    if dtype not in ("int8", "uint8", "int16"):
        return tensor(dtype, shape)
    if rng.random() < 0.1:
        low, high = low / 1e3, high * 1e3
    scale = float(10 ** rng.uniform(np.log10(low), np.log10(high)))
    least, greatest = DType[dtype.upper()].limits
    middle = int(rng.integers(least, greatest + 1))
    point = 0 if dtype == "int16" else [least, greatest, 0, middle, middle, middle][int(rng.integers(6))]
    return tensor(dtype, shape, scale, point)


def shape_of(rng: Rng, least: int = 0, highest: int = 5, extent: int = 5) -> tuple[int, ...]:
    return tuple(int(d) for d in rng.integers(1, extent, int(rng.integers(least, highest + 1)), endpoint=True))


def finished(rng: Rng, case: Case, odd: float = 0.0) -> Run:
    """The case with random values, a share of the floats being infinite, NaN, huge or zeros."""
    values = random_values(case, rng)
    for i, value in enumerate(values):
        if value is not None and value.dtype == np.float32:
            spread = value * np.float32(10.0 ** rng.integers(-1, 2))
            strange = rng.choice(ODD, value.shape).astype(np.float32)
            values[i] = np.where(rng.random(value.shape) < odd, strange, spread).astype(np.float32)
    return case, values


ODD = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38, -3e38, 1e-40, 0.5, -2.5, 2.0**31, -(2.0**63)], np.float32)


def check_whole(runs: Sequence[tuple[Family, Case, list[Array | None]]]) -> None:
    """Models of one operator, compiled by every stage from the file to C, give what the reference does."""
    stages = [compile_bytes(model_bytes(case.without_state)) for _, case, _ in runs]
    program = build_native({f"m{i}": model.sources(f"m{i}") for i, model in enumerate(stages)}, flags=("-O0",))
    fed = [values[: len(values) - case.states] for _, case, values in runs]
    calls = [Invocation(i, 0, tuple(v for v in values if v is not None)) for i, values in enumerate(fed)]
    results = run_native(program, calls, [model.program.signatures for model in stages])
    for (family, case, values), outputs in zip(runs, results, strict=True):
        _, expected = reference(family, case, values)
        for got, want in zip(outputs, expected[: len(expected) - case.states], strict=True):
            if got.dtype.kind == "f" or family.atol >= 1:
                rtol, atol = max(family.rtol, 1e-6), max(family.atol, 1e-6)
                np.testing.assert_allclose(got, want.reshape(got.shape), rtol, atol, err_msg=str(case))
            else:
                np.testing.assert_array_equal(got, want.reshape(got.shape), err_msg=str(case))


def is_empty(case: Case) -> bool:
    """Whether a tensor has no elements: there is little to compare."""
    return any(kind.elements == 0 for kind in (*(t.type for t in case.inputs if t), *case.outputs))
