"""What is difficult about a compiled random model, by name, to see that the generator reaches it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tflmgen.ir.graph.module import Block, If, While, blocks_of, uses_in, walk
from tflmgen.ir.program.instructions import Branch, Fixed, Flash, Instruction, Invoke, Loop, ProgramFunction

from support.native import RESET
from support.simulate import Machine
from support.trial import Trial


def features(trial: Trial) -> set[str]:
    stages = trial.stages
    names = set(_of_moves(trial)) | set(_of_runs(trial))
    for function in stages.module.functions:
        names.update(_of_block(function.body))
    callers = Counter(name for f in stages.program.functions for name in _callees(f.body))
    if any(count > 1 for count in callers.values()):
        names.add("function with several callers")
    for signature in stages.program.signatures:
        names.update(_of_entry(stages.program.function(signature.function)))
    if len(stages.program.signatures) > 1:
        names.add("several signatures")
    return names


def _of_block(body: Block) -> Iterator[str]:
    if _depth(body) >= 3:
        yield "nesting of 3"
    used = set(uses_in(body))
    for node in walk(body):
        if isinstance(node, If) and not (node.then.nodes and node.orelse.nodes):
            yield "empty branch"
        if isinstance(node, If) and not node.outputs:
            yield "If without results"
        if isinstance(node, While) and len(set(node.inits)) < len(node.inits):
            yield "one value for two variables"
        if any(v not in used for v in node.outputs):
            yield "unused result"


def _depth(block: Block) -> int:
    return max((1 + _depth(inner) for node in walk(block) for inner in blocks_of(node)), default=0)


def _of_entry(function: ProgramFunction) -> Iterator[str]:
    results = [access.value for access in function.results]
    if set(results) & {access.value for access in function.inputs}:
        yield "output that is an input"
    if any(isinstance(access.place, Flash) for access in function.results):
        yield "output that is constant"
    variable = [a.value for a in function.results if isinstance(a.place, Fixed)]
    if len(set(variable)) < len(variable):
        yield "one output twice"


def _of_moves(trial: Trial) -> Iterator[str]:
    for move in trial.stages.plan.storage.moves.values():
        if any("cycle" in copy.reason for copy in move.copies):
            yield "cycle of variables"
        if move.rotation:
            yield "pointers that change places"
        if move.in_loop and move.copies:
            yield "copies within a loop"


def _of_runs(trial: Trial) -> Iterator[str]:
    machine = Machine(trial.stages.program)
    for run in trial.runs:
        if run.signature != RESET:
            machine.run(run.signature, run.inputs)
    if trial.stages.program.state:
        yield "persistent variables"
    if 0 in machine.iterations:
        yield "zero iterations"
    if max(machine.iterations, default=0) > 1:
        yield "several iterations"


def _callees(body: Sequence[Instruction]) -> Iterator[str]:
    for instruction in body:
        if isinstance(instruction, Invoke):
            yield instruction.function
        elif isinstance(instruction, Branch):
            yield from _callees((*instruction.then, *instruction.orelse))
        elif isinstance(instruction, Loop):
            yield from _callees((*instruction.condition, *instruction.body))
