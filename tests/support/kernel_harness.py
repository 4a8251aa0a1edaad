"""Runs operators through their C kernels on the host, and through TFLite Micro, from one description.

    case = make_case("CONV_2D", [tensor("int8", (1, 5, 5, 3), 0.5, 3), constant("int8", weights, scales), ...],
                     [tensor("int8", (), 0.25, -1)], {"padding": 0, "stride_w": 1, "stride_h": 1})
    check_against_tflm([(case, values), ...])

Many cases become one C program: compiling costs more than running. The program runs under the address and undefined
behaviour sanitizers, in its own process, with every buffer allocated at its exact size.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tflmgen.ir import DType, Quantization, TensorType, contents
from tflmgen.ir.kernel import KernelChoice
from tflmgen.ir.kernel.call import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Scratch, Target
from tflmgen.kernels.table import OPERATORS

from support.case_models import model_bytes
from support.kernel_program import CHECKED, UNCHECKED, compile_program, source

HOST = Target(core="host")
POISON = 0xA5

Array = NDArray[Any]
DTYPES = {dtype.label: dtype for dtype in DType}


@dataclass(frozen=True)
class Tensor:
    """A tensor of a case: its type and, where it is constant, its contents."""

    type: TensorType
    data: Array | None = None


@dataclass(frozen=True)
class Case:
    """One operator with its tensors and options; an input is None where an optional one is absent.

    states: how many of the last inputs, and of the last outputs, are the operator's own state
    target: what its kernel is chosen for
    """

    operator: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[TensorType, ...]
    options: Mapping[str, Any]
    states: int = 0
    target: Target = HOST

    @property
    def without_state(self) -> Case:
        """The operator as a file has it."""
        own, outputs = len(self.inputs) - self.states, len(self.outputs) - self.states
        return replace(self, inputs=self.inputs[:own], outputs=self.outputs[:outputs], states=0)

    @property
    def instance(self) -> OperatorInstance:
        return OperatorInstance(
            inputs=tuple(None if t is None else t.type for t in self.inputs),
            outputs=self.outputs,
            constants=tuple(t.data if t else None for t in self.inputs),
            attributes=OPERATORS[self.operator].attributes(self.options),
        )

    @property
    def kernel(self) -> Kernel:
        """The call; the case must satisfy every support rule."""
        assert not (broken := broken_rules(self)), broken
        return self.choice_for(self.target).kernel

    def choice_for(self, target: Target) -> KernelChoice:
        """The call on a processor, and those that it was chosen among."""
        kernel = OPERATORS[self.operator].kernel(self.instance, target)
        assert isinstance(kernel, Kernel | KernelChoice)
        return KernelChoice.of(kernel) if isinstance(kernel, Kernel) else kernel


def quantization(
    scale: float | Sequence[float] | Array | None, zero_point: int | Sequence[int] = 0, axis: int = 0
) -> Quantization | None:
    """Scales rounded to float32, as a file has them; one zero point stands for all channels."""
    if scale is None:
        return None
    scales = tuple(float(np.float32(s)) for s in np.atleast_1d(scale))
    points = tuple(int(p) for p in np.broadcast_to(np.atleast_1d(zero_point), len(scales)))
    return Quantization(scales, points, axis)


def tensor(
    dtype: str,
    shape: Sequence[int],
    scale: float | Sequence[float] | Array | None = None,
    zero_point: int | Sequence[int] = 0,
    axis: int = 0,
) -> Tensor:
    """A tensor with values at run time."""
    return Tensor(TensorType(DTYPES[dtype], tuple(shape), quantization(scale, zero_point, axis)))


def scale_of(item: Tensor) -> float:
    """Scale of a quantised tensor."""
    assert item.type.quantization is not None
    return item.type.quantization.scale


def typed(dtype: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor with values at run time, of scale 0.5 where it has integers that are quantised (int8, int16)."""
    return tensor(dtype, shape, *((0.5, -3) if dtype == "int8" else (0.5,) if dtype == "int16" else ()))


def constant(
    dtype: str,
    data: ArrayLike,
    scale: float | Sequence[float] | Array | None = None,
    zero_point: int | Sequence[int] = 0,
    axis: int = 0,
) -> Tensor:
    array = np.asarray(data, dtype=DTYPES[dtype].numpy)
    return Tensor(TensorType(DTYPES[dtype], array.shape, quantization(scale, zero_point, axis)), array)


