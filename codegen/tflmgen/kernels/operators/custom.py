"""Custom operators as classes: what a plug-in defines, and what tflmgen's own signal operators are.

class Halve(CustomOperator):
    name = "Halve"
    files = ("halve.h",)

    def infer(self, op):
        return (op.inputs[0].shape,)

    def kernel(self, op, target):
        params = Params("halve", (("elements", op.outputs[0].elements),))
        return Kernel("halve", "halve.h", (Input(0), Output(0)), params)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from tflmgen.ir.kernel import Kernel, OperatorInstance, Pieces, Target, View
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape, State
from tflmgen.kernels.specification.rules import COMMON
from tflmgen.kernels.traits import UNKNOWN, Traits


class CustomOperator(ABC):
    """One custom operator; see Operator (kernels/specification/operator.py) for what each part means.

    name     the model's custom code, without "CUSTOM:"
    files    C headers and sources of a plug-in, beside the Python file that defines the class
    inputs   least and greatest number of inputs; the same where the operator keeps a state
    rules    support rules, in order: the first that doesn't hold is the error message
    traits   what may be concluded about it (kernels/traits.py); by default nothing
    """

    name: ClassVar[str] = ""
    files: ClassVar[tuple[str, ...]] = ()
    inputs: ClassVar[tuple[int, int]] = (1, 1)
    outputs: ClassVar[int] = 1
    rules: ClassVar[tuple[Rule, ...]] = COMMON
    traits: ClassVar[Traits] = UNKNOWN

    def attributes(self, options: Options) -> Any:
        """The custom options as what infer() and kernel() see as op.attributes.

        `options` has the fields of a FlexBuffers map, and all bytes under "custom_options". Raises ValueError with a
        sentence where the options are bad.
        """
        del options

    @abstractmethod
    def infer(self, op: OperatorInstance) -> tuple[Shape | None, ...]:
        """The shapes of all outputs, in their order; None for one that the operator does not determine."""

    @abstractmethod
    def kernel(self, op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
        """The C call. Contents of the state are inputs after the file's, the new ones outputs after the file's."""

    def state(self, op: OperatorInstance) -> tuple[State, ...]:
        """State that the operator keeps from one invocation to the next."""
        del op
        return ()

    def evaluate(self, op: OperatorInstance, inputs: Sequence[NDArray[Any] | None]) -> Sequence[NDArray[Any]]:
        """The outputs for these elements of the inputs: the definition with which a build is validated.

        inputs  None for an optional one that is absent; contents of the state come last
        Returns an array for each output, then the new contents of the state. Without it nothing is validated.
        """
        raise NotImplementedError

    def row(self, files: tuple[Path, ...] = ()) -> OperatorSpec:
        """The operator as an entry of the operator table, its C files by their paths."""

        def attributes(options: Options | None) -> Any:
            return self.attributes(options or {})

        has_definition = type(self).evaluate is not CustomOperator.evaluate
        stateful = type(self).state is not CustomOperator.state
        return OperatorSpec(
            f"CUSTOM:{self.name}",
            attributes,
            self.inputs,
            self.outputs,
            self.rules,
            self.infer,
            self.kernel,
            state=self.state if stateful else None,
            evaluate=self.evaluate if has_definition else None,
            files=files,
            traits=self.traits,
        )
