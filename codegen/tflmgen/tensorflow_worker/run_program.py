"""Runs the source itself on input sets: what a conversion is compared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.frozen_graph import function_of
from tflmgen.tensorflow_worker.graph_functions import bodies_of
from tflmgen.tensorflow_worker.loaded_source import LoadedEntry, LoadedProgram
from tflmgen.tensorflow_worker.version_1_functions import has_control_flow_v1

UNTRACED = frozenset({"Placeholder", "Const", "NoOp", "Merge", "Switch", "Enter", "Exit", "NextIteration", "LoopCond"})
"""Operations whose value outside of its loop or branch is none."""
RANDOM = frozenset({"Multinomial", "RandomStandardNormal", "RandomUniform", "RandomUniformInt", "TruncatedNormal"})
"""Operations whose generator goes on from one run of a session to the next."""


def run_sets(program: LoadedProgram, inputs: Path, outputs: Path) -> None:
    """Runs each set of the file `inputs` and writes `outputs`.

    inputs   n_sets; s{k}_entry; s{k}_n: invokes in a row; s{k}_{n}_in_{i}
    outputs  s{k}_{n}_out_{j}; s{k}_error: the sentence of a set that TensorFlow refuses
    """
    initial = [variable.numpy() for variable in program.variables]
    results: dict[str, Any] = {}
    runs = [_runner(entry) for entry in program.entries]
    draws = [_has(RANDOM, entry.function.graph.as_graph_def()) for entry in program.entries]
    with np.load(inputs, allow_pickle=False) as file:
        arrays = dict(file)
    for k in range(int(arrays["n_sets"])):
        for variable, value in zip(program.variables, initial, strict=True):
            variable.assign(value)
        number = int(arrays[f"s{k}_entry"])
        # Random numbers begin anew with each session, as they do with each start of the converted program.
        run = _runner(program.entries[number]) if draws[number] else runs[number]
        try:
            for n in range(int(arrays[f"s{k}_n"])):
                operands = [arrays[f"s{k}_{n}_in_{i}"] for i in range(len(program.entries[number].inputs))]
                for j, value in enumerate(run(operands)):
                    results[f"s{k}_{n}_out_{j}"] = value
        except tf.errors.OpError as error:
            results[f"s{k}_error"] = np.array(str(error).strip().splitlines()[0])
    for variable, value in zip(program.variables, initial, strict=True):
        variable.assign(value)
    np.savez(outputs, **results)


def _has(operations: frozenset[str], graph_def: Any) -> bool:
    return any(node.op in operations for nodes in bodies_of(graph_def) for node in nodes)


def _runner(entry: LoadedEntry) -> Callable[[list[Any]], list[Any]]:
    """Callable that runs an entry: by a session for random numbers, and for a graph of TensorFlow 1, whose functions
    tf.function cannot run.
    """
    graph_def = entry.function.graph.as_graph_def()
    needs_session = has_control_flow_v1(graph_def) or _has(RANDOM, graph_def)
    if not entry.function.captured_inputs and needs_session:
        graph = tf.Graph()
        with graph.as_default():
            tf.graph_util.import_graph_def(graph_def, name="")
        session = tf.compat.v1.Session(graph=graph)
        inputs, outputs = ([tensor.name for tensor in side] for side in (entry.function.inputs, entry.function.outputs))
        return lambda arrays: list(session.run(outputs, dict(zip(inputs, arrays, strict=True))))

    def run(arrays: list[Any]) -> list[Any]:
        operands = [tf.constant(a, tf.as_dtype(port.dtype)) for a, port in zip(arrays, entry.inputs, strict=True)]
        return [result.numpy() for result in tf.nest.flatten(entry.function(*operands))]

    return run


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