def operands_of(case: Case, values: list[Array | None]) -> list[Array]:
    """Contents of every operand that is there: of constants their own, else those among `values`."""
    arrays = [v if v is not None or t is None else t.data for v, t in zip(values, case.inputs, strict=True)]
    return [a for a in arrays if a is not None]


def make_case(
    operator: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], options: Mapping[str, Any] | None = None
) -> Case:
    """A case whose output shapes come from the operator's shape rule, where it has them.

    After its own outputs come the new contents of the variable tensors that it updates.
    """
    output_types = tuple(t.type for t in outputs)
    case = Case(operator, tuple(inputs), output_types, options or {})
    shapes = OPERATORS[operator].infer(case.instance)
    inferred = tuple(t if s is None else t.with_shape(s) for t, s in zip(output_types, shapes, strict=True))
    updated = tuple(t.type for t in (inputs[i] for i in OPERATORS[operator].updates) if t)
    state = OPERATORS[operator].state
    kept = tuple(s.type for s in state(case.instance)) if state else ()
    tensors = (*inputs, *(Tensor(t) for t in kept))
    return Case(operator, tensors, (*inferred, *updated, *kept), options or {}, len(kept))


def broken_rules(case: Case) -> list[str]:
    """The requirement of the first support rule that the case breaks, if any (later rules rely on it)."""
    instance = case.without_state.instance
    return next(([rule.requirement] for rule in OPERATORS[case.operator].rules if not rule.holds(instance)), [])


def random_values(case: Case, rng: np.random.Generator) -> list[Array | None]:
    """A value for every run-time input: any value of an integer type, small normal floats."""
    values: list[Array | None] = []
    for item in case.inputs:
        if item is None or item.data is not None:
            values.append(None)
        elif item.type.dtype.is_float:
            values.append(rng.normal(size=item.type.max_shape).astype(item.type.dtype.numpy))
        else:
            low, high = item.type.dtype.limits
            values.append(rng.integers(low, high, item.type.max_shape, item.type.dtype.numpy, endpoint=True))
    return values


def claims(kernel: Kernel) -> tuple[Overlap, ...]:
    """Every overlap that a kernel claims, whichever way it goes."""
    return kernel.overlaps + (kernel.backward.overlaps if kernel.backward else ())


def facing(kernel: Kernel, overlap: Overlap | None) -> Kernel:
    """The kernel that goes the way in which outputs may overlap like this."""
    if overlap is not None and overlap.behind:
        assert kernel.backward is not None
        return kernel.backward
    return kernel


def offsets(overlap: Overlap) -> tuple[int, int]:
    """Where input and output begin that overlap by just the claimed distance."""
    ahead = -overlap.distance if overlap.behind else overlap.distance
    return max(0, ahead), max(0, -ahead)


def run_kernels(
    runs: Sequence[tuple[Case, Sequence[Array | None]]],
    overlaps: Sequence[Overlap | None] = (),
    compiler: str = "gcc",
    flags: Sequence[str] = CHECKED,
) -> list[list[Array]]:
    """The outputs of each run, from one C program. Run i has output over input as overlaps[i] says."""
    all_overlaps = [*overlaps, *([None] * (len(runs) - len(overlaps)))]
    kernels = [facing(case.kernel, overlap) for (case, _), overlap in zip(runs, all_overlaps, strict=True)]
    program = compile_program(source([case for case, _ in runs], kernels), compiler, flags)
    requests, layouts = [], []
    for i, (case, values) in enumerate(runs):
        buffers, slots = _lay_out(case, kernels[i], values, all_overlaps[i])
        request = struct.pack("<I", len(buffers)) + b"".join(struct.pack("<I", len(b)) + b for b in buffers)
        requests.append(request + struct.pack("<I", len(slots)) + b"".join(struct.pack("<2I", *s) for s in slots))
        layouts.append((buffers, slots))
    done = subprocess.run([program], input=b"".join(requests), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:4000]
    results, at = [], 0
    for (case, _), kernel, (buffers, slots) in zip(runs, kernels, layouts, strict=True):
        after = []
        for buffer in buffers:
            after.append(done.stdout[at : at + len(buffer)])
            at += len(buffer)
        results.append(list(_outputs(case, kernel, after, slots)))
    return results


