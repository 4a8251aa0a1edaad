"""A float Model as one that trains: infer(x...), train(x..., y) -> loss and evaluate(x..., y) -> loss, correct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.model_graph import without_captured
from tflmgen.frontend.tflite import FileSignature, Model
from tflmgen.gradients.adapters import add_adapters
from tflmgen.gradients.branch_gradients import branch_gradients
from tflmgen.gradients.float_layers import LayerChoice, with_float_layers
from tflmgen.gradients.flow_graph import FlowGraph, give_own_graphs, graphs_of, model_of, run_early, without_dead_nodes
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.gradients.kept_values import KeptValues, work_of
from tflmgen.gradients.loop_gradients import loop_rule
from tflmgen.gradients.losses import OUTPUT_COUNTS, LossTensors, add_loss
from tflmgen.gradients.open_batch import with_batch
from tflmgen.gradients.recomputed_segments import SegmentPlan, kept_bytes, plan_segments
from tflmgen.gradients.shared_parameters import share_parameters
from tflmgen.gradients.state import TrainingVariable, VariableAccess, initialise_once, initialiser
from tflmgen.gradients.tape import KEEP_ALL, ControlRule, Derivation, Tape
from tflmgen.gradients.update_step import StepOptions, UpdateStep
from tflmgen.gradients.weight_choice import Weight, WeightChoice, choose, find_weights, lift_weights
from tflmgen.ir import DType
from tflmgen.options import Loss
from tflmgen.quantize import with_row_operators

REQUIRE = "CUSTOM:TflmgenRequire"
"""Operator that ends an invoke with an error where a condition does not hold, and else gives its second operand."""

_GREATEST = float(np.finfo(np.float32).max)
"""The greatest finite float32."""

_GREATEST_GRADIENT = 1e30
"""Magnitude from which on gradients count as infinite: TFLite's arithmetic makes infinities the greatest number, and
slopes of other operators may make that less again."""

EFFECTS = frozenset({"ASSIGN_VARIABLE", "CALL_ONCE"})
"""Operators without results that count."""


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """Options of a training model: what is trained, and how.

    loss            of the output `output` (the first by default); None: the output `loss_output` is the loss
    batch           samples of a step, where the inputs' first dimension is open; None: as many as the file stores, 1
    max_iterations  bound of loops whose condition gives none
    portable        without the operator that refuses bad labels and losses, which other runtimes lack
    check_gradients with the same operator for gradients that are not finite
    adapter         rank of adapters beside the matrices of layers; None: none
    kept_limit      bytes of values outside of loops that are kept at a time for gradients; more are computed again
    loop_limit      bytes up to which a loop keeps all that its gradient reads; above, it keeps checkpoints
    """

    loss: Loss | None
    step: StepOptions
    weights: WeightChoice = field(default_factory=WeightChoice)
    output: str | None = None
    loss_output: str | None = None
    signature: str | None = None
    batch: int | None = None
    max_iterations: int | None = None
    portable: bool = False
    check_gradients: bool = False
    adapter: int | None = None
    kept_limit: int = KEEP_ALL
    loop_limit: int = KEEP_ALL


@dataclass(frozen=True, slots=True)
class TrainingModel:
    """The Model, all weights that could train, bytes of state beside the weights, and what a step keeps of values."""

    model: Model
    weights: tuple[Weight, ...]
    optimizer_bytes: int
    kept: KeptValues = field(default_factory=KeptValues)

    @property
    def elements(self) -> int:
        """Elements of all weights."""
        return sum(weight.elements for weight in self.weights)

    @property
    def trained_elements(self) -> int:
        """Elements of the weights that train."""
        return sum(weight.elements for weight in self.weights if weight.trains)


@dataclass(frozen=True, slots=True)
class _Ports:
    """Names of inputs and outputs of the source, and which output the loss is of: of pairs, which two."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    places: tuple[int, ...]


