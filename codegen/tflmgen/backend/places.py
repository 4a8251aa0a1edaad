"""C for places in memory: offsets named by tensor, constants by name, pointers that loop variables exchange."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.backend.c_names import identifier, unique_identifiers
from tflmgen.backend.c_text import comment
from tflmgen.ir.graph import Origin, Value
from tflmgen.ir.kernel import ConstantArray, Memory
from tflmgen.ir.program import Access, Fixed, Flash, Place, Program, ProgramFunction, Slot

NAME_LENGTH = 32
"""Most characters of a tensor's name in the name of its offset."""

Values = Sequence[Access | Value | None]
"""Candidates for the tensor that copied bytes belong to."""


def array_suffix(number: int) -> str:
    """Suffix of the C names of array `number` of an arena in several memories; the first has none."""
    return f"_{number}" if number else ""


@dataclass(frozen=True, slots=True)
class Offset:
    """An enumerator at_`name` of the generated C: `place` lies `offset` bytes into its array; `text` is its comment."""

    name: str
    place: Fixed
    text: str
    offset: int


class Places:
    """C expressions of the addresses in one program; records the offsets and constants in use."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._constants = dict(zip(program.constants, unique_identifiers(program.constants), strict=True))
        self._captions: dict[str, str] = {}
        self._offsets: dict[tuple[Fixed, str], Offset] = {}
        self._names: set[str] = set()
        self._slots: dict[int, str] = {}
        self._of_value = {a.value: a.place for f in program.functions for a in f.accesses}

    @property
    def used(self) -> Mapping[str, ConstantArray]:
        """The constants that the text written so far uses."""
        return {key: array for key, array in self._program.constants.items() if key in self._captions}

    def offsets(self, memory: Memory, array: int = 0) -> list[Offset]:
        """The offsets in array `array` of `memory` that the text written so far uses, in the order of first use."""
        return [o for o in self._offsets.values() if o.place.memory == memory and self._array(o.place)[0] == array]

    def constant(self, name: str) -> str:
        """C name of a constant array in flash."""
        return self._constants[name]

    @property
    def arrays(self) -> Iterator[tuple[str, ConstantArray]]:
        """The arrays in flash that the text written so far uses, each with its C name."""
        return ((self.constant(name), array) for name, array in self.used.items())

    def caption(self, name: str) -> str:
        """Comment of a constant in use."""
        return self._captions[name]

    def enter(self, function: ProgramFunction) -> Iterator[tuple[str, str]]:
        """Begins a function: yields the name and the initial address (as C) of each of its pointer slots."""
        accesses = [a for a in function.accesses if isinstance(a.place, Slot)]
        first_accesses = [next((a for a in accesses if a.place == Slot(i)), None) for i in range(len(function.slots))]
        words = unique_identifiers(f"slot_{_word(a.value.name) if a else i}" for i, a in enumerate(first_accesses))
        self._slots = dict(enumerate(words))
        for word, access, home in zip(words, first_accesses, function.slots, strict=True):
            yield word, self.start(function, access) if access else self.named(home.place, word, "")

    def start(self, function: ProgramFunction, access: Access) -> str:
        """C expression of the address that a value in a pointer slot has on entry to the function."""
        assert isinstance(access.place, Slot)
        home = function.slots[access.place.index].place
        place = replace(home, offset=home.offset + access.place.offset)
        return self.named(place, access.value.name, str(access.value.type))

    def slot(self, index: int) -> str:
        """C name of a pointer variable of the function that is being written."""
        return self._slots[index]

    def access(self, access: Access) -> str:
        """C expression of the address of an operand."""
        value = access.value
        return self.named(access.place, value.name, str(value.type))

    def packed(self, place: Place, origin: Origin, header: str) -> str:
        """C expression of an operator's scratch memory, or of a constant packed for its kernel in `header`."""
        operator = f"operator {origin.operator}: {origin.operator_name}"
        if not isinstance(place, Flash):
            return self.named(place, f"{origin.operator_name}_{origin.operator}_scratch", f"scratch of {operator}")
        array = self._program.constants[place.name]
        subgraph = f"subgraph {origin.subgraph}, " if origin.subgraph else ""
        caption = f"{subgraph}{operator}, {array.name}: {_type(array)}, laid out as tflmgen/{header} reads it"
        self._captions.setdefault(place.name, comment(caption))
        return self.named(place, array.name, _type(array))

    def copied(self, place: Place, step: int, values: Values) -> str:
        """C expression of the source or target of a copy: one of `values`, a part of one, or a temporary."""
        accesses = [self._access_of(value) for value in values if value is not None]
        if isinstance(place, Fixed):
            for access in sorted((a for a in accesses if a), key=lambda a: a.place != place):
                home = access.place
                if isinstance(home, Fixed) and home.memory == place.memory:
                    within = place.offset - home.offset
                    if 0 <= within < max(1, access.bytes):
                        written = self.access(access)
                        return f"{written[:-1]} + {within})" if within else written
        return self.named(place, f"temporary_{step}", "of a copy")

    def _access_of(self, value: Access | Value) -> Access | None:
        if isinstance(value, Access):
            return value
        place = self._of_value.get(value)
        return None if place is None else Access(place, value)

    def named(self, place: Place, name: str, text: str) -> str:
        """C expression of `place`; `name` and `text` are the name and comment of its tensor or temporary."""
        if isinstance(place, Fixed):
            macro = "STATE_AT" if place.memory == "state" else f"AT{array_suffix(self._array(place)[0])}"
            return f"{macro}({self._offset(place, _word(name), text).name})"
        if isinstance(place, Slot):
            slot = self.slot(place.index)
            return f"((void *)((uint8_t *){slot} + {place.offset}))" if place.offset else slot
        array = self._program.constants[place.name]
        self._captions.setdefault(place.name, comment(f"'{array.name}': {_type(array)}"))
        constant = self._constants[place.name]
        return f"((const uint8_t *){constant} + {place.offset})" if place.offset else constant

    def _offset(self, place: Fixed, word: str, text: str) -> Offset:
        key = place, word
        if key not in self._offsets:
            name, number = word, 2
            while name in self._names:
                name, number = f"{word}_{number}", number + 1
            self._names.add(name)
            self._offsets[key] = Offset(name, place, comment(text), self._array(place)[1])
        return self._offsets[key]

    def _array(self, place: Fixed) -> tuple[int, int]:
        """Number of the array of the place's memory that it lies in, and its offset there."""
        starts = self._program.arena_starts if place.memory == "arena" else (0,)
        number = bisect_right(starts, place.offset) - 1
        return number, place.offset - starts[number]


def _type(array: ConstantArray) -> str:
    return f"{array.dtype.label}[{','.join(map(str, array.shape))}]"


def _word(name: str) -> str:
    """A tensor's name as one C word: its last part, with the one before if both are short.

    Of names that a converter joined with semicolons the first is used, which names the result.
    """
    parts = [part for part in name.split(";")[0].split("/") if part] or [name]
    joined = "_".join(parts[-2:])
    # Keywords get an underscore as identifiers, but need none behind at_.
    word = identifier(joined if len(joined) <= NAME_LENGTH else parts[-1]).removesuffix("_")
    tail = word[-NAME_LENGTH:]
    return word if tail == word else tail.partition("_")[2] or tail
