"""Function bodies as C lines: kernel calls, copies, if and while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tflmgen.backend.c_names import unique_identifiers
from tflmgen.backend.c_text import comment, literal
from tflmgen.backend.emit_rows import PARAMETERS, Resume, stream_lines
from tflmgen.ir import (
    Access,
    Argument,
    Assembly,
    Branch,
    ByteCopy,
    ConstantArray,
    Fixed,
    Flash,
    InputArgument,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    Origin,
    OutputArgument,
    Params,
    Place,
    Program,
    ProgramFunction,
    Rename,
    RowCallAt,
    RowProgram,
    Slot,
    Transfer,
    Work,
    walk_instructions,
)

_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Line:
    """One line of C; `step` where it is the first line of a step's code; with a `stage`, of that stage of a stream."""

    text: str
    step: int | None = None
    stage: int | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """One static function."""

    name: str
    title: str
    lines: tuple[Line, ...]
    fails: bool = False
    parameters: str = "void"
    returns: str = "void"

    @property
    def opening(self) -> str:
        return f"static {'tflmgen_status' if self.fails else self.returns} {self.name}({self.parameters})"


class BodyWriter:
    """Writes the functions of one program; collects the headers and params structs that they use."""

    def __init__(self, program: Program, progress_hook: bool = False, layers: bool = False) -> None:
        self._progress_hook = progress_hook
        self._layers = layers
        self.uses_arena = False
        self._program = program
        self._functions = dict(
            zip(
                (f.name for f in program.functions),
                unique_identifiers(f"run_{f.name}" for f in program.functions),
                strict=True,
            )
        )
        self._failing = _failing(program)
        self._constants = dict(zip(program.constants, unique_identifiers(program.constants), strict=True))
        self._params: dict[Params, str] = {}
        self._counts: Counter[str] = Counter()
        self._headers: set[str] = set()
        self._used: set[str] = set()
        self.statics: tuple[str, ...] = ()

    @property
    def headers(self) -> tuple[str, ...]:
        return tuple(sorted(self._headers))

    @property
    def used(self) -> Mapping[str, ConstantArray]:
        """The constants that the functions written so far refer to."""
        return {key: array for key, array in self._program.constants.items() if key in self._used}

    @property
    def params(self) -> list[dict[str, object]]:
        return [
            {
                "name": name,
                "struct": params.struct,
                "fields": [{"name": field, "value": literal(value)} for field, value in params.fields],
            }
            for params, name in self._params.items()
        ]

    def function_name(self, name: str) -> str:
        return self._functions[name]

    def constant(self, name: str) -> str:
        return self._constants[name]

    def function(self, function: ProgramFunction) -> Body:
        slots = [
            Line(f"{_INDENT}void *slot_{i} = {self.pointer(home.place)};") for i, home in enumerate(function.slots)
        ]
        results = [
            Line(f"{_INDENT}{self.result_pointer(function.name, i)} = {self.pointer(access.place)};")
            for i, access in enumerate(function.results)
            if isinstance(access.place, Slot)
        ]
        fails = function.name in self._failing
        end = [Line(f"{_INDENT}return TFLMGEN_OK;")] if fails else []
        lines = (*slots, *self._block(function.body, _INDENT), *results, *end)
        return Body(self._functions[function.name], comment(f"Subgraph '{function.name}'"), lines, fails)

    def streams(self, function: ProgramFunction) -> list[Body]:
        """The functions that compute the streams which `function` calls."""
        return [
            self._stream(one, one.rows)
            for one in walk_instructions(function.body)
            if isinstance(one, KernelCall) and one.rows is not None
        ]

    def _stream(self, call: KernelCall, rows: RowProgram) -> Body:
        resume = Resume(f"{call.function}_next", f"{call.function}_written") if call.error else None
        if resume:
            self.statics += (resume.next, resume.written)
        lines = stream_lines(rows, self.pointer, self._row_call, resume)
        title = comment(f"Rows of {len(rows.stages)} operators at a time")
        body = tuple(
            Line(text, call.step if number == 0 or stage is not None else None, stage)
            for number, (text, stage) in enumerate(lines)
        )
        return Body(call.function, title, body, parameters=PARAMETERS, returns="bool" if resume else "void")

    def _row_call(self, call: RowCallAt, pointers: list[str]) -> str:
        self._headers.add(call.header)
        params = [] if call.params is None else [f"&{self._struct(call.params)}"]
        return f"{call.function}({', '.join([*pointers, *params])});"

    def fails(self, function: str) -> bool:
        """Whether the C function returns a status."""
        return function in self._failing

    def result_pointer(self, function: str, index: int) -> str:
        """The static pointer that tells where a result lies whose place the last invocation chose."""
        return f"{self._functions[function]}_result_{index}"

    def _block(self, body: Sequence[Instruction], indent: str) -> Iterator[Line]:
        for instruction in body:
            for line in self._instruction(instruction):
                yield Line(f"{indent}{line.text}" if line.text else "", line.step)

    def _instruction(self, instruction: Instruction) -> Iterator[Line]:
        if isinstance(instruction, KernelCall):
            outputs = [a.access for a in instruction.arguments if isinstance(a, OutputArgument)]
            yield Line(_title(instruction.origin, outputs))
            yield from self._call(instruction)
            yield from self._shown(instruction.step, outputs)
        elif isinstance(instruction, Rename):
            return
        elif isinstance(instruction, Assembly):
            yield Line(_title(instruction.origin, instruction.outputs))
            for copy in instruction.copies:
                yield Line(self._copy(copy), instruction.step)
            yield from self._shown(instruction.step, instruction.outputs)
        elif isinstance(instruction, Transfer):
            yield from self._transfer(instruction)
        elif isinstance(instruction, Branch):
            yield from self._branch(instruction)
        elif isinstance(instruction, Loop):
            yield from self._loop(instruction)
        else:
            yield from self._invoke(instruction)

    def _loop(self, loop: Loop) -> Iterator[Line]:
        yield Line(_title(loop.origin, ()))
        trip = f"trip_{loop.step}"
        if self._layers:
            yield Line(_layer(loop.step, "TFLMGEN_LAYER_LOOP", "NULL", 0))
        if loop.trips is not None:
            yield Line(f"for (uint32_t {trip} = 0; {trip} < {loop.trips}; ++{trip}) {{", loop.step)
        elif loop.limit is not None:
            yield Line(f"for (uint32_t {trip} = 0;; ++{trip}) {{")
        else:
            yield Line("for (;;) {")
        if self._layers:
            yield Line(f"{_INDENT}{_layer(loop.step, 'TFLMGEN_LAYER_ITERATION', 'NULL', 0)}")
        yield from self._block(loop.condition, _INDENT)
        if loop.test is not None:
            yield Line(f"{_INDENT}if (!{self._bool(loop.test)}) {{", loop.step)
            yield Line(f"{_INDENT * 2}break;")
            yield Line(f"{_INDENT}}}")
        if loop.limit is not None:
            yield Line(f"{_INDENT}if ({trip} == {loop.limit}u) {{")
            yield Line(f"{_INDENT * 2}return TFLMGEN_ERROR_ITERATIONS;")
            yield Line(f"{_INDENT}}}")
        yield from self._block(loop.body, _INDENT)
        if self._progress_hook and not any(isinstance(one, KernelCall) for one in (*loop.condition, *loop.body)):
            yield Line(f"{_INDENT}{_progress(loop.step)}")
        yield Line("}")

    def _shown(self, step: int, outputs: Sequence[Access]) -> Iterator[Line]:
        """What shows the outputs of a step, if the library is to."""
        for number, access in enumerate(outputs) if self._layers else ():
            yield Line(_layer(step, f"{number}u", self.pointer(access.place), access.bytes))

    def _branch(self, branch: Branch) -> Iterator[Line]:
        then, orelse = list(self._block(branch.then, _INDENT)), list(self._block(branch.orelse, _INDENT))
        yield Line(_title(branch.origin, ()))
        if not then and not orelse:
            return
        condition = self._bool(branch.condition)
        if not then:
            condition, then, orelse = f"!{condition}", orelse, []
        yield Line(f"if ({condition}) {{", branch.step)
        yield from then
        if orelse:
            yield Line("} else {")
            yield from orelse
        yield Line("}")

    def _invoke(self, call: Invoke) -> Iterator[Line]:
        yield Line(_title(call.origin, ()))
        name = self._functions[call.function]
        if call.function not in self._failing:
            yield Line(f"{name}();", call.step)
            return
        status = f"status_{call.step}"
        yield Line(f"const tflmgen_status {status} = {name}();", call.step)
        yield Line(f"if ({status} != TFLMGEN_OK) {{")
        yield Line(f"{_INDENT}return {status};")
        yield Line("}")

    def _transfer(self, transfer: Transfer) -> Iterator[Line]:
        for copy in transfer.copies:
            yield Line(f"{self._copy(copy)} /* {transfer.what} */", transfer.step)
        for cycle in cycles(dict(transfer.rotation)):
            names = [f"slot_{i}" for i in cycle]
            yield Line(f"{{ /* {transfer.what}: pointers change places */", transfer.step)
            yield Line(f"{_INDENT}void *const first = {names[0]};")
            for one, other in pairwise(names):
                yield Line(f"{_INDENT}{one} = {other};")
            yield Line(f"{_INDENT}{names[-1]} = first;")
            yield Line("}")

    def _call(self, call: KernelCall) -> Iterator[Line]:
        if call.rows is None:
            self._headers.add(call.header)
        arguments = [self._argument(a) for a in call.arguments]
        if call.params is not None:
            arguments.append(f"&{self._struct(call.params)}")
        called = f"{call.function}({', '.join(arguments)})"
        if call.error:
            yield Line(f"if (!{called}) {{", call.step)
            yield Line(f"{_INDENT}return {call.error};")
            yield Line("}")
        else:
            yield Line(f"{called};", call.step)
        if self._progress_hook:
            yield Line(_progress(call.step))

    def _struct(self, params: Params) -> str:
        """The name of the const struct; calls with equal parameters share one."""
        if params not in self._params:
            base = params.struct.removeprefix("tflmgen_")
            self._params[params] = f"{base}_{self._counts[base]}"
            self._counts[base] += 1
        return self._params[params]

    def _argument(self, argument: Argument) -> str:
        if isinstance(argument, InputArgument | OutputArgument):
            return self.pointer(argument.access.place)
        assert isinstance(argument, Work)
        return "NULL" if argument.place is None else self.pointer(argument.place)

    def pointer(self, place: Place) -> str:
        if isinstance(place, Fixed):
            self.uses_arena |= place.memory == "arena"
            return f"{'AT' if place.memory == 'arena' else 'STATE_AT'}({place.offset})"
        if isinstance(place, Slot):
            name = f"slot_{place.index}"
            return f"((void *)((uint8_t *){name} + {place.offset}))" if place.offset else name
        self._used.add(place.name)
        name = self._constants[place.name]
        return f"((const uint8_t *){name} + {place.offset})" if place.offset else name

    def _copy(self, copy: ByteCopy) -> str:
        filler = self._filler(copy)
        if filler is not None:
            return f"memset({self.pointer(copy.destination)}, {filler}, {copy.bytes});"
        function = "memmove" if _may_overlap(copy) else "memcpy"
        return f"{function}({self.pointer(copy.destination)}, {self.pointer(copy.source)}, {copy.bytes});"

    def _filler(self, copy: ByteCopy) -> int | None:
        """The byte that a constant source repeats, if it does."""
        if not isinstance(copy.source, Flash):
            return None
        data = self._program.constants[copy.source.name].data
        found = set(data[copy.source.offset : copy.source.offset + copy.bytes])
        return found.pop() if len(found) == 1 else None

    def _bool(self, access: Access) -> str:
        return f"*(const bool *){self.pointer(access.place)}"


