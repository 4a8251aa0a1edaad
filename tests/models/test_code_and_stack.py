"""How much flash well-known models take for code, and how much stack, on each core that has fast kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import tflmgen
from support.corpus import requires_corpus
from support.sampling import sampled
from support.tools import requires_compiler
from support.well_known import BENCHMARKS, well_known
from tflmgen.compiler import compile_model
from tflmgen.frontend.tflite.reader import read_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

pytestmark = [pytest.mark.emulator, requires_compiler]

MAX_CODE = {"speed": 32 << 10, "size": 12 << 10, "ram": 32 << 10}
"""Bytes, by what code is to be best at, on a Cortex-M4."""

MAX_STACK = 1 << 10

TARGETS = (
    Target("cortex-m0"),
    Target("cortex-m4", frozenset({"dsp", "fpu"})),
    Target("cortex-m55", frozenset({"dsp", "mve", "fpu"})),
)


def firmware(name: str, board: str, optimize: str, folder: Path) -> dict[str, int]:
    options = ("--board", board, "--optimize", optimize, "-o", folder / "project", "--json")
    sizes: dict[str, int] = tflmgen("build", well_known(name, folder), *options).json["firmware"]
    return sizes


@pytest.mark.parametrize(
    ("optimize", "name"),
    [
        *sampled([("speed", name) for name in BENCHMARKS], 4),
        *sampled([("size", name) for name in BENCHMARKS], 4, first=1),
        ("ram", "mlperf_kws_int8"),
        *(pytest.param("ram", name, marks=pytest.mark.sweep) for name in BENCHMARKS[1:]),  # the search takes long
    ],
)
def test_on_a_cortex_m4(name: str, optimize: str, tmp_path: Path) -> None:
    sizes = firmware(name, "mps2_an386", optimize, tmp_path)
    assert sizes["code_bytes"] <= MAX_CODE[optimize]
    assert sizes["stack_worst_case"] <= MAX_STACK


@pytest.mark.parametrize(
    ("board", "name"),
    [
        *sampled([("mps2_an385_m0", name) for name in BENCHMARKS], 4),
        *sampled([("mps3_an547", name) for name in BENCHMARKS], 4, first=1),
    ],
)
def test_stack_on_other_cores(name: str, board: str, tmp_path: Path) -> None:
    assert firmware(name, board, "speed", tmp_path)["stack_worst_case"] <= MAX_STACK


def test_a_tiny_model_is_tiny(tmp_path: Path) -> None:
    assert firmware("tflm_hello_world_int8", "mps2_an386", "speed", tmp_path)["code_bytes"] <= 4 << 10


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.core)
@pytest.mark.parametrize(
    "name", [*BENCHMARKS, "tflm_micro_speech", pytest.param("mww_v1_okay_nabu", marks=requires_corpus)]
)
def test_packed_weights_are_little_more_than_the_files(name: str, target: Target, tmp_path: Path) -> None:
    model = well_known(name, tmp_path)
    tensors = [tensor for graph in read_model(model).subgraphs for tensor in graph.tensors]
    known = sum(len(tensor.data) for tensor in tensors if tensor.data is not None)
    assert compile_model(model, target, BuildOptions()).plan["weights"]["bytes"] <= 1.25 * known
