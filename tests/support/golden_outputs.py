"""Golden outputs of the corpus beside the reference's: how often subgraphs ran, and whether float rounding decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from tflmgen.frontend.tflite import Model
from tflmgen.reference import Array, Interpreter

ROUNDINGS = 8
"""Runs with other rounding where the number of turns differs."""


class Counts:
    """How often each subgraph has run: how often its first tensor has been written, handles apart."""

    def __init__(self, model: Model) -> None:
        self._first: dict[tuple[int, int], int] = {}
        for graph in model.subgraphs:
            written = (i for op in graph.operators for i in op.outputs if graph.tensors[i].dtype is not None)
            self._first |= {(graph.index, i): graph.index for i in [next(written, None)] if i is not None}
        self.runs: Counter[int] = Counter()

    def see(self, subgraph: int, tensor: int, array: Array) -> None:
        del array
        if (subgraph, tensor) in self._first:
            self.runs[self._first[subgraph, tensor]] += 1

    def differ(self, recorded: Sequence[int]) -> bool:
        return any(self.runs[index] != recorded[index] for index in self._first.values())


def invoked(model: Model, interpreter: Interpreter, golden: Any, k: int, see: Any = None) -> list[Array]:
    """Outputs of set k, in the order of the subgraph's outputs."""
    inputs = [golden[name] for i in range(len(golden.files)) if (name := f"s{k}_in_{i}") in golden]
    if f"s{k}_sig" not in golden:
        return list(interpreter.invoke(None, inputs, see))
    signature = next(s for s in model.signatures if s.key == str(golden[f"s{k}_sig"]))
    graph = model.subgraphs[signature.subgraph]
    values = dict(zip(graph.inputs, inputs, strict=True))
    results = interpreter.invoke(signature, [values[i] for _, i in signature.inputs], see)
    by_tensor = {index: result for (_, index), result in zip(signature.outputs, results, strict=True)}
    return [by_tensor[i] for i in graph.outputs]


def first_difference(outputs: Sequence[Array], wanted: Sequence[Array], entry: dict[str, Any]) -> str:
    """The first output that is not the wanted one; empty: all are."""
    for j, (got, want) in enumerate(zip(outputs, wanted, strict=True)):
        is_float = want.dtype.kind == "f"
        bound = (entry["tolerance"] or {"atol": 1e-5, "rtol": 1e-5}) if is_float else {"atol": 0, "rtol": 0}
        if got.shape != want.shape or not np.allclose(got, want, **bound, equal_nan=is_float):
            return f"output {j}"
    return ""


def golden_outputs(golden: Any, k: int) -> list[Array]:
    """Those of set k, in the order of the subgraph's outputs."""
    return [golden[name] for j in range(len(golden.files)) if (name := f"s{k}_out_{j}") in golden]


def rounding_decides(model: Model, golden: Any, k: int, entry: dict[str, Any]) -> bool:
    """Whether the model's operators give the golden outputs as often as recorded when they round otherwise."""
    for seed in range(ROUNDINGS):
        counts = Counts(model)
        interpreter = Interpreter(model, noise=np.random.default_rng(seed))
        outputs = invoked(model, interpreter, golden, k, counts.see)
        if not counts.differ(entry["exec_counts"][k]) and not first_difference(
            outputs, golden_outputs(golden, k), entry
        ):
            return True
    return False


def some_rounding_gives(outputs: Sequence[Array], model: Model, golden: Any, k: int, entry: dict[str, Any]) -> bool:
    """Whether the reference has these outputs for set k, as it rounds or otherwise."""
    noises = (None, *map(np.random.default_rng, range(ROUNDINGS)))
    results = (invoked(model, Interpreter(model, noise=noise), golden, k) for noise in noises)
    return any(not first_difference(outputs, wanted, entry) for wanted in results)
