"""Rewrites a float Model to the types that `web_types` decided.

Tensors keep their names. Where an operator needs another type or scale than its web has, a QUANTIZE or DEQUANTIZE
stands in between; each conversion is made once per subgraph. Inputs and outputs of entries stay float32 if wanted, with
a conversion at the very beginning and end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.frontend import LstmLoop, lstm_operator
from tflmgen.frontend.model_graph import (
    FLOAT,
    ElementType,
    OperatorKey,
    SubGraphRewrite,
    bindings,
    constant_values,
    is_loop,
    with_element,
    with_own_buffers,
    with_subgraphs,
)
from tflmgen.frontend.tflite import FileOperator, FileTensor, Model, SubGraph, without_unused
from tflmgen.ir import DType, contents
from tflmgen.kernels import traits_of
from tflmgen.quantize.element_types import comparison_types, element_contents, weight_quantization
from tflmgen.quantize.fused_lstm import NewTensor, lstm_intermediates, lstm_operands
from tflmgen.quantize.integer_forms import (
    Array,
    Form,
    bias_operand,
    bias_type,
    is_real,
    real_operands,
    real_results,
    weight_operands,
)
from tflmgen.quantize.web_constraints import result_key
from tflmgen.quantize.web_types import Assignment, operand_types
from tflmgen.quantize.weight_rounding import LayerConstants


@dataclass(frozen=True, slots=True)
class RewrittenModel:
    """A quantised Model, and the conversions in it: (subgraph, TFLite's name of the operator), one for each."""

    model: Model
    conversions: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Fusion:
    """A loop that becomes one operator, and the largest magnitude of its cells.

    keeps_state  the operator's state persists between invokes; else each invoke starts with zeros
    """

    layer: LstmLoop
    cell_limit: float
    keeps_state: bool = True


Fusions = Mapping[int, Fusion]
"""Fusions of LSTM loops, by the subgraph of the loop's body."""

Constants = Mapping[OperatorKey, LayerConstants]
"""Weights and shifts of biases by operator; those of others are rounded to the nearest."""


def rewrite(
    model: Model,
    assignment: Assignment,
    float_io: bool,
    fusions: Fusions | None = None,
    constants: Constants | None = None,
) -> RewrittenModel:
    """The Model in the types of an assignment.

    float_io   inputs and outputs of entries stay float32
    fusions    loops that become one operator each; the subgraphs that only they run become empty
    constants  of layers whose weights are not the nearest ones
    """
    fusions, constants = fusions or {}, constants or {}
    rewriters = [_SubGraphRewriter(model, graph, assignment, float_io, fusions, constants) for graph in model.subgraphs]
    graphs = tuple(rewriter.run() for rewriter in rewriters)
    loops = [op for graph in model.subgraphs for op in graph.operators if _body(op) in fusions]
    emptied = {binding.subgraph for op in loops for binding in bindings(op)}
    graphs = tuple(_empty(graph) if graph.index in emptied else graph for graph in graphs)
    model = replace(model, subgraphs=tuple(_empty(g) if g.index in emptied else g for g in model.subgraphs))
    rewritten = without_unused(replace(with_subgraphs(model, graphs), sha256=""))
    conversions = tuple(
        (graph.index, op.name) for graph in rewritten.subgraphs for op in graph.operators if traits_of(op.name).converts
    )
    return RewrittenModel(with_own_buffers(rewritten), conversions)


def _body(op: FileOperator) -> int:
    """The subgraph of a loop's body; -1 for other operators."""
    return bindings(op)[1].subgraph if is_loop(op) else -1


def _empty(graph: SubGraph) -> SubGraph:
    return replace(graph, operators=(), inputs=(), outputs=())


class _SubGraphRewriter:
    """The tensors and operators of one subgraph in the making."""

    def __init__(
        self,
        model: Model,
        graph: SubGraph,
        assignment: Assignment,
        float_io: bool,
        fusions: Fusions,
        constants: Constants,
    ) -> None:
        self._model, self._graph, self._assignment = model, graph, assignment
        self._fusions, self._constants = fusions, constants
        self._is_float_entry = float_io and graph.index not in assignment.webs.called
        self._rewrite = SubGraphRewrite(graph)
        self._tensors = self._rewrite.tensors
        self._converted: dict[tuple[int, ElementType], int] = {}
        self._types: dict[int, ElementType] = {}

    def run(self) -> SubGraph:
        inputs = set(self._graph.inputs)
        for tensor in self._graph.tensors:
            if self._is_variable_real(tensor):
                stays = self._is_float_entry and tensor.index in inputs
                stored = self._assignment.stored_type((self._graph.index, tensor.index))
                self._retype(tensor.index, FLOAT if stays else stored)
        self._rewrite.apply(self._retyped)
        outputs = tuple(self._output(place, tensor) for place, tensor in enumerate(self._graph.outputs))
        return replace(self._rewrite.result(), outputs=outputs)

    def _is_variable_real(self, tensor: FileTensor) -> bool:
        return tensor.dtype is DType.FLOAT32 and tensor.data is None

    def _web(self, tensor: int) -> ElementType:
        return self._assignment.type_of((self._graph.index, tensor))

    def _retype(self, index: int, element: ElementType) -> None:
        self._types[index] = element
        self._tensors[index] = with_element(self._tensors[index], element)

    def _retyped(self, _: SubGraphRewrite, op: FileOperator) -> bool:
        """Adds the operator in its form, with conversions."""
        form = self._assignment.forms.get((self._graph.index, op.index))
        runs = bindings(op)
        fusion = self._fusions.get(_body(op))
        if form is not None:
            self._compute(op, form)
        elif fusion is not None:
            self._fuse(op, fusion)
        elif runs:
            self._pass(op, [(self._model.subgraphs[b.subgraph], b.operands) for b in runs][-1])
        elif traits_of(op.name).converts:
            self._convert_again(op)
        elif op.name == "ASSIGN_VARIABLE":
            variable = self._assignment.webs.variables.get(
                self._assignment.webs.root((self._graph.index, op.inputs[0]))
            )
            source = op.inputs[1]
            if variable is not None and is_real(self._graph.tensors[source]):
                source = self._operand(source, self._assignment.type_of(variable))
            self._add(op, [op.inputs[0], source], op.outputs)
        elif op.name == "READ_VARIABLE":
            self._add(op, op.inputs, op.outputs)
        else:
            self._compute_in_float(op)
        return True

    def _compute(self, op: FileOperator, form: Form) -> None:
        """An operator in integers: activations in the types that it wants, weights and bias as its own constants."""
        types = operand_types(self._assignment, self._graph, op, form)
        if traits_of(op.name).compares is not None:
            types = comparison_types(types)
        inputs = list(op.inputs)
        for place in real_operands(op, self._graph):
            inputs[place] = self._operand(op.inputs[place], types["input", place])
        weights, bias = weight_operands(op, self._graph), bias_operand(op)
        own = self._constants.get((self._graph.index, op.index))
        if weights is not None:
            values = constant_values(self._graph.tensors[op.inputs[weights.weights]])
            element = ElementType(DType.INT8, weight_quantization(values, weights.axis))
            rounded = None if own is None else own.weights
            inputs[weights.weights] = self._constant(op.inputs[weights.weights], element, rounded)
        if bias is not None:
            element = bias_type(op, self._graph, lambda side, place: types[side, place])
            inputs[bias] = self._bias(op.inputs[bias], element, own.bias_shift if own is not None else None)
        self._add_with_results(op, inputs, {p: types["output", p] for p in real_results(op, self._graph)})

    def _fuse(self, op: FileOperator, fusion: Fusion) -> None:
        """The operator LSTM in place of a loop, and what follows from its last output."""
        layer, rows = fusion.layer, op.inputs[fusion.layer.rows]
        source, hidden = self._web(rows), self._web(op.outputs[layer.hidden])
        cells = len(layer.biases[0])
        sequence = self._shaped(self._operand(rows, source), (layer.steps, layer.batch, layer.weights[0].shape[1]))
        operands = lstm_operands(layer, source, hidden, fusion.cell_limit, fusion.keeps_state)
        inputs = [-1 if tensor is None else self._add_tensor(tensor) for tensor in operands]
        kept = [self._add_tensor(tensor) for tensor in lstm_intermediates(hidden)]
        outputs = self._add_tensor(NewTensor("outputs", (layer.steps, layer.batch, cells), hidden, None), False)
        fused = replace(lstm_operator(), intermediates=tuple(kept))
        self._add(fused, [sequence, *inputs], [outputs])
        read = {t for other in self._graph.operators for t in other.inputs} | set(self._graph.outputs)
        for place in (layer.hidden, *layer.last):
            if op.outputs[place] in read:
                self._become(self._last_row(outputs), op.outputs[place])
        for place in layer.all_rows:
            if op.outputs[place] in read:
                self._become(outputs, op.outputs[place])

    def _last_row(self, outputs: int) -> int:
        """The last row of the outputs."""
        steps, batch, cells = self._tensors[outputs].shape
        begin, size = (
            self._rewrite.constant(name, numbers)
            for name, numbers in (("begin", [steps - 1, 0, 0]), ("size", [1, batch, cells]))
        )
        last = self._add_tensor(NewTensor("last", (1, batch, cells), self._types[outputs], None), False)
        self._rewrite.cut(outputs, begin, size, last)
        return last

    def _become(self, tensor: int, result: int) -> None:
        """The result of the loop from a tensor of as many elements, in its shape and type."""
        if self._types[result] == self._types[tensor]:
            self._rewrite.reshape(tensor, result)
        else:
            self._rewrite.convert(self._shaped(tensor, self._tensors[result].shape), result)

    def _shaped(self, tensor: int, shape: tuple[int, ...]) -> int:
        """The tensor in a shape of as many elements: itself if it has it."""
        if self._tensors[tensor].shape == shape:
            return tensor
        name = f"{self._tensors[tensor].name}_rows"
        result = self._add_tensor(NewTensor(name, shape, self._types[tensor], None), False)
        self._rewrite.reshape(tensor, result)
        return result

    def _add_tensor(self, tensor: NewTensor, is_state: bool = True) -> int:
        element, is_variable = tensor.element, is_state and tensor.is_state
        added = FileTensor.added(0, tensor.name, element.dtype, tensor.shape, tensor.data, element.quantization)
        index = self._rewrite.add_tensor(added, is_variable=is_variable)
        self._types[index] = element
        return index

    def _compute_in_float(self, op: FileOperator) -> None:
        """An operator that stays as it is, between conversions where its webs are in integers."""
        inputs = list(op.inputs)
        for place, tensor in enumerate(op.inputs):
            if tensor in self._types:
                inputs[place] = self._operand(tensor, FLOAT)
        self._add_with_results(op, inputs, dict.fromkeys(real_results(op, self._graph), FLOAT))

    def _pass(self, op: FileOperator, callee: tuple[SubGraph, Sequence[int]]) -> None:
        """An operator that runs subgraphs: its operands get the types of their inputs."""
        graph, operands = callee
        inputs = list(op.inputs)
        offset = len(op.inputs) - len(operands)
        for place, tensor in enumerate(operands):
            formal = graph.tensors[graph.inputs[place]]
            if formal.dtype is DType.FLOAT32:
                element = self._assignment.stored_type((graph.index, formal.index))
                inputs[place + offset] = self._operand(tensor, element)
        self._add(op, inputs, op.outputs)

    def _convert_again(self, op: FileOperator) -> None:
        """A conversion that the file has, between what its operand and its result are now."""
        source, result = op.inputs[0], op.outputs[0]
        self._rewrite.convert(source, result)
        conversions = self._rewrite.operators
        if source not in self._types and self._tensors[result].dtype is DType.FLOAT32:
            conversions[-1] = replace(conversions[-1], version=1)  # of the file's own integers

    def _operand(self, tensor: int, element: ElementType) -> int:
        """The tensor in an element type: itself, or a converted copy."""
        if self._tensors[tensor].data is not None:
            return tensor if element == FLOAT and not self._is_packed(tensor) else self._constant(tensor, element)
        own = self._types[tensor]
        if own == element:
            return tensor
        if (tensor, element) not in self._converted:
            # No kernel makes int32 of float32 at once.
            is_far = own == FLOAT and element.dtype is DType.INT32
            source = self._operand(tensor, self._web(tensor)) if is_far else tensor
            copy = self._new(tensor, element)
            self._rewrite.convert(source, copy)
            self._converted[tensor, element] = copy
        return self._converted[tensor, element]

    def _is_packed(self, tensor: int) -> bool:
        """Whether a constant of real numbers is stored in integers already."""
        return self._tensors[tensor].dtype is not DType.FLOAT32

    def _constant(self, tensor: int, element: ElementType, elements: Array | None = None) -> int:
        """A constant of real numbers in an element type. elements: the same for all operators on this constant."""
        if (tensor, element) not in self._converted:
            values = constant_values(self._graph.tensors[tensor])
            data = element_contents(values, element) if elements is None else contents(elements, element.dtype)
            self._converted[tensor, element] = copy = self._new(tensor, element)
            self._tensors[copy] = replace(self._tensors[copy], data=data)
        return self._converted[tensor, element]

    def _bias(self, tensor: int, element: ElementType, shift: Array | None) -> int:
        """A bias in an element type, with a shift in real numbers; layers that share a bias may have different ones."""
        if shift is None or self._tensors[tensor].data is None:
            return self._constant(tensor, element)
        values = constant_values(self._graph.tensors[tensor])
        copy = self._new(tensor, element)
        self._tensors[copy] = replace(self._tensors[copy], data=element_contents(values.reshape(-1) + shift, element))
        return copy

    def _new(self, tensor: int, element: ElementType) -> int:
        """A tensor like another, in an element type."""
        copy = with_element(self._graph.tensors[tensor], element)
        name = f"{copy.name}_{element.dtype.label}"
        index = self._rewrite.add_tensor(copy, name=name, data=None, buffer=0, blocks=None, is_variable=False)
        self._types[index] = element
        return index

    def _add_with_results(self, op: FileOperator, inputs: Sequence[int], types: Mapping[int, ElementType]) -> None:
        """Adds an operator whose results have these types by place, and after it what converts them to their webs'."""
        outputs = list(op.outputs)
        conversions = []
        for place, element in types.items():
            tensor = op.outputs[place]
            if self._types[tensor] != element:
                outputs[place] = self._new(tensor, element)
                self._converted[tensor, element] = outputs[place]
                conversions.append((outputs[place], tensor))
        self._add(op, inputs, outputs)
        for conversion in conversions:
            self._rewrite.convert(*conversion)

    def _add(self, op: FileOperator, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Adds an operator with these tensors; where they are as before, in its own version."""
        versioned = self._rewrite.versioned(op, inputs=tuple(inputs), outputs=tuple(outputs))
        is_same = (versioned.inputs, versioned.outputs) == (op.inputs, op.outputs) and self._types.keys().isdisjoint(
            inputs
        )
        self._rewrite.operators.append(replace(versioned, version=op.version) if is_same else versioned)

    def _output(self, place: int, tensor: int) -> int:
        """Tensor for an output: in the type that callers expect, under the name that the file has."""
        original = self._graph.tensors[tensor]
        if original.dtype is not DType.FLOAT32 or not is_real(original):
            return tensor
        if self._graph.index in self._assignment.webs.called:
            element = self._assignment.type_of(result_key(self._graph.index, place))
        else:
            element = FLOAT if self._is_float_entry or original.data is not None else self._web(tensor)
        result = self._operand(tensor, element)
        if result != tensor and self._is_float_entry:
            inner = self._tensors[tensor]
            self._tensors[result] = replace(self._tensors[result], name=original.name)
            self._tensors[tensor] = replace(inner, name=f"{original.name}_{self._types[tensor].dtype.label}")
        return result
