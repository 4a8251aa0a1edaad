"""Function bodies as C lines: kernel calls, copies, if and while."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tflmgen.backend.c_names import unique_identifiers
from tflmgen.backend.c_text import comment, wrapped
from tflmgen.backend.const_structs import ConstStructs
from tflmgen.backend.emit_call import TRANSFERS, call_lines, short_name, step_title
from tflmgen.backend.emit_rows import PARAMETERS, Resume, stream_lines
from tflmgen.backend.handle import HANDLE, NO_HANDLE, Handle
from tflmgen.backend.places import Places, Values
from tflmgen.backend.remarks import NO_REMARKS, Remarks, remark_lines
from tflmgen.ir.graph import Origin
from tflmgen.ir.program import (
    Access,
    Argument,
    Assembly,
    Branch,
    ByteCopy,
    Flash,
    InputArgument,
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
    """One static function; `before` are the lines of the const structs that stand before it."""

    name: str
    title: str
    lines: tuple[Line, ...]
    fails: bool = False
    parameters: str = "void"
    returns: str = "void"
    before: tuple[str, ...] = ()

    @property
    def opening(self) -> str:
        """Head of the function's definition, without the brace. A function that can fail returns a status."""
        return f"static {'tflmgen_status' if self.fails else self.returns} {self.name}({self.parameters})"


