"""An ONNX model or PyTorch program as what a conversion is compared with: run by its own framework, in a process.

The process is one for each request: a runtime may crash on inputs that the model does not allow, such as a division by
zero, and its memory ends with it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from tflmgen.frontend.onnx import ONNX_WORKER, OnnxProgram
from tflmgen.reference import Array
from tflmgen.sources.proof_result import DEFINITION, InputSet, Outputs, SourceRunError

SECONDS = 120.0
"""Wall-clock time that a request may take."""
EVALUATOR_SECONDS = 10.0
"""Wall-clock time that onnx's evaluator may take of it, which runs on Python and is no authority."""
ROW_COUNTING = frozenset({"NonMaxSuppression", "NonZero"})
"""Operators that give as many rows as the data have: in the file, as many as the model declares."""


class OnnxSource:
    """Runs a program with the values of the inputs that became constants. A Source.

    nhwc_inputs  inputs of four dimensions come with channels last, and the program takes them with channels first
    """

    intermediate = ""

    def __init__(self, program: OnnxProgram, inputs: Sequence[str], nhwc_inputs: bool) -> None:
        self._program, self._inputs, self._nhwc = program, inputs, nhwc_inputs
        self.title = "PyTorch" if program.is_torch else "ONNX"
        self.is_authority = True
        self.is_stateful = program.is_stateful
        self.open_rows = not program.operators.isdisjoint(ROW_COUNTING)

    def run(self, sets: Sequence[InputSet]) -> Sequence[Outputs | None]:
        """Outputs of input sets by the source's own framework; None where it fails."""
        self.title, results, _ = self._run(sets, by_definition=False)
        self.is_authority = self.title != DEFINITION
        if self._program.other_floats and not self._program.is_torch:
            self.title += f" (in float32 in place of {', '.join(self._program.other_floats)})"
        return results

    def run_by_definition(self, sets: Sequence[InputSet]) -> Sequence[Outputs | None]:
        """Outputs by ONNX's evaluator, which says what ONNX defines: ONNX Runtime differs in corners, as of Resize.

        A program of PyTorch is defined by PyTorch, but for results that it leaves open. Those of programs with state
        would have to be looked for in each invoke's state, which the ONNX model does not hold.
        """
        if not self.is_authority or (self._program.is_torch and self.is_stateful):
            return []
        try:
            _, results, open_sets = self._run(sets, by_definition=True)
        except SourceRunError:
            return []
        return [None if k in open_sets else outputs or () for k, outputs in enumerate(results)]

    def _run(
        self, sets: Sequence[InputSet], by_definition: bool
    ) -> tuple[str, Sequence[Outputs | None], Sequence[int]]:
        """(name of the program that ran the sets, their outputs, sets whose outputs are left open)."""
        arrays = {
            f"s{k}_{n}_in_{i}": self._source_order(array)
            for k, sample in enumerate(sets)
            for n, row in enumerate(sample.sequence)
            for i, array in enumerate(row)
        }
        invokes = [len(sample.sequence) for sample in sets]
        answer, results = self._ask(arrays, asks="run", invokes=invokes, by_definition=by_definition)
        outputs = [
            [[results[f"s{k}_{n}_out_{j}"] for j in range(answer["outputs"])] for n in range(count)]
            if answer["ran"][k]
            else None
            for k, count in enumerate(invokes[: len(answer["ran"])])
        ]
        return answer["title"], outputs, answer["open"]

    def trace(self, operands: Sequence[Array], names: Sequence[str]) -> Mapping[str, Sequence[Array]]:
        """The file names the tensors of a node by the node and a number; the last one is the node's result."""
        last = {name.rpartition(":")[0]: name for name in names}
        wanted = {label: values for label, values in self._program.results.items() if label in last}
        feeds = {f"s0_0_in_{i}": self._source_order(array) for i, array in enumerate(operands)}
        try:
            _, results = self._ask(feeds, asks="trace", trace=[name for values in wanted.values() for name in values])
        except SourceRunError:
            return {}
        return {
            name: [
                np.transpose(array, order)
                for array in (results[f"trace_{value}"] for value in wanted[label] if f"trace_{value}" in results)
                for order in permutations(range(array.ndim))
            ]
            for label, name in last.items()
            if label in wanted
        }

    def _source_order(self, array: Array) -> Array:
        return np.ascontiguousarray(array.transpose(0, 3, 1, 2)) if self._nhwc and array.ndim == 4 else array

    def _ask(self, arrays: Mapping[str, Array], **request: Any) -> tuple[dict[str, Any], Mapping[str, Array]]:
        """The answer and the arrays of one process. Raises SourceRunError."""
        with tempfile.TemporaryDirectory(prefix="tflmgen-onnx-") as name:
            folder = Path(name)
            (folder / "model.onnx").write_bytes(self._program.onnx)
            constants = {f"constant_{name}": array for name, array in self._program.constants.items()}
            np.savez(folder / "inputs.npz", **arrays, **constants)  # type: ignore[arg-type]
            request |= {"names": list(self._inputs), "order": list(self._program.inputs)}
            request |= {"torch": self._program.torch, "evaluator_seconds": EVALUATOR_SECONDS}
            request["types"] = dict(self._program.types)
            (folder / "request.json").write_text(json.dumps(request))
            words = [sys.executable, "-m", ONNX_WORKER, str(folder)]
            try:
                done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=SECONDS)
            except subprocess.TimeoutExpired:
                raise SourceRunError(f"it takes {self.title} more than {SECONDS:.0f} s") from None
            answer = folder / "answer.json"
            if done.returncode < 0:
                raise SourceRunError(f"{self.title} crashed ({signal.Signals(-done.returncode).name})")
            if done.returncode or not answer.exists():
                last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
                raise SourceRunError(f"{self.title} does not run it: {''.join(last).strip()}")
            with np.load(folder / "outputs.npz", allow_pickle=False) as file:
                return json.loads(answer.read_text()), dict(file)
