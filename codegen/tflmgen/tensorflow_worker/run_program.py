"""Runs the source itself on input sets: what a conversion is compared with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.frozen_graph import function_of
from tflmgen.tensorflow_worker.loaded_source import Entry, Program

UNTRACED = frozenset({"Placeholder", "Const", "NoOp", "Merge", "Switch", "Enter", "Exit", "NextIteration", "LoopCond"})
"""Operations whose value outside of its loop or branch is none."""


def run_sets(program: Program, inputs: Path, outputs: Path) -> None:
    """Runs each set of the file `inputs` and writes `outputs`.

    inputs   n_sets; s{k}_entry; s{k}_n: invokes in a row; s{k}_{n}_in_{i}
    outputs  s{k}_{n}_out_{j}; s{k}_error: the sentence of a set that TensorFlow refuses
    """
    initial = [variable.numpy() for variable in program.variables]
    results: dict[str, Any] = {}
    with np.load(inputs, allow_pickle=False) as file:
        arrays = dict(file)
    for k in range(int(arrays["n_sets"])):
        for variable, value in zip(program.variables, initial, strict=True):
            variable.assign(value)
        entry = program.entries[int(arrays[f"s{k}_entry"])]
        try:
            for n in range(int(arrays[f"s{k}_n"])):
                operands = [arrays[f"s{k}_{n}_in_{i}"] for i in range(len(entry.inputs))]
                for j, value in enumerate(_invoke(entry, operands)):
                    results[f"s{k}_{n}_out_{j}"] = value
        except tf.errors.OpError as error:
            results[f"s{k}_error"] = np.array(str(error).strip().splitlines()[0])
    for variable, value in zip(program.variables, initial, strict=True):
        variable.assign(value)
    np.savez(outputs, **results)


def _invoke(entry: Entry, arrays: list[Any]) -> list[Any]:
    tensors = [tf.constant(array, tf.as_dtype(port.dtype)) for array, port in zip(arrays, entry.inputs, strict=True)]
    results = tf.nest.flatten(entry.function(*tensors))
    return [result.numpy() for result in results]


def trace_nodes(graph_def: Any, inputs: list[str], nodes: list[str], operands: Path, results: Path) -> None:
    """Writes the first output of each of these nodes that the frozen graph has, by its name, for one set in_{i}."""
    with np.load(operands, allow_pickle=False) as file:
        arrays = [file[f"in_{i}"] for i in range(len(inputs))]
    known = {node.name: node for node in graph_def.node}
    asked = [name for name in nodes if name in known and known[name].op not in UNTRACED]
    function = function_of(graph_def, [f"{name}:0" for name in inputs], [f"{name}:0" for name in asked])
    tensors = [tf.constant(a, t.dtype) for a, t in zip(arrays, function.inputs, strict=True)]
    values = tf.nest.flatten(function(*tensors)) if asked else []
    contents = {n: v.numpy() for n, v in zip(asked, values, strict=True) if v.dtype not in (tf.variant, tf.resource)}
    np.savez(results, **contents)
