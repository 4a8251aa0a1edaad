"""The corpus's models as C on the host, under sanitizers, against their golden outputs.

Where a loop of floats turns another number of times than recorded, rounding may have decided: the golden outputs must
then come out of the reference when float operators round otherwise, and so must those of the C.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.corpus import CORPUS
from support.golden_outputs import rounding_decides, some_rounding_gives
from support.native import Invocation, NativeError, build_native, run_native
from support.pipeline import Stages, compile_bytes
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite import read_model
from tflmgen.proof.symbolic_memory import check_memory

Array = NDArray[Any]

MANIFEST = CORPUS / "manifest.json"
MODELS = {m["name"]: m for m in json.loads(MANIFEST.read_text())["models"]} if MANIFEST.exists() else {}
CONTROL_FLOW = [name for name, entry in MODELS.items() if entry["has_if"] or entry["has_while"] or entry["has_call"]]
REST = [name for name in MODELS if name not in CONTROL_FLOW and not MODELS[name]["over_1MB"]]
BATCH = 12


@cache
def compiled(name: str) -> Stages | ModelError:
    try:
        stages = compile_bytes((CORPUS / MODELS[name]["path"]).read_bytes())
    except ModelError as error:
        return error
    check_memory(stages.program, stages.module.constants)
    return stages


@cache
def batch_program(names: tuple[str, ...]) -> Path:
    models = {f"m_{name}": compiled(name) for name in names}
    return build_native({prefix: s.sources(prefix) for prefix, s in models.items() if isinstance(s, Stages)})


def program_of(name: str) -> tuple[Path, int]:
    """The program that has a model, with others of its batch, and the model's number in it."""
    family = CONTROL_FLOW if name in CONTROL_FLOW else REST
    usable = [n for n in family if isinstance(compiled(n), Stages)]
    first = usable.index(name) // BATCH * BATCH
    batch = tuple(usable[first : first + BATCH])
    return batch_program(batch), batch.index(name)


@pytest.mark.skipif(not MODELS, reason="needs the corpus in ../shared/corpus")
@pytest.mark.parametrize("name", [*CONTROL_FLOW, *(pytest.param(n, marks=pytest.mark.sweep) for n in REST)])
def test_golden_outputs(name: str) -> None:
    stages = compiled(name)
    if isinstance(stages, ModelError):
        pytest.skip(str(stages.problems[0].rule))
    golden = np.load((CORPUS / MODELS[name]["path"]).with_suffix(".npz"))
    sets = [k for k in range(int(golden["n_sets"])) if _fits(stages, golden, k)]
    if not sets:
        pytest.skip("every input set has another shape than the stored one, for which the model is compiled")
    calls = [(k, _invocation(stages, golden, k)) for k in sets]
    if not golden["stateful"]:
        # An instance must give the same result whatever ran before.
        calls += calls[::-1]
    program, number = program_of(name)
    one_model = [stages.program.signatures] * (number + 1)
    invocations = [Invocation(number, signature, inputs) for _, (signature, inputs) in calls]
    try:
        outputs = run_native(program, invocations, one_model)
    except NativeError as error:
        pytest.fail(str(error))
    for (k, _), arrays in zip(calls, outputs, strict=True):
        try:
            for j, array in enumerate(arrays):
                _compare(array, golden[f"s{k}_out_{j}"], name, f"set {k}, output {j}")
        except AssertionError:
            if not _rounding_decided(arrays, golden, k, name):
                raise


def _invocation(stages: Stages, golden: Any, k: int) -> tuple[int, tuple[Array, ...]]:
    keys = [s.key for s in stages.program.signatures]
    index = keys.index(str(golden[f"s{k}_sig"])) if f"s{k}_sig" in golden and len(keys) > 1 else 0
    ports = stages.program.signatures[index].inputs
    inputs = tuple(golden[f"s{k}_in_{i}"] for i in range(len(ports)))
    assert [a.dtype for a in inputs] == [p.type.dtype.numpy for p in ports]
    return index, inputs


def _fits(stages: Stages, golden: Any, k: int) -> bool:
    index, inputs = _invocation(stages, golden, k)
    ports = stages.program.signatures[index].inputs
    return all(a.shape == p.type.max_shape for a, p in zip(inputs, ports, strict=True))


def _rounding_decided(arrays: Sequence[Array], golden: Any, k: int, name: str) -> bool:
    """Whether set k's outputs and the golden ones are both what a loop or branch of floats gives, rounded otherwise."""
    entry = MODELS[name]
    if name not in CONTROL_FLOW or not entry["tolerance"] or golden["stateful"]:
        return False
    model = read_model(CORPUS / entry["path"])
    return rounding_decides(model, golden, k, entry) and some_rounding_gives(arrays, model, golden, k, entry)


def _steps(name: str) -> int:
    """How far integers may be off: one step where LiteRT made the outputs of an int16 FULLY_CONNECTED.

    TFLite Micro, to which the kernels are equal, cuts the multiplier of 64-bit sums to 16 bits, LiteRT does not.
    """
    entry = MODELS[name]
    rounded = any(kind.startswith("FULLY_CONNECTED|int16") for kind in entry["ops_typed"])
    return 1 if rounded and entry["oracle"] == "litert_builtin_ref" else 0


def _compare(got: Array, wanted: Array, name: str, where: str) -> None:
    assert got.dtype == wanted.dtype, where
    tolerance = MODELS[name]["tolerance"]
    if tolerance and wanted.dtype.kind == "f":
        np.testing.assert_allclose(got.ravel(), wanted.ravel(), err_msg=where, **tolerance)
    elif _steps(name):
        np.testing.assert_allclose(got.ravel(), wanted.ravel(), err_msg=where, rtol=0, atol=_steps(name))
    else:
        np.testing.assert_array_equal(got.ravel(), wanted.ravel(), err_msg=where)
