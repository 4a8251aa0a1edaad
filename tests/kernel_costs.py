"""Fits the cycles of kernels (codegen/tflmgen/kernels/costs/cycles.json) to what layers take in the emulator.

    PYTHONPATH=tests python -m kernel_costs [--board BOARD] [--family FAMILY] [--check]

writes the table anew, or what it says of a board's core and a family: half a minute each. The terms are those that
declarations of kernels name; coefficients are those of the least relative error that are not negative. With --check it
compares the table with layers that it was not fitted to instead.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

import numpy as np
from support.cost_elements import elements, pool
from support.cost_layers import lstm_layer, svdf_layer, typed
from support.cost_products import product
from support.cost_samples import Layer, Measured, Sample, measure
from support.repository import ROOT
from tflmgen.kernels.costs.estimate import CORES, Table, cycles_table, numbers_of
from tflmgen.kernels.registry import cost_models, declarations
from tflmgen.project.board import load_board

TABLE = ROOT / "codegen" / "tflmgen" / "kernels" / "costs" / "cycles.json"
BOARDS = ("mps2_an385_m0", "mps2_an385", "mps2_an386", "mps2_an500", "mps3_an547")
LAYERS = 96
"""Of each family; a few of them are beyond its kernel."""

CHECK_SEED, CHECK_LAYERS = 99, 48
"""Of layers that nothing is fitted to."""

SIX = 0.25
"""Part of the layers with ReLU that are clamped at 6."""

INLINED = 8
"""Layers of a model that are still compiled each for itself."""


SPECIALISED = ("lstm_dsp",)
"""Kernels that compilers specialise where a model has one such layer, the usual case: measured one by one."""

INSTRUCTIONS = {
    "cortex-m0": ("portable", "thumb"),
    "cortex-m3": ("portable", "thumb"),
    "cortex-m4": ("portable", "dsp"),
    "cortex-m7": ("portable", "dsp"),
    "cortex-m55": ("portable", "dsp", "mve"),
}
"""Whose kernels are measured on each core. Those for Armv6-M run on every core, but are left to what no others compute:
measured where there are no others."""


def families_of(core: str) -> list[str]:
    """The families of kernels whose costs are measured on a core; float32 where it has a floating-point unit."""
    kinds = INSTRUCTIONS[core]
    families = [name for declared in declarations() if declared.instructions in kinds for name in declared.costs]
    return [name for name in families if "dsp" in kinds or not name.endswith("_f32")]


def layers_of(name: str, rng: np.random.Generator, count: int = LAYERS) -> Sequence[Measured]:
    """Layers in many shapes for kernels of family `name`; the outputs of some are clamped in a pass of their own."""
    layers = _layers_of(name, rng, count)
    six = rng.random(len(layers)) < SIX
    return [
        replace(layer, six=True)
        if clamped and isinstance(layer, Layer) and layer.relu and layer.dtype == "int8"
        else layer
        for layer, clamped in zip(layers, six, strict=True)
    ]


def _layers_of(name: str, rng: np.random.Generator, count: int) -> Sequence[Measured]:
    if name.startswith(("conv2d_groups", "transpose_conv")):
        return [(_grouped if "groups" in name else _transposed)(rng) for _ in range(count)]
    if name == "conv2d_pixel_thumb":
        return [_in_groups(_conv(rng), rng) for _ in range(count)]
    if name == "conv2d_split_dsp":
        return [_with_long_windows(rng) for _ in range(count)]
    if name == "conv2d_winograd_dsp":
        return [_three_by_three(rng) for _ in range(count)]
    if name.startswith("conv2d"):
        made = (_conv(rng, "dot" in name) for _ in range(count))
        layers = [typed(name, layer, rng) for layer in made]
        # There are several ways to gather windows of few channels.
        few = name == "conv2d_dsp"
        return [replace(one, channels=1 + n % 5) if few and n % 3 == 0 else one for n, one in enumerate(layers)]
    if name in ("depthwise_quads_mve", "batch_matmul_mve"):
        return [_many_taps(rng) if "quads" in name else product(rng) for _ in range(count)]
    if name.startswith("depthwise"):
        return [typed(name, _depthwise(name, rng), rng) for _ in range(count)]
    if name.startswith("fully_connected"):
        return [typed(name, _fully_connected(name, rng), rng) for _ in range(count)]
    if name.startswith(("svdf", "lstm")):
        return [(svdf_layer if name.startswith("svdf") else lstm_layer)(name, rng) for _ in range(count)]
    if "pool2d" in name:
        operator = "MAX_POOL_2D" if name.startswith("max") else "AVERAGE_POOL_2D"
        return [pool(rng, operator) for _ in range(count)]
    operator = {"add": "ADD", "mul": "MUL", "lookup": "LOGISTIC"}[name.split("_")[0]]
    # Half of the layers are broadcast where one kernel takes both kinds.
    share = 1.0 if "rows" in name else 0.5 if name.endswith("_s8") or operator == "MUL" else 0.0
    return [elements(rng, operator, bool(rng.random() < share)) for _ in range(count)]


def _pick(rng: np.random.Generator, choices: Sequence[int]) -> int:
    return int(choices[int(rng.integers(len(choices)))])


def _relu(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.7)


def _fully_connected(name: str, rng: np.random.Generator) -> Layer:
    depths = [8, 16, 40, 64, 96, 128, 200, 256, int(rng.integers(4, 257))]
    if "plain" in name or "long" in name:
        depths = [292, 320, 400, 512, 640, 4 * int(rng.integers(73, 200))]
    elif name.endswith("_s8"):
        depths += [13, 57, 333, 640]
    elif "mve" in name:
        depths += [13, 57, 528, 640, 16 * int(rng.integers(32, 60)) + int(rng.integers(1, 16))]
    elif "_s16_" in name:
        depths += [6, 13, 57, 62, 101, 126]
    units = _pick(rng, [2, 4, 8, 10, 12, 16, 32, 33, 64, 128, int(rng.integers(2, 50))])
    units = 1 + units % 3 if "few" in name else units
    units = _pick(rng, [1, 1, 2, 3, units]) if name == "fully_connected_s8" else units
    return Layer(
        "FULLY_CONNECTED",
        (_pick(rng, [1, 1, 1, 2, 3]), 1),
        _pick(rng, depths),
        outputs=units,
        relu=_relu(rng),
        common=name == "fully_connected_s8" or ("dsp" in name and bool(rng.random() < 0.5)),
    )


def _size(rng: np.random.Generator, taps: tuple[int, int], dilation: int, side: int) -> tuple[int, int]:
    reach = [(t - 1) * dilation + 1 for t in taps]
    if taps[0] == 1 < taps[1] and rng.random() < 0.3:
        return 1, max(reach[1], 4 * side)
    return max(reach[0], side + int(rng.integers(-1, 3))), max(reach[1], side + int(rng.integers(-3, 4)))


def _conv(rng: np.random.Generator, few: bool = False) -> Layer:
    """few: output channels."""
    taps = [(1, 1), (1, 1), (3, 3), (3, 3), (5, 5), (10, 4), (5, 1), (1, 3), (2, 2), (4, 4)][int(rng.integers(10))]
    values = taps[0] * taps[1]
    channels = _pick(rng, [1, 2, 3, 4, 5, 8, 10, 12] if values > 9 else [1, 3, 4, 7, 8, 12, 16, 17, 24, 32, 64])
    channels = _pick(rng, [4, 8, 16, 24, 32, 40, 64, 96, 128]) if values == 1 and rng.random() < 0.7 else channels
    outputs = _pick(rng, [1, 1, 1, 2, 3, 4] if few else [2, 3, 4, 5, 8, 8, 12, 16, 16, 17, 24, 32, 64])
    side = max(3, min(24, int(np.sqrt(600_000 / (values * channels * outputs)))))
    dilation = 2 if values > 1 and rng.random() < 0.25 else 1
    size = _size(rng, taps, dilation, side)
    stride = 1 if dilation > 1 else _pick(rng, [1, 1, 1, 2, 3])
    return Layer(
        "CONV_2D", size, channels, taps, outputs, stride, bool(rng.random() < 0.7), _relu(rng), dilation=dilation
    )


def _with_long_windows(rng: np.random.Generator) -> Layer:
    layer = _conv(rng)
    channels = [12, 16, 24, 32, 40, 64] if layer.taps[0] * layer.taps[1] < 20 else [4, 8, 12, 16]
    taps = (3, 3) if layer.taps == (1, 1) else layer.taps
    outputs = min(layer.outputs, 16)
    size = max(layer.size[0], taps[0]), max(layer.size[1], taps[1])
    return replace(layer, channels=_pick(rng, channels), taps=taps, outputs=outputs, dilation=1, size=size)


def _three_by_three(rng: np.random.Generator) -> Layer:
    channels, outputs = (
        _pick(rng, [4, 8, 12, 16, 24, 32, 48, 64, 68, 96, 128]),
        _pick(rng, [2, 5, 8, 8, 16, 16, 32, 64]),
    )
    side = max(3, min(24, int(np.sqrt(60_000 / (channels * outputs)))))
    size = _size(rng, (3, 3), 1, side)
    return Layer("CONV_2D", size, channels, (3, 3), outputs, 1, bool(rng.random() < 0.7), _relu(rng))


def _grouped(rng: np.random.Generator) -> Layer:
    taps = [(1, 1), (3, 3), (3, 3), (5, 5), (1, 5), (2, 2)][int(rng.integers(6))]
    groups, own, outputs = (_pick(rng, some) for some in ([2, 3, 4, 8], [1, 2, 4, 8, 16, 24], [1, 2, 3, 4, 8]))
    dilation = 2 if taps != (1, 1) and rng.random() < 0.15 else 1
    size = _size(rng, taps, dilation, int(rng.integers(3, 18)))
    stride = 1 if dilation > 1 else _pick(rng, [1, 1, 2])
    relu, same = _relu(rng), bool(rng.random() < 0.7)
    return Layer(
        "CONV_2D", size, groups * own, taps, groups * outputs, stride, same, relu, dilation=dilation, groups=groups
    )


def _transposed(rng: np.random.Generator) -> Layer:
    stride = _pick(rng, [1, 2, 2, 3])
    taps = stride + int(rng.integers(0, 3)), stride + int(rng.integers(0, 3))
    channels, outputs = _pick(rng, [1, 3, 8, 16, 24, 32]), _pick(rng, [1, 2, 3, 4, 8, 16])
    size = int(rng.integers(2, 12)), _pick(rng, [2, 3, 4, 5, 7, 8, 11])
    return Layer("TRANSPOSE_CONV", size, channels, taps, outputs, stride, bool(rng.random() < 0.7), _relu(rng))


def _in_groups(layer: Layer, rng: np.random.Generator) -> Layer:
    """The same, or a layer with groups of channels."""
    groups = _pick(rng, [1, 1, 1, 2, 4])
    fits = layer.channels % groups == 0 and layer.outputs % groups == 0
    return replace(layer, groups=groups) if fits else layer


def _depthwise(name: str, rng: np.random.Generator) -> Layer:
    many_sizes = ("window", "direct", "_s16_", "_f32", "conv2d_s8")
    by_three = "3x3" in name or not any(kind in name for kind in many_sizes)
    others = [(5, 5), (5, 1), (1, 3), (4, 4), (2, 2), (7, 7)]
    taps = (3, 3) if by_three or rng.random() < 0.4 else others[int(rng.integers(6))]
    if name == "depthwise_thumb_window" and taps == (3, 3):
        taps = (7, 1)
    stride = 1 if name.startswith("depthwise3x3") else _pick(rng, [1, 1, 2, 3])
    if name in ("depthwise_squares_mve", "depthwise_line_mve", "depthwise_half_line_mve"):
        stride = 2 if "half" in name else 1
    dilation = 2 if "window" in name and stride == 1 and rng.random() < 0.2 else 1
    channels, side = _pick(rng, [8, 16, 32, 64] if "mve" in name else [5, 8, 12, 16, 24, 32]), int(rng.integers(5, 24))
    size = _size(rng, taps, dilation, side)
    if name == "depthwise_direct_thumb" and rng.random() < 0.5:
        channels, size = 4 * channels, (taps[0] + int(rng.integers(3)), taps[1] + int(rng.integers(2)))
    if name == "depthwise_nine_dsp":
        channels = 4 * ceil(channels / 4)
    relu = _relu(rng) or name in ("depthwise3x3_pairs_dsp", "depthwise_nine_dsp")
    outputs = channels * (_pick(rng, [1, 1, 1, 2, 3]) if name.startswith("depthwise_thumb") else 1)
    return Layer(
        "DEPTHWISE_CONV_2D", size, channels, taps, outputs, stride, bool(rng.random() < 0.7), relu, dilation=dilation
    )


def _many_taps(rng: np.random.Generator) -> Layer:
    taps = [(5, 5), (5, 5), (7, 7), (3, 3), (9, 1), (3, 7), (9, 9), (4, 5), (2, 2)][int(rng.integers(9))]
    dilation = 2 if max(taps) < 7 and rng.random() < 0.2 else 1
    stride = 1 if dilation > 1 else _pick(rng, [1, 1, 2, 3])
    size = _size(rng, taps, dilation, int(rng.integers(2, 18)))
    channels, filters = _pick(rng, [3, 8, 12, 16, 24, 32, 40, 64]), _pick(rng, [1, 1, 1, 2, 3])
    same, relu = bool(rng.random() < 0.7), _relu(rng)
    outputs = channels * filters
    return Layer("DEPTHWISE_CONV_2D", size, channels, taps, outputs, stride, same, relu, dilation=dilation)


def samples_of(name: str, board: str, layers: Sequence[Measured]) -> list[Sample]:
    """Portable kernels, which are inlined, a few at a time: compilers stop to specialise calls of a large function."""
    step = INLINED if name.endswith("_s8") else 1 if name in SPECIALISED else len(layers)
    layers = layers[: 3 * INLINED] if name.endswith("_s8") else layers
    samples = []
    for first in range(0, len(layers), step):
        with tempfile.TemporaryDirectory() as folder:
            samples += measure(name, board, layers[first : first + step], Path(folder))
    return samples


def fit(name: str, samples: Sequence[Sample]) -> dict[str, float]:
    """The cycles of each term of a family, those that take none left out."""
    counts = [cost_models()[name].counts(numbers_of(sample.kernel)) for sample in samples]
    rows = np.array([list(row.values()) for row in counts], dtype=np.float64)
    found = _least(rows, np.array([sample.cycles for sample in samples], dtype=np.float64))
    return {term: cycles for term, cycles in zip(counts[0], found, strict=True) if cycles}


def _least(rows: np.ndarray, wanted: np.ndarray) -> list[float]:
    """Least squares of relative errors without negative coefficients (Lawson and Hanson 1974, algorithm NNLS)."""
    a = rows / wanted[:, None]
    scale = np.maximum(np.abs(a).max(axis=0), 1e-12)
    a, b = a / scale, np.ones(len(wanted))
    x, active = np.zeros(a.shape[1]), np.zeros(a.shape[1], dtype=bool)
    for _ in range(30 * len(x)):
        gradient = a.T @ (b - a @ x)
        gradient[active] = -np.inf
        if gradient.max(initial=-np.inf) <= 1e-9:
            break
        active[int(gradient.argmax())] = True
        while True:
            trial = np.zeros_like(x)
            trial[active] = np.linalg.lstsq(a[:, active], b, rcond=None)[0]
            if trial[active].min() > 0:
                x = trial
                break
            bad = active & (trial <= 0)
            step = float((x[bad] / (x[bad] - trial[bad])).min())
            x = x + step * (trial - x)
            active &= x > 1e-12
            x[~active] = 0
    return [float(f"{v:.4g}") for v in x / scale]


def errors(name: str, samples: Sequence[Sample], cycles: dict[str, float]) -> list[float]:
    """Relative errors of the estimates."""
    counts = (cost_models()[name].counts(numbers_of(sample.kernel)) for sample in samples)
    estimates = [sum(cycles[term] * row[term] for term in cycles) for row in counts]
    return [estimate / sample.cycles - 1 for estimate, sample in zip(estimates, samples, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--board", action="append", choices=BOARDS)
    parser.add_argument("--family", action="append")
    parser.add_argument("--check", action="store_true", help="compare the table with new layers, and leave it as it is")
    arguments = parser.parse_args()
    table = cycles_table()
    for board in arguments.board or BOARDS:
        core = CORES[load_board(board).core]
        for name in families_of(core):
            if arguments.family is not None and name not in arguments.family:
                continue
            seed, count = (CHECK_SEED, CHECK_LAYERS) if arguments.check else (zlib.crc32(name.encode()), LAYERS)
            samples = samples_of(name, board, layers_of(name, np.random.default_rng(seed), count))
            if not arguments.check:
                table.setdefault(name, {})[core] = fit(name, samples)
                TABLE.write_text(text_of(table))
            wrong = np.abs(errors(name, samples, table[name][core]))
            print(
                f"{core} {name}: {len(samples)} layers, error {wrong.mean():.1%} on average, {wrong.max():.1%} at most",
                flush=True,
            )


def text_of(table: Table) -> str:
    """JSON with a line for each family and core, in the table's order: what is measured anew stays in its place."""
    blocks = []
    for name, by_core in table.items():
        lines = [f'  "{core}": {json.dumps(cycles)}' for core, cycles in by_core.items()]
        blocks.append(f' "{name}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


if __name__ == "__main__":
    main()
