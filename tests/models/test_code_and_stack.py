"""How much flash well-known models take for code, and how much stack, on each core that has fast kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import tflmgen
from support.corpus import CORPUS, requires_corpus

pytestmark = [pytest.mark.emulator, requires_corpus]

MOST_CODE = {"speed": 32 << 10, "size": 12 << 10, "ram": 32 << 10}
"""Bytes, by what code is to be best at, on a Cortex-M4."""

MOST_STACK = 1 << 10

NETWORKS = ("mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_resnet_int8", "mlperf_ad01_int8", "tflm_person_detect")


def firmware(name: str, board: str, optimize: str, folder: Path) -> dict[str, int]:
    model = CORPUS / "real" / f"{name}.tflite"
    words = ("build", model, "--board", board, "--optimize", optimize, "-o", folder / "project", "--json")
    found: dict[str, int] = tflmgen(*words).json["firmware"]
    return found


@pytest.mark.parametrize("optimize", MOST_CODE)
@pytest.mark.parametrize("name", NETWORKS)
def test_on_a_cortex_m4(name: str, optimize: str, tmp_path: Path) -> None:
    found = firmware(name, "mps2_an386", optimize, tmp_path)
    assert found["code_bytes"] <= MOST_CODE[optimize]
    assert found["stack_worst_case"] <= MOST_STACK


@pytest.mark.parametrize("board", ["mps2_an385_m0", "mps3_an547"])
@pytest.mark.parametrize("name", NETWORKS)
def test_stack_on_other_cores(name: str, board: str, tmp_path: Path) -> None:
    assert firmware(name, board, "speed", tmp_path)["stack_worst_case"] <= MOST_STACK


def test_a_tiny_model_is_tiny(tmp_path: Path) -> None:
    assert firmware("tflm_hello_world_int8", "mps2_an386", "speed", tmp_path)["code_bytes"] <= 4 << 10
