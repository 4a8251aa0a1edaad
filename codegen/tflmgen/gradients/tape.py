"""Reverse-mode differentiation of one graph: its operators once forward, and their rules in reverse order.

Forward and backward pass may be one graph, or two: of a branch or a loop's body, whose backward pass runs later. What
the backward pass reads of the forward one is asked for by tensor (`Tape.keep`), so that nothing else is kept.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.errors import ModelError, Problem
from tflmgen.gradients.activity import active_tensors
from tflmgen.gradients.flow_graph import ABSENT, FlowGraph, FlowNode, location_of
from tflmgen.gradients.gradient_rules import RULES, WITHOUT_RULE
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.gradients.rule import Gradients, NoGradientError, RuleContext
from tflmgen.ir import DType

ControlRule = Callable[["Tape", FlowNode, FlowNode, Sequence[int | None]], Gradients]
"""Rule for a node that runs graphs: tape, node of the source, its copy in the forward pass, gradients by result."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """Settings of a derivation: what all tapes of a model share.

    model     its name, for messages
    control   rules of nodes that run graphs
    presence  whether to tell gradients that are 0 from those that a step does not have, of a branch that is not taken
    """

    model: str
    control: Mapping[str, ControlRule]
    presence: bool


class Tape:
    """One graph's forward pass, and its gradients.

    source    the graph; it is not changed
    forward   gets its operators
    backward  gets the gradients; may be `forward`
    values    tensor of the source -> of `forward`
    active    tensors of the source that depend on weights
    kept      tensors of `forward` that the backward pass reads -> inputs of `backward`, where that is another graph
    present   gradient -> whether this step has it, of bool; those without an entry are always there
    """

    def __init__(
        self,
        derivation: Derivation,
        source: FlowGraph,
        forward: FlowGraph,
        backward: FlowGraph,
        inputs: Sequence[int],
        active: Sequence[bool],
    ) -> None:
        self.derivation, self.source, self.forward, self.backward = derivation, source, forward, backward
        self.active = active_tensors(source, active)
        self.arithmetic = Arithmetic(backward)
        self.kept: dict[int, int] = {}
        self.present: dict[int, int] = {}
        self.values = dict(zip(source.inputs, inputs, strict=True))
        self._copies = [self._copy(node) for node in source.nodes]

    def value(self, tensor: int) -> int:
        """A tensor of the source in the forward pass."""
        if tensor < 0:
            return tensor
        if tensor not in self.values:
            self.values[tensor] = self.forward.copy_tensor(self.source.tensors[tensor])
        return self.values[tensor]

    def _copy(self, node: FlowNode) -> FlowNode:
        inputs, outputs = [self.value(t) for t in node.inputs], [self.value(t) for t in node.outputs]
        copy = self.forward.add_node(node.name, inputs, outputs, node.options)
        copy.graphs, copy.graph_options, copy.source = list(node.graphs), node.graph_options, node.source
        return copy

    def keep(self, tensor: int) -> int:
        """A tensor of the source in the backward pass."""
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
        for node, copy in zip(reversed(self.source.nodes), reversed(self._copies), strict=True):
            results = [self._sum(known, tensor, stays) for tensor in node.outputs]
            if all(gradient is None for gradient in results):
                continue
            if not any(tensor in self.active for tensor in node.inputs):
                continue
            by_input = self._apply(node, copy, results)
            present = self.any_present([gradient for gradient in results if gradient is not None])
            for tensor, gradient in zip(node.inputs, by_input, strict=False):
                if gradient is not None and tensor in self.active:
                    known.setdefault(tensor, []).append(gradient)
                    if present is not None and not node.graphs and gradient not in self.present:
                        self.present[gradient] = present
        return [self._sum(known, tensor, stays) for tensor in wanted]

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
        total, present = parts[0], self.any_present(parts)
        for part in parts[1:]:
            total = self.arithmetic.add(total, part)
        if present is not None:
            self.present[total] = present
        return total

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
