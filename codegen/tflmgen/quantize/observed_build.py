"""The host build of a model with every intermediate value observed, in this process.

No pass runs before the code is generated, so that each operator of the file writes its outputs, and no output lies over
an input. After each operator the generated C calls an observer with the output in memory, which may read and change it:
so calibration measures ranges, and sensitivity is measured without a compilation per candidate. Of tensors with dynamic
dimensions the observer gets the elements in use.
"""

from __future__ import annotations

import _ctypes
import atexit
import ctypes
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tflmgen.backend import Sources, emit, lower
from tflmgen.emulators import EXACT, STATUS, StatusError
from tflmgen.errors import InternalError
from tflmgen.explore import unsearched_plan
from tflmgen.frontend import Shape, TensorKey, find_bounds, import_observed
from tflmgen.frontend.tflite import Model
from tflmgen.input_sets import VectorSet
from tflmgen.ir import TensorType
from tflmgen.ir.graph import EntryPoint, Op, walk
from tflmgen.ir.kernel import Target
from tflmgen.kernels import OPERATORS, Selector
from tflmgen.kernels.specification import Operators
from tflmgen.quantize.decisions import EndlessLoopError
from tflmgen.quantize.observed_steps import MARKS, ObservedStep, ShownPart, ShownTensor, observed_steps
from tflmgen.toolchain import find_host_compiler, run_tool

Array = NDArray[Any]

FLAGS = ("-std=c99", *EXACT, "-shared", "-fPIC", "-w")
_QUICK, _FAST = "-O1", "-O2"
"""Optimisation that takes half the time to compile, and that whose code takes half the time. Results are the same."""

_ENDED = -1
"""Status of an invoke that the observer ended."""
_NAME = "observed"


class ValueWatcher(Protocol):
    """Observer of each value and each control-flow decision of an invoke.

    wants   whether a tensor is to be shown
    tensor  shows a tensor's value, in the file's type and shape, dynamic dimensions as they are in this invoke; changes
            to the array change the run
    mark    "call", "then", "else", "loop" or "iteration" of a control-flow operator (subgraph, operator) begins
    """

    def wants(self, tensor: TensorKey) -> bool:
        """Whether the tensor's values are to be shown to `tensor`."""

    def tensor(self, tensor: TensorKey, value: Array) -> None:
        """Takes a value, in the file's type and shape; changes to the array change the run."""

    def mark(self, event: str, operator: tuple[int, int]) -> None:
        """Takes the beginning of a part of a control-flow operator, (subgraph, operator)."""


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("data", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("bytes", ctypes.c_uint32),
        ("row_bytes", ctypes.c_uint32),
        ("dim", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint32, ctypes.c_int32)),
    )


class _Signature(ctypes.Structure):
    _fields_ = (
        ("key", ctypes.c_char_p),
        ("invoke", ctypes.c_void_p),
        ("inputs", ctypes.POINTER(_Tensor)),
        ("outputs", ctypes.POINTER(_Tensor)),
        ("input_count", ctypes.c_uint16),
        ("output_count", ctypes.c_uint16),
    )


class _Model(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("signatures", ctypes.POINTER(_Signature)),
        ("signature_count", ctypes.c_uint16),
        ("reset", ctypes.CFUNCTYPE(None)),
        ("fingerprint", ctypes.c_uint32),
    )


_Observer = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)


@dataclass(frozen=True, slots=True)
class ObservedBuild:
    """A loaded model. `inputs` are the file's tensors of each signature's inputs.

    timeout    seconds that one invoke may take
    shapes     largest shapes of inputs with dynamic dimensions
    has_state  the model keeps variables from one invoke to the next
    is_heavy   its runs take longer than compiling
    """

    model: Model
    signatures: tuple[EntryPoint, ...]
    inputs: tuple[tuple[TensorKey, ...], ...]
    steps: Mapping[int, ObservedStep]
    library: ctypes.CDLL
    timeout: float
    shapes: Mapping[TensorKey, Shape] = field(default_factory=dict)
    has_state: bool = False
    is_heavy: bool = False

    def run(
        self,
        sets: Sequence[VectorSet],
        stateful: bool,
        watcher: ValueWatcher,
        started: Callable[[int], None] = lambda _: None,
    ) -> list[tuple[Array, ...]]:
        """Outputs of each set, run in order on one instance if `stateful`, else each from the initial state.

        started  called with the number of each set before it runs

        Outputs of an invoke that the watcher ended by EndlessLoopError are undefined numbers. Raises StatusError if the
        model reports an error or does not finish.
        """
        loaded = _Model.in_dll(self.library, f"{_NAME}_model")
        call = _ObservedCall(self, watcher)
        outputs = []
        for number, vector_set in enumerate(sets):
            started(number)
            if loaded.reset and (number == 0 or not stateful):
                loaded.reset()
            try:
                outputs.append(self._invoke(loaded.signatures[vector_set.signature], vector_set, call, number))
            except EndlessLoopError:
                ports = self.signatures[vector_set.signature].outputs
                outputs.append(tuple(np.full(port.type.max_shape, np.nan, np.float32) for port in ports))
        return outputs

    def _invoke(
        self, compiled: _Signature, vector_set: VectorSet, call: _ObservedCall, number: int
    ) -> tuple[Array, ...]:
        ports = self.signatures[vector_set.signature]
        keys = self.inputs[vector_set.signature]
        for place, (key, port, value) in enumerate(zip(keys, ports.inputs, vector_set.inputs, strict=True)):
            array = np.array(value, order="C")
            call.show(key, array)
            tensor = compiled.inputs[place]
            for axis, size in enumerate(port.type.dynamic_dims(array.shape)):
                tensor.dim(axis, size)
            ctypes.memmove(tensor.data(), array.ctypes.data, array.nbytes)
        status = call.invoke(compiled)
        if status != 0:
            reason = STATUS.get(status, str(status))
            key_text = f", signature {ports.key!r}" if ports.key else ""
            raise StatusError(f"{self.model.name}: set {number}{key_text}: the model returned {reason}")
        return tuple(_output(compiled.outputs[place], port.type) for place, port in enumerate(ports.outputs))


