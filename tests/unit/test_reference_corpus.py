"""The reference gives the golden outputs of every model of the corpus: integers bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.corpus import CORPUS, requires_corpus
from tflmgen.frontend import Model, read_model
from tflmgen.reference import Array, Interpreter, UnsupportedError

KNOWN = {
    "while_fixpoint_early_exit_f32": "ends when a float stays the same, which libm's last bits decide",
    "k2_tcn_16x8io": "one int16 element is one step off LiteRT's reference; TFLite Micro cannot run the model",
    "litert_static_w8_a16_quantized_k_einsum": "LiteRT takes the scale of column 0 for all columns",
}
"""Models whose golden outputs are not those of TFLite's definitions, and why."""


def entries() -> list[dict[str, Any]]:
    manifest = CORPUS / "manifest.json"
    return list(json.loads(manifest.read_text())["models"]) if manifest.exists() else []


def outputs(model: Model, interpreter: Interpreter, golden: Any, k: int) -> list[Array]:
    """Of set k, in the order of the subgraph's outputs."""
    inputs = [golden[name] for i in range(len(golden.files)) if (name := f"s{k}_in_{i}") in golden]
    if f"s{k}_sig" not in golden:
        return list(interpreter.invoke(None, inputs))
    signature = next(s for s in model.signatures if s.key == str(golden[f"s{k}_sig"]))
    graph = model.subgraphs[signature.subgraph]
    given = dict(zip(graph.inputs, inputs, strict=True))
    results = interpreter.invoke(signature, [given[i] for _, i in signature.inputs])
    found = {index: result for (_, index), result in zip(signature.outputs, results, strict=True)}
    return [found[i] for i in graph.outputs]


def difference(entry: dict[str, Any]) -> str:
    """What differs from the golden outputs; empty: nothing."""
    path = CORPUS / Path(entry["path"])
    model = read_model(path)
    interpreter = Interpreter(model)
    bound = entry["tolerance"] or {"atol": 1e-5, "rtol": 1e-5}
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as golden:
        for k in range(int(golden["n_sets"])):
            if not golden["stateful"]:
                interpreter.reset()
            for j, got in enumerate(outputs(model, interpreter, golden, k)):
                want = golden[f"s{k}_out_{j}"]
                tolerance = bound if want.dtype.kind == "f" else {"atol": 0, "rtol": 0}
                if got.shape != want.shape or not np.allclose(got, want, **tolerance, equal_nan=want.dtype.kind == "f"):
                    return f"set {k}, output {j}"
    return ""


@requires_corpus
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: str(entry["name"]))
def test_golden_outputs(entry: dict[str, Any]) -> None:
    try:
        found = difference(entry)
    except UnsupportedError as error:
        pytest.skip(f"not evaluated: {error}")
    assert (found != "") == (entry["name"] in KNOWN), found
