"""Layers of odd shapes get the kernels of their core: they are not left to portable ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.cost_samples import Layer, write_model
from tflmgen.hardware import load_board
from tflmgen.options import BuildOptions
from tflmgen.project import plan_for

LAYERS = {
    "strided transpose_conv": Layer("TRANSPOSE_CONV", (8, 7), 4, (3, 4), 9, 3, False, False),
    "transpose_conv of odd channels": Layer("TRANSPOSE_CONV", (4, 9), 11, (3, 5), 18, 3, False, True),
    "filters of each channel": Layer("DEPTHWISE_CONV_2D", (14, 14), 17, (5, 4), 51, 2),
    "many filters of three taps": Layer("DEPTHWISE_CONV_2D", (18, 20), 50, (3, 1), 200, 2, relu=False),
    "row of a depthwise filter": Layer("DEPTHWISE_CONV_2D", (12, 12), 10, (1, 9), 10),
    "few channels, large filter": Layer("DEPTHWISE_CONV_2D", (12, 12), 5, (11, 9), 5),
}

BOARDS = ("mps2_an385_m0", "mps2_an386", "mps3_an547")


def kernels_of(layer: Layer, board: str, folder: Path) -> list[str]:
    path = folder / "layer.tflite"
    write_model(path, [layer], np.random.default_rng(0), gives_all=True)
    steps = plan_for(path, load_board(board), BuildOptions(no_range_analysis=True)).plan["steps"]
    return [step["variant"] for step in steps if step.get("name") == layer.operator]


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_have_a_kernel_of_the_core(name: str, board: str, tmp_path: Path) -> None:
    (variant,) = kernels_of(LAYERS[name], board, tmp_path)
    assert variant in ("thumb", "dsp", "mve")


def test_long_rows_of_int16(tmp_path: Path) -> None:
    layer = Layer("FULLY_CONNECTED", (2, 1), 167, outputs=45, dtype="int16")
    assert kernels_of(layer, "mps2_an386", tmp_path) == ["dsp"]


@pytest.mark.parametrize(("channels", "values"), [(2, 8), (3, 9)])
def test_rows_of_windows_are_filled_up_to_words_where_that_takes_less_time(
    channels: int, values: int, tmp_path: Path
) -> None:
    """Two bytes beside a word are gathered one by one, a single one by a loop of its own; to fill up costs steps."""
    path = tmp_path / "layer.tflite"
    write_model(path, [Layer("CONV_2D", (16, 16), channels, (3, 3), 8)], np.random.default_rng(0), gives_all=True)
    sources = plan_for(path, load_board("mps2_an386"), BuildOptions(no_range_analysis=True)).sources.files.values()
    assert any(f".row_pitch = {values}," in source for source in sources)
