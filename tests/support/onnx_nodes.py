"""ONNX's own backend node tests on the host build: lowered, compiled, run, compared with ONNX's expected outputs.

Inputs that determine shapes (axes, sizes, paddings) become constants, as `tflmgen run` does; weights stay inputs.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from tflmgen.compiler import Compilation, compile_module
from tflmgen.errors import ModelError
from tflmgen.frontend import import_model
from tflmgen.frontend.onnx.convert_graph import OnnxOptions, to_tflite
from tflmgen.frontend.onnx.node_error import ShapeInputError
from tflmgen.frontend.tflite.model import Model
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions

from support.native import Invocation, NativeError, build_native, run_native

Array = NDArray[Any]

_TYPES = {
    *(onnx.TensorProto.FLOAT, onnx.TensorProto.INT8, onnx.TensorProto.INT16, onnx.TensorProto.INT32),
    *(onnx.TensorProto.INT64, onnx.TensorProto.UINT8, onnx.TensorProto.BOOL),
}
_TOGETHER = 24
"""Models in one program: one call of the compiler's driver for all of them."""


OTHERWISE = frozenset(
    f"test_resize_downsample_scales_{mode}_align_corners" for mode in ("linear", "cubic")
)  # fmt: skip
"""Tests whose outputs are neither ONNX Runtime's nor the specification's text, of which a resized length is whole."""


@dataclass(frozen=True, slots=True)
class NodeTest:
    """One of ONNX's tests, with its first data set."""

    name: str
    model: onnx.ModelProto
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    rtol: float
    atol: float

    @property
    def operators(self) -> frozenset[str]:
        """The operator that the test is for, also where the model is its definition by others."""
        return frozenset(node.op_type for node in self.model.graph.node)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a test: 'passes', 'refused' with tflmgen's message, or 'wrong' with the first difference."""

    name: str
    verdict: str
    reason: str = ""


@cache
def node_tests() -> tuple[NodeTest, ...]:
    """All tests whose inputs and outputs are tensors of types that a microcontroller holds, of ONNX's own domain."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    tests = []
    for case in cases:
        if case.name in OTHERWISE:
            continue
        if case.model is not None and case.data_sets and _is_for_microcontrollers(case.model):
            inputs, outputs = case.data_sets[0]
            arrays = tuple(map(_array, inputs)), tuple(map(_array, outputs))
            tests.append(NodeTest(case.name, case.model, *arrays, case.rtol, case.atol))
    return tuple(tests)


@cache
def tests_of_collections() -> tuple[str, ...]:
    """Names of the tests of ONNX's own domain whose inputs or outputs are sequences or optional values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    names = set()
    for case in cases:
        values = [] if case.model is None else [*case.model.graph.input, *case.model.graph.output]
        if any(value.type.WhichOneof("value") in ("sequence_type", "optional_type") for value in values):
            names.add(case.name)
    return tuple(sorted(names))


def _array(value: Any) -> Array:
    return np.asarray(numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value)


def _is_for_microcontrollers(model: onnx.ModelProto) -> bool:
    values = [*model.graph.input, *model.graph.output]
    is_tensor = all(value.type.WhichOneof("value") == "tensor_type" for value in values)
    is_own = all(opset.domain in ("", "ai.onnx") for opset in model.opset_import)
    return is_tensor and is_own and all(value.type.tensor_type.elem_type in _TYPES for value in values)


def lowered(test: NodeTest) -> tuple[Model, tuple[Array, ...]]:
    """The Model of a test, and the inputs that are left. Raises ModelError."""
    inputs = dict(zip((entry.name for entry in test.model.graph.input), test.inputs, strict=True))
    shapes = {name: array.shape for name, array in inputs.items()}
    constants: dict[str, Array] = {}
    while True:
        try:
            model = to_tflite(test.model, test.name, OnnxOptions(shapes, constants))
        except ModelError as error:
            cause = error.__cause__
            if not isinstance(cause, ShapeInputError) or cause.inputs <= set(constants):
                raise
            constants |= {name: inputs[name] for name in cause.inputs}
            continue
        return model, tuple(inputs[name] for name, _ in model.signatures[0].inputs)


