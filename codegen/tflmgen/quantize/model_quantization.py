"""Quantises a Model whose values have been measured: types, rewrite, and the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tflmgen.errors import Location, ModelError, Problem, TflmgenError
from tflmgen.frontend import LstmLoop, TensorKey, find_lstm_loops, without_operators
from tflmgen.frontend.model_graph import OperatorKey, bindings, is_loop, rewrite_model, with_own_buffers
from tflmgen.frontend.tflite import Model, parse_model, read_model, without_unused, write_model
from tflmgen.ir import DType
from tflmgen.kernels import traits_of
from tflmgen.quantize.carried_inputs import carry_inputs
from tflmgen.quantize.float_simplification import simplify
from tflmgen.quantize.fused_lstm import MAX_CELL
from tflmgen.quantize.integer_forms import KnownForms
from tflmgen.quantize.integer_rewrite import Fusion, rewrite
from tflmgen.quantize.integer_rules import choice_by_products, without_idle_clip
from tflmgen.quantize.list_rows import with_row_operators
from tflmgen.quantize.move_only_webs import without_move_only_webs
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.web_types import Assignment, RangeChoice, TypeSolver, whole_range
from tflmgen.quantize.weight_rounding import LayerConstants


@dataclass(frozen=True, slots=True)
class QuantizationChoice:
    """Settings of a quantisation.

    activations   int8 or int16, of all webs that `wanted` says nothing of
    wanted        other element types by web root: int8, int16, or float32 to keep a web in float
    float_io      inputs and outputs stay float32, with conversions at the very beginning and end
    choose_range  range of each group of tensors
    fuses_lstm    loops that are LSTM layers become UNIDIRECTIONAL_SEQUENCE_LSTM; stateful ones always do
    keeps_state   their state persists between invokes, as TensorFlow Lite has it; else it is a constant, with which
                  each invoke starts and which only tflmgen takes
    constants     weights and shifts of biases by operator, where they are not the nearest ones
    requantised   part of a group's range below which an operand with other readers has a scale of its own, and a
                  QUANTIZE in front of the operator that demands the group's; 0: none has
    exact         operators that stay in float32, and why (`exact_ends`)
    margins       factors of the ranges of some tensors' groups (`range_margins`)
    state_margins of states that the caller keeps, where `margins` has none
    known         forms of operators, which choices that were made of this one share
    """

    activations: DType = DType.INT8
    wanted: Mapping[TensorKey, DType] = field(default_factory=dict)
    float_io: bool = True
    choose_range: RangeChoice = whole_range
    fuses_lstm: bool = False
    keeps_state: bool = True
    constants: Mapping[OperatorKey, LayerConstants] = field(default_factory=dict)
    requantised: float = 0.0
    exact: Mapping[OperatorKey, str] = field(default_factory=dict)
    margins: Mapping[TensorKey, float] = field(default_factory=dict)
    state_margins: Mapping[TensorKey, float] = field(default_factory=dict)
    known: KnownForms = field(default_factory=KnownForms, compare=False)


@dataclass(frozen=True, slots=True)
class QuantizedModel:
    """A quantised Model and its file.

    source       the float Model, simplified, whose tensors `assignment` speaks of
    conversions  QUANTIZE and DEQUANTIZE in the subgraphs of branches, loops and calls, where they run anew each time
    fused        loops that became one operator, by the subgraph of their body
    unfused      why loops that are LSTM layers did not
    stateful     those of `fused` whose state persisted in the source, too
    """

    source: Model
    model: Model
    data: bytes
    assignment: Assignment
    conversions: Mapping[str, int]
    fused: tuple[int, ...] = ()
    unfused: Mapping[int, str] = field(default_factory=dict)
    stateful: tuple[int, ...] = ()


def prepare_float(model: Model, fuses_lstm: bool = False, keeps_state: bool = True) -> Model:
    """The Model to calibrate and to quantise; `fuses_lstm` and `keeps_state` as in QuantizationChoice.

    Raises ModelError for one that has no float operators.
    """
    simplified = simplify(model, fuses_lstm, keeps_state)
    computes = any(
        index >= 0 and graph.tensors[index].dtype is DType.FLOAT32 and graph.tensors[index].data is None
        for graph in simplified.subgraphs
        for op in graph.operators
        if not traits_of(op.name).converts
        for index in (*op.inputs, *op.outputs)
    )
    if not computes:
        rule = "it has no operators on float32 values, so that there is nothing to quantise"
        raise ModelError([Problem(Location(model.name), rule, "Give the float model from before quantisation")])
    return simplified


QUANTIZED = "quantised by tflmgen"
"""Description of the files that are written."""


def quantize_model(source: Model, calibration: Calibration, choice: QuantizationChoice) -> QuantizedModel:
    """The quantised Model of one that `prepare_float` made."""
    settings = choice.activations, choice.wanted, choice.choose_range, choice.requantised, choice.exact
    margins = {**choice.state_margins, **choice.margins}
    assignment = TypeSolver(source, calibration, *settings, margins, choice.known).solve()
    if choice.float_io:
        assignment = carry_inputs(source, without_move_only_webs(source, assignment))
    outcomes = _fusions(source, assignment, calibration, choice)
    fusions = {body: fusion for body, fusion in outcomes.items() if isinstance(fusion, Fusion)}
    unfused = {body: reason for body, reason in outcomes.items() if isinstance(reason, str)}
    replaced = frozenset[OperatorKey]().union(*(fusion.layer.replaced for fusion in fusions.values()))
    rewritten = rewrite(without_operators(source, replaced), assignment, choice.float_io, fusions, choice.constants)
    with_rows = with_row_operators(rewrite_model(rewritten.model, without_idle_clip))
    final = without_unused(rewrite_model(with_rows, choice_by_products))
    data = write_model(replace(with_own_buffers(final), description=QUANTIZED))
    inside = Counter(name for graph, name in rewritten.conversions if graph in assignment.webs.called)
    parsed = parse_model(data, source.name)
    stateful = tuple(body for body, fusion in fusions.items() if fusion.layer.is_stateful)
    return QuantizedModel(source, parsed, data, assignment, dict(inside), tuple(fusions), unfused, stateful)


def _fusions(
    source: Model, assignment: Assignment, calibration: Calibration, choice: QuantizationChoice
) -> dict[int, Fusion | str]:
    """Loops that are LSTM layers, by the subgraph of their body; a sentence where the int8 kernel is not for one."""
    fusions: dict[int, Fusion | str] = {}
    layers = find_lstm_loops(source, choice.keeps_state)
    for graph in source.subgraphs:
        for loop in filter(is_loop, graph.operators):
            body = bindings(loop)[1].subgraph
            layer = layers.get(body)
            if not isinstance(layer, LstmLoop) or not (choice.fuses_lstm or layer.is_stateful):
                continue
            if layer.takes_sums and not layer.is_stateful:
                fusions[body] = "its input's products with weights are computed before it"
                continue
            ends = [assignment.type_of((graph.index, t)) for t in (loop.inputs[layer.rows], loop.outputs[layer.hidden])]
            cells = assignment.webs.root((graph.index, loop.outputs[layer.cell]))
            reached = [s for key, s in calibration.tensors.items() if assignment.webs.root(key) == cells]
            limit = max((max(abs(s.minimum), abs(s.maximum)) for s in reached), default=0.0)
            if not all(element.dtype is DType.INT8 for element in ends):
                fusions[body] = "its sequence and its state are not both in int8"
            elif limit > MAX_CELL:
                fusions[body] = f"its cells reach {limit:.1f}, and the kernel's tables end at {MAX_CELL:g}"
            else:
                fusions[body] = Fusion(layer, limit, choice.keeps_state or layer.is_stateful)
    return fusions


def is_quantized_file(path: Path) -> bool:
    """Whether a file is one that quantising has written."""
    try:
        return read_model(path).description == QUANTIZED
    except TflmgenError:
        return False
