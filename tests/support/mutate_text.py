"""Corrupts generated C as wrong templates or writers would: every mutant does something else than its original."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

from support.random_program import Chooser

Files = Mapping[str, str]
Mutator = Callable[[str, Chooser], str]
"""The text of a file, with one corruption; the text as it was where there is no place for it."""

_ENUMERATOR = re.compile(r"^    at_(\w+) = (\d+),", re.MULTILINE)
_STRUCT_NUMBER = re.compile(r"^ +\.\w+ = (-?\d+),$", re.MULTILINE)
_CALL = re.compile(r"^ +(?:if \(!)?(tflmgen_\w+)\(([^;{]*?)\)(?:;|\) \{)$", re.MULTILINE)
_CONDITION = re.compile(r"if \((!?)\*\(const tflmgen_bool \*\)")
_TRIPS = re.compile(r"< (\d+); \+\+trip")
_LIMIT = re.compile(r"== (\d+)u\) \{")
_COPY = re.compile(r"^ +mem(?:cpy|move|set)\((.*), (\d+)\);$", re.MULTILINE)
_STATEMENT = re.compile(
    r"^ +(?! |return|static|\.|\}|const|case|\{|/\*)[^\n;{}]*(?:\n {5,}(?! )[^\n;{}]*){0,4};$", re.MULTILINE
)
_ELEMENT = re.compile(r"(?<=^    )-?\d+(?=,)|(?<=, )-?\d+(?=,)", re.MULTILINE)
_RETURNED = re.compile(r"^    return (?:STATE_)?AT\((\w+)\);$", re.MULTILINE)


def _random_match(pattern: re.Pattern[str], text: str, choose: Chooser) -> re.Match[str] | None:
    matches = list(pattern.finditer(text))
    return matches[choose.integer(0, len(matches) - 1)] if matches else None


def _with(text: str, match: re.Match[str], group: int, value: str) -> str:
    return text[: match.start(group)] + value + text[match.end(group) :]


def _increment(name: str, pattern: re.Pattern[str]) -> Mutator:
    """A mutator of this name: one number of the pattern's last group is one more."""

    def change(text: str, choose: Chooser) -> str:
        match = _random_match(pattern, text, choose)
        group = match.lastindex if match and match.lastindex else 0
        return text if match is None else _with(text, match, group, str(int(match[group]) + 1))

    change.__name__ = name
    return change


def change_offset(text: str, choose: Chooser) -> str:
    """An enumerator of a place that is written somewhere."""
    match = _random_match(_ENUMERATOR, text, choose)
    if match is None or not re.search(rf"AT\({match[1]}\b", text):
        return text
    return _with(text, match, 2, str(int(match[2]) + choose.integer(1, 16)))


change_struct_number = _increment("change_struct_number", _STRUCT_NUMBER)


def drop_struct_number(text: str, choose: Chooser) -> str:
    """A field that is not 0 gets no value."""
    match = _random_match(_STRUCT_NUMBER, text, choose)
    return text if match is None or match[1] == "0" else text[: match.start()] + text[match.end() + 1 :]


def exchange_arguments(text: str, choose: Chooser) -> str:
    """Two arguments of a kernel that are other places."""
    match = _random_match(_CALL, text, choose)
    if match is None:
        return text
    arguments = [argument.strip() for argument in _split(match[2])]
    places = {name: f"{number}" for name, number in _ENUMERATOR.findall(text)}
    first = choose.integer(0, len(arguments) - 1)
    second = choose.integer(0, len(arguments) - 1)
    meant = [re.sub(r"AT\((\w+)\)", lambda m: f"AT({places.get(m[1], m[1])})", arguments[i]) for i in (first, second)]
    if meant[0] == meant[1]:
        return text
    arguments[first], arguments[second] = arguments[second], arguments[first]
    return _with(text, match, 2, ", ".join(arguments))


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def call_another(text: str, choose: Chooser) -> str:
    match = _random_match(_CALL, text, choose)
    return text if match is None else _with(text, match, 1, f"{match[1]}x")


def negate_condition(text: str, choose: Chooser) -> str:
    """The branches change places, or a loop ends where it is to go on."""
    match = _random_match(_CONDITION, text, choose)
    if match is None or _has_equal_branches(text[match.start() :]):
        return text
    return _with(text, match, 1, "" if match[1] else "!")


def _has_equal_branches(text: str) -> bool:
    """Whether both branches of the `if` that the text begins with do the same, for whatever reason."""
    then = _block(text, text.index("{"))
    rest = text[text.index("{") + len(then) :]
    return rest.startswith(" else {") and _block(rest, rest.index("{")).split() == then.split()


def _block(text: str, begin: int) -> str:
    """The text from the brace at `begin` to the one that closes it."""
    depth = 0
    for end, character in enumerate(text[begin:], begin):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return text[begin : end + 1]
    return text[begin:]


run_once_more = _increment("run_once_more", _TRIPS)


change_limit = _increment("change_limit", _LIMIT)


copy_more = _increment("copy_more", _COPY)


def drop_statement(text: str, choose: Chooser) -> str:
    match = _random_match(_STATEMENT, text, choose)
    return (
        text
        if match is None or "TFLMGEN_PROGRESS" in match[0] or "(void)" in match[0]
        else text.replace(match[0], "", 1)
    )