def derive_training_model(model: Model, options: TrainingOptions) -> TrainingModel:
    """Derives a Model that trains. Raises ModelError with the operator that stands in the way."""
    signature = _signature(model, options.signature)
    _check_variables(model)
    if options.batch is not None:
        model = with_batch(model, signature, options.batch)
    ports = _ports(model, signature, options)
    # Converters hand branches and loops their weights from outside, and leave lengths of lists open.
    base = graphs_of(with_row_operators(without_captured(model)))[signature.subgraph]
    base.inputs, base.outputs = [t for _, t in signature.inputs], [t for _, t in signature.outputs]
    with_float_layers(base, LayerChoice(options.weights.trainable, options.weights.last), model.name)
    _check_outputs(model, base, ports, options)
    if options.adapter is not None:
        add_adapters(base, options.adapter, model.name)
    share_parameters(base)
    sites = find_weights(base, model.tells_parameters)
    choose(sites.weights, options.weights, model.name)
    trained = lift_weights(base, sites)
    variables = [TrainingVariable(weight.name, weight.tensor) for weight in trained]
    plain = len(signature.inputs)
    loss_graph = FlowGraph("loss", list(base.tensors), list(base.nodes), list(base.inputs), [], base.index)
    target = _unused("y", ports.inputs)
    loss = _with_loss(loss_graph, [base.outputs[place] for place in ports.places], plain, options, target, model)
    update = UpdateStep(options.step, variables)
    first = initialiser([*variables, *update.variables])
    infer = _of_variables("infer", base, base.outputs, plain, variables, first)
    evaluate = _evaluation(loss_graph, loss, plain, variables, first, options)
    train, kept = _training(loss_graph, loss, plain, update, first, options, model.name)
    inputs = ports.inputs if loss.target is None else (*ports.inputs, target)
    correct = () if loss.correct is None else ("correct",)
    entries = {
        "infer": (infer, ports.inputs, ports.outputs),
        "train": (train, (*inputs, *update.input_names), ("loss",)),
        "evaluate": (evaluate, inputs, ("loss", *correct)),
    }
    for graph, _, _ in entries.values():
        without_dead_nodes(graph, EFFECTS)
        give_own_graphs(graph)
    return TrainingModel(model_of(entries, model.name, model.description), sites.weights, update.state_bytes, kept)


def _check_variables(model: Model) -> None:
    """Refuses a file that was converted without the contents of its variables, which are its weights."""
    handles = {
        (graph.index, op.outputs[0]): (op.options or {}).get("shared_name", "")
        for graph in model.subgraphs
        for op in graph.operators
        if op.name == "VAR_HANDLE"
    }
    accesses = [
        (op.name, handles.get((graph.index, op.inputs[0])))
        for graph in model.subgraphs
        for op in graph.operators
        if op.name in ("READ_VARIABLE", "ASSIGN_VARIABLE")
    ]
    assigned = {variable for name, variable in accesses if name == "ASSIGN_VARIABLE"}
    for _, variable in accesses:
        if variable not in assigned:
            rule = f"it reads variable '{variable}', which nothing initialises or assigns"
            raise _refused(model, rule, "Freeze the variables, or convert a SavedModel")


def _signature(model: Model, key: str | None) -> FileSignature:
    """The signature to train, or the model's inputs and outputs by their tensors' names."""
    chosen = [s for s in model.signatures if key is None or s.key == key]
    if len(chosen) == 1:
        return chosen[0]
    if key is not None or len(chosen) > 1:
        keys = ", ".join(s.key for s in model.signatures)
        rule = f"there is no signature '{key}'" if key is not None else "training requires one of its signatures"
        raise ModelError([Problem(Location(model.name), rule, f"Choose one: --signature, of {keys}" if keys else "")])
    graph = model.subgraphs[0]
    names = [
        tuple((graph.tensors[t].name or f"tensor_{t}", t) for t in ports) for ports in (graph.inputs, graph.outputs)
    ]
    return FileSignature("infer", 0, *names)


