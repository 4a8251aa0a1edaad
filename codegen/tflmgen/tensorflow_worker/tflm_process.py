"""Runs a model in TFLite Micro: `python -m tflmgen.tensorflow_worker.tflm_process MODEL IN OUT ARENA`.

It reads the input sets of IN (arrays s0_in_0, s0_in_1, …, and n_sets) and writes OUT. If IN has an array `tensors` of
(subgraph, tensor), the sets run in order on one interpreter, and OUT holds the final contents of these tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _main(model: str, inputs: str, outputs: str, arena: str) -> None:
    from tflite_micro.python.tflite_micro import runtime

    data = Path(model).read_bytes()
    with np.load(inputs, allow_pickle=False) as file:
        arrays = dict(file)
    results: dict[str, Any] = {}
    if "tensors" in arrays:
        preserve_all = runtime.InterpreterConfig.kPreserveAllTensors
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=int(arena), intrepreter_config=preserve_all)
        for k in range(int(arrays["n_sets"])):
            _invoke(interpreter, arrays, k)
        for i, (subgraph, tensor) in enumerate(arrays["tensors"].tolist()):
            results[f"t{i}"] = np.array(interpreter.GetTensor(tensor, subgraph)["tensor_data"])
        np.savez(outputs, **results)
        return
    interpreter = None
    for k in range(int(arrays["n_sets"])):
        if interpreter is None or not arrays["stateful"]:
            interpreter = runtime.Interpreter.from_bytes(data, arena_size=int(arena))
        _invoke(interpreter, arrays, k)
        run_outputs = _outputs(interpreter)
        results[f"n{k}"] = np.array(len(run_outputs))
        results |= {f"s{k}_out_{j}": array for j, array in enumerate(run_outputs)}
    np.savez(outputs, **results)


def _invoke(interpreter: Any, arrays: Mapping[str, NDArray[Any]], k: int) -> None:
    """Runs input set k."""
    for name, array in arrays.items():
        if name.startswith(f"s{k}_in_"):
            interpreter.set_input(array, int(name.rpartition("_")[2]))
    interpreter.invoke()


def _outputs(interpreter: Any) -> list[NDArray[Any]]:
    """All outputs of the interpreter, which has no count and raises IndexError after the last."""
    outputs: list[NDArray[Any]] = []
    while True:
        try:
            outputs.append(np.array(interpreter.get_output(len(outputs))))
        except IndexError:
            return outputs


if __name__ == "__main__":
    _main(*sys.argv[1:])
