"""Support rules that many operators share, and the small questions about types that rules ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tflmgen.ir import DType, OperatorInstance, TensorType
from tflmgen.kernels.operator import Rule

QUANTIZED = frozenset({DType.INT8, DType.UINT8, DType.INT16})
"""Types whose elements stand for real numbers wherever an operator computes with them."""


def tensors(op: OperatorInstance) -> Iterator[TensorType]:
    """Every tensor of the operator: the inputs that are present, then the outputs."""
    yield from (t for t in op.inputs if t is not None)
    yield from op.outputs


def input_type(op: OperatorInstance, index: int) -> TensorType:
    """Input `index`, which a rule has shown to be present."""
    tensor = op.inputs[index]
    if tensor is None:
        raise ValueError(f"input {index} is absent")
    return tensor


def static_shape(tensor: TensorType) -> tuple[int, ...]:
    """The shape, which the rule STATIC has shown to hold no run-time dimension."""
    return tensor.max_shape


def per_tensor(tensor: TensorType) -> bool:
    """Whether the tensor has one scale and one zero point."""
    return tensor.quantization is not None and not tensor.quantization.per_channel


def scale(tensor: TensorType) -> float:
    """The scale of a tensor quantised as a whole."""
    if tensor.quantization is None:
        raise ValueError("the tensor is not quantised")
    return tensor.quantization.scale


def zero_point(tensor: TensorType) -> int:
    """The zero point of a tensor quantised as a whole."""
    if tensor.quantization is None:
        raise ValueError("the tensor is not quantised")
    return tensor.quantization.zero_point


def same_quantization(a: TensorType, b: TensorType) -> bool:
    """Whether equal numbers of both tensors mean the same real number (scales to 1 part in 10^5)."""
    if a.quantization is None or b.quantization is None:
        return True
    if a.quantization.zero_points != b.quantization.zero_points:
        return False
    pairs = zip(a.quantization.scales, b.quantization.scales, strict=False)
    return all(abs(p - q) <= 1e-5 * max(p, q) for p, q in pairs)


def labels(dtypes: Iterable[DType]) -> str:
    """The names of types, as a sentence lists them."""
    names = [d.label for d in dtypes]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def where_computed(sentence: str, holds: Callable[[OperatorInstance], bool]) -> Rule:
    """A rule of operators that have something to compute: some output has elements."""
    return Rule(
        f"{sentence}, unless the output has no elements",
        lambda op: all(t.elements == 0 for t in op.outputs) or holds(op),
    )


PRESENT = Rule("no input is left out", lambda op: all(t is not None for t in op.inputs))
STATIC = Rule("every dimension is known at build time", lambda op: all(t.is_static for t in tensors(op)))
COMMON = (PRESENT, STATIC)
"""The rules of every operator without optional inputs."""

QUANTIZED_PER_TENSOR = Rule(
    "every int8, uint8 and int16 tensor is quantised, with one scale",
    lambda op: all(t.dtype not in QUANTIZED or per_tensor(t) for t in tensors(op)),
)

SAME_QUANTIZATION = Rule(
    "quantised inputs and outputs share one scale and zero point",
    lambda op: (
        op.outputs[0].dtype not in QUANTIZED
        or all(same_quantization(op.outputs[0], t) for t in tensors(op) if t.dtype is op.outputs[0].dtype)
    ),
)


def one_type(*allowed: DType) -> Rule:
    """All inputs and outputs have the same element type, one of `allowed`."""
    return Rule(
        f"the inputs and outputs are all {labels(allowed)}",
        lambda op: op.outputs[0].dtype in allowed and all(t.dtype is op.outputs[0].dtype for t in tensors(op)),
    )


def input_is(index: int, what: str, *allowed: DType) -> Rule:
    """Input `index`, called `what`, has an element type out of `allowed`, or is absent."""

    def holds(op: OperatorInstance) -> bool:
        tensor = op.inputs[index] if index < len(op.inputs) else None
        return tensor is None or tensor.dtype in allowed

    return Rule(f"the {what} is {labels(allowed)}", holds)


def output_is(*allowed: DType) -> Rule:
    """Every output has an element type out of `allowed`."""
    return Rule(f"the output is {labels(allowed)}", lambda op: all(t.dtype in allowed for t in op.outputs))


def constant(index: int, what: str) -> Rule:
    """Input `index`, called `what`, is constant."""
    return Rule(f"the {what} is a constant", lambda op: op.constants[index] is not None)