def _ports(model: Model, signature: FileSignature, options: TrainingOptions) -> _Ports:
    inputs, outputs = (tuple(name for name, _ in ports) for ports in (signature.inputs, signature.outputs))
    wanted = options.loss_output if options.loss is None else options.output
    counts = (1,) if options.loss is None else OUTPUT_COUNTS.get(options.loss, (1,))
    names = outputs if wanted is None else tuple(wanted.split(",", max(counts) - 1))
    for name in names:
        if name not in outputs:
            raise _refused(model, f"there is no output '{name}'", f"Outputs: {', '.join(outputs)}")
    if len(names) not in counts:
        number = " or ".join("one output" if count == 1 else "two outputs" for count in counts)
        raise _refused(model, f"the loss is of {number}", f"Choose: --target-output, of {', '.join(outputs)}")
    places = tuple(map(outputs.index, names))
    return _Ports(inputs, outputs, places)


_OF_INTEGERS = "Layers that are named to train become float: --last N, or --trainable NAME"


def _check_outputs(model: Model, base: FlowGraph, ports: _Ports, options: TrainingOptions) -> None:
    """Refuses outputs that no loss can be computed of."""
    names = [ports.outputs[place] for place in ports.places]
    tensors = [base.tensors[base.outputs[place]] for place in ports.places]
    for name, tensor in zip(names, tensors, strict=True):
        if tensor.dtype is not DType.FLOAT32:
            raise _refused(model, f"a loss requires a float32 output; '{name}' is {tensor.type_name}", _OF_INTEGERS)
        if options.loss is None and int(np.prod(tensor.shape)) != 1:
            raise _refused(model, f"a loss has one element; '{name}' has shape {list(tensor.shape)}", "")
    if tensors[0].shape != tensors[-1].shape:
        raise _refused(
            model,
            f"a loss of two outputs requires one shape; they have {list(tensors[0].shape)} and "
            f"{list(tensors[-1].shape)}",
            "",
        )


def _refused(model: Model, rule: str, advice: str) -> ModelError:
    return ModelError([Problem(Location(model.name), rule, advice)])


def _unused(name: str, names: Sequence[str]) -> str:
    while name in names:
        name += "_"
    return name


def _with_loss(
    graph: FlowGraph, outputs: Sequence[int], plain: int, options: TrainingOptions, target: str, model: Model
) -> LossTensors:
    """Adds the loss and the target, an input behind the model's own."""
    if options.loss is None:
        return LossTensors(None, Arithmetic(graph).reshape(outputs[0], ()), None, None)
    weights = graph.inputs[plain:]
    graph.inputs = graph.inputs[:plain]
    if not graph.shape(outputs[0]):
        raise _refused(model, "this loss requires an output of at least one dimension", "Choose another output")
    loss = add_loss(graph, outputs, options.loss, target)
    graph.inputs += weights
    return loss


def _enter(
    name: str, source: FlowGraph, plain: int, variables: Sequence[TrainingVariable], first: FlowGraph
) -> tuple[FlowGraph, list[int], VariableAccess]:
    """A graph with the source's plain inputs, whose further inputs are read from variables."""
    graph = FlowGraph(name)
    initialise_once(graph, first)
    graph.inputs = [graph.copy_tensor(source.tensors[tensor]) for tensor in source.inputs[:plain]]
    state = VariableAccess(graph)
    return graph, [*graph.inputs, *(state.read(variable) for variable in variables)], state


def _of_variables(
    name: str,
    source: FlowGraph,
    outputs: Sequence[int],
    plain: int,
    variables: Sequence[TrainingVariable],
    first: FlowGraph,
) -> FlowGraph:
    graph, inputs, _ = _enter(name, source, plain, variables, first)
    tape = Tape(Derivation("", {}, False), source, graph, graph, inputs, [False] * len(inputs))
    graph.outputs = [tape.value(tensor) for tensor in outputs]
    return graph


def _evaluation(
    source: FlowGraph,
    loss: LossTensors,
    plain: int,
    variables: Sequence[TrainingVariable],
    first: FlowGraph,
    options: TrainingOptions,
) -> FlowGraph:
    tensors = [t for t in (loss.loss, loss.correct, loss.valid) if t is not None]
    plain += loss.target is not None
    graph = _of_variables("evaluate", source, tensors, plain, variables, first)
    if loss.valid is not None:
        *graph.outputs, valid = graph.outputs
        if not options.portable:
            graph.outputs[0] = graph.compute(REQUIRE, [valid, graph.outputs[0]], ())
    return graph