def _output(tensor: _Tensor, type_: TensorType) -> Array:
    dims = [tensor.dim(axis, 0) for axis in range(len(type_.dynamic_axes))]
    shape = type_.actual_shape(dims)
    size = int(np.prod(shape)) * type_.dtype.numpy.itemsize
    return np.frombuffer(ctypes.string_at(tensor.data(), size), type_.dtype.numpy).reshape(shape)


class _ObservedCall:
    """Calls of the generated code with a watcher."""

    def __init__(self, build: ObservedBuild, watcher: ValueWatcher) -> None:
        self._build = build
        self._watcher = watcher
        self._observer = _Observer(self._observe)
        self._error: BaseException | None = None
        self._deadline = 0.0
        self._memory: dict[TensorKey, Array] = {}
        self._shapes: dict[TensorKey, tuple[int, ...]] = {}
        self._steps = np.zeros(max(build.steps, default=0) + 1, np.uint8)
        for number, step in build.steps.items():
            self._steps[number] = not step.outputs or any(o and watcher.wants(o.tensor) for o in step.outputs)

    def invoke(self, signature: _Signature) -> int:
        """Status of the invoke. Raises what the watcher raised, and StatusError after the time limit."""
        self._deadline = time.monotonic() + self._build.timeout
        steps = self._steps.ctypes.data_as(ctypes.c_void_p)
        status = int(self._build.library.tflmgen_invoke_observed(ctypes.byref(signature), self._observer, steps))
        if status == _ENDED and self._error is not None:
            error, self._error = self._error, None
            raise error
        return status

    def show(self, key: TensorKey, value: Array) -> None:
        if self._watcher.wants(key):
            self._watcher.tensor(key, value)

    def _show_part(self, shown: ShownTensor, memory: memoryview) -> None:
        """Shows a value once its shape is known: of a tensor with dynamic dimensions the elements in use only."""
        if shown.part is ShownPart.SHAPE:
            self._shapes[shown.tensor] = tuple(np.frombuffer(memory, np.int32).tolist())
        elif shown.part is ShownPart.END:
            if (value := self._memory.pop(shown.tensor, None)) is not None:  # else a view, which no step writes
                self.show(shown.tensor, value[tuple(slice(size) for size in self._shapes[shown.tensor])])
        elif shown.part is ShownPart.MEMORY:
            self._memory[shown.tensor] = np.frombuffer(memory, shown.dtype).reshape(shown.shape)
        else:
            self.show(shown.tensor, np.frombuffer(memory, shown.dtype).reshape(shown.shape))

    def _observe(self, number: int, output: int, data: int | None, size: int) -> int:
        try:
            step = self._build.steps[number]
            if output in MARKS:
                self._watcher.mark(MARKS[output], step.operator)
            elif (shown := step.outputs[output]) is not None and data is not None:
                self._show_part(shown, memoryview((ctypes.c_uint8 * size).from_address(data)))
            if time.monotonic() > self._deadline:
                limit = f"{self._build.timeout:g} s"
                raise StatusError(f"{self._build.model.name}: an invoke did not finish in {limit}")
        except BaseException as error:  # it must not cross the C code; invoke() raises it
            self._error = error
            return 1
        return 0


