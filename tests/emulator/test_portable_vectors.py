"""Portable kernels whose loops go by vectors on cores with MVE: the bits that they give in C on this computer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from support import int16_cases
from support.differential import draw, is_empty
from support.emulated_kernels import M0, M4, M55, Machine, Run, faults_on, kernel_for
from support.kernel_harness import Array, Case, claims, constant, host_outputs, make_case, random_values, tensor
from support.kernel_program import KERNELS
from support.moved_elements import selected
from support.portable_fuzz import FAMILIES
from support.tools import requires_compiler
from tflmgen.ir import DType
from tflmgen.ir.kernel import Kernel

pytestmark = [pytest.mark.emulator, requires_compiler]

Drawn = tuple[Case, Sequence[Array | None]]

LOOPS = re.compile(r'#include "(dot|element_rows|quantized_rows|reduced_rows|softmax_rows|sum_s16)\.h"')
"""Headers of loops by vectors, which portable kernels include."""

VECTORISED = {"copy.h", "interpolate.h", "quantized_unary.h", "resize_bilinear.h"} | {
    path.name for path in KERNELS.glob("*.h") if LOOPS.search(path.read_text(encoding="utf-8"))
}
"""Headers of portable kernels whose loops go by vectors, their own or those of LOOPS."""

PAIRS = [(number, dtype) for number, family in enumerate(FAMILIES) for dtype in family.types]

IMAGE = 150
"""Calls in one firmware image."""


def cases_of(number: int, dtype: str, seed: int, count: int) -> Iterator[Drawn]:
    """Random cases of a family that a vectorised portable kernel computes."""
    rng = np.random.default_rng([seed, number, *dtype.encode()])
    for _ in range(count):
        case, values = draw(FAMILIES[number], dtype, rng)
        if case.states or is_empty(case) or _is_of_floats(case):
            continue
        if isinstance(selected(case), Kernel) and kernel_for(case, M55).header in VECTORISED:
            yield case, values


def _is_of_floats(case: Case) -> bool:
    """Those have tests of their own: vectors take numbers below FLT_MIN for zero, which these families draw, too."""
    return all(kind.dtype is DType.FLOAT32 for kind in (*(i.type for i in case.inputs if i), *case.outputs))


def check(seed: int, count: int, folder: Path) -> set[str]:
    """Runs the cases of all families; returns the functions that were called."""
    return check_drawn([pair for at in PAIRS for pair in cases_of(*at, seed, count)], folder)


def check_drawn(drawn: Sequence[Drawn], folder: Path, machine: Machine = M55) -> set[str]:
    """Runs cases at every claimed overlap; returns the functions that were called."""
    runs = []
    for (case, values), expected in zip(drawn, host_outputs(drawn), strict=True):
        kernel = kernel_for(case, machine)
        overlaps = [overlap for overlap in claims(kernel) if values[overlap.input] is not None]
        runs += [Run(case, values, expected, overlap, kernel) for overlap in (None, *overlaps)]
    for first in range(0, len(runs), IMAGE):
        faults = faults_on(machine, runs[first : first + IMAGE], folder)
        assert not faults, f"{faults[:3]}: {[runs[first + int(line.split()[1])] for line in faults[:1]]}"
    return {kernel_for(case, machine).function for case, _ in drawn}


def test_random_layers_give_the_same_bits(tmp_path: Path) -> None:
    called = check(0, 2, tmp_path)
    assert len(called) > 20


@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
def test_products_of_int16(machine: Machine, tmp_path: Path) -> None:
    rng = np.random.default_rng(16)
    called = check_drawn([int16_cases.batch_matmul(rng) for _ in range(48)], tmp_path, machine)
    assert called == {"tflmgen_batch_matmul_s16", "tflmgen_batch_matmul_s16_s8"}


def sums_of_int8(rng: np.random.Generator, shape: Sequence[int], axes: Sequence[int]) -> Drawn:
    """MEAN or SUM; some of the least values only, which leave the halves of a word first."""
    x, y = tensor("int8", shape, 0.5, -7), tensor("int8", (), float(rng.uniform(0.4, 2)), 3)
    name = ("MEAN", "SUM")[rng.integers(2)]
    case = make_case(name, [x, constant("int32", np.array(axes, np.int32))], [y], {"keep_dims": bool(rng.integers(2))})
    values = random_values(case, rng)
    if rng.random() < 0.5:
        values = [None if v is None else np.full_like(v, -128) for v in values]
    return case, values


def test_sums_of_int8_with_the_dsp_extension(tmp_path: Path) -> None:
    """Columns fewer and more than a word has, longer than a half of a word has room for; rows of any length."""
    rng = np.random.default_rng(8)
    drawn = []
    for columns in (1, 2, 3, 4, 5, 7, 8, 17, 64, 67):
        for rows in (1, 3, 255, 257, 700):
            drawn += [sums_of_int8(rng, (rows, columns), (axis,)) for axis in (0, 1)]
        drawn += [sums_of_int8(rng, (2, 3, columns, 2, 5), axes) for axes in ((0, 2), (1, 3), (0, 2, 4), (1, 4))]
    assert check_drawn(drawn, tmp_path, M4) == {"tflmgen_requantized_sum_s8"}


def test_extremes_with_the_dsp_extension(tmp_path: Path) -> None:
    """Of tensors of one shape, which go by words, of one and a single element, and of others."""
    extremes = [number for number, family in enumerate(FAMILIES) if family.operator in ("MAXIMUM", "MINIMUM")]
    drawn = [pair for number in extremes for dtype in ("int8", "int16") for pair in cases_of(number, dtype, 4, 30)]
    kinds = [f"tflmgen_{name}_{suffix}" for name in ("maximum", "minimum") for suffix in ("s8", "s16")]
    assert check_drawn(drawn, tmp_path, M4) == {*kinds}


def test_resized_images_with_the_instructions_of_every_cortex_m(tmp_path: Path) -> None:
    families = [number for number, family in enumerate(FAMILIES) if family.operator == "RESIZE_BILINEAR"]
    drawn = [pair for number in families for pair in cases_of(number, "int8", 5, 40)]
    assert check_drawn(drawn, tmp_path, M0) == {"tflmgen_resize_bilinear_s8"}
    assert any(case.outputs[0].max_shape[3] > 1 for case, _ in drawn)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_many_random_layers_give_the_same_bits(seed: int, tmp_path: Path) -> None:
    check(seed, 40, tmp_path)


def squared_difference(rng: np.random.Generator) -> Drawn:
    """Of rows, or of rows and single elements; inputs of one scale, or either of the larger one; shifts either way."""
    shape = int(rng.integers(1, 4)), int(rng.integers(1, 30))
    others = [shape, (shape[0], 1), (1, shape[1]), (1, 1)]
    shapes = [shape, others[int(rng.integers(4))]]
    scales = [0.05, float(rng.choice([0.05, 0.02, 0.07]))]
    operands = [
        tensor("int8", shapes[i], scales[i], int(rng.choice([-128, 0, 127, 3]))) for i in rng.permutation(2).tolist()
    ]
    output = tensor("int8", (), float(0.05 * 2.0 ** -rng.uniform(-4, 7)), int(rng.choice([-128, 0, 5])))
    case = make_case("SQUARED_DIFFERENCE", operands, [output])
    return case, random_values(case, rng)


@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
def test_squared_differences_by_rows(machine: Machine, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    drawn = [squared_difference(rng) for _ in range(40)]
    assert check_drawn(drawn, tmp_path, machine) == {"tflmgen_squared_difference_s8"}
