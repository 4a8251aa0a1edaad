"""Evaluates a .tflite file: its subgraphs walked as TensorFlow Lite does, one operator after another.

Written from the schema: If, While and Call run subgraphs with copies of their operands; variables and variable tensors
keep their contents from one invoke to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tflmgen.frontend.tflite import FileOperator, FileSignature, FileTensor, Model, SubGraph
from tflmgen.ir import DType, TensorType, elements_of
from tflmgen.reference.definitions.evaluations import COMPARISONS, EVALUATIONS, EXACT, UPDATES, initial_states
from tflmgen.reference.definitions.type_conversions import dequantized
from tflmgen.reference.operation import Array, CustomReferences, Operation, RunTimeError, UnsupportedError
from tflmgen.reference.work_budget import STEP, Budget

Observe = Callable[[int, int, Array], None]
"""Called with (subgraph, tensor, elements) of each tensor that an operator has written."""

CONTROL = frozenset({"IF", "WHILE", "STABLEHLO_WHILE", "STABLEHLO_CASE", "CALL", "STABLEHLO_COMPOSITE", "CALL_ONCE"})
RESOURCES = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"})


DECISIVE = 16
"""Elements of a comparison's output, at most, for its margins to be noted: larger ones are masks."""

NOISE = 2.0**-22
"""Relative error of a float result that another order of operations may give: two bits of the mantissa."""
STEPS = (-1, 0, 0, 0, 0, 0, 0, 1)
"""Quantisation steps by which noise moves results of quantised operators: each entry is equally likely."""