def host_outputs(runs: Sequence[tuple[Case, Sequence[Array | None]]]) -> list[list[Array]]:
    """What kernels on boards are to give: the outputs of portable ones on this computer.

    Without sanitizers, which the tests of portable kernels have: programs compile in a third of the time.
    """
    return run_kernels(runs, flags=UNCHECKED)


def run_tflm(case: Case, values: Sequence[Array | None]) -> list[Array]:
    """The outputs of TFLite Micro for a model of this one operator."""
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model_bytes(case), arena_size=4_000_000)
    present = [v for v in values if v is not None]
    for i, value in enumerate(present):
        interpreter.set_input(value, i)
    interpreter.invoke()
    return [interpreter.get_output(i) for i in range(len(case.outputs))]


def check_against_tflm(
    runs: Sequence[tuple[Case, Sequence[Array | None]]], rtol: float = 1e-5, atol: float = 1e-5
) -> None:
    """Kernels equal TFLite Micro: integers exactly, floats within the tolerances; also at every claimed overlap."""
    check_against(runs, [run_tflm(case, values) for case, values in runs], rtol, atol)


def check_against(
    runs: Sequence[tuple[Case, Sequence[Array | None]]],
    expected: Sequence[Sequence[Array]],
    rtol: float = 1e-5,
    atol: float = 1e-5,
) -> None:
    """Kernels give the expected outputs, also at every overlap that they claim; integers exactly unless atol is 1."""
    all_runs, wanted = list(runs), list(expected)
    overlaps: list[Overlap | None] = [None] * len(runs)
    for (case, values), want in zip(runs, expected, strict=True):
        for overlap in claims(case.kernel):
            all_runs.append((case, values))
            overlaps.append(overlap)
            wanted.append(want)
    results = run_kernels(all_runs, overlaps)
    for (case, _), claimed, outputs, want in zip(all_runs, overlaps, results, wanted, strict=True):
        for got, value in zip(outputs, want, strict=True):
            message = f"{case}\n{claimed}"
            if got.dtype.kind == "f" or atol >= 1:
                np.testing.assert_allclose(got, value, rtol=rtol, atol=atol, err_msg=message)
            else:
                np.testing.assert_array_equal(got, value, err_msg=message)


def _lay_out(
    case: Case, kernel: Kernel, values: Sequence[Array | None], overlap: Overlap | None
) -> tuple[list[bytes], list[tuple[int, int]]]:
    """The buffers' contents before the call, and each operand's (buffer, offset)."""
    buffers: list[bytes] = []
    homes: dict[object, tuple[int, int]] = {}

    def input_bytes(index: int) -> bytes:
        item = case.inputs[index]
        assert item is not None
        array = item.data if item.data is not None else values[index]
        assert array is not None
        assert array.shape == item.type.max_shape, "the value's shape is not the input's"
        return contents(array, item.type.dtype)

    if overlap is not None:
        data, size = input_bytes(overlap.input), case.outputs[overlap.output].bytes
        at, to = offsets(overlap)
        buffers.append((bytes([POISON]) * at + data).ljust(to + size, bytes([POISON])))
        homes[Input(overlap.input)] = (0, at)
        homes[Output(overlap.output)] = (0, to)
    slots = []
    for n, operand in enumerate(kernel.operands):
        key: object = operand if isinstance(operand, Input | Output) else n
        if key not in homes:
            homes[key] = (len(buffers), 0)
            if isinstance(operand, Input):
                buffers.append(input_bytes(operand.index))
            elif isinstance(operand, ConstantArray):
                buffers.append(operand.data)
            elif isinstance(operand, Output):
                buffers.append(bytes([POISON]) * case.outputs[operand.index].bytes)
            else:
                buffers.append(bytes([POISON]) * (operand.bytes if isinstance(operand, Scratch) else 0))
        slots.append(homes[key])
    return buffers, slots


def _outputs(case: Case, kernel: Kernel, after: list[bytes], slots: list[tuple[int, int]]) -> Iterator[Array]:
    homes = {op.index: slot for op, slot in zip(kernel.operands, slots, strict=True) if isinstance(op, Output)}
    for index, kind in enumerate(case.outputs):
        buffer, offset = homes[index]
        array = np.frombuffer(after[buffer][offset : offset + kind.bytes], kind.dtype.numpy)
        yield array.reshape(kind.max_shape)