def direct_lowerings() -> dict[str, list[str]]:
    """ONNX operators, by the TFLite operator that they become in at least a quarter of their tests, beside moves of its
    operands.
    """
    becomes: dict[str, Counter[str]] = defaultdict(Counter)
    for test in node_tests():
        if len(test.model.graph.node) > 1 or not test.inputs:
            continue
        try:
            model, inputs = lowered(test)
        except ModelError:
            continue
        names = {op.name for op in model.subgraphs[0].operators}
        own = names - {"TRANSPOSE", "RESHAPE", "CAST"} or names
        if inputs:
            becomes[test.model.graph.node[0].op_type][own.pop() if len(own) == 1 else ""] += 1
    direct: dict[str, list[str]] = defaultdict(list)
    for operator, counts in sorted(becomes.items()):
        for name, count in counts.items():
            if name and 4 * count >= counts.total():
                direct[name].append(operator)
    return direct


def outcomes(tests: Sequence[NodeTest]) -> Iterator[Outcome]:
    """What becomes of each test, in order of their batches."""
    ready: list[tuple[NodeTest, Model, tuple[Array, ...]]] = []
    for test in tests:
        try:
            model, inputs = lowered(test)
            import_model(model)
        except ModelError as error:
            yield Outcome(test.name, "refused", _reason(error, test))
            continue
        ready.append((test, model, inputs))
    for start in range(0, len(ready), _TOGETHER):
        yield from _run(ready[start : start + _TOGETHER])


def _reason(error: ModelError, test: NodeTest) -> str:
    """tflmgen's words without the model's name and its tensors' names, which only this test has."""
    text = str(error).splitlines()[0].removeprefix(f"{test.name}: ")
    return re.sub(r"^(node (with output )?('[^']*'(, )?)+ ?|subgraph.*?, )", "", text)


def _compiled(model: Model, number: int) -> Compilation:
    return compile_module(import_model(model), f"m{number}", Target(core="host"), BuildOptions())


def _run(batch: Sequence[tuple[NodeTest, Model, tuple[Array, ...]]]) -> Iterator[Outcome]:
    compilations = [_compiled(model, number) for number, (_, model, _) in enumerate(batch)]
    calls = [Invocation(number, 0, inputs) for number, (_, _, inputs) in enumerate(batch)]
    try:
        program = build_native({f"m{k}": c.sources for k, c in enumerate(compilations)}, flags=("-O0",))
        results = run_native(program, calls, [c.module.signatures for c in compilations])
    except (AssertionError, NativeError) as error:
        if len(batch) == 1:
            yield Outcome(batch[0][0].name, "wrong", str(error).splitlines()[0])
        else:
            for node_test in batch:
                yield from _run([node_test])
        return
    for (test, _, _), outputs in zip(batch, results, strict=True):
        difference = first_difference(outputs, test)
        yield Outcome(test.name, "wrong" if difference else "passes", difference)


def first_difference(outputs: Sequence[Array], test: NodeTest) -> str:
    """Where the outputs differ from ONNX's by more than ONNX's tolerance; empty where they don't."""
    if len(outputs) != len(test.expected):
        return f"{len(outputs)} outputs instead of {len(test.expected)}"
    for place, (ours, theirs) in enumerate(zip(outputs, test.expected, strict=True)):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"output {place} is {ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}"
        if ours.dtype.kind == "f":
            # A reference in float32 is itself no closer than a step of its greatest element.
            finite = np.abs(theirs[np.isfinite(theirs)])
            step = float(np.spacing(finite.max(initial=0).astype(np.float32)))
            is_close = np.isclose(ours, theirs, test.rtol or 1e-3, max(test.atol or 1e-7, step), equal_nan=True)
        else:
            is_close = ours == theirs
        if not np.all(is_close):
            index = tuple(int(i) for i in np.argwhere(~is_close)[0]) if is_close.ndim else ()
            return f"output {place} at {index}: {ours[index]} instead of {theirs[index]}"
    return ""
