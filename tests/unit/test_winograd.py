"""--winograd: which layers take it, what the flash has room for, and that the transformed weights are the weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.cost_samples import Layer, write_model
from support.dsp_cases import winograd
from tflmgen.compiler import compile_model
from tflmgen.errors import BudgetError, UsageError
from tflmgen.explore.optimised_graphs import prepare
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import read_model
from tflmgen.hardware.board import HOST, load_board
from tflmgen.ir.graph.module import Op, walk
from tflmgen.ir.kernel.call import ConstantArray, Kernel, Target
from tflmgen.kernels.selection import Selector
from tflmgen.options import BuildOptions, Optimize
from tflmgen.project.budget import room_for_weights
from tflmgen.project.firmware_build import compile_for

M4 = Target("cortex-m4", frozenset({"dsp"}))
PLENTY = 1 << 20

LAYERS = (
    Layer("CONV_2D", (8, 8), 16, (3, 3), 16),
    Layer("CONV_2D", (6, 6), 32, (3, 3), 32),
    Layer("CONV_2D", (16, 16), 16, (3, 3), 8),
    Layer("CONV_2D", (8, 8), 16, (3, 3), 16, stride=2),
    Layer("CONV_2D", (8, 8), 16, (3, 3), 16, dilation=2),
    Layer("CONV_2D", (8, 8), 16, (1, 1), 16),
    Layer("CONV_2D", (8, 8), 3, (3, 3), 16),
)
"""The first three may take it."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "layers.tflite"
    write_model(path, LAYERS, np.random.default_rng(1))
    return path


def variants(model: Path, target: Target) -> tuple[list[str], list[str], int]:
    """The convolutions' variants, the notes, the bytes of packed weights."""
    module = prepare(import_model(read_model(model)), Selector(target))
    selection = Selector(target).select(module)
    nodes = [node for f in module.functions for node in walk(f.body) if isinstance(node, Op)]
    kernels = [selection.of(op) for op in sorted(nodes, key=lambda op: op.origin.operator) if op.operator == "CONV_2D"]
    kernels_chosen = [kernel for kernel in kernels if isinstance(kernel, Kernel)]
    packed = sum(len(o.data) for kernel in kernels_chosen for o in kernel.operands if isinstance(o, ConstantArray))
    return [kernel.variant for kernel in kernels_chosen], list(selection.notes), packed


def test_only_where_asked_for(model: Path) -> None:
    assert variants(model, M4)[:2] == (["dsp"] * len(LAYERS), [])
    assert variants(model, replace(M4, winograd=PLENTY))[:2] == (["winograd"] * 3 + ["dsp"] * 4, [])


@pytest.mark.parametrize("target", [Target("cortex-m0"), Target("cortex-m55", frozenset({"dsp", "mve"}))])
def test_a_note_where_nothing_gains(model: Path, target: Target) -> None:
    kernel_names, notes, _ = variants(model, replace(target, winograd=PLENTY))
    assert "winograd" not in kernel_names
    assert notes == ["--winograd makes no operator faster here"]


