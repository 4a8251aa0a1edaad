"""The reference gives the golden outputs of the corpus: integers bit for bit, floats within the corpus's tolerance.

Golden outputs are those of TFLite Micro where it runs the model, else of LiteRT. Two differences are looked into, and
nothing else passes:

- Where a loop turns, or a branch is taken, another number of times than recorded, float rounding may have decided. The
  golden outputs and counts must then come out when the float operators round otherwise (Monte Carlo arithmetic).
- Where LiteRT made the outputs, operators of TFLite Micro may differ from it by definition. int16 layers without bias
  add up 64 bits there and round once, LiteRT adds up 32 bits and rounds twice; LiteRT takes scales per column of a
  BATCH_MATMUL for 0. Each operator of the model must then equal TFLite Micro on its operands, or LiteRT where TFLite
  Micro refuses it; a BATCH_MATMUL with scales per column, LiteRT's product of each column with that scale alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from differential.mixed import column_by_column
from support.corpus import CORPUS, corpus_manifest, requires_corpus
from support.golden_outputs import Counts, first_difference, golden_outputs, invoked, rounding_decides
from support.kernel_harness import Case, Tensor, run_tflm
from support.litert import run_litert
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph, read_model
from tflmgen.reference import Array, Interpreter, UnsupportedError
from tflmgen.reference.file_interpreter import type_of


def operator_case(graph: SubGraph, op: FileOperator) -> Case:
    """The operator alone, with its constants."""

    def tensor(index: int) -> Tensor | None:
        if index < 0:
            return None
        stored = graph.tensors[index]
        kind = type_of(stored)
        data = None if stored.data is None else np.frombuffer(stored.data, kind.dtype.numpy).reshape(kind.max_shape)
        return Tensor(kind, data)

    outputs = tuple(type_of(graph.tensors[i]) for i in op.outputs)
    return Case(op.name, tuple(tensor(i) for i in op.inputs), outputs, op.options or {})


def authority(case: Case, values: list[Array | None]) -> list[Array]:
    """Outputs of TFLite Micro, or of LiteRT where TFLite Micro refuses the operator."""
    right = case.inputs[1] if len(case.inputs) > 1 else None
    if case.operator == "BATCH_MATMUL" and right and right.type.quantization and right.type.quantization.per_channel:
        return column_by_column(case, values)
    try:
        return run_tflm(case, values)
    except (RuntimeError, ValueError):
        return run_litert(case, values)


def differing_operator(model: Model, golden: Any, k: int) -> str:
    """The first operator that is not its authority's on the operands it had in set k; empty: all are."""
    pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    (graph,) = model.subgraphs
    values: dict[int, Array] = {i: golden[f"s{k}_in_{j}"] for j, i in enumerate(graph.inputs)}
    invoked(model, Interpreter(model), golden, k, lambda _, tensor, array: values.update({tensor: array}))
    for op in graph.operators:
        case = operator_case(graph, op)
        operands = [
            values[i] if tensor and tensor.data is None else None
            for i, tensor in zip(op.inputs, case.inputs, strict=True)
        ]
        for index, want in zip(op.outputs, authority(case, operands), strict=True):
            if not np.array_equal(values[index].reshape(-1), want.reshape(-1)):
                return f"operator {op.index} ({op.name})"
    return ""


def check(entry: dict[str, Any]) -> None:
    path = CORPUS / Path(entry["path"])
    model = read_model(path)
    interpreter = Interpreter(model)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as golden:
        for k in range(int(golden["n_sets"])):
            if not golden["stateful"]:
                interpreter.reset()
            counts = Counts(model)
            outputs = invoked(model, interpreter, golden, k, counts.see)
            recorded = entry.get("exec_counts")
            difference = first_difference(outputs, golden_outputs(golden, k), entry)
            if recorded and counts.differ(recorded[k]):
                assert not golden["stateful"]
                assert rounding_decides(model, golden, k, entry), f"set {k}: {counts.runs}, recorded {recorded[k]}"
            elif difference and entry["oracle"] == "litert_builtin_ref" and len(model.subgraphs) == 1:
                assert differing_operator(model, golden, k) == "", difference
            else:
                assert difference == "", f"set {k}"


@requires_corpus
@pytest.mark.parametrize("entry", corpus_manifest(), ids=lambda entry: str(entry["name"]))
def test_outputs_are_golden(entry: dict[str, Any]) -> None:
    try:
        check(entry)
    except UnsupportedError as error:
        pytest.skip(f"not evaluated: {error}")