@contextmanager
def observed_build(
    model: Model,
    input_shapes: Mapping[TensorKey, Shape] | None = None,
    operators: Operators = OPERATORS,
    timeout: float = 60.0,
    is_heavy: bool = False,
) -> Iterator[ObservedBuild]:
    """Compiles a model for this computer and loads it while the context lasts.

    input_shapes  shapes of inputs with dynamic dimensions
    operators     operator table, with the plug-ins in use
    timeout       seconds that one invoke may take
    is_heavy      whether its runs take longer than compiling

    Raises ModelError for a model that cannot be compiled.
    """
    observed = import_observed(model, find_bounds(model, (), None, input_shapes), operators)
    module = observed.module
    plan = unsearched_plan(module, Selector(Target(core="host"), operators))
    program = lower(plan.module, plan.best, {})
    sources = emit(program, _NAME, model.sha256, "", layers=True)
    used = {node.operator for f in module.functions for node in walk(f.body) if isinstance(node, Op)}
    plugin_files = sorted({path for name in used if name in operators for path in operators[name].files})
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        path = _compile(sources, plugin_files, Path(folder), _FAST if is_heavy else _QUICK)
        library = ctypes.CDLL(str(path))
        try:
            steps = observed_steps(program, observed)
            shapes, has_state = input_shapes or {}, bool(module.state)
            inputs = input_tensors(model)
            yield ObservedBuild(model, module.signatures, inputs, steps, library, timeout, shapes, has_state, is_heavy)
        finally:
            _unload(library)


def observed_variant(build: ObservedBuild, model: Model) -> AbstractContextManager[ObservedBuild]:
    """An observed build of a model that was rewritten from that of `build`, whose inputs have as large shapes."""
    return observed_build(model, moved_shapes(build, model), timeout=build.timeout, is_heavy=build.is_heavy)


def moved_shapes(build: ObservedBuild, model: Model) -> dict[TensorKey, Shape]:
    """Largest shapes of inputs of a model that was rewritten from that of `build`."""
    shapes = {}
    for (graph, tensor), shape in build.shapes.items():
        place = build.model.subgraphs[graph].inputs.index(tensor)
        shapes[graph, model.subgraphs[graph].inputs[place]] = shape
    return shapes


def input_tensors(model: Model) -> tuple[tuple[TensorKey, ...], ...]:
    """Tensors of each signature's inputs, in the order in which the npz forms number them."""
    subgraphs = [signature.subgraph for signature in model.signatures] or [0]
    graphs = [model.subgraphs[index] for index in subgraphs]
    return tuple(tuple((g.index, i) for i in g.inputs if g.tensors[i].dtype is not None) for g in graphs)


def _compile(sources: Sources, plugin_files: Sequence[Path], folder: Path, optimisation: str) -> Path:
    """Path of the shared library, in `folder`. Raises InternalError if the compiler rejects the generated code."""
    firmware = files("tflmgen.firmware")
    (folder / "include" / "tflmgen").mkdir(parents=True)
    for source in plugin_files:
        shutil.copy(source, folder / "include" / "tflmgen" if source.suffix == ".h" else folder)
    for path, text in sources.files.items():
        target = folder / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for name in ("runtime/tflmgen.h", "host/observe.c"):
        data = firmware.joinpath(name).read_bytes()
        (folder / ("include" if name.endswith(".h") else "src") / name.rpartition("/")[2]).write_bytes(data)
    library = folder / f"{_NAME}.so"
    code = [str(path) for path in sorted([*(folder / "src").glob("*.c"), *folder.glob("*.c")])]
    included = [f"-I{path}" for path in (folder / "include", _kernel_headers())]
    compiler = find_host_compiler()
    flags = (optimisation, *FLAGS, *_vectorising(compiler))
    command = [str(compiler), *flags, *included, *code, "-o", str(library), "-lm"]
    process = run_tool(command)
    if process.returncode != 0:
        raise InternalError(f"{command[0]} cannot compile the host build\n{process.stderr}")
    return library


@cache
def _vectorising(compiler: Path) -> tuple[str, ...]:
    """Flags with which the compiler computes integers by vectors of this processor, if it has them: runs of int8 take
    a third of the time. Results are the same, since sums of floats keep their order and contract nothing."""
    flags = ("-march=native", "-fvect-cost-model=dynamic")
    process = run_tool([str(compiler), *flags, "-fsyntax-only", "-x", "c", os.devnull])
    return flags if process.returncode == 0 else ()


@cache
def _kernel_headers() -> Path:
    """Folder with the kernels as `tflmgen`, as the generated code includes them; copied once, since searches compile
    many models."""
    copy = tempfile.TemporaryDirectory(prefix="tflmgen-")
    atexit.register(copy.cleanup)
    with as_file(files("tflmgen.firmware").joinpath("kernels")) as kernels:
        shutil.copytree(kernels, Path(copy.name) / "tflmgen")
    return Path(copy.name)


def _unload(library: ctypes.CDLL) -> None:
    """Releases the library's memory; a search loads many."""
    handle = library._handle
    del library
    _ctypes.dlclose(handle)
