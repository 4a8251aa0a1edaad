"""Gradients of loops: a WHILE becomes another WHILE that counts the iterations down.

The forward loop counts its iterations and stores what the backward body reads of each in a row of an array, which is
one of its variables. The backward loop has the gradients of the variables as its variables. What the loop leaves as it
is, such as weights, is not stored: the backward loop reads it from outside, and its gradient adds up. Where that is too
much to keep, checkpoints are stored instead (checkpointed_loops.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.errors import ModelError, Problem
from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.activity import loop_activity
from tflmgen.gradients.branch_gradients import BranchGradient, derive
from tflmgen.gradients.checkpointed_loops import backward_segments, keep_checkpoints, loop_cut
from tflmgen.gradients.flow_graph import FlowGraph, FlowNode, location_of
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.gradients.kept_values import work_of
from tflmgen.gradients.loop_parts import Passes, Stored, backward_loop, extend_forward
from tflmgen.gradients.rule import Gradients
from tflmgen.gradients.tape import ControlRule, Tape
from tflmgen.gradients.trip_bounds import trip_bound
from tflmgen.ir import DType


def loop_rule(max_iterations: int | None) -> ControlRule:
    """The rule for loops, and the bound of those that have none of their own."""

    def rule(tape: Tape, node: FlowNode, copy: FlowNode, gradients: Sequence[int | None]) -> Gradients:
        return _loop_gradients(tape, node, copy, gradients, max_iterations)

    return rule


def _loop_gradients(
    tape: Tape, node: FlowNode, copy: FlowNode, gradients: Sequence[int | None], max_iterations: int | None
) -> Gradients:
    bound = trip_bound(tape.source, node)
    rows = max_iterations if bound is None else bound.greatest
    if rows is None:
        where = location_of(tape.derivation.model, tape.source, node)
        rule = "training through a loop requires a bound of its iterations, and its condition gives none"
        raise ModelError([Problem(where, rule, "Give one: --max-iterations N")])
    passes = _passes(tape, node, gradients)
    if passes is None or rows == 0:
        return gradients
    results = _both_loops(tape, node, copy, passes, rows, is_bounded=bound is not None, gradients=gradients)
    by_input = dict(zip(passes.carried, results[1:], strict=False))
    flags = dict(zip(passes.lacking, results[1 + len(passes.carried) :], strict=False))
    for place, flag in flags.items():
        if bound is None or not bound.exact or passes.branch.may_lack(place):
            tape.present[by_input[place]] = flag
    return [by_input.get(place) for place in range(len(node.inputs))]


def _both_loops(
    tape: Tape,
    node: FlowNode,
    copy: FlowNode,
    passes: Passes,
    rows: int,
    *,
    is_bounded: bool,
    gradients: Sequence[int | None],
) -> list[int]:
    """Has the forward loop store, and adds the loop that goes back; its results, the count first."""
    stored, outside = _kept(passes.branch, node.graphs[1])
    cut = loop_cut(passes, node.graphs[1], stored, rows, tape.derivation.loop_limit)
    _account(tape, node, stored, rows, is_cut=cut is not None)
    invariants = [place for place, _ in outside]
    if cut is None:
        last = extend_forward(tape.forward, copy, passes.branch.forward, stored, rows)
        condition, body = backward_loop(passes, stored, [kept for _, kept in outside], rows)
    else:
        last = keep_checkpoints(tape.forward, copy, node.graphs[1].copy(), cut, rows)
        invariants = sorted({*invariants, *cut.invariant})
        condition, body = backward_segments(passes, cut, stored, outside, invariants, rows)
    if not is_bounded:
        _limit(copy.graphs[0], copy.graphs[0].inputs[len(node.inputs)], rows)
    count, *arrays = (tape.keep_forward(tensor) for tensor in last)
    operands = [tape.keep_forward(copy.inputs[place]) for place in invariants]
    variables = [count, *_starts(tape, passes, gradients), *arrays, *operands]
    results = [_after(tape.backward.tensors[tensor]) for tensor in variables]
    graphs = {"cond_subgraph_index": condition, "body_subgraph_index": body}
    return tape.backward.run("WHILE", variables, results, **graphs).outputs


def _account(tape: Tape, node: FlowNode, stored: Sequence[Stored], rows: int, *, is_cut: bool) -> None:
    """Enters a loop of the training step itself into the account; one in a loop's body is a part of that."""
    if tape.forward is tape.backward:
        account = tape.derivation.account
        account.loops.append(rows * sum(value.bytes for value in stored))
        account.forward += work_of(tape.source, node, rows - 1)
        account.again += work_of(tape.source, node, rows) if is_cut else 0


def _after(tensor: FileTensor) -> FileTensor:
    assert tensor.dtype is not None
    return FileTensor.added(0, f"{tensor.name}_after", tensor.dtype, tensor.shape)


def _passes(tape: Tape, node: FlowNode, gradients: Sequence[int | None]) -> Passes | None:
    """The body's passes with gradients of the variables asked for, and of all that these are computed from."""
    active = loop_activity(node.graphs[1], [tensor in tape.active for tensor in node.inputs])
    carried = [place for place, gradient in enumerate(gradients) if gradient is not None and active[place]]
    lacking: list[int] = []
    while carried:
        if tape.derivation.presence:
            starts = {place: gradients[place] for place in carried}
            lacking = sorted({*lacking, *(k for k, g in starts.items() if g is None or g in tape.present)})
        branch = derive(tape, node.graphs[1], active, carried, lacking)
        more = [k for k, gradient in enumerate(branch.by_input) if gradient is not None and k not in carried]
        flagged = [k for k in carried if branch.may_lack(k)] if tape.derivation.presence else []
        if not more and set(flagged) <= set(lacking):
            return Passes(branch, carried, lacking)
        carried, lacking = sorted({*carried, *more}), sorted({*lacking, *flagged})
    return None


def _starts(tape: Tape, passes: Passes, gradients: Sequence[int | None]) -> list[int]:
    """Gradients of the variables behind the loop, and whether a step has those that it may lack."""
    graph = tape.backward
    starts = [(place, gradients[place]) for place in passes.carried]
    shape = passes.branch.forward.shape
    inputs = passes.branch.forward.inputs
    values = [tape.arithmetic.zeros(shape(inputs[k])) if gradient is None else gradient for k, gradient in starts]
    flags = {
        place: tape.present[gradient] if gradient in tape.present else graph.constant(gradient is not None, DType.BOOL)
        for place, gradient in starts
    }
    return [*values, *(flags[place] for place in passes.lacking)]


def _kept(branch: BranchGradient, body: FlowGraph) -> tuple[list[Stored], list[tuple[int, int]]]:
    """Values that the backward body reads: of each iteration, and (variable, input) of what stays as it is."""
    stored, outside = [], []
    for own, kept in branch.tape.inputs_to_keep():
        place = branch.forward.inputs.index(own) if own in branch.forward.inputs else None
        if place is not None and body.outputs[place] == body.inputs[place]:
            outside.append((place, kept))
        else:
            graph = branch.forward
            stored.append(Stored(own, kept, graph.shape(own), graph.dtype(own)))
    return stored, outside


def _limit(condition: FlowGraph, count: int, rows: int) -> None:
    """Ends a loop after as many iterations as its arrays have rows."""
    a = Arithmetic(condition)
    goes_on = condition.compute("LESS", [count, a.integers(rows)], (), DType.BOOL)
    both = condition.compute("LOGICAL_AND", [condition.outputs[0], goes_on], (), DType.BOOL)
    condition.outputs = [both]
