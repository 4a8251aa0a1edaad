"""The text of a re-entrant library as that of a library with one static instance, which c_text_check.py reads.

Every function of the plan takes the handle `self` and passes on that one and no other. So a run of an instance does
what the same text does whose instance is static: `self->member` becomes the variable `member`, and parameters and
arguments go. What cannot be undone in this way is refused, so that nothing but handles differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tflmgen.errors import InternalError
from tflmgen.proof.c_library_text import ALIGNMENT, flat
from tflmgen.proof.c_syntax import parse, words_of
from tflmgen.proof.refusals import refusing
from tflmgen.proof.reset_contents import image_after

_COMMENT = re.compile(r'("[^"\n]*")|/\*.*?\*/', re.DOTALL)
"""A comment, or a text, in which a comment does not begin. Texts have no quotes: these are octal escapes."""
_STRING = re.compile(r'("[^"\n]*")')
_MEMBER = re.compile(r"(uint32_t |int32_t |void \*|bool )(\w+)(?:\[(\d+)\])?;")
_ASSIGNMENT = re.compile(r"self->(\w+)(?:\[(\d+)\])? = (.+);")


@refusing
def without_handles(files: Mapping[str, str], name: str) -> dict[str, str]:
    """The library's files, with static variables in place of members.

    Raises InternalError where a function does anything else with its handle than to pass it on, where an instance is
    begun otherwise than the static variables are, and where the plan has static variables beside.
    """
    plan, header, descriptor = f"src/{name}.c", f"include/{name}.h", f"src/{name}_model.c"
    try:
        members, begin = _struct(files[header], name)
        changed = {
            plan: _plan(files[plan], name, members, begin),
            header: _header(files[header], name),
            descriptor: _descriptor(files[descriptor], name),
        }
    except ValueError as error:
        raise InternalError(f"the generated C is not re-entrant: {error}") from error
    return {**files, **changed}


def _uncommented(text: str) -> str:
    """The text without comments; lines keep their numbers."""
    return _COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)


def _take_match(pattern: str, text: str, subject: str) -> tuple[re.Match[str], str]:
    """The only match, and the text without it. Raises ValueError where there is none, or another."""
    matches = list(re.finditer(pattern, text, re.DOTALL | re.MULTILINE))
    if len(matches) != 1:
        raise ValueError(f"{subject} is there {len(matches)} times")
    (match,) = matches
    return match, text[: match.start()] + "\n" * match[0].count("\n") + text[match.end() :]


def _outside_strings(pattern: str, replacement: str, text: str) -> str:
    """The text with matches of the pattern replaced, but for those in texts in quotes."""
    pieces = _STRING.split(text)
    code = (re.sub(pattern, replacement, piece, flags=re.MULTILINE) for piece in pieces[::2])
    return "".join(part for pair in zip(code, [*pieces[1::2], ""], strict=True) for part in pair)


def _erased(text: str, name: str) -> str:
    """The text without parameters and arguments of handles. Raises ValueError where one is used in another way."""
    for pattern, replacement in (
        (rf"\({name}_t \*self\)", "(void)"),
        (rf"\({name}_t \*self, ", "("),
        (r"^ *\(void\)self;$", ""),
        (r"\(self\)", "()"),
        (r"\(self,\s*", "("),
        (r"\bself->", ""),
    ):
        text = _outside_strings(pattern, replacement, text)
    other = re.search(rf".*\b(?:self|{name}_t)\b.*", _STRING.sub('""', text))
    if other is not None:
        raise ValueError(f"a handle is used in another way: {other[0].strip()}")
    return text


def _struct(header: str, name: str) -> tuple[dict[str, str], list[str]]:
    """Members beside arena and state by their names, as declarations; declarations of arena and state."""
    match, _ = _take_match(rf"^typedef struct \{{\n(.*?)^\}} {name}_t;$", _uncommented(header), "the type of instances")
    first, *lines = [line.strip() for line in match[1].splitlines()]
    if first != "uint8_t *arena;":
        raise ValueError("an instance does not begin with its arena")
    size, _ = _take_match(rf"^#define {name.upper()}_ARENA_BYTES (\d+)$", header, "the size of the arena")
    if int(size[1]) % ALIGNMENT:
        raise ValueError("the size of the arena is no multiple of its alignment")
    begin = [f"static uint8_t arena[{size[1]}];"]
    state = re.fullmatch(r"uint8_t state\[(\d+)\] __attribute__\(\(aligned\(8\)\)\);", lines[0]) if lines else None
    if state is not None:
        begin.append(f"static uint8_t state[{state[1]}] = {{")
        lines = lines[1:]
    members: dict[str, str] = {}
    for line in lines:
        member = _MEMBER.fullmatch(line)
        if member is None or member[2] in {"arena", "state", *members}:
            raise ValueError(f"an instance has another member: {line}")
        members[member[2]] = line
    return members, begin


def _plan(text: str, name: str, members: Mapping[str, str], begin: list[str]) -> str:
    text = _uncommented(text)
    for node in flat(parse(text)):
        if node.type == "declaration" and not words_of(node).startswith("static const "):
            raise ValueError(f"instances share a variable: {words_of(node)[:60]}")
    match, text = _take_match(
        rf"^tflmgen_status {name}_init\({name}_t \*self, void \*arena\)\n\{{\n(.*?)^\}}\n", text, f"{name}_init()"
    )
    for member in ("arena", "state", *members):
        if re.search(rf"(?<!self->)\b{member}\b", text):
            raise ValueError(f"'{member}' is a member, and something else")
    firsts = _firsts(match[1], name, members, "static uint8_t arena[0];" not in begin)
    declared = [f"static {line[:-1]}{f' = {firsts[key]}' if key in firsts else ''};" for key, line in members.items()]
    arena, *state = begin
    if state:
        state = [f"{state[0]}{', '.join(map(str, _first_state(text, name, state[0])))}}};"]
    return "\n".join([_erased(text, name), arena, *state, *declared, ""])


def _first_state(text: str, name: str, declared: str) -> bytes:
    """Contents of the state after a reset, with which an instance begins."""
    reset, _ = _take_match(rf"^void {name}_reset\({name}_t \*self\)\n\{{\n(.*?)^\}}\n", text, f"{name}_reset()")
    statements = re.findall(r"^ *(mem\w+\(.*\);)$", reset[1], re.MULTILINE)
    return image_after(statements, "self->state", int(re.findall(r"\d+", declared)[-1]), text)


def _firsts(body: str, name: str, members: Mapping[str, str], has_arena: bool) -> dict[str, str]:
    """First values of pointers, by member. Raises ValueError unless all is set that a reset does not set."""
    check = (
        rf" *if \(arena == NULL \|\| \(uintptr_t\)arena % {name.upper()}_ARENA_ALIGNMENT != 0\) \{{\s*"
        r"return TFLMGEN_ERROR_ARGUMENT;\s*\}\s*"
    )
    match = re.fullmatch(
        rf"{check if has_arena else ''} *self->arena = arena;\n(.*) *{name}_reset\(self\);\n *return TFLMGEN_OK;\n",
        body,
        re.DOTALL,
    )
    if match is None:
        raise ValueError(f"{name}_init() does something else")
    pointers: dict[str, str] = {}
    missing = set(_elements(members))
    for line in match[1].strip().splitlines():
        assignment = _ASSIGNMENT.fullmatch(line.strip())
        if assignment is None or (assignment[1], assignment[2] or "") not in missing:
            raise ValueError(f"{name}_init() does something else: {line.strip()}")
        missing.remove((assignment[1], assignment[2] or ""))
        if members[assignment[1]].startswith("void *"):
            pointers[assignment[1]] = assignment[3]
        elif not assignment[3].isdigit():
            raise ValueError(f"{name}_init() does something else: {line.strip()}")
    if missing:
        raise ValueError(f"{name}_init() leaves a member as it is: {min(missing)}")
    return pointers


def _elements(members: Mapping[str, str]) -> list[tuple[str, str]]:
    """Name and index of what NAME_init() sets: pointers and extents; a reset sets counters and flags."""
    elements: list[tuple[str, str]] = []
    for key, line in members.items():
        count = re.search(r"\[(\d+)\]", line)
        if not line.startswith(("uint32_t ", "bool ")):
            elements += [(key, str(i)) for i in range(int(count[1]))] if count else [(key, "")]
    return elements


def _header(text: str, name: str) -> str:
    text = _uncommented(text)
    _, text = _take_match(rf"^#define {name.upper()}_ARENA_ALIGNMENT {ALIGNMENT}$", text, "the arena's alignment")
    _, text = _take_match(rf"^typedef struct \{{\n[^}}]*\}} {name}_t;$", text, "the type of instances")
    _, text = _take_match(rf"^tflmgen_status {name}_init\({name}_t \*self, void \*arena\);$", text, f"{name}_init()")
    return _erased(text, name)


def _descriptor(text: str, name: str) -> str:
    """The descriptor with the functions of the model in place of those of its instance."""
    text = _uncommented(text)
    begun = (
        rf"^static {name}_t \*instance\(void\)\n\{{\n *TFLMGEN_ARENA static uint8_t arena\[(\d+)\];\n"
        rf" *TFLMGEN_STATE static {name}_t self;\n *static bool is_ready;\n\n *if \(!is_ready\) \{{\n"
        rf" *is_ready = {name}_init\(&self, arena\) == TFLMGEN_OK;\n *\}}\n *return &self;\n\}}\n"
    )
    _, text = _take_match(begun, text, "the instance of generic callers")
    call = rf"(?:return )?{name}(\w*)\(instance\(\)\);"
    wrapper = re.compile(rf"^static (?:void|tflmgen_status) (instance\w*)\(void\)\n\{{\n *{call}\n\}}\n", re.MULTILINE)
    for match in list(wrapper.finditer(text)):
        if match[1] != f"instance{match[2]}":
            raise ValueError(f"'{match[1]}' calls another function")
        text = text.replace(match[0], "")
        text = re.sub(rf"(\.\w+ = ){match[1]},", rf"\1{name}{match[2]},", text)
    text = _outside_strings(r"\(instance\(\)\)", "()", text)
    text = _outside_strings(r"\(instance\(\), ", "(", text)
    if re.search(r"\binstance", _STRING.sub('""', text)):
        raise ValueError("the instance of generic callers is used in another way")
    return text
