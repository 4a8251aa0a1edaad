"""What stands around the functions of the plan in the generated C: memory, the C API's functions, the kept state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import Access, DType, Fixed, Port, Program, ProgramFunction, Signature, Slot
from tflmgen.proof.c_statements import Names
from tflmgen.proof.c_syntax import Node, UnreadableError, elements, field, integer, parts, text_of, unwrapped, words_of
from tflmgen.proof.program_statements import pointer
from tflmgen.proof.statements import Pointer

_MACROS = {
    "AT(tensor) ((void *)(tflmgen_shared_arena + at_##tensor))",
    "AT(tensor) ((void *)(arena + at_##tensor))",
    "STATE_AT(tensor) ((void *)(state + at_##tensor))",
}
"""How places in memory are written."""

_ARENA = re.compile(r"static uint8_t arena \[ (\d+) \] ;")


@dataclass(frozen=True, slots=True)
class Entry:
    """The C functions of a signature: of each input and output the one that returns where it lies, and invoke."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    invoke: str


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


def check_memory(nodes: Iterable[Node], program: Program) -> None:
    """Raises UnreadableError where macros of places mean something else, or the arena is too small."""
    for node in nodes:
        if node.type == "preproc_function_def":
            words = " ".join(text_of(node).split())
            if words.removeprefix("#define ") not in _MACROS:
                raise UnreadableError(node, "this macro is not known")
        arena = _ARENA.fullmatch(words_of(node)) if node.type == "declaration" else None
        if arena is not None and int(arena[1]) < program.arena_bytes:
            raise UnreadableError(node, "the arena is too small")


def start_of(function: ProgramFunction, access: Access) -> Pointer:
    """Where a value of a function lies as this is entered."""
    if not isinstance(access.place, Slot):
        return pointer(access.place)
    home = pointer(function.slots[access.place.index].place)
    return Pointer(home.base, home.offset + access.place.offset)


def check_entry(
    signature: Signature,
    function: ProgramFunction,
    entry: Entry,
    bodies: Mapping[str, Node],
    names: Names,
    c_name: str,
    same_places: Callable[[Pointer, Pointer], bool],
) -> None:
    """Raises UnreadableError where the C API returns other places than the Program's, or invoke does something else.

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
    _Invoke(signature, names, c_name).check(list(parts(bodies[entry.invoke])), inputs, outputs)


class _Invoke:
    """The invoke function of a signature, statement by statement."""

    def __init__(self, signature: Signature, names: Names, c_name: str) -> None:
        self._signature, self._names, self._c_name = signature, names, c_name

    def check(self, nodes: list[Node], inputs: Sequence[Pointer], outputs: Sequence[Pointer]) -> None:
        """inputs, outputs: places of the function's inputs and results, those of dimensions behind those of tensors."""
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
        for place in outputs[len(self._signature.outputs) :]:
            expression = next(parts(nodes.pop(0)))
            if self._names.loaded(field(expression, "right"), "tflmgen_s32") != place:
                raise UnreadableError(expression, "a dimension is read from another place")
        if [words_of(node) for node in nodes] != ["return TFLMGEN_OK ;"]:
            raise ValueError(f"the call of '{self._c_name}' is followed by something else")

    def _stored(self, node: Node, place: Pointer) -> str:
        """The variable whose value goes to where the plan has a dimension."""
        expression = next(parts(node))
        target = unwrapped(field(expression, "left"))
        cast = field(target, "argument") if target.type == "pointer_expression" else target
        if text_of(field(cast, "type")) != "tflmgen_s32 *" or self._names.pointer(field(cast, "value")) != place:
            raise UnreadableError(node, "a dimension goes to another place")
        return words_of(field(expression, "right"))

    def _conditions(self, dims: Iterator[str]) -> Iterator[str]:
        for port in self._signature.inputs:
            axes, shape = port.type.dynamic_axes, port.type.max_shape
            for axis in axes:
                variable = next(dims)
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
    program: Program, plan: str, bodies: Mapping[str, Node], name: str, counters: Sequence[str], names: Names
) -> None:
    """Raises ValueError where the state begins with other bytes, or a reset does not bring these back.

    counters: declarations of the static numbers of streams, which begin anew.
    """
    zeros = [f"{counter.split()[1]} = 0 ;" for counter in counters]
    copies = ["memcpy ( state , initial_state , sizeof state ) ;"] if program.state_bytes else []
    if [words_of(node) for node in parts(bodies[f"{name}_reset"])] != [*zeros, *copies]:
        raise ValueError("a reset does something else")
    if not program.state_bytes:
        return
    image = np.zeros(program.state_bytes, dtype=np.uint8)
    for variable in program.state:
        data, place = program.images[variable.initial].data, variable.access.place
        assert isinstance(place, Fixed)
        image[place.offset : place.offset + len(data)] = np.frombuffer(data, dtype=np.uint8)
    for kind, array in (("const uint8_t", "initial_state"), ("uint8_t", "state")):
        match = re.search(rf"static {kind} {array}\[{program.state_bytes}\] = \{{([^}}]*)\}};", plan)
        if match is None or elements(match[1], np.dtype("|u1")).tobytes() != image.tobytes():
            raise ValueError(f"'{array}' has other contents than the variables at first")
    save, load = ([words_of(node) for node in parts(bodies[f"{name}_state_{verb}"])] for verb in ("save", "load"))
    if save != [
        "memcpy ( blob , state_header , sizeof state_header ) ;",
        "memcpy ( ( uint8_t * ) blob + sizeof state_header , state , sizeof state ) ;",
    ]:
        raise ValueError("saving the state does something else")
    if load[:2] != [
        "if ( memcmp ( blob , state_header , sizeof state_header ) != 0 ) { return TFLMGEN_ERROR_STATE ; }",
        "memcpy ( state , ( const uint8_t * ) blob + sizeof state_header , sizeof state ) ;",
    ]:
        raise ValueError("loading the state does something else")
    _check_loaded_bools(program, list(parts(bodies[f"{name}_state_load"]))[2:], names)


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


_FURTHER = (
    re.compile(r"(\w+) = rows ;"),
    re.compile(r"memcpy \( (\w+) , shape , sizeof \1 \) ;"),
    re.compile(r"return (\w+) ;"),
)
"""Functions that set a dimension, or a shape, or return a shape: each has a variable of its own."""


def check_further(bodies: Mapping[str, Node], entries: Sequence[Entry], name: str) -> None:
    """Raises UnreadableError for functions of the C API that are of no signature and no known kind."""
    known = {f"{name}_{verb}" for verb in ("reset", "state_save", "state_load")}
    known.update(value for entry in entries for value in (*entry.inputs, *entry.outputs, entry.invoke))
    variables: set[str] = set()
    for function in bodies.keys() - known:
        words = [words_of(node) for node in parts(bodies[function])]
        if len(words) == 2 and words[0].startswith("memcpy ("):
            entry = next((e for e in entries if words[1] == f"return {e.invoke} ( ) ;"), None)
            if entry is not None:
                continue
        match = next((m for kind in _FURTHER if len(words) == 1 and (m := kind.fullmatch(words[0]))), None)
        if match is None or match[1] in variables:
            raise UnreadableError(bodies[function], f"'{function}' does something else")
        variables.add(match[1])
