"""Gradients of operators that choose or call a graph: IF becomes another IF on the same predicate, CALL another CALL.

The forward graphs give what their backward graphs read as further results. Branches share these: of results of one
type and shape each branch uses the same places, and what a branch gives at the rest is not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.flow_graph import FlowGraph, FlowNode
from tflmgen.gradients.rule import Gradients
from tflmgen.gradients.tape import Tape
from tflmgen.ir import DType

Kind = tuple[DType, tuple[int, ...]]


@dataclass(eq=False)
class BranchGradient:
    """One graph of a node and the graph of its gradients, whose inputs are `seeds` and then what is kept.

    seeds     inputs of the backward graph: gradients, and behind them whether there are those that may be missing
    by_input  by input of the graph: its gradient, None for 0
    """

    forward: FlowGraph
    backward: FlowGraph
    tape: Tape
    seeds: list[int]
    by_input: list[int | None]

    def presence(self, place: int) -> int:
        """Whether a step has the gradient by an input, of bool."""
        gradient = self.by_input[place]
        if gradient is None or gradient not in self.tape.present:
            return self.backward.constant(gradient is not None, DType.BOOL)
        return self.tape.present[gradient]

    def may_lack(self, place: int) -> bool:
        """Whether there are steps without the gradient by an input."""
        gradient = self.by_input[place]
        return gradient is None or gradient in self.tape.present

    def gradient(self, place: int) -> int:
        """The gradient by an input, zeros where there is none."""
        gradient = self.by_input[place]
        shape = self.forward.shape(self.forward.inputs[place])
        return self.tape.arithmetic.zeros(shape) if gradient is None else gradient


def derive(
    tape: Tape, graph: FlowGraph, active: Sequence[bool], results: Sequence[int], lacking: Sequence[int]
) -> BranchGradient:
    """The two passes of a graph.

    active   by input, whether it depends on weights
    results  places of outputs that have gradients
    lacking  those of them that a step may lack
    """
    forward, backward = FlowGraph(graph.name), FlowGraph(f"{graph.name}_gradient")
    forward.inputs = [forward.copy_tensor(graph.tensors[tensor]) for tensor in graph.inputs]
    inner = Tape(tape.derivation, graph, forward, backward, forward.inputs, active)
    seeds = {place: backward.input(f"gradient_{place}", graph.shape(graph.outputs[place])) for place in results}
    flags = {place: backward.input(f"has_gradient_{place}", (), DType.BOOL) for place in lacking}
    inner.present = {seeds[place]: flag for place, flag in flags.items()}
    sums: dict[int, int] = {}
    for place, seed in seeds.items():
        output = graph.outputs[place]
        if output in inner.active:
            sums[output] = inner.joined([sums[output], seed]) if output in sums else seed
    by_input = inner.gradients(sums, graph.inputs)
    forward.outputs = [inner.value(tensor) for tensor in graph.outputs]
    return BranchGradient(forward, backward, inner, [*seeds.values(), *flags.values()], by_input)


def branch_gradients(tape: Tape, node: FlowNode, copy: FlowNode, gradients: Sequence[int | None]) -> Gradients:
    """Derives an IF or a CALL: gradients by operand."""
    first = len(node.inputs) - len(node.graphs[0].inputs)
    operands = node.inputs[first:]
    known = {place: gradient for place, gradient in enumerate(gradients) if gradient is not None}
    flags = {place: tape.present[gradient] for place, gradient in known.items() if gradient in tape.present}
    active = [tensor in tape.active for tensor in operands]
    branches = [derive(tape, graph, active, list(known), list(flags)) for graph in node.graphs]
    wanted = [place for place in range(len(operands)) if any(b.by_input[place] is not None for b in branches)]
    if not wanted:
        return []
    lacking = [k for k in wanted if any(b.may_lack(k) for b in branches)] if tape.derivation.presence else []
    for branch in branches:
        branch.backward.outputs = [*map(branch.gradient, wanted), *map(branch.presence, lacking)]
    kept = _kept_results(tape, copy, branches, first)
    copy.graphs = [branch.forward for branch in branches]
    predicate = [tape.keep_forward(tensor) for tensor in copy.inputs[:first]]
    inputs = [*predicate, *known.values(), *flags.values(), *kept]
    results = [gradient_type(tape.source.tensors[operands[place]]) for place in wanted]
    results += [FileTensor.added(0, "has_gradient", DType.BOOL, ()) for _ in lacking]
    options = dict(zip(node.graph_options, (branch.backward for branch in branches), strict=True))
    derived = tape.backward.run(node.name, inputs, results, **options)
    places = [[first + place for place in chosen] for chosen in (wanted, lacking)]
    return _by_operand(tape, derived, len(node.inputs), *places)


def _by_operand(tape: Tape, derived: FlowNode, count: int, wanted: Sequence[int], lacking: Sequence[int]) -> Gradients:
    """Results of the derived operator as gradients by operand, with whether there are those that a step may lack."""
    by_operand: list[int | None] = [None] * count
    for place, gradient in zip(wanted, derived.outputs, strict=False):
        by_operand[place] = gradient
    for place, flag in zip(lacking, derived.outputs[len(wanted) :], strict=True):
        tape.present[derived.outputs[wanted.index(place)]] = flag
    return by_operand


def gradient_type(tensor: FileTensor) -> FileTensor:
    """The type of the gradient by a tensor."""
    return FileTensor.added(0, f"{tensor.name}_gradient", DType.FLOAT32, tensor.shape)


def _kept_results(tape: Tape, copy: FlowNode, branches: Sequence[BranchGradient], first: int) -> list[int]:
    """Adds what backward graphs read to the node's results and as their inputs, and gives it in the backward pass.

    An operand and a result that the node has anyway are read as they are. Each other place is of one kind; a branch
    that has nothing there gives anything.
    """
    shared: dict[int, dict[int, int]] = {}
    places: dict[tuple[Kind, int], dict[int, tuple[int, int]]] = {}
    for number, branch in enumerate(branches):
        counts: dict[Kind, int] = {}
        passed = dict(zip(branch.forward.outputs, copy.outputs, strict=True))
        passed |= dict(zip(branch.forward.inputs, copy.inputs[first:], strict=True))
        for own, kept in branch.tape.inputs_to_keep():
            if own in passed:
                shared.setdefault(passed[own], {})[number] = kept
                continue
            kind = branch.forward.dtype(own), branch.forward.shape(own)
            counts[kind] = counts.get(kind, 0) + 1
            places.setdefault((kind, counts[kind]), {})[number] = own, kept
    for number, branch in enumerate(branches):
        _connect(tape.forward, branch, number, shared, places)
    added = [tape.forward.copy_tensor(_of_kind(kind)) for kind, _ in places]
    copy.outputs += added
    return [tape.keep_forward(tensor) for tensor in (*shared, *added)]


def _connect(
    outer: FlowGraph,
    branch: BranchGradient,
    number: int,
    shared: Mapping[int, Mapping[int, int]],
    places: Mapping[tuple[Kind, int], Mapping[int, tuple[int, int]]],
) -> None:
    """Gives a branch's two graphs the results and inputs that all branches have."""
    forward, backward, inputs = branch.forward, branch.backward, list(branch.seeds)
    for tensor, owners in shared.items():
        kind = outer.dtype(tensor), outer.shape(tensor)
        inputs.append(owners[number] if number in owners else backward.copy_tensor(_of_kind(kind)))
    for (kind, _), values in places.items():
        if number in values:
            result, kept = values[number]
        else:
            result, kept = _unread(forward, kind), backward.copy_tensor(_of_kind(kind))
        forward.outputs.append(result)
        inputs.append(kept)
    backward.inputs = inputs


def _of_kind(kind: Kind) -> FileTensor:
    return FileTensor.added(0, "kept", *kind)


def _unread(graph: FlowGraph, kind: Kind) -> int:
    """Value that a branch gives where only the other one keeps something: an input of that kind, or else zeros."""
    dtype, shape = kind
    for tensor in graph.inputs:
        if (graph.tensors[tensor].dtype, graph.shape(tensor)) == kind and tensor not in graph.outputs:
            return tensor
    zero = graph.constant(0, dtype)
    sizes = graph.constant(list(shape), DType.INT32)
    return graph.compute("FILL", [sizes, zero], shape, dtype) if shape else zero