def _training(
    source: FlowGraph,
    loss: LossTensors,
    plain: int,
    update: UpdateStep,
    first: FlowGraph,
    options: TrainingOptions,
    model: str,
) -> tuple[FlowGraph, KeptValues]:
    """Forward pass, the check of the loss, backward pass, updates; and what of the first is kept."""
    plain += loss.target is not None
    graph, inputs, state = _enter("train", source, plain, update.weights, first)
    rate = update.add_inputs(graph)
    active = [False] * plain + [True] * len(update.weights)
    derivation = Derivation(model, _control_rules(options), update.needs_presence, options.loop_limit)
    plan = _segments(derivation, source, loss, active, options)
    tape = Tape(derivation, source, graph, graph, inputs, active, plan)
    value = tape.value(loss.loss)
    seed = _seed(tape, value, loss, options)
    weights = inputs[plain:]
    gradients = tape.gradients({loss.loss: seed}, source.inputs[plain:])
    present = tape.present
    if options.check_gradients:
        checked = _finite(graph, [gradient for gradient in gradients if gradient is not None])
        present = {checked[gradient]: flag for gradient, flag in present.items() if gradient in checked}
        gradients = [None if gradient is None else checked[gradient] for gradient in gradients]
    end = len(graph.nodes)
    update.add(state, weights, gradients, present, seed, rate)
    # TensorFlow Lite's runtime was seen to compute other weights where an assignment comes before a loop or branch.
    if not options.portable:
        run_early(graph, end, frozenset(weights))
    graph.outputs = [value]
    account = derivation.account
    account.bytes = kept_bytes(source, tape.asked)
    account.forward += sum(work_of(source, node) for node in source.nodes)
    return graph, account


def _seed(tape: Tape, value: int, loss: LossTensors, options: TrainingOptions) -> int:
    """The gradient of the loss by itself, 1, which a step has only if its labels exist and its loss is finite."""
    graph, a = tape.forward, tape.arithmetic
    if options.portable:
        return a.number(1)
    is_good = a.compare("LESS_EQUAL", a.absolute(value), a.number(_GREATEST))
    if loss.valid is not None:
        is_good = graph.compute("LOGICAL_AND", [is_good, tape.value(loss.valid)], (), DType.BOOL)
    return graph.compute(REQUIRE, [is_good, a.number(1)], ())


def _control_rules(options: TrainingOptions) -> Mapping[str, ControlRule]:
    calls = dict.fromkeys(("IF", "CALL", "STABLEHLO_COMPOSITE"), branch_gradients)
    return calls | dict.fromkeys(("WHILE", "STABLEHLO_WHILE"), loop_rule(options.max_iterations))


def _segments(
    derivation: Derivation, source: FlowGraph, loss: LossTensors, active: Sequence[bool], options: TrainingOptions
) -> SegmentPlan | None:
    """Segments that are computed again, by what the gradients of one derivation for trial ask for."""
    if options.portable or options.kept_limit >= KEEP_ALL:
        return None
    trial = FlowGraph("trial")
    inputs = [trial.copy_tensor(source.tensors[tensor]) for tensor in source.inputs]
    tape = Tape(replace(derivation, account=KeptValues()), source, trial, trial, inputs, active)
    tape.gradients({loss.loss: Arithmetic(trial).number(1)}, source.inputs)
    return plan_segments(source, tape.asked, options.kept_limit)


def _finite(graph: FlowGraph, gradients: Sequence[int]) -> dict[int, int]:
    """By gradient its elements, which nothing reads unless the magnitudes of each add up to a finite number."""
    a = Arithmetic(graph)
    sums = [a.total(a.absolute(gradient)) for gradient in dict.fromkeys(gradients)]
    good = [a.compare("LESS_EQUAL", total, a.number(_GREATEST_GRADIENT)) for total in sums]
    while len(good) > 1:
        good[:2] = [graph.compute("LOGICAL_AND", good[:2], (), DType.BOOL)]
    permission = graph.compute(REQUIRE, [good[0], a.number(1)], ())
    return {gradient: a.multiply(gradient, permission) for gradient in gradients}
