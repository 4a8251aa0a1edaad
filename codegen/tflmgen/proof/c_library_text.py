"""Text around the functions of the plan in the generated C: memory, the C API's functions, the kept state."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.ir.program import Access, Fixed, Program, ProgramFunction, Slot
from tflmgen.proof.c_fault_checks import FaultText
from tflmgen.proof.c_symbols import Names
from tflmgen.proof.c_syntax import Node, UnreadableError, elements, field, integer, parts, text_of, unwrapped, words_of
from tflmgen.proof.program_statements import pointer
from tflmgen.proof.reset_contents import image_after
from tflmgen.proof.signature_functions import BLOB_HEADER_BYTES, Entry, dimension_verb
from tflmgen.proof.statements import Pointer

ALIGNMENT = 16
"""Bytes that the address of an instance's arena is a multiple of."""

_ARENA = re.compile(r"static uint8_t arena \[ (.+) \] ;")
_FURTHER_ARENA = re.compile(r"static uint8_t arena_(\d+) \[ (\d+) \] ;")


def flat(root: Node) -> Iterator[Node]:
    """The declarations and functions of a file, those inside of conditions of the preprocessor included."""
    for node in parts(root):
        if node.type.startswith("preproc_if") or node.type in ("preproc_else", "preproc_elif"):
            yield from flat(node)
        else:
            yield node


def offsets_of(nodes: Iterable[Node]) -> dict[str, int]:
    """The enumerators at_NAME: offsets of places."""
    offsets: dict[str, int] = {}
    for node in nodes:
        if node.type != "enum_specifier":
            continue
        for enumerator in parts(field(node, "body")):
            name = text_of(field(enumerator, "name"))
            if not name.startswith("at_") or name in offsets:
                raise UnreadableError(enumerator, "this is no offset, or one again")
            offsets[name] = integer(field(enumerator, "value"))
    return offsets


def has_arena(nodes: Iterable[Node]) -> bool:
    """Whether the library has an arena of its own."""
    return any(node.type == "declaration" and _ARENA.fullmatch(words_of(node)) for node in nodes)


