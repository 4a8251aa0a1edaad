"""Row of the operator table: all that tflmgen knows of one TFLite operator beside its C.

Attributes, arity, support rules, shapes, kernel, evaluation, ranges, real function, fixed results, traits and roles of
operands. A rule for an operator's gradient is a field beside `real`, once there is a room that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflmgen.ir import Dim, DType, Quantization, TensorType
from tflmgen.ir.kernel import Kernel, KernelChoice, OperatorInstance, Pieces, Target, View
from tflmgen.kernels.numeric.real_functions import Real
from tflmgen.kernels.ranges.intervals import Transfer
from tflmgen.kernels.traits import UNKNOWN, Traits

Options = Mapping[str, Any]
"""An operator's options as the file has them: field name in the schema's snake_case -> number, bool, str or tuple."""

INTERMEDIATES = "intermediate_quantization"
"""A key of Options that is no field of the schema: a tuple of Quantization or None, by intermediate tensor."""

BACKWARD = "backward"
"""Key of Options of recurrent layers: whether the layer runs from the last step to the first."""

CUSTOM_OPTIONS = "custom_options"
"""The key under which the Options of a custom operator have its option bytes as they are.

Beside it stands every field of these bytes where they are a FlexBuffers map, as converters write them.
"""

Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class State:
    """A piece of state that an operator keeps between invokes, outside the file's variables.

    initial  contents before the first invoke and after NAME_reset(), little-endian; empty: zeros
    """

    dtype: DType
    shape: tuple[int, ...]
    initial: bytes = b""

    @property
    def type(self) -> TensorType:
        """The type of the state's tensor, which is not quantised."""
        return TensorType(self.dtype, self.shape)


@dataclass(frozen=True, slots=True)
class Rule:
    """One support rule: a condition that an operator must satisfy.

    requirement  the condition as what follows "requires" in the documentation and in the error: "a constant filter"
    holds        predicate; may rely on the operator's arity and on all earlier rules
    offence      what a rejected operator has instead, after "this one has"; None: the types of its operands
    """

    requirement: str
    holds: Callable[[OperatorInstance], bool]
    offence: Callable[[OperatorInstance], str] | None = None


Evaluate = Callable[[OperatorInstance, Sequence[NDArray[Any] | None]], Sequence[NDArray[Any]]]


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """A row of the operator table.

    attributes  options of the file -> a frozen dataclass (or None); raises ValueError with a sentence where they are
    bad; gets None where the file has no options
    inputs      least and greatest number of inputs (optional trailing ones count in the greatest); -1: any number
    outputs     number of outputs; -1: any number
    infer       output shapes, in order; None for an output whose shape the operator does not determine
    kernel      the call that computes it, or a View; called only where every rule holds
    value_range which elements the outputs can have, from those that the inputs can have; where nothing is declared, of
    what moves elements (`Traits.moves`) by moving, of a function of one element (`Traits.unary`) by its fold
    real        output 0 on real numbers, for operators of floats that passes may recognise in groups
    updates     inputs that are variable tensors; after its own outputs an Op has their new contents, in this order
    fold        the outputs as arrays, evaluated at compile time as the kernel would; None where an operand is not known
    state       what it keeps, called only where every rule holds. The kernel has the contents as further inputs after
    the file's, the new contents as further outputs after the file's
    fault       what is wrong with TFLite Micro's kernel, where it gives other outputs than LiteRT's and ours: no test
    compares with it
    evaluate    of a plug-in: outputs, and behind them the new contents of its state, for these elements of inputs and
    state; validation calls it
    fixed       quantisation that its results have in these types, whatever its operands have
    files       C files of a plug-in: headers and sources that go with the kernel
    traits      what passes may conclude about it (traits.py)
    """

    name: str
    attributes: Callable[[Options | None], Any]
    inputs: tuple[int, int]
    outputs: int
    rules: tuple[Rule, ...]
    infer: Callable[[OperatorInstance], tuple[Shape | None, ...]]
    kernel: Callable[[OperatorInstance, Target], Kernel | KernelChoice | View | Pieces]
    fold: Callable[[OperatorInstance], Sequence[NDArray[Any]] | None] | None = None
    value_range: Transfer | None = None
    real: Real | None = None
    updates: tuple[int, ...] = ()
    state: Callable[[OperatorInstance], tuple[State, ...]] | None = None
    fault: str = ""
    evaluate: Evaluate | None = None
    fixed: Mapping[DType, Quantization] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    traits: Traits = UNKNOWN


Operators = Mapping[str, OperatorSpec]
"""An operator table: TFLite's name of each operator -> its row."""


def no_attributes(options: Options | None) -> None:
    """Attributes of operators without options, or whose options have no effect."""
    del options