def _failing(program: Program) -> frozenset[str]:
    """The functions that may return an error: by themselves, or since they call one that may."""
    found: set[str] = set()
    for function in program.functions:
        if any(_may_fail(one, found) for one in walk_instructions(function.body)):
            found.add(function.name)
    return frozenset(found)


def _may_fail(instruction: Instruction, failing: set[str]) -> bool:
    if isinstance(instruction, Invoke):
        return instruction.function in failing
    if isinstance(instruction, KernelCall):
        return bool(instruction.error)
    return isinstance(instruction, Loop) and instruction.limit is not None


def _layer(step: int, output: str, pointer: str, size: int) -> str:
    return f"tflmgen_layer({step}u, {output}, {pointer}, {size}u);"


def _progress(step: int) -> str:
    return f"TFLMGEN_PROGRESS({step});"


def _may_overlap(copy: ByteCopy) -> bool:
    one, other = copy.destination, copy.source
    if isinstance(other, Flash) or replace(one, offset=0) != replace(other, offset=0):
        return False
    return abs(one.offset - other.offset) < copy.bytes


def cycles(permutation: dict[int, int]) -> Iterator[list[int]]:
    """The cycles of a permutation, each as [i, p(i), p(p(i)), ...]."""
    while permutation:
        cycle = [min(permutation)]
        while permutation[cycle[-1]] != cycle[0]:
            cycle.append(permutation[cycle[-1]])
        for i in cycle:
            del permutation[i]
        yield cycle


def _title(origin: Origin, outputs: Sequence[Access]) -> str:
    results = ", ".join(f"{a.value.type} '{a.value.name}'" for a in outputs)
    subgraph = f"{origin.subgraph} '{origin.subgraph_name}'" if origin.subgraph_name else str(origin.subgraph)
    text = f"subgraph {subgraph}, operator {origin.operator}: {origin.operator_name}"
    return f"/* {comment(text + (' -> ' + results if results else ''))} */"