def test_layers_that_save_least_per_byte_go_back_first(model: Path) -> None:
    """The one with most pixels for its weights stays longest."""
    _, _, whole = variants(model, replace(M4, winograd=PLENTY))
    _, _, least = variants(model, M4)
    kept = []
    for budget in (whole, whole - 1, (whole + least) // 3, least + 1000, 1):
        kernel_names, notes, size = variants(model, replace(M4, winograd=budget))
        assert size <= max(budget, least)
        refused = kernel_names[:3].count("dsp")
        assert sum(note.count("0.") for note in notes) == refused
        kept.append([variant == "winograd" for variant in kernel_names[:3]])
    assert kept[0] == [True, True, True]
    assert kept[1] == [True, False, True]
    assert kept[2] == [False, False, True]
    assert kept[-1] == [False, False, False]
    assert [sum(row) for row in kept] == sorted((sum(row) for row in kept), reverse=True)


def test_the_note_names_who_goes_without(model: Path) -> None:
    _, notes, _ = variants(model, replace(M4, winograd=1))
    assert len(notes) == 1
    assert notes[0].startswith("--winograd: the flash does not hold the larger weights of 0.")
    assert notes[0].count("0.") == 3


def test_room_for_weights() -> None:
    assert room_for_weights(HOST) == 0
    assert 0 < room_for_weights(load_board("nucleo_f446re")) < 512 << 10
    assert room_for_weights(load_board("mps3_an547")) == 2 << 20  # code is elsewhere


@pytest.mark.parametrize(
    "options",
    [
        BuildOptions(winograd=True, optimize=Optimize.SIZE),
        BuildOptions(winograd=True, optimize=Optimize.RAM),
        BuildOptions(winograd=True, ram_budget="20K"),
        BuildOptions(winograd=True, max_slowdown="5%"),
    ],
)
def test_speed_only(model: Path, options: BuildOptions) -> None:
    with pytest.raises(UsageError, match="--winograd trades flash and RAM for speed"):
        compile_model(model, M4, options)


@pytest.mark.parametrize("optimize", [Optimize.BALANCED, Optimize.SPEED])
def test_goes_with_what_is_to_be_fast(model: Path, optimize: Optimize) -> None:
    plan = compile_model(model, replace(M4, winograd=1 << 20), BuildOptions(winograd=True, optimize=optimize)).plan
    assert "winograd" in [step.get("variant") for step in plan["steps"]]


def test_a_board_with_too_little_memory(model: Path) -> None:
    """What the flash doesn't hold goes without; where RAM is too little, leaving the option out is advised."""
    options = BuildOptions(winograd=True)
    board = load_board("nucleo_f446re")
    flash, ram = board.memories
    tight = replace(board, memories=(replace(flash, size=(48 << 10) + 40000), ram))
    plan = compile_for(model, tight, options).plan
    assert [step.get("variant") for step in plan["steps"]].count("winograd") == 2
    assert plan["weights"]["bytes"] <= 40000
    assert any("the flash does not hold the larger weights of 0." in note for note in plan["notes"])
    with pytest.raises(BudgetError, match="what would help: no --winograd, "):
        compile_for(model, replace(board, memories=(flash, replace(ram, size=1024))), options)


def test_is_part_of_the_options_text() -> None:
    assert BuildOptions(winograd=True).text == "--optimize balanced --winograd"


INPUT = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
OUTPUT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
"""B^T and A^T of Lavin and Gray."""


def test_transformed_weights_give_four_times_the_sums() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        case, _ = winograd(rng)
        kernel = case.choice_for(replace(M4, winograd=PLENTY)).kernel
        if kernel.variant != "winograd":
            continue
        stream = next(operand for operand in kernel.operands if isinstance(operand, ConstantArray))
        weights = case.inputs[1]
        assert weights is not None
        assert weights.data is not None
        channels, _, _, inputs = weights.data.shape
        row = np.frombuffer(stream.data, "<u4").reshape(-(-channels // 2), -1)[0, :-8].copy()
        halves = row.view("<i2").reshape(4, 4, inputs // 4, 2, 2, 2).astype(np.int64)
        # [position, four, channel, word, half] back to channels in order: words hold those that are two apart.
        transformed = np.moveaxis(halves, 3, 0).swapaxes(4, 5).reshape(2, 4, 4, inputs)
        tile = rng.integers(-128, 128, (4, 4, inputs))
        products = transformed * np.einsum("py,yxi,qx->pqi", INPUT, tile, INPUT)
        sums = np.einsum("ap,cpqi,bq->cab", OUTPUT, products, OUTPUT)
        windows = np.array([[tile[y : y + 3, x : x + 3] for x in range(2)] for y in range(2)])
        direct = np.einsum("abyxi,cyxi->cab", windows, weights.data[:2].astype(np.int64))
        assert np.array_equal(sums, 4 * direct)
