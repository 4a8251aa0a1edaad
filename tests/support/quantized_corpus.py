"""Float models with If or While of the corpus, quantised with their own input sets and run, for the sweep over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.compare.oracle import OracleError, tflm_outputs
from tflmgen.frontend.model_graph import bindings
from tflmgen.frontend.tflite import Model
from tflmgen.input_sets import Vectors
from tflmgen.options import QuantizeOptions
from tflmgen.quantize import QuantizedFile, observed_build, quantize_file

from support.commands import tflmgen
from support.corpus import CORPUS, corpus_manifest
from support.float_paths import outputs_after_float
from support.silent_watcher import SilentWatcher

CATEGORIES = ("keras", "while", "if", "stateful", "one", "torch")
BOARDS = ("host", "mps2_an386", "mps3_an547", "mps2_an385_m0")
ARENA = 1 << 22

Array = NDArray[Any]

ENTRIES = {entry["path"].removesuffix(".tflite"): entry for entry in corpus_manifest()}


def float_models() -> tuple[str, ...]:
    """Float models of the corpus with an If or While, by path without suffix."""
    return tuple(
        name
        for name, entry in ENTRIES.items()
        if name.split("/")[0] in CATEGORIES
        and (entry["has_if"] or entry["has_while"])
        and "float32" in entry["dtypes"]
        and not entry["quantized"]
    )


@dataclass(frozen=True, slots=True)
class QuantizedEntry:
    """A quantised model of the corpus, and what its outputs are compared with.

    golden     vectors with the input sets and the expected outputs of the quantised file
    reference  what computed them
    """

    name: str
    file: Path
    golden: Path
    reference: str
    result: QuantizedFile

    @property
    def model(self) -> Model:
        return self.result.quantized.model


@dataclass(frozen=True, slots=True)
class BoardResult:
    """Outputs, over all sets, that equal the reference bit for bit, and others, which operators in float precede."""

    exact: int
    near: int


def quantized_entry(name: str, folder: Path) -> QuantizedEntry:
    """Quantises with the model's own input sets, as the command does, and computes the expected outputs."""
    source, calibration = CORPUS / f"{name}.tflite", folder / "calibration.npz"
    _write_finite(source.with_suffix(".npz"), calibration)
    result = quantize_file(source, calibration, QuantizeOptions(), None, lambda *_: None)
    file, golden = folder / "quantized.tflite", folder / "expected.npz"
    file.write_bytes(result.quantized.data)
    vectors = result.data.everything
    reference, outputs = _expected(name, result, file, vectors)
    _write_expected(golden, vectors, outputs, _keys(result.quantized.model))
    return QuantizedEntry(name, file, golden, reference, result)


def board_result(entry: QuantizedEntry, board: str) -> BoardResult:
    """Runs the quantised model on a board. AssertionError if an output is not what it must be."""
    keys = _keys(entry.model)
    entries = [signature.subgraph for signature in entry.model.signatures] or [0]
    after_float = {key: outputs_after_float(entry.model, graph) for key, graph in zip(keys, entries, strict=True)}
    tolerance = ENTRIES[entry.name]["tolerance"] or {"atol": 0, "rtol": 0}
    words = ("--atol", str(tolerance["atol"]), "--rtol", str(tolerance["rtol"]))
    finished = tflmgen("test", entry.file, "--board", board, "--vectors", entry.golden, "--json", *words)
    assert finished.code == 0, f"{board}: {finished.err}{finished.out[-2000:]}"
    exact = near = 0
    places = Counter[str]()
    ports = [len(entry.model.subgraphs[graph].outputs) for graph in entries]
    for check in finished.json["checks"]:
        key = keys[0] if len(keys) == 1 else check.get("signature", keys[0])
        place = places[check["set"]] % ports[keys.index(key)]
        places[check["set"]] += 1
        if place in after_float[key]:
            near += 1
        else:
            assert check["largest_difference"] == 0, (board, check)
            exact += 1
    return BoardResult(exact, near)


def float_conversions_in_loops(model: Model) -> int:
    """DEQUANTIZE in conditions and bodies of loops, and in the subgraphs that these run."""
    inside = set[int]()
    pending = [
        binding.subgraph
        for graph in model.subgraphs
        for op in graph.operators
        if "cond_subgraph_index" in (op.options or {})
        for binding in bindings(op)
    ]
    while pending:
        index = pending.pop()
        if index not in inside:
            inside.add(index)
            pending += [b.subgraph for op in model.subgraphs[index].operators for b in bindings(op)]
    return sum(op.name == "DEQUANTIZE" for index in inside for op in model.subgraphs[index].operators)


def reasons_for_float(result: QuantizedFile) -> list[str]:
    """Operators that stayed in float, with the reason, without repetition."""
    return sorted({f"{note.name}: {note.reason}" for note in result.quantized.assignment.notes})


def _write_finite(source: Path, target: Path) -> None:
    """Writes the input sets of an .npz file without those that hold infinite or undefined numbers."""
    with np.load(source, allow_pickle=False) as arrays:
        own: dict[int, dict[str, Array]] = {}
        for name in arrays.files:
            number, _, rest = name[1:].partition("_")
            if name.startswith("s") and number.isdecimal() and not rest.startswith("out"):
                own.setdefault(int(number), {})[rest] = arrays[name]
        kept = [part for _, part in sorted(own.items()) if all(_is_finite(array) for array in part.values())]
        extra = {name: arrays[name] for name in ("stateful",) if name in arrays.files}
    sets = {f"s{number}_{rest}": array for number, part in enumerate(kept) for rest, array in part.items()}
    np.savez(target, n_sets=np.array(len(kept)), **sets, **extra)  # type: ignore[arg-type]


def _is_finite(array: Array) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def _keys(model: Model) -> list[str]:
    return [signature.key for signature in model.signatures] or [""]


def _expected(name: str, result: QuantizedFile, file: Path, vectors: Vectors) -> tuple[str, Sequence[Sequence[Array]]]:
    """The reference and its outputs: TFLite Micro's, or where it cannot run the file a build without passes."""
    model = result.quantized.model
    try:
        return "TFLite Micro", tflm_outputs(file, vectors.sets, ARENA, 120, vectors.stateful)
    except OracleError:
        if ENTRIES[name]["tflm_runs"] and len(model.signatures) < 2:
            raise
    with observed_build(model) as build:
        return "the build without passes", build.run(vectors.sets, vectors.stateful, SilentWatcher())


def _write_expected(path: Path, vectors: Vectors, outputs: Sequence[Sequence[Array]], keys: Sequence[str]) -> None:
    arrays: dict[str, Any] = {"n_sets": np.array(len(vectors.sets)), "stateful": np.array(vectors.stateful)}
    for number, (vector_set, arrays_out) in enumerate(zip(vectors.sets, outputs, strict=True)):
        arrays |= {f"s{number}_in_{place}": array for place, array in enumerate(vector_set.inputs)}
        arrays |= {f"s{number}_out_{place}": array for place, array in enumerate(arrays_out)}
        if len(keys) > 1:
            arrays[f"s{number}_sig"] = np.array(keys[vector_set.signature])
    np.savez(path, **arrays)
