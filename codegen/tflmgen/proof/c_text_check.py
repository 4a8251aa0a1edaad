"""Shows that the generated C does what the Program says: the text is parsed again and compared statement by statement.

Shares nothing with the templates and with what fills them in. What is read: every file of the library. The plan's
source with its enumerators, structs, functions, streams and the functions of the C API; the arrays of constants; the
public header and the descriptor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tflmgen.errors import InternalError
from tflmgen.ir import NO_CHECKS, DeviceChecks, DType
from tflmgen.ir.kernel import ConstantArray, ParamValue
from tflmgen.ir.program import KernelCall, Program, ProgramFunction
from tflmgen.proof import c_statements, program_statements
from tflmgen.proof.c_api_text import check_api
from tflmgen.proof.c_fault_checks import FaultText
from tflmgen.proof.c_headers import check_headers, check_settings
from tflmgen.proof.c_library_text import (
    check_entry,
    check_further,
    check_memory,
    check_state,
    flat,
    has_arena,
    offsets_of,
    start_of,
)
from tflmgen.proof.c_stream import stream_form
from tflmgen.proof.c_symbols import Names
from tflmgen.proof.c_syntax import Node, UnreadableError, arrays, field, parse, text_of, words_of
from tflmgen.proof.refusals import refusing
from tflmgen.proof.signature_functions import Entry
from tflmgen.proof.statements import (
    CallOf,
    CopyBytes,
    Fill,
    IfElse,
    Iterate,
    Pointer,
    RunFunction,
    Statement,
    Struct,
)

STREAM_PARAMETERS = "( const void * input , void * scratch , void * output )"


@refusing
def check_text(
    program: Program, name: str, files: Mapping[str, str], entries: Sequence[Entry], checks: DeviceChecks = NO_CHECKS
) -> None:
    """Raises InternalError where a file of the generated library is not what the Program says.

    name: how all public names begin. files: the library's, by their paths. checks: what the device is to check of its
    memory.
    """
    sources = f"src/{name}.c", f"src/{name}_weights.h", f"src/{name}_model.c"
    paths = *sources, f"include/{name}.h", f"include/{name}_model.h", "library.json"
    if files.keys() != set(paths):
        raise InternalError(f"the generated library has files that nothing checks: {sorted(files.keys() ^ set(paths))}")
    plan, weights, descriptor, header, other_header, settings = (files[path] for path in paths)
    try:
        text = _Text(program, plan, weights, checks)
        text.check(entries, name)
        header = check_headers(header, other_header, name)
        check_api(header, descriptor, name, entries, text.faults)
        check_settings(settings, name)
    except (UnreadableError, ValueError, KeyError) as error:
        raise InternalError(f"the generated C is not the plan's: {error}") from error


class _Text:
    """The plan's source, read once."""

    def __init__(self, program: Program, plan: str, weights: str, checks: DeviceChecks) -> None:
        self._program = program
        self._root = parse(plan)
        self._plan = plan
        self._arrays = arrays(weights)
        self._same: dict[tuple[str, str], bool] = {}
        nodes = list(flat(self._root))
        self._functions = [node for node in nodes if node.type == "function_definition"]
        self._declarations = [node for node in nodes if node.type == "declaration"]
        runs = {_name(node) for node in self._functions if _is_static(node) and _parameters(node) == "( void )"}
        self._initial = dict(filter(None, map(c_statements.slot_of, self._declarations)))
        pointers = {name: Pointer(f"static {name}") for name in self._initial}
        starts = program.arena_starts
        self._names = Names(offsets_of(nodes), {}, frozenset(self._arrays), frozenset(runs), pointers, starts)
        self._statics = [words_of(node).removeprefix("static ") for node in self._declarations]
        for node in self._declarations:
            self._names.keep_struct(node)
        self.faults = FaultText(checks, program, self._arrays, has_arena(nodes))
        self.faults.check_declarations(self._declarations, plan)
        check_memory(nodes, program, self.faults)

    def check(self, entries: Sequence[Entry], name: str) -> None:
        statics = [node for node in self._functions if _is_static(node)]
        failing = program_statements.failing_functions(self._program)
        c_names: dict[str, str] = {}
        for function in self._program.functions:
            for call in program_statements.streams_of(function):
                self._check_stream(statics.pop(0), call)
            node = statics.pop(0)
            c_names[function.name] = _name(node)
            self._check_function(node, function, failing, c_names)
        if statics:
            raise UnreadableError(statics[0], "this function is not the plan's")
        self._check_library(entries, name, c_names)

    def _check_stream(self, node: Node, call: KernelCall) -> None:
        assert call.rows is not None
        if _name(node) != call.function or _parameters(node) != STREAM_PARAMETERS:
            raise UnreadableError(node, f"this is not the stream '{call.function}'")
        written = stream_form(call.function, field(node, "body"), self._names)
        wanted = program_statements.stream_form(call.rows, bool(call.error))
        if (written.order, written.resumes, len(written.cases)) != (wanted.order, wanted.resumes, len(wanted.cases)):
            raise UnreadableError(node, "the stream makes its calls in another order")
        for number, (written_case, other) in enumerate(zip(written.cases, wanted.cases, strict=True)):
            self._same_bodies(written_case, other, {}, f"'{call.function}', call {number}")

    def _check_function(
        self, node: Node, function: ProgramFunction, failing: frozenset[str], c_names: Mapping[str, str]
    ) -> None:
        fails = function.name in failing
        if text_of(field(node, "type")) != ("tflmgen_status" if fails else "void"):
            raise UnreadableError(node, "the function returns something else")
        kept = dict(self._names.pointers)
        written = c_statements.function_form(field(node, "body"), self._names, f"{_name(node)}_result_", fails)
        self._names.pointers = kept
        wanted = program_statements.function_form(function, failing)
        where = f"'{function.name}'"
        if written.slots != wanted.slots:
            raise ValueError(f"{where}: its pointers begin at other places")
        if written.results != wanted.results:
            raise ValueError(f"{where}: other results are kept")
        self._same_bodies(written.body, wanted.body, c_names, where)

    def _same_bodies(
        self, written_body: Sequence[Statement], other: Sequence[Statement], c_names: Mapping[str, str], where: str
    ) -> None:
        for number, (written, wanted) in enumerate(zip(written_body, other, strict=False)):
            if not self._is_same(written, wanted, c_names, where):
                raise ValueError(f"{where}, statement {number}: {_shortened(written)} instead of {_shortened(wanted)}")
        if len(written_body) != len(other):
            raise ValueError(f"{where}: {len(written_body)} statements instead of {len(other)}")

    def _is_same(self, written: Statement, other: Statement, c_names: Mapping[str, str], where: str) -> bool:
        if isinstance(written, Fill) and isinstance(other, CopyBytes):
            return self._is_fill(written, other)
        if isinstance(written, CopyBytes) and isinstance(other, CopyBytes):
            return (
                written.bytes == other.bytes
                and written.move >= other.move
                and self._same_places(written.destination, other.destination)
                and self._same_places(written.source, other.source)
            )
        if isinstance(written, CallOf) and isinstance(other, CallOf):
            return self._is_same_call(written, other)
        if isinstance(written, IfElse) and isinstance(other, IfElse):
            self._same_bodies(written.then, other.then, c_names, where)
            self._same_bodies(written.orelse, other.orelse, c_names, where)
            return self._same_places(written.condition, other.condition)
        if isinstance(written, Iterate) and isinstance(other, Iterate):
            self._same_bodies(_before_test(written), _before_test(other), c_names, where)
            self._same_bodies(_after_test(written), _after_test(other), c_names, where)
            same_test = (written.test is None) == (other.test is None) and (
                written.test is None or other.test is None or self._same_places(written.test, other.test)
            )
            return same_test and (written.trips, written.limit) == (other.trips, other.limit)
        if isinstance(written, RunFunction) and isinstance(other, RunFunction):
            return written.function == c_names.get(other.function) and written.checked == other.checked
        return written == other

    def _is_same_call(self, written: CallOf, other: CallOf) -> bool:
        counts, in_program = dict(written.counts), dict(other.counts)
        return (
            (written.function, written.error, len(written.arguments), len(written.counts))
            == (other.function, other.error, len(other.arguments), len(other.counts))
            and all(map(self._same_places, written.arguments, other.arguments))
            and counts.keys() == in_program.keys()
            and all(self._same_places(place, in_program[name]) for name, place in counts.items())
            and _same_structs(written.struct, other.struct)
        )

    def _same_places(self, written: Pointer, other: Pointer) -> bool:
        """Whether C and the Program mean the same place; constants are compared by their bytes."""
        if not (written.base.startswith("flash ") and other.base.startswith("flash ")):
            return written == other
        key = written.base.removeprefix("flash "), other.base.removeprefix("flash ")
        if key not in self._same:
            self._same[key] = _is_array(self._arrays[key[0]], self._program.constants[key[1]])
        return self._same[key] and written.offset == other.offset

    def _is_fill(self, written: Fill, other: CopyBytes) -> bool:
        """Whether the bytes that are to be copied are all the same."""
        if not other.source.base.startswith("flash ") or written.bytes != other.bytes:
            return False
        data = self._program.constants[other.source.base.removeprefix("flash ")].data
        copied = data[other.source.offset : other.source.offset + other.bytes]
        return copied == bytes([written.byte]) * written.bytes and self._same_places(
            written.destination, other.destination
        )

    def _check_library(self, entries: Sequence[Entry], name: str, c_names: Mapping[str, str]) -> None:
        bodies = {_name(node): field(node, "body") for node in self._functions if not _is_static(node)}
        variables: dict[str, str] = {}
        for signature, entry in zip(self._program.signatures, entries, strict=True):
            function = self._program.function(signature.function)
            c_name = c_names[function.name]
            same = self._same_places
            variables |= check_entry(signature, function, entry, bodies, self._names, c_name, same, self.faults)
        for function in self._program.functions:
            for i, access in enumerate(function.results):
                initial = self._initial.get(f"{c_names[function.name]}_result_{i}")
                if initial is not None and self._names.pointer(initial) != start_of(function, access):
                    raise UnreadableError(initial, "a result lies elsewhere at first")
        counters = [words for words in self._statics if words.startswith("uint32_t ")]
        check_state(self.faults, self._plan, bodies, name, counters, self._names)
        check_further(bodies, entries, name, self.faults, variables)


