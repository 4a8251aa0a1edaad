"""Shows that a Program computes its Module: each operator once, on its operands, in an order that its data allow.

The proof of memory (symbolic_memory.py) shows that every read finds the value that the Program names; whether this is
the value to read is shown here, where places don't matter. The module walks the graph and the Program side by side:
each node of a block has exactly one instruction, after those that define what it reads; branches and loops have the
right bodies, conditions and trip counts; values that change names at a boundary do so as the graph says. What an
operator's call must look like comes from the operator table anew, not from the plan.

Together the two are a translation validation in the sense of Pnueli, Siegel and Singerman (TACAS 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from tflmgen.errors import InternalError
from tflmgen.ir import substitute
from tflmgen.ir.graph import (
    Block,
    Call,
    Function,
    If,
    Module,
    Node,
    Op,
    Value,
    While,
    blocks_of,
    definitions_in,
    operands_of,
    uses_in,
)
from tflmgen.ir.kernel import Selected
from tflmgen.ir.program import (
    Assembly,
    Branch,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    OutputArgument,
    Prefetch,
    PrefetchWait,
    Program,
    ProgramFunction,
    Rename,
    Transfer,
)
from tflmgen.proof.held_constants import FlashContents
from tflmgen.proof.kernel_calls import computes
from tflmgen.proof.refusals import refusing

SelectedOf = Callable[[Op], Selected]
"""Kernel, view or pieces that the operator table makes of an operator."""

Pairs = frozenset[tuple[Value, Value]]
"""(new name, value that it names) at a boundary."""


@refusing
def check_meaning(module: Module, program: Program, selected_of: SelectedOf, limits: Mapping[int, int]) -> None:
    """Raises InternalError, naming the step, where the Program would not compute the Module.

    limits: While.id -> most iterations.
    """
    if program.signatures != module.signatures:
        raise InternalError("the signatures are not the graph's")
    if [f.name for f in program.functions] != [f.name for f in module.functions]:
        raise InternalError("the functions are not the graph's")
    _check_variables(module, program)
    entries = {signature.function for signature in module.signatures}
    for function, written in zip(module.functions, program.functions, strict=True):
        if written.is_entry != (function.name in entries):
            raise InternalError(f"'{function.name}' is taken for what it is not: an entry, or none")
        _Function(module, program, selected_of, limits, function).check(written)


def _check_variables(module: Module, program: Program) -> None:
    """Every variable that the Program has is at its home, and begins with the graph's contents."""
    for variable in program.state:
        wanted = module.state.get(variable.name)
        if wanted is None or variable.access.value != wanted.home:
            raise InternalError(f"variable '{variable.name}' is not the graph's")
        if program.images[variable.initial].data != module.constants[wanted.initial]:
            raise InternalError(f"variable '{variable.name}' begins with other contents than the graph's")


