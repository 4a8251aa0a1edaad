"""Fits the cycles of kernels (codegen/tflmgen/kernels/costs/cycles.json) to what layers take in the emulator.

    PYTHONPATH=tests python -m kernel_costs [--board BOARD] [--family FAMILY] [--check | --alone]

writes the table anew, or what it says of a board's core and a family: half a minute each, and once for each board some
minutes for the corpus, whose layers weigh more than random ones. The terms are those that declarations of kernels name;
coefficients are those of the least relative error that are not negative. With --alone it writes what is left of them
where a call is the only one of its family in a program. With --check it compares the table with layers that it was not
fitted to instead. Counts are kept below build/kernel_costs: remove what is stale.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from support.cost_corpus import counted_models
from support.cost_fit import Alone, errors, fit, left_alone
from support.cost_layers import layers
from support.cost_samples import Measured, Sample, measure, measure_model, side_by_side
from support.counted_calls import DoesNotFitError
from support.repository import ROOT
from tflmgen.architectures import core_named
from tflmgen.hardware.board import load_board
from tflmgen.kernels.costs.estimate import ALONE, Table, cycles_table
from tflmgen.kernels.declaration import cost_models, declarations

TABLE = ROOT / "codegen" / "tflmgen" / "kernels" / "costs" / "cycles.json"
BOARDS = ("mps2_an385_m0", "mps2_an385", "mps2_an386", "mps2_an500", "mps3_an547", "qemu_rv32")
KEPT = ROOT / "build" / "kernel_costs"
LAYERS = 96
"""Of each family; a few of them are beyond its kernel."""

CHECK_SEED, CHECK_LAYERS = 99, 48
"""Of layers that nothing is fitted to."""

REAL = 32.0
"""How many random layers a layer of the corpus weighs as much as."""

ALONE_LAYERS = 12
"""Of each family, alone in their models."""

HOME = {
    "thumb": "mps2_an385_m0",
    "portable": "mps2_an386",
    "dsp": "mps2_an386",
    "mve": "mps3_an547",
    "rv32m": "qemu_rv32",
}
"""By instruction set, the board on which calls that are alone are counted, for all cores: how far a loop is specialised
depends on the compiler."""

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
    "rv32": ("portable", "rv32m"),
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
    parts = [drawn[first : first + step] for first in range(0, len(drawn), step)]
    return [sample for part in parts for sample in _measured(name, board, part)]


def _measured(name: str, board: str, drawn: Sequence[Measured]) -> list[Sample]:
    """In as many models as the board's memories need."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            return measure({name: drawn}, board, Path(folder))
    except DoesNotFitError:
        if len(drawn) == 1:
            raise
    half = len(drawn) // 2
    return [*_measured(name, board, drawn[:half]), *_measured(name, board, drawn[half:])]


def kept(name: str, count: Callable[[], Iterable[Sample]]) -> list[Sample]:
    """The samples of this name, counted once."""
    path = KEPT / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(sample) for sample in count()]))
    return [Sample(**sample) for sample in json.loads(path.read_text())]


def real_samples(board: str) -> Iterator[Sample]:
    """The layers of the corpus' models, equal ones once."""
    known = set()
    for path in counted_models(board):
        with suppress(DoesNotFitError):
            for sample in measure_model(path, board):
                if (key := (sample.function, str(sample.numbers), sample.alone)) not in known:
                    known.add(key)
                    yield sample


def alone_samples(board: str) -> Iterator[Sample]:
    """Random layers of each family that is HOME on the board, each the only one of its family in its model."""
    families: dict[str, list[str]] = {}
    for declared in declarations():
        if HOME[declared.instructions] == board:
            families.setdefault(declared.instructions, []).extend(declared.costs)
    for seed, names in itertools.product(range(ALONE_LAYERS), families.values()):
        rng = np.random.default_rng(seed)
        for model in side_by_side({name: layers_of(name, rng, 1) for name in names}):
            with tempfile.TemporaryDirectory() as folder:
                yield from (sample for sample in measure(model, board, Path(folder)) if sample.alone)


