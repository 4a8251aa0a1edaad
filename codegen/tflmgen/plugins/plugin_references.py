"""References of plug-ins' operators for validation: their own evaluate(), where they have one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.ir import elements_of
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.specification import CUSTOM_OPTIONS, Operators, OperatorSpec
from tflmgen.reference import Array, CustomReference, CustomReferences, Operation, UnsupportedError


def references_of(operators: Operators) -> CustomReferences:
    """References of the table's operators that are not tflmgen's own."""
    return {name: _reference(row) for name, row in operators.items() if name not in OPERATORS}


def _reference(row: OperatorSpec) -> CustomReference:
    plugin = f"plug-in {row.name.removeprefix('CUSTOM:')}"

    def instance(op: Operation) -> OperatorInstance:
        attributes = op.attributes
        if CUSTOM_OPTIONS in op.options:
            attributes = row.attributes(op.options)
        return OperatorInstance(op.input_types, op.output_types, op.inputs, attributes)

    def evaluate(op: Operation) -> Sequence[Array]:
        if row.evaluate is None:
            raise UnsupportedError(plugin)
        results = row.evaluate(instance(op), op.inputs)
        kinds = [np.dtype(type_.dtype.numpy) for type_ in op.output_types]
        # In a file, contents of the state come behind the outputs, as they are.
        kinds += [np.asarray(result).dtype for result in results[len(kinds) :]]
        return [
            np.asarray(result).astype(np.float64 if op.wide and kind.kind == "f" else kind)
            for result, kind in zip(results, kinds, strict=True)
        ]

    def states(op: Operation) -> tuple[Array, ...]:
        if row.state is None:
            return ()
        kept = row.state(instance(op))
        return tuple(elements_of(state.type, state.initial or bytes(state.type.bytes)) for state in kept)

    return CustomReference(evaluate, states)