def _is_static(node: Node) -> bool:
    return any(child.type == "storage_class_specifier" and text_of(child) == "static" for child in node.children)


def _name(node: Node) -> str:
    declarator = field(node, "declarator")
    while declarator.type == "pointer_declarator":
        declarator = field(declarator, "declarator")
    return text_of(field(declarator, "declarator"))


def _parameters(node: Node) -> str:
    declarator = field(node, "declarator")
    return words_of(field(declarator, "parameters")) if declarator.type == "function_declarator" else ""


def _before_test(loop: Iterate) -> tuple[Statement, ...]:
    return loop.before if loop.test is not None else ()


def _after_test(loop: Iterate) -> tuple[Statement, ...]:
    return loop.after if loop.test is not None else (*loop.before, *loop.after)


def _shortened(statement: Statement) -> str:
    text = repr(statement)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _is_array(written: tuple[str, bytes], array: ConstantArray) -> bool:
    """Whether an array of C has a constant's type and bytes; an empty one has an element that nothing reads."""
    c_type = "tflmgen_bool" if array.dtype is DType.BOOL else array.dtype.c_type
    return written[0] == c_type and (written[1] == array.bytes_in_c or (not array.data and not any(written[1])))


def _same_structs(written: Struct | None, other: Struct | None) -> bool:
    if written is None or other is None:
        return written is other
    if written.tag != other.tag or not set(written.fields) <= set(other.fields):
        return False
    return all(_same_numbers(written.fields.get(name, 0), value) for name, value in other.fields.items())


def _same_numbers(written: ParamValue, other: ParamValue) -> bool:
    """Whether a field is the same: elements that a list lacks are 0, reals are of 32 bits."""
    if isinstance(written, tuple) or isinstance(other, tuple):
        first, second = (value if isinstance(value, tuple) else (value,) * bool(value) for value in (written, other))
        length = max(len(first), len(second))
        return all(
            _same_numbers(a, b)
            for a, b in zip(
                (*first, *[0] * (length - len(first))), (*second, *[0] * (length - len(second))), strict=True
            )
        )
    if isinstance(written, float) or isinstance(other, float):
        return np.float32(written).tobytes() == np.float32(other).tobytes() or (written != written and other != other)
    return int(written) == int(other)