def fit_family(board: str, name: str, check: bool) -> None:
    """Writes the cycles of a family on a board's core, or compares them with other layers."""
    table, core = cycles_table(), core_named(load_board(board).core).costs
    seed, count = (CHECK_SEED, CHECK_LAYERS) if check else (zlib.crc32(name.encode()), LAYERS)
    drawn = layers_of(name, np.random.default_rng(seed), count)
    samples = kept(f"{name}_{board}_{seed}", lambda: samples_of(name, board, drawn))
    if not samples:
        return  # kernels of another instruction set compute all of its layers on this core
    if not check:
        real = [sample for sample in kept(f"real_{board}", partial(real_samples, board)) if sample.family == name]
        shared = [sample for sample in real if not sample.alone]
        weights = [1.0] * len(samples) + [REAL] * len(shared)
        table.setdefault(name, {})[core] = fit(name, [*samples, *shared], weights)
        TABLE.write_text(text_of(table))
        _print(f"{core} {name}, real", shared, table[name][core])
    _print(f"{core} {name}", samples, table[name][core])


def fit_alone(board: str, names: Sequence[str]) -> None:
    """Writes what is left of the cycles of families whose HOME the board is where a call is alone: by random layers
    there, and by those of the corpus on every board."""
    table = cycles_table()
    drawn = [(board, sample, 1.0) for sample in kept(f"alone_{board}", partial(alone_samples, board))]
    real = [
        (other, sample, REAL)
        for other in BOARDS
        for sample in kept(f"real_{other}", partial(real_samples, other))
        if sample.alone
    ]
    for name in names:
        counted = []
        for other in BOARDS if name not in SPECIALISED and HOME[_instructions(name)] == board else ():
            own = [(sample, weight) for at, sample, weight in (*drawn, *real) if (at, sample.family) == (other, name)]
            cycles = table[name].get(core_named(load_board(other).core).costs)
            if own and cycles:
                counted.append(Alone([sample for sample, _ in own], [weight for _, weight in own], cycles))
        if counted:
            left = left_alone(name, counted)
            by_core = {core: cycles for core, cycles in table[name].items() if core != ALONE}
            table[name] = {**({ALONE: left} if left else {}), **by_core}
            TABLE.write_text(text_of(table))
            for alone in counted:
                estimates = {term: cycles * left.get(term, 1) for term, cycles in alone.cycles.items()}
                _print(f"{name}, alone", alone.samples, estimates)


def _instructions(family: str) -> str:
    return next(declared.instructions for declared in declarations() if family in declared.costs)


def _print(title: str, samples: Sequence[Sample], cycles: dict[str, float]) -> None:
    if samples:
        wrong = np.abs(errors(samples[0].family, samples, cycles))
        print(
            f"{title}: {len(samples)} layers, error {wrong.mean():.1%} on average, {wrong.max():.1%} at most",
            flush=True,
        )


def text_of(table: Table) -> str:
    """JSON with a line for each family and core, in the table's order: what is measured anew stays in its place."""
    blocks = []
    for name, by_core in table.items():
        lines = [f'  "{core}": {json.dumps(cycles)}' for core, cycles in by_core.items()]
        blocks.append(f' "{name}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--board", action="append", choices=BOARDS)
    parser.add_argument("--family", action="append")
    parser.add_argument("--check", action="store_true", help="compare the table with new layers, and leave it as it is")
    parser.add_argument("--alone", action="store_true", help="fit what is left of the cycles of calls that are alone")
    arguments = parser.parse_args()
    for board in arguments.board or BOARDS:
        names = [
            name
            for name in families_of(core_named(load_board(board).core).costs)
            if arguments.family is None or name in arguments.family
        ]
        if arguments.alone:
            fit_alone(board, names)
        else:
            for name in names:
                fit_family(board, name, arguments.check)


if __name__ == "__main__":
    main()