class BodyWriter:
    """Writes the functions of one program; collects the headers and places that they use."""

    def __init__(
        self,
        program: Program,
        progress_hook: bool = False,
        layers: bool = False,
        remarks: Remarks = NO_REMARKS,
        handle: Handle = NO_HANDLE,
    ) -> None:
        self.handle = handle
        self._remarks = remarks
        self._progress_hook = progress_hook
        self._layers = layers
        self._program = program
        called = (
            instruction
            for f in program.functions
            for instruction in walk_instructions(f.body)
            if isinstance(instruction, KernelCall)
        )
        self._called = {call.origin for call in called}
        self.places = Places(program)
        self._functions = dict(
            zip(
                (f.name for f in program.functions),
                unique_identifiers(f"run_{f.name}" for f in program.functions),
                strict=True,
            )
        )
        self._failing = _failing(program)
        self._structs = ConstStructs(program)
        self._headers: set[str] = set()
        self.statics: tuple[str, ...] = ()

    @property
    def headers(self) -> tuple[str, ...]:
        """Kernel headers that the functions written so far include, sorted."""
        return tuple(sorted(self._headers))

    def function_name(self, name: str) -> str:
        """C name of a function of the program."""
        return self._functions[name]

    def function(self, function: ProgramFunction) -> Body:
        """Definition of a function of the program, with the slots of its pointers first."""
        slots = [Line(f"{_INDENT}void *{slot} = {start};") for slot, start in self.places.enter(function)]
        body = list(self._block(function.body, _INDENT))
        results = [
            Line(f"{_INDENT}{self.result_variable(function.name, i)} = {self.places.access(access)};")
            for i, access in enumerate(function.results)
            if isinstance(access.place, Slot)
        ]
        fails = function.name in self._failing
        end = [Line(f"{_INDENT}return TFLMGEN_OK;")] if fails else []
        caption = comment(f"Subgraph '{function.name}'")
        name = self._functions[function.name]
        lines = self._with_handle(_wrapped([*slots, *body, *results, *end]))
        return Body(name, caption, lines, fails, self.handle.parameters(), before=self._structs.take_before())

    def _with_handle(self, lines: Iterable[Line]) -> tuple[Line, ...]:
        """The lines of a body; a handle that they do not need is named, since compilers warn of unused parameters."""
        lines = tuple(lines)
        unused = self.handle.is_unused(line.text for line in lines)
        return (Line(f"{_INDENT}(void){HANDLE};"), *lines) if unused else lines

    def streams(self, function: ProgramFunction) -> list[Body]:
        """The functions that compute the streams which `function` calls."""
        return [
            self._stream(instruction, instruction.rows)
            for instruction in walk_instructions(function.body)
            if isinstance(instruction, KernelCall) and instruction.rows is not None
        ]

    def _stream(self, call: KernelCall, rows: RowProgram) -> Body:
        resume = None
        if call.error:
            names = f"{call.function}_next", f"{call.function}_written"
            self.statics += names
            resume = Resume(*map(self.handle.member, names))
        lines = stream_lines(rows, self.places.packed, self._row_call, resume, self._remarks)
        caption = comment(f"Rows of {len(rows.stages)} operators at a time")
        marked = (
            Line(text, call.step if number == 0 or stage is not None else None, stage)
            for number, (text, stage) in enumerate(lines)
        )
        body = self._with_handle(_wrapped(marked))
        returns, parameters = "bool" if resume else "void", self.handle.parameters(PARAMETERS)
        return Body(call.function, caption, body, False, parameters, returns, self._structs.take_before())

    def _row_call(self, call: RowCallAt, pointers: list[str]) -> list[str]:
        self._headers.add(call.header)
        declaration: list[str] = []
        if call.params is not None:
            struct, declaration = self._structs.name(call.params)
            pointers = [*pointers, f"&{struct}"]
        return [*declaration, f"{call.function}({', '.join(pointers)});"]

    def fails(self, function: str) -> bool:
        """Whether the C function returns a status."""
        return function in self._failing

    def result_pointer(self, function: str, index: int) -> str:
        """Name of the pointer to a result whose address varies between invocations."""
        return f"{self._functions[function]}_result_{index}"

    def result_variable(self, function: str, index: int) -> str:
        """C expression of that pointer."""
        return self.handle.member(self.result_pointer(function, index))

    def _block(self, body: Sequence[Instruction], indent: str) -> Iterator[Line]:
        for instruction in body:
            for line in self._instruction(instruction):
                yield Line(f"{indent}{line.text}" if line.text else "", line.step)

    def _instruction(self, instruction: Instruction) -> Iterator[Line]:
        if isinstance(instruction, KernelCall):
            outputs = [a.access for a in instruction.arguments if isinstance(a, OutputArgument)]
            yield from self._titles(instruction.origin, outputs)
            yield from self._call(instruction)
            yield from self._shown(instruction.step, outputs)
        elif isinstance(instruction, Rename):
            if instruction.origin is not None and instruction.origin not in self._called:
                viewed = f"a view of '{short_name(instruction.source.value.name)}'"
                yield from self._titles(instruction.origin, [instruction.value], viewed)
        elif isinstance(instruction, Assembly):
            in_place = "" if instruction.copies else "its parts lie in place"
            yield from self._titles(instruction.origin, instruction.outputs, in_place)
            values: Values = (*instruction.outputs, *instruction.inputs)
            for copy in instruction.copies:
                yield Line(self._copy(copy, instruction.step, values), instruction.step)
            yield from self._shown(instruction.step, instruction.outputs)
        elif isinstance(instruction, Prefetch | PrefetchWait):
            yield self._prefetch(instruction)
        elif isinstance(instruction, Transfer):
            yield from self._transfer(instruction)
        elif isinstance(instruction, Branch):
            yield from self._branch(instruction)
        elif isinstance(instruction, Loop):
            yield from self._loop(instruction)
        else:
            yield from self._invoke(instruction)

    def _prefetch(self, instruction: Prefetch | PrefetchWait) -> Line:
        self._headers.add("prefetch.h")
        if isinstance(instruction, PrefetchWait):
            return Line("tflmgen_prefetch_wait();", instruction.step)
        name = instruction.source.name
        places = [self.places.named(place, name, "a copy") for place in (instruction.destination, instruction.source)]
        return Line(f"tflmgen_prefetch({', '.join(places)}, {instruction.bytes});", instruction.step)

    def _titles(self, origin: Origin, outputs: Sequence[Access], remark: str = "") -> Iterator[Line]:
        yield Line(step_title(origin, outputs, remark))
        yield from map(Line, remark_lines(self._remarks.get(origin, ())))

    def _loop(self, loop: Loop) -> Iterator[Line]:
        yield from self._titles(loop.origin, ())
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
        if self._progress_hook and not any(
            isinstance(instruction, KernelCall) for instruction in (*loop.condition, *loop.body)
        ):
            yield Line(f"{_INDENT}{_progress(loop.step)}")
        yield Line("}")

    def _shown(self, step: int, outputs: Sequence[Access]) -> Iterator[Line]:
        """The line that reports the outputs of a step, in a library that shows its layers."""
        for number, access in enumerate(outputs) if self._layers else ():
            yield Line(_layer(step, f"{number}u", self.places.access(access), access.bytes))

    def _branch(self, branch: Branch) -> Iterator[Line]:
        then = [*self._marked(branch.step, "THEN"), *self._block(branch.then, _INDENT)]
        orelse = [*self._marked(branch.step, "ELSE"), *self._block(branch.orelse, _INDENT)]
        yield from self._titles(branch.origin, ())
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

    def _marked(self, step: int, macro: str) -> Iterator[Line]:
        """The line that reports the start of a branch or iteration, in a library that shows its layers."""
        if self._layers:
            yield Line(f"{_INDENT}{_layer(step, f'TFLMGEN_LAYER_{macro}', 'NULL', 0)}")

    def _invoke(self, call: Invoke) -> Iterator[Line]:
        yield from self._titles(call.origin, ())
        if self._layers:
            yield Line(_layer(call.step, "TFLMGEN_LAYER_CALL", "NULL", 0))
        name = self._functions[call.function]
        if call.function not in self._failing:
            yield Line(f"{name}({self.handle.arguments()});", call.step)
            return
        status = f"status_{call.step}"
        yield Line(f"const tflmgen_status {status} = {name}({self.handle.arguments()});", call.step)
        yield Line(f"if ({status} != TFLMGEN_OK) {{")
        yield Line(f"{_INDENT}return {status};")
        yield Line("}")

    def _transfer(self, transfer: Transfer) -> Iterator[Line]:
        values: Values = (*transfer.values, *transfer.sources)
        if transfer.copies or transfer.rotation:
            yield Line(f"/* {TRANSFERS[transfer.kind]} */")
        for copy in transfer.copies:
            yield Line(self._copy(copy, transfer.step, values), transfer.step)
        for cycle in cycles(dict(transfer.rotation)):
            names = [self.places.slot(i) for i in cycle]
            yield Line("{ /* pointers change places */", transfer.step)
            yield Line(f"{_INDENT}void *const first = {names[0]};")
            for slot, other in pairwise(names):
                yield Line(f"{_INDENT}{slot} = {other};")
            yield Line(f"{_INDENT}{names[-1]} = first;")
            yield Line("}")

    def _call(self, call: KernelCall) -> Iterator[Line]:
        if call.rows is None:
            self._headers.add(call.header)
        if call.counts:
            self._headers.add("common.h")
        struct, arguments = "", [self._argument(a, call) for a in call.arguments]
        if call.rows is not None and self.handle.type:
            arguments.insert(0, HANDLE)
        if call.params is not None:
            struct, declaration = self._structs.name(call.params)
            yield from map(Line, declaration)
        for text, is_call in call_lines(call, arguments, struct):
            yield Line(text, call.step if is_call else None)
        if self._progress_hook:
            yield Line(_progress(call.step))

    def _argument(self, argument: Argument, call: KernelCall) -> str:
        if isinstance(argument, InputArgument | OutputArgument):
            return self.places.access(argument.access)
        assert isinstance(argument, Work)
        return "NULL" if argument.place is None else self.places.packed(argument.place, call.origin, call.header)

    def _copy(self, copy: ByteCopy, step: int, values: Values) -> str:
        """C lines of one copy. values: candidates for the tensor that the bytes belong to, for its name."""
        filler, destination = self._filler(copy), self.places.copied(copy.destination, step, values)
        if filler is not None:
            return f"memset({destination}, {filler}, {copy.bytes});"
        function = "memmove" if copy.may_overlap else "memcpy"
        return f"{function}({destination}, {self.places.copied(copy.source, step, values)}, {copy.bytes});"

    def _filler(self, copy: ByteCopy) -> int | None:
        """The byte that fills a constant source; None if its bytes differ."""
        if not isinstance(copy.source, Flash):
            return None
        data = self._program.constants[copy.source.name].data
        values = set(data[copy.source.offset : copy.source.offset + copy.bytes])
        return values.pop() if len(values) == 1 else None

    def _bool(self, access: Access) -> str:
        self._headers.add("common.h")
        return f"*(const tflmgen_bool *){self.places.access(access)}"


def _wrapped(lines: Iterable[Line]) -> Iterator[Line]:
    for line in lines:
        first, *rest = wrapped(line.text)
        yield replace(line, text=first)
        yield from map(Line, rest)


def _failing(program: Program) -> frozenset[str]:
    """Names of the functions that may return an error, themselves or through a function that they call."""
    failing: set[str] = set()
    for function in program.functions:
        if any(_may_fail(instruction, failing) for instruction in walk_instructions(function.body)):
            failing.add(function.name)
    return frozenset(failing)


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


def cycles(permutation: dict[int, int]) -> Iterator[list[int]]:
    """The cycles of a permutation, each as [i, p(i), p(p(i)), ...]."""
    while permutation:
        cycle = [min(permutation)]
        while permutation[cycle[-1]] != cycle[0]:
            cycle.append(permutation[cycle[-1]])
        for i in cycle:
            del permutation[i]
        yield cycle