def arena_sizes(program: Program) -> set[int]:
    """Sizes that the arena may have: what the plan needs, in C at least 1 byte, for instances in units of 16."""
    size = program.arena_sizes[0]
    return {max(1, size), size, -(-size // ALIGNMENT) * ALIGNMENT}


def check_memory(nodes: Iterable[Node], program: Program, faults: FaultText) -> None:
    """Raises UnreadableError where macros of places mean something else, or the arena is too small."""
    arena, state = faults.array("arena"), faults.array("state")
    macros = {
        "AT(tensor) ((void *)(tflmgen_shared_arena + at_##tensor))",
        f"AT(tensor) ((void *)({arena} + at_##tensor))",
        f"STATE_AT(tensor) ((void *)({state} + at_##tensor))",
    }
    further = {str(number): str(max(1, size)) for number, size in enumerate(program.arena_sizes) if number}
    further_macros = {f"AT_{number}(tensor) ((void *)(arena_{number} + at_##tensor))": number for number in further}
    defined = set()
    for node in nodes:
        if node.type == "preproc_function_def":
            macro = " ".join(text_of(node).split()).removeprefix("#define ")
            if macro in further_macros:
                defined.add(further_macros[macro])
            elif macro not in macros:
                raise UnreadableError(node, "this macro is not known")
        declared = _ARENA.fullmatch(words_of(node)) if node.type == "declaration" else None
        if declared is not None and declared[1] not in {faults.bytes(size) for size in arena_sizes(program)}:
            raise UnreadableError(node, "the arena has another size")
        array = _FURTHER_ARENA.fullmatch(words_of(node)) if node.type == "declaration" else None
        if array is not None and further.pop(array[1], None) != array[2]:
            raise UnreadableError(node, "this array of the arena has another size")
    if defined & further.keys():
        raise ValueError("places are in an array of the arena that is not declared")


def start_of(function: ProgramFunction, access: Access) -> Pointer:
    """Pointer to a value of a function on its entry."""
    if not isinstance(access.place, Slot):
        return pointer(access.place)
    home = pointer(function.slots[access.place.index].place)
    return Pointer(home.base, home.offset + access.place.offset)


def check_entry(
    signature: EntryPoint,
    function: ProgramFunction,
    entry: Entry,
    bodies: Mapping[str, Node],
    names: Names,
    c_name: str,
    same_places: Callable[[Pointer, Pointer], bool],
    faults: FaultText,
) -> dict[str, str]:
    """C function -> the variable that it sets or returns, of dimensions that are known at run time only.

    Raises UnreadableError where the C API returns other places than the Program's, or invoke does something else.
    bodies: of all functions by name. c_name: of the C function of the signature's function. same_places: whether a
    place of the text is one of the Program.
    """
    inputs = [start_of(function, access) for access in function.inputs]
    outputs = [
        Pointer(f"static {c_name}_result_{i}") if isinstance(a.place, Slot) else pointer(a.place)
        for i, a in enumerate(function.results)
    ]
    for name, place in (*zip(entry.inputs, inputs, strict=False), *zip(entry.outputs, outputs, strict=False)):
        (statement,) = parts(bodies[name])
        if statement.type != "return_statement" or not same_places(names.pointer(*parts(statement)), place):
            raise UnreadableError(statement, f"'{name}' returns another place")
    taken = _taken_by_push(signature, inputs)
    if taken:
        _check_push(bodies[entry.push], taken, names, entry)
    invoke = _Invoke(signature, names, c_name, faults)
    invoke.check(list(parts(bodies[entry.invoke])), inputs, outputs)
    return {
        f"{function}_{dimension_verb(port, is_input)}": invoke.variables[is_input, i]
        for is_input, ports, functions in (
            (True, signature.inputs, entry.inputs),
            (False, signature.outputs, entry.outputs),
        )
        for i, (port, function) in enumerate(zip(ports, functions, strict=True))
        if port.type.dynamic_axes
    }


def _taken_by_push(signature: EntryPoint, places: Sequence[Pointer]) -> dict[str, tuple[Pointer, Port]]:
    """Parameter of the function that takes rows -> the input that these are of; empty if there is no such function."""
    inputs = list(zip(places, signature.inputs, strict=False))
    pushed = [pair for pair in inputs if pair[1].pushed]
    windows = [pair for pair in inputs if pair[1].slide is not None]
    names = ["rows"] if len(windows) == 1 else [f"rows_{i}" for i in range(len(windows))]
    return {"row": pushed[0]} if pushed else dict(zip(names, windows, strict=True))


def _check_push(body: Node, taken: Mapping[str, tuple[Pointer, Port]], names: Names, entry: Entry) -> None:
    """Raises UnreadableError unless rows go to the inputs, and the model is invoked. taken: parameter -> the input."""
    *copies, call = parts(body)
    if len(copies) != len(taken) or words_of(call) != f"return {entry.invoke} ( ) ;":
        raise UnreadableError(body, f"'{entry.push}' does something else")
    for copy, (parameter, (place, port)) in zip(copies, taken.items(), strict=True):
        arguments = list(parts(field(next(parts(copy)), "arguments")))
        if (
            text_of(field(next(parts(copy)), "function")) != "memcpy"
            or (names.pointer(arguments[0]), text_of(arguments[1])) != (place, parameter)
            or integer(arguments[2]) != port.invoke_type.bytes
        ):
            raise UnreadableError(copy, f"'{entry.push}' copies something else")


def _is_pushed(port: Port) -> bool:
    return port.pushed or port.slide is not None


class _Invoke:
    """The invoke function of a signature, statement by statement."""

    def __init__(self, signature: EntryPoint, names: Names, c_name: str, faults: FaultText) -> None:
        self._signature, self._names, self._c_name, self._faults = signature, names, c_name, faults
        self.variables: dict[tuple[bool, int], str] = {}
        """(of an input, its number) -> the variable with its dimensions."""

    def check(self, nodes: list[Node], inputs: Sequence[Pointer], outputs: Sequence[Pointer]) -> None:
        """inputs, outputs: places of the function's inputs and results, those of dimensions behind those of tensors."""
        checks = self._faults.before_invoke
        if [words_of(node) for node in nodes[: len(checks)]] != checks:
            raise ValueError(f"'{self._c_name}' checks other memory first")
        nodes = nodes[len(checks) :]
        conditions: list[str] = []
        while nodes and nodes[0].type == "if_statement":
            conditions.append(words_of(nodes.pop(0)))
        dims = [self._stored(nodes.pop(0), place) for place in inputs[len(self._signature.inputs) :]]
        if sorted(conditions) != sorted(self._conditions(iter(dims))):
            raise ValueError(f"'{self._c_name}' checks other bounds of its inputs")
        for port, place in zip(self._signature.inputs, inputs, strict=False):
            if port.type.dtype is DType.BOOL:
                self._normalized(nodes.pop(0), place, port)
        self._run(nodes)
        further = iter(outputs[len(self._signature.outputs) :])
        for i, port in enumerate(self._signature.outputs):
            for axis in port.type.dynamic_axes:
                self._returned(nodes.pop(0), next(further), i, axis)
        *checked, last = nodes
        if [words_of(node) for node in checked] != self._faults.after_invoke or not self._is_status(last):
            raise ValueError(f"the call of '{self._c_name}' is followed by something else")

    def _is_status(self, node: Node) -> bool:
        """Whether this returns success, or with sliding windows that more must come, by the counter of pushes."""
        if not self._signature.counter:
            return words_of(node) == "return TFLMGEN_OK ;"
        state = self._faults.program.state
        (counter,) = (v.access.place for v in state if v.name == self._signature.counter)
        (choice,) = parts(node)
        if node.type != "return_statement" or choice.type != "conditional_expression":
            return False
        test = unwrapped(field(choice, "condition"))
        results = text_of(field(choice, "consequence")), text_of(field(choice, "alternative"))
        return (
            results == ("TFLMGEN_MORE", "TFLMGEN_OK")
            and text_of(field(test, "operator")) == "<"
            and self._names.loaded(field(test, "left"), "tflmgen_s32") == pointer(counter)
            and integer(field(test, "right")) == self._signature.pushes
        )

    def _stored(self, node: Node, place: Pointer) -> str:
        """The variable whose value goes to where the plan has a dimension."""
        expression = next(parts(node))
        target = unwrapped(field(expression, "left"))
        cast = field(target, "argument") if target.type == "pointer_expression" else target
        if text_of(field(cast, "type")) != "tflmgen_s32 *" or self._names.pointer(field(cast, "value")) != place:
            raise UnreadableError(node, "a dimension goes to another place")
        return words_of(field(expression, "right"))

    def _returned(self, node: Node, place: Pointer, number: int, axis: int) -> None:
        """A dimension of an output goes from the plan's place to its place in the shape that is returned."""
        expression = next(parts(node))
        if self._names.loaded(field(expression, "right"), "tflmgen_s32") != place:
            raise UnreadableError(expression, "a dimension is read from another place")
        variable, _, index = words_of(field(expression, "left")).partition(" [ ")
        if index != f"{axis} ]" or self.variables.setdefault((False, number), variable) != variable:
            raise UnreadableError(expression, "a dimension goes to another place")

    def _conditions(self, dims: Iterator[str]) -> Iterator[str]:
        for number, port in enumerate(self._signature.inputs):
            axes, shape = port.type.dynamic_axes, port.type.max_shape
            for axis in axes:
                variable = next(dims)
                base = variable.partition(" [ ")[0]
                if self.variables.setdefault((True, number), base) != base:
                    raise ValueError(f"'{variable}' is of another input")
                if axes != (0,) and not variable.endswith(f" [ {axis} ]"):
                    raise ValueError(f"'{variable}' is not dimension {axis}")
                yield f"if ( {variable} < 0 || {variable} > {shape[axis]} ) {{ return TFLMGEN_ERROR_BOUND ; }}"
            if axes and axes != (0,):
                base = variable.rpartition(" [ ")[0]
                for axis in sorted(set(range(len(shape))) - set(axes)):
                    yield f"if ( {base} [ {axis} ] != {shape[axis]} ) {{ return TFLMGEN_ERROR_ARGUMENT ; }}"

    def _normalized(self, node: Node, place: Pointer, port: Port) -> None:
        call = next(parts(node))
        where, count = parts(field(call, "arguments"))
        wanted = "tflmgen_normalize_bools", place, port.invoke_type.elements
        if (text_of(field(call, "function")), self._names.pointer(where), integer(count)) != wanted:
            raise UnreadableError(node, "these are not the bools of an input")

    def _run(self, nodes: list[Node]) -> None:
        words = words_of(nodes.pop(0))
        if words == f"{self._c_name} ( ) ;":
            return
        kept = f"const tflmgen_status status = {self._c_name} ( ) ;"
        passed_on = "if ( status != TFLMGEN_OK ) { return status ; }"
        if words != kept or not nodes or words_of(nodes.pop(0)) != passed_on:
            raise ValueError(f"'{self._c_name}' is not run")


def check_state(
    faults: FaultText, plan: str, bodies: Mapping[str, Node], name: str, counters: Sequence[str], names: Names
) -> None:
    """Raises ValueError where the state begins with other bytes, or a reset does not bring these back.

    counters: declarations of the static numbers of streams, which begin anew.
    """
    program, state = faults.program, faults.array("state")
    zeros = [f"{counter.split()[1]} = 0 ;" for counter in counters]
    reset, first = [words_of(node) for node in parts(bodies[f"{name}_reset"])], [*zeros, *faults.resets]
    if reset[: len(first)] != first or (not program.state_bytes and reset != first):
        raise ValueError("a reset does something else")
    if not program.state_bytes:
        return
    _check_contents(faults, plan, image_after(reset[len(first) :], state, program.state_bytes, plan))
    _check_blob_header(plan, program.state_bytes)
    save, load = ([words_of(node) for node in parts(bodies[f"{name}_state_{verb}"])] for verb in ("save", "load"))
    if save != [
        "memcpy ( blob , state_header , sizeof state_header ) ;",
        f"memcpy ( ( uint8_t * ) blob + sizeof state_header , {state} , {program.state_bytes} ) ;",
    ]:
        raise ValueError("saving the state does something else")
    if load[:2] != [
        "if ( memcmp ( blob , state_header , sizeof state_header ) != 0 ) { return TFLMGEN_ERROR_STATE ; }",
        f"memcpy ( {state} , ( const uint8_t * ) blob + sizeof state_header , {program.state_bytes} ) ;",
    ]:
        raise ValueError("loading the state does something else")
    _check_loaded_bools(program, list(parts(bodies[f"{name}_state_load"]))[2:], names)


def _check_contents(faults: FaultText, plan: str, after_reset: bytes) -> None:
    """Raises ValueError where the state begins with other bytes than the variables, or a reset gives it others."""
    program = faults.program
    image = np.zeros(program.state_bytes, dtype=np.uint8)
    for variable in program.state:
        data, place = program.images[variable.initial].data, variable.access.place
        assert isinstance(place, Fixed)
        image[place.offset : place.offset + len(data)] = np.frombuffer(data, dtype=np.uint8)
    if after_reset != image.tobytes():
        raise ValueError("a reset gives the state other contents than the variables have at first")
    declared = re.escape(f"static uint8_t state[{faults.bytes(program.state_bytes)}]")
    begin = re.escape("[TFLMGEN_GUARD_BEFORE] =" if faults.has_guards else "")
    match = re.search(rf"{declared}(?:;| = \{{\s*{begin}([^}}]*)\}};)", plan)
    if match is None:
        raise ValueError("the state is declared in another way")
    first = elements(match[1], np.dtype("|u1")).tobytes() if match[1] else bytes(program.state_bytes)
    if first != image.tobytes():
        raise ValueError("'state' has other contents than the variables at first")


def _check_blob_header(plan: str, state_bytes: int) -> None:
    """Raises ValueError unless a saved state begins with TFLS, version 1 and its size; a hash of 16 bytes follows."""
    match = re.search(rf"static const uint8_t state_header\[{BLOB_HEADER_BYTES}\] = \{{([^}}]*)\}};", plan)
    header = elements(match[1], np.dtype("|u1")).tobytes() if match else b""
    if len(header) != BLOB_HEADER_BYTES or header[:12] != b"TFLS" + struct.pack("<II", 1, state_bytes):
        raise ValueError("a saved state begins with something else")


def _check_loaded_bools(program: Program, nodes: Sequence[Node], names: Names) -> None:
    """Raises ValueError unless the bools of a state that is loaded become 0 or 1, and the rest is its end."""
    kept = [variable.access for variable in program.state if variable.access.value.type.dtype is DType.BOOL]
    if len(nodes) != len(kept) + 1 or words_of(nodes[-1]) != "return TFLMGEN_OK ;":
        raise ValueError("loading the state does something else")
    for node, access in zip(nodes, kept, strict=False):
        call = next(parts(node))
        where, count = parts(field(call, "arguments"))
        if text_of(field(call, "function")) != "tflmgen_normalize_bools" or (
            (names.pointer(where), integer(count)) != (pointer(access.place), access.value.type.elements)
        ):
            raise UnreadableError(node, "these are not the bools of the state")


_FURTHER = {
    "rows": "{variable} = rows ;",
    "set_shape": "memcpy ( {variable} , shape , sizeof {variable} ) ;",
    "shape": "return {variable} ;",
}
"""The one statement of functions that set a dimension, or a shape, or return a shape, by how their names end."""


def check_further(
    bodies: Mapping[str, Node], entries: Sequence[Entry], name: str, faults: FaultText, variables: Mapping[str, str]
) -> None:
    """Raises UnreadableError for functions of the C API that are of no signature and no known kind.

    variables: of each function for dimensions the variable that it sets or returns.
    """
    if len(set(variables.values())) != len(variables):
        raise ValueError("two tensors have their dimensions in one variable")
    own = faults.own_function
    if own is not None and [words_of(node) for node in parts(bodies[f"{name}_check"])] != own:
        raise UnreadableError(bodies[f"{name}_check"], "this checks something else")
    known = {f"{name}_check"} if own is not None else set()
    known |= {f"{name}_{verb}" for verb in ("reset", "state_save", "state_load")}
    known.update(value for entry in entries for value in (*entry.inputs, *entry.outputs, entry.invoke))
    known.update(
        e.push for e, s in zip(entries, faults.program.signatures, strict=True) if any(map(_is_pushed, s.inputs))
    )
    for function in bodies.keys() - known:
        kind = next((kind for kind in _FURTHER if function in variables and function.endswith(kind)), "")
        words = [words_of(node) for node in parts(bodies[function])]
        if not kind or words != [_FURTHER[kind].format(variable=variables[function])]:
            raise UnreadableError(bodies[function], f"'{function}' does something else")
    for function in variables.keys() - bodies.keys():
        raise ValueError(f"'{function}' is missing")