@dataclass
class Interpreter:
    """A model with the contents of its variables.

    budget     work that may still be done before BudgetError
    noise      where results of float operators get random relative errors of NOISE, as rounding elsewhere would give
               them (Parker, Monte Carlo Arithmetic, 1997)
    moves_integers  `noise` also moves some results of quantised operators by a step
    wide       floats are evaluated in float64
    margins    by how much operands of small comparisons have differed so far, and a Case's number from those of its
               branches; see branch_search
    custom     what operators of plug-ins compute
    sides      (subgraph, operator, branch) that Ifs, Cases and Whiles have taken so far; a loop's body is branch 1
    """

    model: Model
    wide: bool = False
    budget: Budget = field(default_factory=Budget)
    noise: np.random.Generator | None = None
    moves_integers: bool = False
    custom: CustomReferences = field(default_factory=dict)
    sides: set[tuple[int, int, int]] = field(default_factory=set)
    margins: dict[tuple[int, ...], tuple[float, float]] = field(default_factory=dict)
    _variables: dict[str, Array] = field(default_factory=dict)
    _tensors: dict[tuple[int, int], Array] = field(default_factory=dict)
    _kept: dict[tuple[int, int], tuple[Array, ...]] = field(default_factory=dict)
    _once: set[int] = field(default_factory=set)
    _constants: dict[int, dict[int, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """All variables as before the first invoke; what CALL_ONCE runs has run."""
        self._variables.clear()
        self._tensors.clear()
        self._kept.clear()
        self._once.clear()
        for subgraph in self.model.subgraphs:
            for op in subgraph.operators:
                if op.name == "CALL_ONCE":
                    self._call_once(op)

    def invoke(
        self,
        signature: str | FileSignature | None,
        inputs: Sequence[Array] | Mapping[str, Array],
        observe: Observe | None = None,
    ) -> tuple[Array, ...]:
        """Outputs of a signature (its key; None: subgraph 0), in its order.

        Raises UnsupportedError for an operator that is not evaluated, RunTimeError where the model reports an error,
        and BudgetError.
        """
        entry = signature if isinstance(signature, FileSignature) else self._entry(signature)
        subgraph = self.model.subgraphs[entry.subgraph if entry else 0]
        if isinstance(inputs, Mapping):
            if entry is None:
                names = [subgraph.tensors[i].name for i in subgraph.inputs]
            else:
                names = [name for name, _ in entry.inputs]
            inputs = [inputs[name] for name in names]
        places = [index for _, index in entry.inputs] if entry else subgraph.inputs
        arguments = dict(zip(places, inputs, strict=True))
        with np.errstate(all="ignore"):
            values = self._run(subgraph, arguments, observe)
        return tuple(values[i] for i in ([index for _, index in entry.outputs] if entry else subgraph.outputs))

    def _entry(self, key: str | None) -> FileSignature | None:
        return None if key is None else next(s for s in self.model.signatures if s.key == key)

    def _call(self, index: int, inputs: Sequence[Array], observe: Observe | None) -> tuple[Array, ...]:
        subgraph = self.model.subgraphs[index]
        values = self._run(subgraph, dict(zip(subgraph.inputs, inputs, strict=True)), observe)
        return tuple(values[i] for i in subgraph.outputs)

    def _run(self, subgraph: SubGraph, arguments: Mapping[int, Array], observe: Observe | None) -> dict[int, Array]:
        """Every tensor of a subgraph after its operators have run."""
        values = {**self._constant_tensors(subgraph), **self._variable_tensors(subgraph)}
        values.update((i, self._float(a)) for i, a in arguments.items())
        for op in subgraph.operators:
            self.budget.spend(STEP)
            results: Sequence[Array]
            if op.name in RESOURCES:
                results = self._resource(op, values)
            elif op.name in CONTROL:
                results = self._control((subgraph.index, op.index), op, [values.get(i) for i in op.inputs], observe)
            else:
                results = self._operator(subgraph, op, values)
            for index, result in zip(op.outputs, results, strict=False):
                values[index] = result
                if observe is not None and result.dtype.kind != "U":
                    observe(subgraph.index, index, result)
        return values

    def _float(self, array: Array) -> Array:
        return array.astype(np.float64) if self.wide and array.dtype == np.float32 else array

    def _disturbed(self, name: str, result: Array, type_: TensorType | None) -> Array:
        if self.noise is None or name in EXACT:
            return result
        if result.dtype.kind == "f":
            return np.asarray(result * (1 + NOISE * self.noise.uniform(-1, 1, result.shape))).astype(result.dtype)
        if not self.moves_integers or type_ is None or type_.quantization is None:
            return result
        limits = np.iinfo(result.dtype)
        moved = result.astype(np.int64) + self.noise.choice(STEPS, result.shape)
        return np.asarray(np.clip(moved, limits.min, limits.max).astype(result.dtype))

    def _constant_tensors(self, subgraph: SubGraph) -> dict[int, Array]:
        arrays = self._constants.get(subgraph.index)
        if arrays is None:
            used = {*subgraph.outputs, *(i for op in subgraph.operators for i in op.inputs)}
            arrays = {
                t.index: elements_of(type_of(t), t.data)
                for t in subgraph.tensors
                if t.data is not None and t.dtype is not None and t.index in used
            }
            self._constants[subgraph.index] = arrays
        return arrays

    def _variable_tensors(self, subgraph: SubGraph) -> dict[int, Array]:
        arrays = {}
        for tensor in subgraph.tensors:
            if tensor.is_variable and tensor.dtype is not None:
                key = (subgraph.index, tensor.index)
                if key not in self._tensors:
                    self._tensors[key] = self._float(initial_contents(type_of(tensor)))
                arrays[tensor.index] = self._tensors[key]
        return arrays

    def _resource(self, op: FileOperator, values: Mapping[int, Array]) -> tuple[Array, ...]:
        """A handle is an array of one string: the variable's container and name."""
        options = op.options or {}
        if op.name == "VAR_HANDLE":
            return (np.array(f"{options.get('container', '')}/{options.get('shared_name', '')}"),)
        name = str(values[op.inputs[0]])
        if op.name == "ASSIGN_VARIABLE":
            self._variables[name] = values[op.inputs[1]]
            return ()
        if name not in self._variables:
            raise UnsupportedError("READ_VARIABLE before the variable has contents")
        return (self._variables[name],)

    def _call_once(self, op: FileOperator) -> None:
        index = int((op.options or {})["init_subgraph_index"])
        if index not in self._once:
            self._once.add(index)
            self._call(index, (), None)

    def _control(
        self, place: tuple[int, int], op: FileOperator, operands: Sequence[Array | None], observe: Observe | None
    ) -> tuple[Array, ...]:
        options: Mapping[str, Any] = op.options or {}
        inputs = [value for value in operands if value is not None]
        if op.name == "CALL_ONCE":
            self._call_once(op)
            return ()
        if op.name == "IF":
            taken = bool(inputs[0].reshape(-1)[0])
            self.sides.add((*place, int(taken)))
            return self._call(options["then_subgraph_index" if taken else "else_subgraph_index"], inputs[1:], observe)
        if op.name == "STABLEHLO_CASE":
            branches = options["branch_subgraph_indices"]
            number = int(inputs[0].reshape(-1)[0])
            for branch in range(len(branches)):
                self._note_margin((*place, branch), np.array(float(number - branch)))
            number = number if 0 <= number < len(branches) else len(branches) - 1
            self.sides.add((*place, number))
            return self._call(branches[number], inputs[1:], observe)
        if op.name in ("WHILE", "STABLEHLO_WHILE"):
            return self._loop(place, options, tuple(inputs), observe)
        key = "subgraph" if op.name == "CALL" else "decomposition_subgraph_index"
        return self._call(options[key], inputs, observe)

    def _note_margin(self, place: tuple[int, ...], differences: Array) -> None:
        low, high = self.margins.get(place, (np.inf, -np.inf))
        if not np.isnan(differences).any():
            self.margins[place] = (min(low, float(differences.min())), max(high, float(differences.max())))

    def _loop(
        self,
        place: tuple[int, int],
        options: Mapping[str, Any],
        variables: tuple[Array, ...],
        observe: Observe | None,
    ) -> tuple[Array, ...]:
        while True:
            (test,) = self._call(options["cond_subgraph_index"], variables, observe)
            goes_on = bool(test.reshape(-1)[0])
            self.sides.add((*place, int(goes_on)))
            if not goes_on:
                return variables
            variables = self._call(options["body_subgraph_index"], variables, observe)

    def _operator(self, subgraph: SubGraph, op: FileOperator, values: Mapping[int, Array]) -> Sequence[Array]:
        operation = _operation(subgraph, op, values, self.wide)
        self.budget.spend_on(operation)
        key = (subgraph.index, op.index)
        own = self._kept.get(key)
        if own is None:
            custom = self.custom.get(op.name)
            own = self._kept[key] = custom.states(operation) if custom else initial_states(operation)
        if own:
            operation = replace(
                operation,
                inputs=(*operation.inputs, *own),
                input_types=(*operation.input_types, *(None for _ in own)),
            )
        evaluated = _evaluate(operation, self.custom)
        types = (*operation.output_types, *(None for _ in evaluated))
        results = [self._disturbed(op.name, result, type_) for result, type_ in zip(evaluated, types, strict=False)]
        if op.name in COMPARISONS and 0 < results[0].size <= DECISIVE:
            self._note_margin(key, _differences(operation))
        count = len(op.outputs)
        if own:
            self._kept[key] = tuple(results[count:])
        else:
            updated = [op.inputs[i] for i in UPDATES.get(op.name, ()) if i < len(op.inputs) and op.inputs[i] >= 0]
            for index, result in zip(updated, results[count:], strict=True):
                self._tensors[subgraph.index, index] = result
        return results[:count]


def _differences(operation: Operation) -> Array:
    """Differences of a comparison's operands, left minus right, as real numbers."""
    pairs = zip(operation.inputs, operation.input_types, strict=True)
    left, right = (dequantized(a, t) if t and t.quantization else a for a, t in pairs if a is not None)
    return np.asarray(left.astype(np.float64) - right.astype(np.float64))


def _evaluate(operation: Operation, custom: CustomReferences) -> Sequence[Array]:
    own = custom.get(operation.name)
    evaluation = own.evaluate if own else EVALUATIONS.get(operation.name)
    if evaluation is None:
        raise UnsupportedError(operation.name)
    try:
        return evaluation(operation)
    except (ArithmeticError, AttributeError, KeyError, TypeError) as error:
        raise UnsupportedError(f"{operation.name} ({type(error).__name__})") from error
    except (ValueError, IndexError) as error:
        # Operands whose shapes at run time do not go together.
        raise RunTimeError(f"{operation.name}: {error}") from error


def _operation(subgraph: SubGraph, op: FileOperator, values: Mapping[int, Array], wide: bool) -> Operation:
    def of(indices: Sequence[int]) -> list[FileTensor | None]:
        return [None if i < 0 else subgraph.tensors[i] for i in indices]

    inputs = tuple(None if i < 0 else values[i] for i in op.inputs)
    types = tuple(None if t is None else type_of(t) for t in of(op.inputs))
    outputs = tuple(_output_type(subgraph.tensors[i]) for i in op.outputs)
    inner = tuple(None if t is None or t.dtype is None else type_of(t) for t in of(op.intermediates))
    options = {**(op.options or {}), "custom_options": op.custom_options}
    return Operation(op.name, inputs, types, outputs, options, inner, wide)


def type_of(tensor: FileTensor) -> TensorType:
    """Raises UnsupportedError for a tensor of a type that operators cannot have."""
    if tensor.dtype is None:
        raise UnsupportedError(f"a tensor of type {tensor.type_name}")
    return TensorType(tensor.dtype, tensor.shape, tensor.quantization, tensor.blocks)


def _output_type(tensor: FileTensor) -> TensorType:
    return type_of(tensor)


def initial_contents(type_: TensorType) -> Array:
    """Contents of a variable tensor before the first invoke: the zero point of int8, else zeros."""
    zero = type_.quantization.zero_point if type_.quantization and type_.dtype is DType.INT8 else 0
    return np.full(type_.max_shape, zero, type_.dtype.numpy)


__all__ = ["Interpreter", "Observe", "RunTimeError", "initial_contents", "type_of"]
