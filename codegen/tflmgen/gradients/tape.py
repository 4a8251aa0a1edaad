"""Reverse-mode differentiation of one graph: its operators once forward, and their rules in reverse order.

Forward and backward pass may be one graph, or two: of a branch or a loop's body, whose backward pass runs later. What
the backward pass reads of the forward one is asked for by tensor (`Tape.keep`), so that nothing else is kept.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tflmgen.errors import ModelError, Problem
from tflmgen.gradients.activity import active_tensors
from tflmgen.gradients.flow_graph import ABSENT, FlowGraph, FlowNode, location_of
from tflmgen.gradients.gradient_rules import RULES, WITHOUT_RULE
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.gradients.kept_values import KeptValues, work_of
from tflmgen.gradients.recomputed_segments import AFTER, RecomputedValues, SegmentPlan
from tflmgen.gradients.rule import Gradients, NoGradientError, RuleContext
from tflmgen.ir import DType

KEEP_ALL = 1 << 62
"""Limit of kept bytes that nothing exceeds."""

ControlRule = Callable[["Tape", FlowNode, FlowNode, Sequence[int | None]], Gradients]
"""Rule for a node that runs graphs: tape, node of the source, its copy in the forward pass, gradients by result."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """Settings of a derivation: what all tapes of a model share.

    model     its name, for messages
    control   rules of nodes that run graphs
    presence  whether to tell gradients that are 0 from those that a step does not have, of a branch that is not taken
    loop_limit  bytes up to which a loop keeps all that its gradient reads; above, it keeps checkpoints
    account   of what is kept, and computed again
    """

    model: str
    control: Mapping[str, ControlRule]
    presence: bool
    loop_limit: int = KEEP_ALL
    account: KeptValues = field(default_factory=KeptValues)


class Tape:
    """One graph's forward pass, and its gradients.

    source    the graph; it is not changed
    forward   gets its operators
    backward  gets the gradients; may be `forward`
    values    tensor of the source -> of `forward`
    active    tensors of the source that depend on weights
    kept      tensors of `forward` that the backward pass reads -> inputs of `backward`, where that is another graph
    present   gradient -> whether this step has it, of bool; those without an entry are always there
    asked     tensors of the source that rules of gradients have asked for
    plan      of segments that are computed again, where both passes are one graph
    """

    def __init__(
        self,
        derivation: Derivation,
        source: FlowGraph,
        forward: FlowGraph,
        backward: FlowGraph,
        inputs: Sequence[int],
        active: Sequence[bool],
        plan: SegmentPlan | None = None,
    ) -> None:
        self.derivation, self.source, self.forward, self.backward = derivation, source, forward, backward
        self.active = active_tensors(source, active)
        self.arithmetic = Arithmetic(backward)
        self.kept: dict[int, int] = {}
        self.present: dict[int, int] = {}
        self.asked: set[int] = set()
        self.values = dict(zip(source.inputs, inputs, strict=True))
        self._copies = [self._copy(node) for node in source.nodes]
        self._again: RecomputedValues | None = None
        if plan is not None:
            weights = {tensor for tensor, is_active in zip(source.inputs, active, strict=True) if is_active}
            self._again = RecomputedValues(plan, source, self.value, self._copy_again, self._behind, weights)

    def value(self, tensor: int) -> int:
        """A tensor of the source in the forward pass."""
        if tensor < 0:
            return tensor
        if tensor not in self.values:
            self.values[tensor] = self.forward.copy_tensor(self.source.tensors[tensor])
        return self.values[tensor]

    def _copy(self, node: FlowNode) -> FlowNode:
        inputs, outputs = [self.value(t) for t in node.inputs], [self.value(t) for t in node.outputs]
        return self._copied(node, inputs, outputs)

    def _copied(self, node: FlowNode, inputs: Sequence[int], outputs: Sequence[int]) -> FlowNode:
        copy = self.forward.add_node(node.name, inputs, outputs, node.options)
        copy.graphs, copy.graph_options, copy.source = list(node.graphs), node.graph_options, node.source
        return copy

    def _copy_again(self, node: FlowNode, inputs: Sequence[int]) -> FlowNode:
        """A node of the source once more, with other operands and results."""
        outputs = [self.forward.copy_tensor(self.source.tensors[tensor]) for tensor in node.outputs]
        self.derivation.account.again += work_of(self.source, node)
        return self._copied(node, inputs, outputs)

    def _behind(self, value: int, token: int) -> int:
        return self.forward.compute(AFTER, [value, token], self.forward.shape(value))

    def keep(self, tensor: int) -> int:
        """A tensor of the source in the backward pass."""
        self.asked.add(tensor)
        if self._again is not None:
            return self._again.value(tensor)
        return self.keep_forward(self.value(tensor))

    def keep_forward(self, tensor: int) -> int:
        """A tensor of the forward pass in the backward pass."""
        if self.forward is self.backward:
            return tensor
        if tensor not in self.kept:
            original = self.forward.tensors[tensor]
            self.kept[tensor] = self.backward.copy_tensor(original)
            if original.data is None:
                self.backward.inputs.append(self.kept[tensor])
        return self.kept[tensor]

    def inputs_to_keep(self) -> list[tuple[int, int]]:
        """(tensor of the forward pass, input of the backward pass) of all that is kept; constants are copied."""
        return [(own, kept) for own, kept in self.kept.items() if self.forward.tensors[own].data is None]

    def gradients(self, seeds: Mapping[int, int], wanted: Sequence[int]) -> list[int | None]:
        """Adds the backward pass.

        seeds   tensor of the source -> the gradient by it, in the backward graph
        wanted  tensors of the source
        Returns their gradients, None where these are always 0. Raises ModelError for an operator without one.
        """
        known = {tensor: [gradient] for tensor, gradient in seeds.items()}
        stays = set(wanted)
        for place, (node, copy) in reversed(list(enumerate(zip(self.source.nodes, self._copies, strict=True)))):
            results = [self._sum(known, tensor, stays) for tensor in node.outputs]
            if all(gradient is None for gradient in results):
                continue
            if not any(tensor in self.active for tensor in node.inputs):
                continue
            known_results = [gradient for gradient in results if gradient is not None]
            by_input = self._apply(node, self._entered(place, copy, known_results[0]), results)
            present = self.any_present(known_results)
            for tensor, gradient in zip(node.inputs, by_input, strict=False):
                if gradient is not None and tensor in self.active:
                    known.setdefault(tensor, []).append(gradient)
                    if present is not None and not node.graphs and gradient not in self.present:
                        self.present[gradient] = present
        return [self._sum(known, tensor, stays) for tensor in wanted]

    def _entered(self, place: int, copy: FlowNode, gradient: int) -> FlowNode:
        """The copy of a node that its gradient may read: of one that runs graphs, in its segment if it has one."""
        if self._again is None:
            return copy
        self._again.enter(place, gradient)
        return (self._again.node(place) if copy.graphs else None) or copy

    def _sum(self, known: dict[int, list[int]], tensor: int, stays: set[int]) -> int | None:
        """The sum of what the readers of a tensor added to its gradient."""
        parts = known.pop(tensor, [])
        if not parts:
            return None
        total = self.joined(parts)
        if tensor in stays:
            known[tensor] = [total]
        return total

    def joined(self, parts: Sequence[int]) -> int:
        """The sum of gradients, which a step has where it has any of them."""
        total, *others = sorted(parts, key=lambda part: self._written(part) is not None) if len(parts) > 1 else parts
        present = self.any_present(parts)
        for part in others:
            total = self._added(total, part)
        if present is not None:
            self.present[total] = present
        return total

    def _written(self, gradient: int) -> FlowNode | None:
        """The operator that writes a gradient among zeros, where it does not fill the tensor."""
        node = self._producer(gradient)
        if node is None or node.name != "DYNAMIC_UPDATE_SLICE":
            return None
        zeros = self._producer(node.inputs[0])
        return node if zeros is not None and zeros.name == "FILL" else None

    def _producer(self, tensor: int) -> FlowNode | None:
        return next((node for node in reversed(self.backward.nodes) if tensor in node.outputs), None)

    def _added(self, total: int, part: int) -> int:
        """The sum of gradients; one that is written among zeros, such as a row's, is added to its place alone."""
        a, node = self.arithmetic, self._written(part)
        if node is None:
            return a.add(total, part)
        _, update, begin = node.inputs
        shape = a.shape(update)
        own = a.graph.compute("SLICE", [total, begin, a.integers(list(shape))], shape)
        return a.graph.compute("DYNAMIC_UPDATE_SLICE", [total, a.add(own, update), begin], a.shape(total))

    def any_present(self, gradients: Sequence[int]) -> int | None:
        """Whether a step has any of some gradients, of bool; None if it always has."""
        flags = list(dict.fromkeys(self.present.get(gradient, ABSENT) for gradient in gradients))
        if ABSENT in flags or not flags:
            return None
        either = flags[0]
        for flag in flags[1:]:
            either = self.backward.compute("LOGICAL_OR", [either, flag], (), DType.BOOL)
        return either

    def _apply(self, node: FlowNode, copy: FlowNode, gradients: Sequence[int | None]) -> Gradients:
        try:
            if node.name in self.derivation.control:
                return self.derivation.control[node.name](self, node, copy, gradients)
            rule = RULES.get(node.name)
            if rule is None:
                raise NoGradientError("")
            context = RuleContext(node, self.source, self.arithmetic, self.keep, self.active.__contains__)
            return rule(context, gradients)
        except NoGradientError as missing:
            where = location_of(self.derivation.model, self.source, node)
            reason = WITHOUT_RULE.get(node.name, "its gradient is not known")
            case = f" for {missing}" if str(missing) else f": {reason}"
            raise ModelError([Problem(where, f"{node.name} has no gradient{case}", _ADVICE)]) from None


_ADVICE = "Train only weights behind it: --freeze those before it, or --last N"
