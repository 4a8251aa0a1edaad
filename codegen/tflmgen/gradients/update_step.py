"""The end of a training step: gradients are clipped and accumulated, and weights and the optimizer's state updated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.flow_graph import FlowGraph
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.gradients.optimizers import OPTIMIZERS, StepRates, clipped, corrected_rate
from tflmgen.gradients.state import TrainingVariable, VariableAccess
from tflmgen.options import OptimizerName


@dataclass(frozen=True, slots=True)
class StepOptions:
    """An optimizer and its numbers.

    rate         the learning rate; None: it is an input
    l2           times the sum of a weight's squares is part of what is minimised, but not of the loss that is shown
    clip         greatest norm of each weight's gradient; None: any
    global_clip  greatest norm of all gradients together
    accumulate   samples whose gradients' mean makes one update
    """

    optimizer: OptimizerName
    rate: float | None
    l2: float = 0.0
    clip: float | None = None
    global_clip: float | None = None
    accumulate: int = 1


class UpdateStep:
    """Variables of weights, and those that an optimizer adds to them."""

    def __init__(self, options: StepOptions, weights: Sequence[TrainingVariable]) -> None:
        self.options, self.weights = options, tuple(weights)
        self.optimizer = OPTIMIZERS[options.optimizer]
        self.slots = [
            [TrainingVariable.zeros(f"{weight.name}/{slot}", weight.tensor.shape) for slot in self.optimizer.slots]
            for weight in weights
        ]
        self.sums = [TrainingVariable.zeros(f"{weight.name}/sum", weight.tensor.shape) for weight in weights]
        self.steps, self.samples = (
            TrainingVariable.zeros("optimizer/steps", ()),
            TrainingVariable.zeros("optimizer/samples", ()),
        )
        if options.accumulate == 1:
            self.sums = []

    @property
    def variables(self) -> list[TrainingVariable]:
        """All variables beside the weights."""
        counters = [self.steps] * self.optimizer.counts + [self.samples] * bool(self.sums)
        return [*(slot for slots in self.slots for slot in slots), *self.sums, *counters]

    @property
    def state_bytes(self) -> int:
        """Bytes of all variables beside the weights."""
        return sum(len(variable.tensor.data or b"") for variable in self.variables)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs of a step beside the model's."""
        return () if self.options.rate is not None else ("learning_rate",)

    def add_inputs(self, graph: FlowGraph) -> int | None:
        """The learning rate as an input; None where it is a number."""
        return graph.input("learning_rate", ()) if self.options.rate is None else None

    @property
    def needs_presence(self) -> bool:
        """Whether a gradient that is 0 changes something: a weight that a step does not use stays as it is then."""
        return bool(self.optimizer.slots) and not self.sums and not self.options.l2

    def add(
        self,
        state: VariableAccess,
        weights: Sequence[int],
        gradients: Sequence[int | None],
        present: Mapping[int, int],
        seed: int,
        rate: int | None,
    ) -> None:
        """Adds the updates to a graph that has the gradients.

        present  gradient -> whether this step has it, of bool; else it always has
        seed     1, once it is known that the step is taken
        """
        places = [place for place, gradient in enumerate(gradients) if gradient is not None]
        known = [gradient for gradient in gradients if gradient is not None]
        flags = [present.get(gradient) for gradient in known]
        variables = [v for place in places for v in (self.weights[place], *self.slots[place])]
        variables += [self.steps] * self.optimizer.counts
        current = {self.weights[place].name: weights[place] for place in places}
        values = [current[v.name] if v.name in current else state.read(v) for v in variables]
        if self.sums:
            after = self._accumulated(state, places, values, known, seed, rate)
        else:
            after = self._updated(state.graph, values, known, flags, seed, rate)
        for variable, value in zip(variables, after, strict=True):
            state.assign(variable, value)

    def _updated(
        self,
        graph: FlowGraph,
        values: Sequence[int],
        gradients: Sequence[int],
        flags: Sequence[int | None],
        seed: int,
        rate: int | None,
    ) -> list[int]:
        """New values of weights with their slots, and of the count of steps where there is one."""
        a, options = Arithmetic(graph), self.options
        width = 1 + len(self.optimizer.slots)
        groups = [list(values[k * width : (k + 1) * width]) for k in range(len(gradients))]
        if options.l2:
            penalties = [a.scale(weight, 2 * options.l2) for weight, *_ in groups]
            gradients = [a.add(gradient, more) for gradient, more in zip(gradients, penalties, strict=True)]
        for norm, together in ((options.clip, False), (options.global_clip, True)):
            gradients = clipped(a, gradients, norm, together) if norm is not None else gradients
        rate_as_set = a.number(options.rate or 0.0) if rate is None else rate
        step, counts = StepRates(rate_as_set, rate_as_set), []
        if self.optimizer.counts:
            counts = [a.add(values[-1], seed)]
            step = StepRates(corrected_rate(a, rate_as_set, counts[0]), rate_as_set)
        after = []
        for gradient, flag, group in zip(gradients, flags, groups, strict=True):
            after += self._changed(graph, step, flag, [*group, gradient])
        return [*after, *counts]

    def _changed(self, graph: FlowGraph, step: StepRates, flag: int | None, group: Sequence[int]) -> list[int]:
        """The new weight and slots of (weight, slots, gradient); the old ones where the step has no gradient."""

        def update(inside: FlowGraph, operands: Sequence[int]) -> list[int]:
            weight, *slots, gradient, corrected, rate_as_set = operands
            rates = StepRates(corrected, rate_as_set)
            new, new_slots = self.optimizer.update(Arithmetic(inside), rates, weight, gradient, slots)
            return [new, *new_slots]

        operands = [*group, step.rate, step.given_rate]
        if flag is None:
            return update(graph, operands)
        return changed_if(graph, flag, operands, len(group) - 1, update)

    def _accumulated(
        self,
        state: VariableAccess,
        places: Sequence[int],
        values: Sequence[int],
        gradients: Sequence[int],
        seed: int,
        rate: int | None,
    ) -> list[int]:
        """Gradients add up; an IF updates with their mean once there are enough, and begins with zeros again."""
        graph, a = state.graph, Arithmetic(state.graph)
        sums = [self.sums[place] for place in places]
        totals = [a.add(state.read(s), g) for s, g in zip(sums, gradients, strict=True)]
        count = a.add(state.read(self.samples), seed)
        is_last = a.compare("GREATER_EQUAL", count, a.number(self.options.accumulate))

        def update(inside: FlowGraph, operands: Sequence[int]) -> list[int]:
            inner = Arithmetic(inside)
            own, added = operands[: len(values)], operands[len(values) : len(values) + len(totals)]
            means = [inner.scale(total, 1 / self.options.accumulate) for total in added]
            inner_rate = None if rate is None else operands[-1]
            after = self._updated(inside, own, means, [None] * len(means), inner.number(1), inner_rate)
            return [*after, *(inner.zeros(inside.shape(total)) for total in added), inner.number(0)]

        operands = [*values, *totals, count, *([] if rate is None else [rate])]
        after = changed_if(graph, is_last, operands, len(values) + len(totals) + 1, update)
        for variable, value in zip((*sums, self.samples), after[len(values) :], strict=True):
            state.assign(variable, value)
        return after[: len(values)]


def changed_if(
    graph: FlowGraph,
    condition: int,
    operands: Sequence[int],
    count: int,
    change: Callable[[FlowGraph, Sequence[int]], Sequence[int]],
) -> list[int]:
    """Adds an IF that changes the first `count` operands, or leaves them as they are."""
    branches = []
    for name in ("update", "keep"):
        branch = FlowGraph(name)
        branch.inputs = [branch.copy_tensor(replace(graph.tensors[t], data=None)) for t in dict.fromkeys(operands)]
        inside = dict(zip(dict.fromkeys(operands), branch.inputs, strict=True))
        own = [inside[tensor] for tensor in operands]
        branch.outputs = list(change(branch, own)) if name == "update" else own[:count]
        branches.append(branch)
    results = [
        FileTensor.added(0, f"{graph.tensors[tensor].name}_after", graph.dtype(tensor), graph.shape(tensor))
        for tensor in operands[:count]
    ]
    inputs = [condition, *dict.fromkeys(operands)]
    choice = graph.run("IF", inputs, results, then_subgraph_index=branches[0], else_subgraph_index=branches[1])
    return choice.outputs
