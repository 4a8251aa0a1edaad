"""Prints the table of figures of docs/understand/control-flow.md.

    PYTHONPATH=tests python tests/control_flow_figures.py

It benches models of the corpus on mps2_an386. TFLite Micro's figures were measured once, in the same emulator, with
the same inputs and the same compiler (head of August 2026 with CMSIS-NN, -Os and -O2, Cortex-M4F): instructions of the
second invoke, and bytes of arena: for activations (head) and in all.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from support.commands import tflmgen
from support.corpus import CORPUS

BOARD = "mps2_an386"


@dataclass(frozen=True, slots=True)
class Peer:
    """TFLite Micro with CMSIS-NN: instructions, arena for activations, whole arena."""

    instructions: int
    head: int
    arena: int


PEERS = {
    "if/if_nested2_f32": Peer(3_868, 240, 1_280),
    "if/if_nested2_i8": Peer(6_668, 240, 1_808),
    "while/while_fixed10_dense_f32": Peer(83_436, 448, 1_552),
    "keras/k2_gru_while_f32": Peer(204_352, 1_312, 4_224),
    "while/app_crnn_gru_kws_f32": Peer(639_432, 5_088, 8_912),
    "while/app_iir_biquad_f32": Peer(1_031_812, 1_792, 5_024),
    "if/if_heavy_then_i8io": Peer(810_236, 5_472, 7_748),
}
ITERATION, WHOLE_IF = 5_413, 1_048
"""Of while_counter_f32 (one more iteration) and of if_passthrough_f32 (the whole invoke)."""


def bench(model: str, *words: object) -> Any:
    finished = tflmgen("bench", CORPUS / f"{model}.tflite", "--board", BOARD, "--json", *words)
    if finished.code != 0:
        sys.exit(finished.err)
    return finished.json


def sets(model: str) -> list[int]:
    """The instructions of each set of a model's vectors."""
    return [input_set["instructions"] for input_set in bench(model, "--inputs", CORPUS / f"{model}.npz")["sets"]]


def one_iteration() -> int:
    """Of while_counter_f32: from the set with 2 iterations to the one with 7."""
    model = "while/while_counter_f32"
    with np.load(CORPUS / f"{model}.npz") as vectors:
        trips = [int(vectors[f"s{k}_in_1"]) for k in range(int(vectors["n_sets"]))]
    counts = sets(model)
    return round((counts[trips.index(7)] - counts[trips.index(2)]) / 5)


def rows() -> list[str]:
    table = [
        "| | TFLite Micro + CMSIS-NN | tflmgen |",
        "|---|--:|--:|",
        f"| `while_counter_f32`, one more iteration | {ITERATION:,} | {one_iteration():,} |",
        f"| `if_passthrough_f32`, the whole invoke | {WHOLE_IF:,} | {max(sets('if/if_passthrough_f32')):,} |",
        "",
        "| Model | Instructions: TFLM | tflmgen | RAM, bytes: TFLM | of these activations | tflmgen |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    return [*table, *map(row, PEERS)]


def row(model: str) -> str:
    """A model's line in the table."""
    report, peer = bench(model), PEERS[model]
    ram, own = report["memory"]["arena_bytes"], report["total"]["instructions"]
    figures = (peer.instructions, own, peer.arena, peer.head, ram)
    return " | ".join([f"| `{model.rpartition('/')[2]}`", *(f"{n:,}" for n in figures)]) + " |"


if __name__ == "__main__":
    print("\n".join(rows()))
