"""Every operator in every type against TFLite Micro, or LiteRT where that has no kernel (support/differential.py)."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from support.differential import (
    Family,
    accepted,
    check_all,
    check_runs,
    check_whole,
    draw,
    is_empty,
    neighbours,
    signature,
)
from support.kernel_harness import Array, Case
from support.recurrent_runs import check_steps
from tflmgen.frontend.tflite.names import BUILTIN_OPERATORS
from tflmgen.kernels.table import OPERATORS

from differential import (
    elementwise,
    keyed,
    mixed,
    movement,
    picking,
    randoms,
    recurrent,
    reduction,
    rescaled,
    weighted,
    windows,
)

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is the reference")

GROUPS = {
    module.__name__.rpartition(".")[2]: module.FAMILIES
    for module in (elementwise, keyed, mixed, movement, picking, randoms, reduction, rescaled, weighted, windows)
}
FAMILIES = tuple(family for group in GROUPS.values() for family in group)
PAIRS = [(family, dtype) for family in FAMILIES for dtype in family.types]
IN_FILES = sorted(set(OPERATORS) & set(BUILTIN_OPERATORS))
"""The importer and the passes make the other operators of the table themselves."""
PACKED = {"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "SHAPE", "RANK"}
"""They touch no element, so that int4, of which two share a byte, is like any other type."""


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("group", GROUPS)
def test_a_sample(group: str, part: int) -> None:
    """One case of each operator and type, several where types are few."""
    runs = []
    for operator, families in groupby(GROUPS[group], lambda family: family.operator):
        pairs = [(family, dtype) for family in families for dtype in family.types]
        for family, dtype in pairs:
            rng = np.random.default_rng([*operator.encode(), *dtype.encode()])
            runs += [(family, *draw(family, dtype, rng)) for _ in range(max(1, 4 // len(pairs)))]
    check_all(runs[part::4])


@pytest.mark.parametrize("family", recurrent.FAMILIES, ids=lambda family: f"{family.operator}-{family.name}")
def test_a_sample_step_by_step(family: recurrent.StepFamily) -> None:
    rng = np.random.default_rng(3)
    check_steps([family.make(rng) for _ in range(2)], family.reference, **family.tolerance)


def whole_models(group: str, seed: int) -> list[tuple[Family, Case, list[Array | None]]]:
    """A model of each family, of one of its types."""
    runs = []
    for family in GROUPS[group]:
        rng = np.random.default_rng([seed, *family.operator.encode()])
        dtype = family.types[int(rng.integers(len(family.types)))]
        drawn = (draw(family, dtype, rng) for _ in range(100))
        runs.append((family, *next(run for run in drawn if not is_empty(run[0]))))
    return runs


@pytest.mark.parametrize("group", GROUPS)
def test_a_few_whole_models(group: str) -> None:
    check_whole(whole_models(group, 0)[::4])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("group", GROUPS)
def test_many_whole_models(group: str, seed: int) -> None:
    check_whole(whole_models(group, seed))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("family", "dtype"), PAIRS, ids=[f"{family.operator}-{dtype}" for family, dtype in PAIRS])
def test_many(family: Family, dtype: str, seed: int) -> None:
    rng = np.random.default_rng([seed, *family.operator.encode(), *dtype.encode()])
    check_runs(family, [draw(family, dtype, rng) for _ in range(100)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("family", recurrent.FAMILIES, ids=lambda family: f"{family.operator}-{family.name}")
def test_many_step_by_step(family: recurrent.StepFamily, seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    check_steps([family.make(rng) for _ in range(30)], family.reference, **family.tolerance)


@pytest.mark.parametrize("operator", IN_FILES)
def test_every_operator_and_type_has_a_family(operator: str) -> None:
    """The types that the rules let through beside those of a family's cases are the types of others of its cases."""
    if any(family.operator == operator for family in recurrent.FAMILIES):
        return
    families = [family for family in FAMILIES if family.operator == operator]
    assert families, f"{operator} has no differential family"
    cases = []
    for family in families:
        for dtype in family.types:
            rng = np.random.default_rng([11, *dtype.encode()])
            cases += [draw(family, dtype, rng)[0].without_state for _ in range(60)]
    tested = {signature(case) for case in cases}
    let_through = {}
    for case in cases[:: max(1, len(cases) // 60)]:
        let_through.update({signature(other): other for other in neighbours(case) if accepted(other)})
    missing = {types for types in let_through.keys() - tested if operator not in PACKED or "int4" not in types}
    assert not missing, "types without a differential family"
