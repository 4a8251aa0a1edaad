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
from pathlib import Path

import numpy as np
from support.cost_layers import layers
from support.cost_samples import Measured, Sample, measure
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
    """Layers in many shapes for kernels of family `name`."""
    return layers(cost_models()[name].layers, rng, count)


def samples_of(name: str, board: str, drawn: Sequence[Measured]) -> list[Sample]:
    """Portable kernels, which are inlined, a few at a time: compilers stop to specialise calls of a large function."""
    step = INLINED if name.endswith("_s8") else 1 if name in SPECIALISED else len(drawn)
    drawn = drawn[: 3 * INLINED] if name.endswith("_s8") else drawn
    samples = []
    for first in range(0, len(drawn), step):
        with tempfile.TemporaryDirectory() as folder:
            samples += measure(name, board, drawn[first : first + step], Path(folder))
    return samples


def fit(name: str, samples: Sequence[Sample]) -> dict[str, float]:
    """The cycles of each term of a family, those that take none left out."""
    counts = [cost_models()[name].counts(numbers_of(sample.kernel)) for sample in samples]
    rows = np.array([list(row.values()) for row in counts], dtype=np.float64)
    coefficients = _least(rows, np.array([sample.cycles for sample in samples], dtype=np.float64))
    return {term: cycles for term, cycles in zip(counts[0], coefficients, strict=True) if cycles}


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