class _Body:
    """The instructions of a body, taken one after another, but those that only bring constants nearer."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._instructions = [i for i in instructions if not isinstance(i, Prefetch | PrefetchWait)]
        self._next = 0

    @property
    def is_at_end(self) -> bool:
        return self._next >= len(self._instructions)

    def look(self, ahead: int = 0) -> Instruction | None:
        """The instruction that is taken after `ahead` others; None behind the last one."""
        position = self._next + ahead
        return self._instructions[position] if position < len(self._instructions) else None

    def take(self) -> Instruction | None:
        self._next += 1
        return self.look(-1)


class _Function:
    """One function of the graph beside what the Program has for it."""

    def __init__(
        self,
        module: Module,
        program: Program,
        selected_of: SelectedOf,
        limits: Mapping[int, int],
        function: Function,
    ) -> None:
        self._module = module
        self._flash = FlashContents(program.constants, module.constants)
        self._selected_of = selected_of
        self._limits = limits
        self._function = function

    def check(self, written: ProgramFunction) -> None:
        function, ports = self._function, self._function.ports
        block, inputs, results = function.body, function.inputs, function.body.results
        body = _Body(written.body)
        defined = {v.home for v in self._module.state.values()}
        load: Pairs = frozenset()
        if written.is_entry:
            load, store, at_home = self._entry_moves(inputs[ports:], results[len(results) - len(function.state) :])
            if len(written.body) < 2:
                raise self._error("does not take the variables from their homes and leave them there")
            body = _Body(written.body[1:-1])
            self._boundary(written.body[0], load)
            block = substitute(block, at_home)
            self._boundary(written.body[-1], frozenset((home, at_home.get(new, new)) for home, new in store))
            inputs, results = inputs[:ports], block.results[: len(results) - len(function.state)]
        if tuple(a.value for a in written.inputs) != inputs or tuple(a.value for a in written.results) != results:
            raise self._error("has other inputs or results than the graph's")
        self._block(block, body, defined | set(inputs) | {value for value, _ in load})

    def _entry_moves(
        self, contents: Sequence[Value], results: Sequence[Value]
    ) -> tuple[Pairs, Pairs, dict[Value, Value]]:
        """Variables that an entry loads and stores, and those that it reads in place since it does not change them."""
        homes = [self._module.state[name].home for name in self._function.state]
        variables = list(zip(homes, contents, results, strict=True))
        load = frozenset((value, home) for home, value, result in variables if value != result)
        store = frozenset((home, result) for home, value, result in variables if value != result)
        return load, store, {value: home for home, value, result in variables if value == result}

    def _error(self, text: str, instruction: Instruction | None = None) -> InternalError:
        step = "" if instruction is None else f"step {instruction.step}: "
        return InternalError(f"{step}'{self._function.name}' {text}")

    # -- blocks

    def _block(self, block: Block, body: _Body, defined: Collection[Value]) -> None:
        """Every node of a block runs once, after what it reads is defined; at the end its results are."""
        pending = {node.id: node for node in block.nodes}
        known = set(defined)
        while not body.is_at_end:
            node = self._next_node(body, pending.values())
            inner = (value for region in blocks_of(node) for value in uses_in(region))
            self._are_defined((*operands_of(node), *inner), known | _definitions_inside(node), body.look())
            if isinstance(node, Op):
                known |= self._operator(node, body)
            elif isinstance(node, If):
                known |= self._if(node, body, known)
            elif isinstance(node, While):
                known |= self._while(node, body, known)
            else:
                known |= self._call(node, body)
            del pending[node.id]
        for node in pending.values():
            raise self._error(f"never runs operator {node.origin.operator} ({node.origin.operator_name})")
        self._are_defined(block.results, known, None)

    def _next_node(self, body: _Body, pending: Iterable[Node]) -> Node:
        for node in pending:
            if self._begins(node, body):
                return node
        raise self._error("runs what is no operator of this block, or one again", body.look())

    def _begins(self, node: Node, body: _Body) -> bool:
        """Whether the next instructions are those of this node, by the names of what they define."""
        first = body.look()
        if isinstance(node, Op):
            defines = _outputs(first)
            return bool(defines) and defines <= set(node.outputs)
        if isinstance(node, If):
            last = first.then[-1] if isinstance(first, Branch) and first.then else None
            return isinstance(last, Transfer) and _names(last) == set(node.outputs)
        second, third = body.look(1), body.look(2)
        if isinstance(node, While):
            return isinstance(first, Transfer) and isinstance(second, Loop) and _names(first) == set(node.variables)
        return isinstance(second, Invoke) and isinstance(third, Transfer) and _names(third) == set(node.outputs)

    def _are_defined(self, values: Iterable[Value], known: Collection[Value], at: Instruction | None) -> None:
        for value in values:
            if not value.is_constant and value not in known:
                raise self._error(f"reads '{value.name}' before it is computed", at)

    # -- nodes

    def _operator(self, op: Op, body: _Body) -> set[Value]:
        instruction = body.take()
        if not isinstance(instruction, KernelCall | Rename | Assembly) or (
            not computes(instruction, op, self._selected_of(op), self._flash)
        ):
            raise self._error(f"does not compute {op.operator} as the operator table says", instruction)
        return set(op.outputs)

    def _if(self, node: If, body: _Body, known: Collection[Value]) -> set[Value]:
        branch = body.take()
        if not isinstance(branch, Branch) or branch.condition.value != node.condition:
            raise self._error("asks another condition than the graph's", branch)
        for region, instructions in ((node.then, branch.then), (node.orelse, branch.orelse)):
            self._block(region, _Body(instructions[:-1]), known)
            self._boundary(instructions[-1] if instructions else None, _pairs(node.outputs, region.results))
        return set(node.outputs)

    def _while(self, node: While, body: _Body, known: Collection[Value]) -> set[Value]:
        self._boundary(body.take(), _pairs(node.variables, node.inits))
        loop = body.take()
        tested = node.condition.results[0] if node.trips is None else None
        if not isinstance(loop, Loop) or (loop.test.value if loop.test else None) != tested:
            raise self._error("asks another condition than the graph's", loop)
        if loop.trips != node.trips or loop.limit != self._limits.get(node.id):
            raise self._error("runs a loop's body another number of times", loop)
        inside = {*known, *node.variables}
        self._block(node.condition, _Body(loop.condition), inside)
        self._block(node.body, _Body(loop.body[:-1]), inside)
        self._boundary(loop.body[-1] if loop.body else None, _pairs(node.variables, node.body.results))
        return set(self._named_on_leaving(node, body))

    def _named_on_leaving(self, node: While, body: _Body) -> Iterator[Value]:
        """The outputs that get their names as the loop is left."""
        variables = dict(zip(node.outputs, node.variables, strict=True))
        following = body.look()
        while isinstance(following, Rename) and following.origin is None:
            output = following.value.value
            if variables.get(output) != following.source.value:
                raise self._error(f"takes '{output.name}' from another variable than the graph's", following)
            yield output
            body.take()
            following = body.look()

    def _call(self, node: Call, body: _Body) -> set[Value]:
        callee = self._module.function(node.function)
        self._boundary(body.take(), _pairs(callee.inputs, node.inputs))
        invoke = body.take()
        if not isinstance(invoke, Invoke) or invoke.function != node.function:
            raise self._error(f"does not call '{node.function}'", invoke)
        self._boundary(body.take(), _pairs(node.outputs, callee.body.results))
        return set(node.outputs)

    def _boundary(self, instruction: Instruction | None, wanted: Pairs) -> None:
        if not isinstance(instruction, Transfer) or (
            frozenset(zip((a.value for a in instruction.values), instruction.sources, strict=True)) != wanted
        ):
            raise self._error("gives values other names than the graph's", instruction)


def _pairs(values: Sequence[Value], sources: Sequence[Value]) -> Pairs:
    return frozenset(zip(values, sources, strict=True))


def _names(transfer: Transfer) -> set[Value]:
    return {access.value for access in transfer.values}


def _definitions_inside(node: Node) -> set[Value]:
    """Values that the regions of a node define."""
    own = set(node.variables) if isinstance(node, While) else set()
    return own.union(*(definitions_in(region) for region in blocks_of(node)))


def _outputs(instruction: Instruction | None) -> set[Value]:
    """The values that the instruction of an operator defines; none for others."""
    if isinstance(instruction, KernelCall):
        return {a.access.value for a in instruction.arguments if isinstance(a, OutputArgument)}
    if isinstance(instruction, Rename):
        return {instruction.value.value}
    return {access.value for access in instruction.outputs} if isinstance(instruction, Assembly) else set()
