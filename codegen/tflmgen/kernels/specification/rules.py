"""Support rules common to many operators, and predicates on types for rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tflmgen.ir import DType, Quantization, TensorType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.strides import normalize_axis
from tflmgen.kernels.specification.operator import Rule

QUANTIZED = frozenset({DType.INT8, DType.UINT8, DType.INT16})
"""Element types that represent real numbers in arithmetic operators."""


def tensors(op: OperatorInstance) -> Iterator[TensorType]:
    """Types of the present inputs, then of the outputs."""
    yield from (t for t in op.inputs if t is not None)
    yield from op.outputs


def input_type(op: OperatorInstance, index: int) -> TensorType:
    """Type of input `index`, which an earlier rule requires. Raises ValueError if it is absent."""
    tensor = op.inputs[index]
    if tensor is None:
        raise ValueError(f"input {index} is absent")
    return tensor


def static_shape(tensor: TensorType) -> tuple[int, ...]:
    """Shape of a tensor without dynamic dimensions, as the rule STATIC requires."""
    return tensor.max_shape


def input_shape(op: OperatorInstance, index: int = 0) -> tuple[int, ...]:
    """Static shape of input `index`, which an earlier rule requires."""
    return static_shape(input_type(op, index))


def has_inferred_shape(infer: Callable[[OperatorInstance], Sequence[object]], inputs: str = "input") -> Rule:
    """The rule that the output's shape is the one that `infer` gives; `inputs` as the requirement names them."""
    return Rule(
        f"an output of the shape that follows from the {inputs}", lambda op: (op.outputs[0].shape,) == infer(op)
    )


def per_tensor(tensor: TensorType) -> bool:
    """Whether the tensor is quantised with one scale and one zero point."""
    return tensor.quantization is not None and not tensor.quantization.per_channel


def scale(tensor: TensorType) -> float:
    """Scale of a per-tensor quantised tensor. Raises ValueError if it is not quantised."""
    if tensor.quantization is None:
        raise ValueError("the tensor is not quantised")
    return tensor.quantization.scale


def zero_point(tensor: TensorType) -> int:
    """Zero point of a per-tensor quantised tensor. Raises ValueError if it is not quantised."""
    if tensor.quantization is None:
        raise ValueError("the tensor is not quantised")
    return tensor.quantization.zero_point


def same_quantization(a: TensorType, b: TensorType) -> bool:
    """Whether both tensors have equal zero points and scales (to a relative 1e-5), or one is not quantised."""
    if a.quantization is None or b.quantization is None:
        return True
    if a.quantization.zero_points != b.quantization.zero_points:
        return False
    pairs = zip(a.quantization.scales, b.quantization.scales, strict=False)
    return all(abs(p - q) <= 1e-5 * max(p, q) for p, q in pairs)


def labels(dtypes: Iterable[DType]) -> str:
    """Names of types as an enumeration: `int8, int16 or float32`."""
    names = [d.label for d in dtypes]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def where_computed(requirement: str, holds: Callable[[OperatorInstance], bool]) -> Rule:
    """A rule that applies only if some output has elements."""
    return Rule(
        f"{requirement}, unless the output has no elements",
        lambda op: all(t.elements == 0 for t in op.outputs) or holds(op),
    )


def axis_rule(
    axis: Callable[[OperatorInstance], int], rank: Callable[[OperatorInstance], int], of: str = "its input"
) -> Rule:
    """Axis `axis` is within -rank to rank - 1, where `rank` is that `of` an operand or result."""
    return Rule(
        f"an axis within the rank of {of}",
        lambda op: normalize_axis(axis(op), rank(op)) is not None,
        lambda op: f"axis {axis(op)} and rank {rank(op)}",
    )


def fixed_int8(result: Quantization) -> Rule:
    """Int8 outputs have this scale and zero point."""
    return Rule(
        f"scale 1/{round(1 / result.scale)} and zero point {result.zero_point} for an int8 output",
        lambda op: (
            op.outputs[0].dtype is not DType.INT8
            or (scale(op.outputs[0]), zero_point(op.outputs[0])) == (result.scale, result.zero_point)
        ),
    )


PRESENT = Rule(
    "every input to be present",
    lambda op: all(t is not None for t in op.inputs),
    lambda op: f"no input {[t is None for t in op.inputs].index(True)}",
)
STATIC = Rule("every dimension to be known at build time", lambda op: all(t.is_static for t in tensors(op)))
COMMON = (PRESENT, STATIC)
"""Rules of every operator without optional inputs."""

INT16_ZERO_POINTS = Rule(
    "zero point 0 for int16 tensors",
    lambda op: op.outputs[0].dtype is not DType.INT16 or all(zero_point(t) == 0 for t in tensors(op)),
)

QUANTIZED_PER_TENSOR = Rule(
    "one scale for each int8, uint8 and int16 tensor",
    lambda op: all(t.dtype not in QUANTIZED or per_tensor(t) for t in tensors(op)),
)

SAME_QUANTIZATION = Rule(
    "one scale and zero point for all quantised inputs and outputs",
    lambda op: (
        op.outputs[0].dtype not in QUANTIZED
        or all(same_quantization(op.outputs[0], t) for t in tensors(op) if t.dtype is op.outputs[0].dtype)
    ),
)


def one_type(*allowed: DType) -> Rule:
    """All inputs and outputs have the same element type, one of `allowed`."""
    return Rule(
        f"inputs and outputs of one type: {labels(allowed)}",
        lambda op: op.outputs[0].dtype in allowed and all(t.dtype is op.outputs[0].dtype for t in tensors(op)),
    )


def input_is(index: int, label: str, *allowed: DType) -> Rule:
    """Input `index`, called `label`, has an element type in `allowed`, or is absent."""

    def holds(op: OperatorInstance) -> bool:
        tensor = op.inputs[index] if index < len(op.inputs) else None
        return tensor is None or tensor.dtype in allowed

    return Rule(f"the {label} to be {labels(allowed)}", holds)


def output_is(*allowed: DType) -> Rule:
    """Every output has an element type in `allowed`."""
    return Rule(f"the output to be {labels(allowed)}", lambda op: all(t.dtype in allowed for t in op.outputs))


def constant(index: int, label: str) -> Rule:
    """Input `index`, called `label`, is constant."""
    return Rule(f"the {label} to be constant", lambda op: op.constants[index] is not None)
