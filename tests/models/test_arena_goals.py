"""Arenas of MLPerf Tiny's models for a Cortex-M4: by default, for least RAM, and with the input row by row; by default
also for a Cortex-M55."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.well_known import well_known
from tflmgen.compiler import compile_model
from tflmgen.hardware.board import load_board
from tflmgen.options import BuildOptions, Optimize

GOALS = {
    "mlperf_kws_int8": (8_640, 5_700, 5_300),
    "mlperf_vww_int8": (37_248, 28_600, 14_000),
    "mlperf_ic_resnet_int8": (33_792, 14_700, 12_000),
    "mlperf_ad01_int8": (768, 768, None),
    "tflm_person_detect": (37_248, 14_400, 13_600),
}


@pytest.mark.parametrize("name", GOALS)
def test_arenas(name: str, tmp_path: Path) -> None:
    path = well_known(name, tmp_path)
    board = load_board("mps2_an386")

    def arena(options: BuildOptions) -> int:
        target = replace(board.target, optimize=options.optimize.value)
        compilation = compile_model(path, target, options)
        size: int = compilation.plan["arena"]["bytes"]
        return size

    fastest, small, pushed = GOALS[name]
    plan = compile_model(path, board.target, BuildOptions()).plan
    assert plan["arena"]["bytes"] <= fastest
    assert arena(BuildOptions(optimize=Optimize.RAM)) <= small
    if pushed is not None:
        rows = [plan["signatures"][0]["inputs"][0]["name"]]
        assert arena(BuildOptions(optimize=Optimize.RAM, push_rows=rows)) <= pushed


@pytest.mark.parametrize("name", GOALS)
def test_arenas_with_mve(name: str, tmp_path: Path) -> None:
    path = well_known(name, tmp_path)
    plan = compile_model(path, load_board("mps3_an547").target, BuildOptions()).plan
    assert plan["arena"]["bytes"] <= GOALS[name][0]
