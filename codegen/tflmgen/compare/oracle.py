"""TFLite Micro's own kernels as a reference, by the optional package tflite_micro.

They run in a process of their own, since on some models they crash or never end: `python -m
tflmgen.compare.oracle MODEL IN OUT ARENA` reads the sets of IN (see npz.py) and writes OUT. Where IN has an array
`tensors` of (subgraph, tensor), the sets run in order on one interpreter, and OUT has what these tensors hold in
the end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.emulators import VectorSet
from tflmgen.errors import TflmgenError
from tflmgen.frontend import Model, Operator, SubGraph, read_model
from tflmgen.kernels import OPERATORS

NAME = "TFLite Micro"
ARENA = 64 << 20
"""Bytes beside four times our own arena: TFLite Micro's holds its interpreter's structures too."""


class OracleError(TflmgenError):
    """TFLite Micro cannot serve as a reference; the text says why."""


def tflm_outputs(
    model: Path, sets: Sequence[VectorSet], arena_bytes: int, timeout: float
) -> list[tuple[NDArray[Any], ...]]:
    """The outputs of each set, each on an interpreter of its own. OracleError if that doesn't work."""
    found = _asked(model, sets, arena_bytes, timeout, {})
    return [tuple(found[f"s{k}_out_{j}"] for j in range(int(found[f"n{k}"]))) for k in range(len(sets))]


def tflm_tensors(
    model: Path, sets: Sequence[VectorSet], arena_bytes: int, timeout: float, tensors: Sequence[tuple[int, int]]
) -> list[NDArray[Any]]:
    """What `tensors`, (subgraph, tensor) each, hold after the sets ran in order on one interpreter.

    Of those in a loop that is their last iteration's. OracleError if that doesn't work.
    """
    found = _asked(model, sets, arena_bytes, timeout, {"tensors": np.array(tensors, np.int64).reshape(-1, 2)})
    return [found[f"t{i}"] for i in range(len(tensors))]


def _asked(
    model: Path, sets: Sequence[VectorSet], arena_bytes: int, timeout: float, more: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """What the process that runs TFLite Micro wrote."""
    if find_spec("tflite_micro") is None:
        raise OracleError("not installed (pip install tflite-micro)")
    file = read_model(model)
    if len(file.signatures) > 1 or any(s.subgraph != 0 for s in file.signatures):
        raise OracleError("it runs subgraph 0 only, and the model has other signatures")
    _refuse_faults(file)
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        inputs, outputs = Path(folder) / "in.npz", Path(folder) / "out.npz"
        arrays = {f"s{k}_in_{i}": a for k, one in enumerate(sets) for i, a in enumerate(one.inputs)}
        np.savez(inputs, n_sets=np.array(len(sets)), **arrays, **more)  # type: ignore[arg-type]
        words = [str(model), str(inputs), str(outputs), str(ARENA + 4 * arena_bytes)]
        _run([sys.executable, "-m", "tflmgen.compare.oracle", *words], timeout)
        with np.load(outputs, allow_pickle=False) as found:
            return dict(found)


def _refuse_faults(file: Model) -> None:
    """OracleError for a model with an operator whose kernel in TFLite Micro is known to be wrong."""
    for subgraph in file.subgraphs:
        for op in subgraph.operators:
            row = OPERATORS.get(op.name)
            if row is not None and row.fault and _meets_fault(subgraph, op):
                raise OracleError(f"subgraph {subgraph.index}, operator {op.index} ({op.name}): {row.fault}")


def _meets_fault(subgraph: SubGraph, op: Operator) -> bool:
    """SPACE_TO_BATCH_ND without any padding is right."""
    return any(any(subgraph.tensors[index].data or b"") for index in op.inputs[2:])


def _run(command: Sequence[str], timeout: float) -> None:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise OracleError(f"no result in {timeout:g} s") from None
    if done.returncode < 0:
        raise OracleError(f"it crashed ({signal.Signals(-done.returncode).name})")
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith((" ", "Traceback"))]
        raise OracleError(f"it cannot run the model: {' / '.join(lines[-2:])}")


def _main(model: str, inputs: str, outputs: str, arena: str) -> None:
    from tflite_micro.python.tflite_micro import runtime  # type: ignore[import-untyped]

    data = Path(model).read_bytes()
    with np.load(inputs, allow_pickle=False) as file:
        given = dict(file)
    results: dict[str, Any] = {}
    if "tensors" in given:
        kept = runtime.InterpreterConfig.kPreserveAllTensors
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=int(arena), intrepreter_config=kept)
        for k in range(int(given["n_sets"])):
            _invoke(interpreter, given, k)
        for i, (subgraph, tensor) in enumerate(given["tensors"].tolist()):
            results[f"t{i}"] = np.array(interpreter.GetTensor(tensor, subgraph)["tensor_data"])
        np.savez(outputs, **results)
        return
    for k in range(int(given["n_sets"])):
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=int(arena))
        _invoke(interpreter, given, k)
        found = _outputs(interpreter)
        results[f"n{k}"] = np.array(len(found))
        results |= {f"s{k}_out_{j}": array for j, array in enumerate(found)}
    np.savez(outputs, **results)


def _invoke(interpreter: Any, given: Mapping[str, NDArray[Any]], k: int) -> None:
    """Runs set k."""
    for name, array in given.items():
        if name.startswith(f"s{k}_in_"):
            interpreter.set_input(array, int(name.rpartition("_")[2]))
    interpreter.invoke()


def _outputs(interpreter: Any) -> list[NDArray[Any]]:
    """All outputs; the interpreter doesn't say how many there are, and raises IndexError past the last."""
    found: list[NDArray[Any]] = []
    while True:
        try:
            found.append(np.array(interpreter.get_output(len(found))))
        except IndexError:
            return found


if __name__ == "__main__":
    _main(*sys.argv[1:])
