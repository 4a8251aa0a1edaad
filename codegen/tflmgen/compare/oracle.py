"""TFLite Micro's kernels as a reference, through the optional package tflite_micro.

They run in a separate process (tensorflow_worker/tflm_process.py), since they crash or hang on some models.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.applications import is_application, read_program
from tflmgen.errors import TflmgenError
from tflmgen.frontend.tflite import FileOperator, FileTensor, Model, SubGraph, read_model, write_model
from tflmgen.input_sets import VectorSet
from tflmgen.kernels import OPERATORS
from tflmgen.options import BuildOptions
from tflmgen.sources import is_tflite

TFLM = "TFLite Micro"
PROCESS = "tflmgen.tensorflow_worker.tflm_process"
ARENA = 64 << 20
"""Bytes of TFLite Micro's arena on top of four times ours; it holds the interpreter's structures too."""


class OracleError(TflmgenError):
    """TFLite Micro cannot serve as a reference, for the reason in the text."""


def tflm_outputs(
    model: Path, sets: Sequence[VectorSet], arena_bytes: int, timeout: float, stateful: bool = False
) -> list[tuple[NDArray[Any], ...]]:
    """Outputs of each set: in order on one interpreter if `stateful`, else each on a new one.

    Raises OracleError if TFLite Micro fails.
    """
    results = _run_isolated(model, sets, arena_bytes, timeout, {"stateful": np.array(stateful)})
    return [tuple(results[f"s{k}_out_{j}"] for j in range(int(results[f"n{k}"]))) for k in range(len(sets))]


def tflm_tensors(
    model: Path, sets: Sequence[VectorSet], arena_bytes: int, timeout: float, tensors: Sequence[tuple[int, int]]
) -> list[NDArray[Any]]:
    """Contents of `tensors`, (subgraph, tensor) each, after the sets have run in order on one interpreter.

    Tensors in a loop hold the values of the last iteration. Raises OracleError if TFLite Micro fails.
    """
    results = _run_isolated(model, sets, arena_bytes, timeout, {"tensors": np.array(tensors, np.int64).reshape(-1, 2)})
    return [results[f"t{i}"] for i in range(len(tensors))]


def _run_isolated(
    model: Path, sets: Sequence[VectorSet], arena_bytes: int, timeout: float, extra_arrays: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Arrays written by a new process that runs TFLite Micro on the sets; `extra_arrays` are added to its input."""
    if find_spec("tflite_micro") is None:
        raise OracleError("not installed (pip install tflite-micro)")
    if not is_tflite(model):
        raise OracleError(f"it runs .tflite files, not {model.suffix} ones")
    file = read_program(model, BuildOptions()) if is_application(model) else read_model(model)
    if len(file.signatures) > 1 or any(s.subgraph != 0 for s in file.signatures):
        raise OracleError("it runs subgraph 0 only, and the model has other signatures")
    _refuse_faults(file)
    adapted = _with_variable_states(file)
    if adapted is not file and (len(sets) > 1 and ("tensors" in extra_arrays or extra_arrays["stateful"].any())):
        raise OracleError("its recurrent layers keep their state from one invoke to the next")
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        if adapted is not file or is_application(model):
            model = Path(folder) / "model.tflite"
            model.write_bytes(write_model(adapted))
        inputs, outputs = Path(folder) / "in.npz", Path(folder) / "out.npz"
        arrays = {f"s{k}_in_{i}": a for k, vector_set in enumerate(sets) for i, a in enumerate(vector_set.inputs)}
        np.savez(inputs, n_sets=np.array(len(sets)), **arrays, **extra_arrays)  # type: ignore[arg-type]
        words = [str(model), str(inputs), str(outputs), str(ARENA + 4 * arena_bytes)]
        _run([sys.executable, "-m", PROCESS, *words], timeout)
        with np.load(outputs, allow_pickle=False) as results:
            return dict(results)


def _refuse_faults(file: Model) -> None:
    """Raises OracleError for a model with an operator whose kernel in TFLite Micro is known to be wrong."""
    for subgraph in file.subgraphs:
        for op in subgraph.operators:
            row = OPERATORS.get(op.name)
            if row is not None and row.fault and _meets_fault(subgraph, op):
                raise OracleError(f"subgraph {subgraph.index}, operator {op.index} ({op.name}): {row.fault}")
            if op.name == "SLICE" and -1 in (subgraph.tensors[op.outputs[0]].shape_signature or ()):
                place = f"subgraph {subgraph.index}, operator {op.index} ({op.name})"
                raise OracleError(f"{place}: its size is known at run time only, and TFLite Micro takes it for 1")


def _with_variable_states(file: Model) -> Model:
    """The model with variables for constant states, with which each invoke starts here: those of a new interpreter.

    The model itself where it has none.
    """
    graphs = []
    for graph in file.subgraphs:
        tensors = [op.inputs[place] for op in graph.operators if op.name in OPERATORS for place in _updated(op)]
        states = {tensor for tensor in tensors if graph.tensors[tensor].data is not None}
        graphs.append(replace(graph, tensors=tuple(_variable(t) if t.index in states else t for t in graph.tensors)))
    adapted = replace(file, subgraphs=tuple(graphs))
    return file if adapted == file else adapted


def _updated(op: FileOperator) -> list[int]:
    """Places of the states among an operator's inputs."""
    return [place for place in OPERATORS[op.name].updates if place < len(op.inputs) and op.inputs[place] >= 0]


def _variable(tensor: FileTensor) -> FileTensor:
    """A variable for a constant of zeros. Raises OracleError for other constants."""
    assert tensor.data is not None
    assert tensor.dtype is not None
    zero = tensor.quantization.zero_point if tensor.quantization is not None else 0
    if (np.frombuffer(tensor.data, tensor.dtype.numpy) != zero).any():
        raise OracleError(f"its state '{tensor.name}' can only start with zeros")
    return replace(tensor, data=None, is_variable=True, buffer=0)


def _meets_fault(subgraph: SubGraph, op: FileOperator) -> bool:
    """Whether the operator triggers its known fault: RELU6 by requantising, SPACE_TO_BATCH_ND by padding."""
    if op.name == "RELU6":
        source, result = (subgraph.tensors[index].quantization for index in (op.inputs[0], op.outputs[0]))
        return source != result
    return any(any(subgraph.tensors[index].data or b"") for index in op.inputs[2:])


def _run(command: Sequence[str], timeout: float) -> None:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise OracleError(f"no result in {timeout:g} s") from None
    if process.returncode < 0:
        raise OracleError(f"it crashed ({signal.Signals(-process.returncode).name})")
    if process.returncode != 0:
        lines = [
            line for line in process.stderr.splitlines() if line.strip() and not line.startswith((" ", "Traceback"))
        ]
        raise OracleError(f"it cannot run the model: {' / '.join(_telling(lines)).removesuffix('.')}")


def _telling(lines: Sequence[str]) -> Sequence[str]:
    """The lines that say why TFLite Micro failed: the cause, the innermost operator, and the last line.

    Operators around the innermost one, a WHILE or IF, have a line each after it.
    """
    nodes = [index for index, line in enumerate(lines) if line.startswith("Node ")]
    return lines[-2:] if not nodes else [*lines[max(nodes[0] - 1, 0) : nodes[0] + 1], *lines[nodes[0] + 1 :][-1:]]
