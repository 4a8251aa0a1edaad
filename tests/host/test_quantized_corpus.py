"""Every float model with If or While of the corpus, quantised with its own input sets, on the host and on boards.

TFLite Micro runs the quantised file, on one interpreter in order where the model keeps state. Outputs that no operator
in float32 comes before equal its outputs bit for bit, others within the manifest's tolerance. Where TFLite Micro cannot
run the float model's structure, the build without any pass takes its place.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.commands import tflmgen
from support.corpus import CORPUS, corpus_manifest, requires_corpus
from support.float_paths import outputs_after_float
from support.silent_watcher import SilentWatcher
from support.tools import requires_compiler, requires_qemu
from tflmgen.compare.oracle import OracleError, tflm_outputs
from tflmgen.emulators import Vectors, read_vectors
from tflmgen.frontend import read_model
from tflmgen.quantize import (
    QuantizationChoice,
    QuantizedModel,
    calibrate,
    observed_build,
    prepare_float,
    quantize_model,
)

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
pytestmark = requires_corpus

CATEGORIES = ("keras", "while", "if", "stateful", "one", "torch")
BOARDS = ("host", "mps2_an386", "mps3_an547", "mps2_an385_m0")
ARENA = 1 << 22
SAMPLE = (("stateful/state_running_mean_f32", "host"), ("while/app_newton_sqrt_f32", "host"))
"""The first has variables, no branch or loop, and runs in order on one interpreter."""

Array = NDArray[Any]


def float_models() -> dict[str, dict[str, Any]]:
    """Float models of the corpus with an If or While, by path without suffix."""
    return {
        entry["path"].removesuffix(".tflite"): entry
        for entry in corpus_manifest()
        if entry["path"].split("/")[0] in CATEGORIES
        and (entry["has_if"] or entry["has_while"])
        and "float32" in entry["dtypes"]
        and not entry["quantized"]
    }


MODELS = float_models()
TOLD = {entry["path"].removesuffix(".tflite"): entry for entry in corpus_manifest()}


def quantized_with_its_sets(name: str) -> tuple[QuantizedModel, Vectors]:
    path = CORPUS / f"{name}.tflite"
    source = prepare_float(read_model(path))
    with observed_build(source) as build:
        vectors = read_vectors(path.with_suffix(".npz"), build.signatures, None, expected=False)
    return quantize_model(source, calibrate(source, vectors), QuantizationChoice()), vectors


def expected_outputs(name: str, quantized: QuantizedModel, file: Path, vectors: Vectors) -> tuple[str, list[Any]]:
    """What the outputs are compared with, and what was run for it."""
    try:
        return "TFLite Micro", list(tflm_outputs(file, vectors.sets, ARENA, 120, vectors.stateful))
    except OracleError:
        if TOLD[name]["tflm_runs"] and len(quantized.model.signatures) < 2:
            raise
    with observed_build(quantized.model) as build:
        return "the build without passes", build.run(vectors.sets, vectors.stateful, SilentWatcher())


def write_expected(path: Path, vectors: Vectors, outputs: list[Any], keys: list[str]) -> None:
    arrays: dict[str, Any] = {"n_sets": np.array(len(vectors.sets)), "stateful": np.array(vectors.stateful)}
    for number, (vector_set, arrays_out) in enumerate(zip(vectors.sets, outputs, strict=True)):
        arrays |= {f"s{number}_in_{place}": array for place, array in enumerate(vector_set.inputs)}
        arrays |= {f"s{number}_out_{place}": array for place, array in enumerate(arrays_out)}
        if len(keys) > 1:
            arrays[f"s{number}_sig"] = np.array(keys[vector_set.signature])
    np.savez(path, **arrays)


def assert_equal_on(name: str, boards: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What it was compared with."""
    monkeypatch.chdir(tmp_path)
    quantized, vectors = quantized_with_its_sets(name)
    file, golden = tmp_path / "quantized.tflite", tmp_path / "expected.npz"
    file.write_bytes(quantized.data)
    reference, outputs = expected_outputs(name, quantized, file, vectors)
    keys = [signature.key for signature in quantized.model.signatures] or [""]
    write_expected(golden, vectors, outputs, keys)
    tolerance = TOLD[name]["tolerance"] or {"atol": 0, "rtol": 0}
    entries = [signature.subgraph for signature in quantized.model.signatures] or [0]
    after_float = {key: outputs_after_float(quantized.model, graph) for key, graph in zip(keys, entries, strict=True)}
    for board in boards:
        words = ("--atol", str(tolerance["atol"]), "--rtol", str(tolerance["rtol"]))
        finished = tflmgen("test", file, "--board", board, "--vectors", golden, "--json", *words)
        assert finished.code == 0, f"{board}: {finished.err}"
        places = Counter[str]()
        for check in finished.json["checks"]:
            count = len(outputs[0]) if len(keys) == 1 else None
            place = places[check["set"]] % count if count else places[check["set"]]
            places[check["set"]] += 1
            if place not in after_float[keys[0] if len(keys) == 1 else check.get("signature", keys[0])]:
                assert check["largest_difference"] == 0, (board, check)
    return reference


@pytest.mark.parametrize(("name", "board"), SAMPLE)
def test_sample(name: str, board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert assert_equal_on(name, (board,), tmp_path, monkeypatch) == "TFLite Micro"


def test_a_model_with_state_runs_in_order_on_one_interpreter() -> None:
    """The state that a recurrent layer keeps changes what later sets give."""
    path = CORPUS / "keras" / "k2_lstm_fused_i8io.tflite"
    model = read_model(path)
    with observed_build(model) as build:
        vectors = read_vectors(path.with_suffix(".npz"), build.signatures, None, expected=True)
    golden = [vector_set.expected[0] for vector_set in vectors.sets]
    in_order = tflm_outputs(path, vectors.sets, ARENA, 120, stateful=True)
    afresh = tflm_outputs(path, vectors.sets, ARENA, 120)
    assert all(np.array_equal(own[0], wanted) for own, wanted in zip(in_order, golden, strict=True))
    assert not all(np.array_equal(own[0], wanted) for own, wanted in zip(afresh, golden, strict=True))


@pytest.mark.sweep
@pytest.mark.parametrize("name", MODELS)
def test_host(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_equal_on(name, BOARDS[:1], tmp_path, monkeypatch)


@pytest.mark.sweep
@pytest.mark.emulator
@requires_compiler
@requires_qemu
@pytest.mark.parametrize("name", MODELS)
def test_boards(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_equal_on(name, BOARDS[1:], tmp_path, monkeypatch)


@pytest.mark.sweep
def test_conversions_run_in_few_loops() -> None:
    """No float round trip per iteration in nine of ten models, and in the others only for operators kept in float."""
    without = []
    for name in MODELS:
        quantized, _ = quantized_with_its_sets(name)
        if not quantized.conversions.get("DEQUANTIZE"):
            without.append(name)
        else:
            reasons = sorted({f"{note.name}: {note.reason}" for note in quantized.assignment.notes})
            assert reasons, name
            print(name, quantized.conversions, reasons)
    print(f"{len(without)} of {len(MODELS)} without DEQUANTIZE in loops, branches and calls")
    assert len(without) >= 0.9 * len(MODELS)
