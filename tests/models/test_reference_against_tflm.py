"""The reference equals TFLite Micro on inputs that no golden vector has, for each model whose golden outputs it made.

Inputs are the golden ones with their elements in other places: of the same kind, so that loops end, and new. Integers
are compared bit for bit, floats within the corpus's tolerance. Where a float model differs, the operators' rounding may
have decided a comparison: the outputs must then come out when float operators round otherwise.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.corpus import CORPUS, corpus_manifest, requires_corpus
from tflmgen.frontend.tflite import Model, read_model
from tflmgen.reference import Array, Interpreter, UnsupportedError

SETS = 3
ROUNDINGS = 8
ARENA = 32_000_000


def moved_inputs(golden: Any, count: int, rng: np.random.Generator) -> list[list[Array]]:
    """Sets of inputs whose elements are those of a golden set in other places; scalars stay."""
    sets = []
    for k in range(count):
        names = [f"s{k % int(golden['n_sets'])}_in_{i}" for i in range(len(golden.files))]
        arrays = [golden[name] for name in names if name in golden]
        sets.append([np.roll(a, int(rng.integers(a.size)) if a.size > 1 else 0) for a in arrays])
    return sets


def by_tflm(path: Path, sets: list[list[Array]]) -> list[list[Array]]:
    """Outputs of one interpreter, set after set, with the state that is kept between them."""
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_file(str(path), arena_size=ARENA)
    outputs = []
    for arrays in sets:
        for i, array in enumerate(arrays):
            interpreter.set_input(array, i)
        interpreter.invoke()
        outputs.append([np.array(interpreter.get_output(j)) for j in range(_outputs(path))])
    return outputs


def _outputs(path: Path) -> int:
    return len(read_model(path).subgraphs[0].outputs)


def agree(got: Array, want: Array, entry: dict[str, Any]) -> bool:
    if want.dtype.kind != "f":
        return np.array_equal(got.reshape(-1), want.reshape(-1))
    bounds = entry["tolerance"] or {"atol": 1e-5, "rtol": 1e-5}
    return bool(np.allclose(got.reshape(-1), want.reshape(-1), **bounds, equal_nan=True))


def difference(model: Model, entry: dict[str, Any], sets: list[list[Array]], wanted: list[list[Array]]) -> str:
    """The first output that is another; empty: none."""
    seeds: list[int | None] = [None]
    if any(t.type_name == "float32" for g in model.subgraphs for t in g.tensors):
        seeds += range(ROUNDINGS)
    first = ""
    for seed in seeds:
        interpreter = Interpreter(model, noise=None if seed is None else np.random.default_rng(seed))
        now = ""
        for k, (arrays, want) in enumerate(zip(sets, wanted, strict=True)):
            pairs = zip(interpreter.invoke(None, arrays), want, strict=True)
            wrong = [j for j, (got, right) in enumerate(pairs) if not agree(got, right, entry)]
            now = now or (f"set {k}, output {wrong[0]}" if wrong else "")
        if not now:
            return ""
        first = first or now
    return first


def compare(entry: dict[str, Any]) -> str:
    """ "equal", or why a model says nothing."""
    path = CORPUS / Path(entry["path"])
    model = read_model(path)
    if len(model.signatures) > 1:
        return "several signatures: TFLite Micro runs the first"
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as golden:
        sets = moved_inputs(golden, SETS, np.random.default_rng(0))
    try:
        wanted = by_tflm(path, sets)
    except (RuntimeError, ValueError) as error:
        return f"TFLite Micro: {str(error)[:40]}"
    try:
        assert difference(model, entry, sets, wanted) == "", entry["name"]
    except UnsupportedError as error:
        return f"not evaluated: {error}"
    return "equal"


@requires_corpus
@pytest.mark.sweep
def test_every_model_that_tflm_runs() -> None:
    pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    entries = [entry for entry in corpus_manifest() if entry["oracle"] == "tflm_python"]
    verdicts = Counter(compare(entry) for entry in entries)
    print(f"{len(entries)} models: {dict(verdicts)}")
    assert verdicts["equal"] > 0.9 * len(entries)