def repeat_statement(text: str, choose: Chooser) -> str:
    match = _random_match(_STATEMENT, text, choose)
    return text if match is None or "(void)" in match[0] else text.replace(match[0], f"{match[0]}\n{match[0]}", 1)


def exchange_statements(text: str, choose: Chooser) -> str:
    """Two statements that follow one another, and differ."""
    statements = list(_STATEMENT.finditer(text))
    pairs = [(a, b) for a, b in itertools.pairwise(statements) if b.start() == a.end() + 1 and a[0] != b[0]]
    if not pairs:
        return text
    first, second = pairs[choose.integer(0, len(pairs) - 1)]
    if "in_" in first[0] or "out +=" in first[0] or "_pushed" in first[0]:
        return text
    return text[: first.start()] + second[0] + "\n" + first[0] + text[second.end() :]


def return_another_place(text: str, choose: Chooser) -> str:
    """A function of the C API returns a place elsewhere."""
    match = _random_match(_RETURNED, text, choose)
    places = dict(_ENUMERATOR.findall(text))
    if match is None:
        return text
    others = [name for name, offset in places.items() if offset != places[match[1]]]
    return _with(text, match, 1, others[choose.integer(0, len(others) - 1)]) if others else text


PLAN: tuple[Mutator, ...] = (
    change_offset,
    change_struct_number,
    drop_struct_number,
    exchange_arguments,
    call_another,
    negate_condition,
    run_once_more,
    change_limit,
    copy_more,
    drop_statement,
    repeat_statement,
    exchange_statements,
    return_another_place,
)
"""Of the plan's source."""


def change_element(text: str, choose: Chooser) -> str:
    match = _random_match(_ELEMENT, text, choose)
    return text if match is None else _with(text, match, 0, str(int(match[0]) ^ 1))


def exchange_elements(text: str, choose: Chooser) -> str:
    """Two elements of one line that differ."""
    elements: Sequence[re.Match[str]] = list(_ELEMENT.finditer(text))
    pairs = [(a, b) for a, b in itertools.pairwise(elements) if a[0] != b[0] and b.start() - a.end() == 2]
    if not pairs:
        return text
    first, second = pairs[choose.integer(0, len(pairs) - 1)]
    return text[: first.start()] + second[0] + text[first.end() : second.start()] + first[0] + text[second.end() :]


_MACRO_NUMBER = re.compile(r"^#define \w+_(?!OPTIONS|SHA256|VERSION)[A-Z_]+ [({]?(-?\d+)(?!\.)\b", re.MULTILINE)
_PROTOTYPE = re.compile(r"^(?!typedef|#|extern)(?:const )?\w+ \*?(\w+)\((.*)\);\n", re.MULTILINE)
_FIELD_NUMBER = re.compile(r"^ +\.(?:bytes|row_bytes|\w+_count) = (\d+),$", re.MULTILINE)
_FIELD_NAME = re.compile(r"^ +\.(?:data|dim|inputs|outputs|invoke|reset) = (\w+),$", re.MULTILINE)
_FIELD = re.compile(r"^ +\.\w+ = [^\n]+,\n", re.MULTILINE)
_CALLED = re.compile(r"^    (?:return \(void \*\)\(uintptr_t\))?(\w+)\(\w*\);$", re.MULTILINE)


def _exchange(name: str, pattern: re.Pattern[str]) -> Mutator:
    """A mutator of this name: one name that the pattern finds instead of another one."""

    def change(text: str, choose: Chooser) -> str:
        match = _random_match(pattern, text, choose)
        names = sorted({m[1] for m in pattern.finditer(text)} - ({match[1]} if match else set()))
        if match is None or not names:
            return text
        return _with(text, match, 1, names[choose.integer(0, len(names) - 1)])

    change.__name__ = name
    return change


change_macro = _increment("change_macro", _MACRO_NUMBER)
"""A size, a rank, an extent or a zero point of the public header."""


def drop_prototype(text: str, choose: Chooser) -> str:
    match = _random_match(_PROTOTYPE, text, choose)
    return text if match is None else text[: match.start()] + text[match.end() :]


def take_other_arguments(text: str, choose: Chooser) -> str:
    match = _random_match(_PROTOTYPE, text, choose)
    return text if match is None else _with(text, match, 2, "int other")


HEADER: tuple[Mutator, ...] = (change_macro, drop_prototype, take_other_arguments)
"""Of the public header."""


change_descriptor_number = _increment("change_descriptor_number", _FIELD_NUMBER)


name_another_function = _exchange("name_another_function", _FIELD_NAME)
"""A struct of the descriptor has the function or the struct of another tensor."""


def drop_field(text: str, choose: Chooser) -> str:
    """A field is 0."""
    match = _random_match(_FIELD, text, choose)
    return text if match is None else text[: match.start()] + text[match.end() :]


ask_another_tensor = _exchange("ask_another_tensor", _CALLED)
"""A function of the descriptor calls that of another tensor."""


DESCRIPTOR: tuple[Mutator, ...] = (
    change_descriptor_number,
    name_another_function,
    drop_field,
    ask_another_tensor,
)
"""Of the descriptor of generic callers."""

WEIGHTS: tuple[Mutator, ...] = (change_element, exchange_elements)
"""Of the header with arrays."""
