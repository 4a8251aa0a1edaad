"""The function of a stream in the generated C: a table of calls, and a switch with each of them once."""

from __future__ import annotations

import re

import numpy as np

from tflmgen.proof.c_statements import statements
from tflmgen.proof.c_symbols import Names
from tflmgen.proof.c_syntax import Node, UnreadableError, elements, field, integer, parts, text_of, words_of
from tflmgen.proof.statements import Pointer, Statement, StreamForm

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def stream_form(name: str, body: Node, names: Names) -> StreamForm:
    """Statements of the function; where it resumes, its static variables are NAME_next and NAME_written."""
    nodes = list(parts(body))
    order = _order(nodes.pop(0))
    saved = dict(names.pointers)
    resumes = False
    while nodes and nodes[0].type != "for_statement":
        resumes |= _begin(nodes.pop(0), name, names)
    if not nodes:
        raise UnreadableError(body, "a stream has no loop")
    loop, *tail = nodes
    begin = f"{name}_next" if resumes else "0"
    header = " ".join(words_of(child) for child in loop.children if child.type != "compound_statement")
    if header != f"for ( size_t i = {begin} ; i < {len(order)}u ; ++ i )":
        raise UnreadableError(loop, "the loop does not run over the table")
    wanted = [f"{name}_next = 0 ;", f"{name}_written = 0 ;", "return true ;"] if resumes else []
    if [words_of(node) for node in tail] != wanted:
        raise UnreadableError(loop, "a stream ends otherwise")
    (switch,) = parts(field(loop, "body"))
    if switch.type != "switch_statement" or words_of(field(switch, "condition")) != "( order [ i ] )":
        raise UnreadableError(switch, "the loop does not go by the table")
    cases = list(parts(field(switch, "body")))
    calls = tuple(_case(case, number, name, resumes, names) for number, case in enumerate(cases[:-1]))
    if words_of(cases[-1]) != "default : break ;":
        raise UnreadableError(cases[-1], "the last case is not the default")
    names.pointers = saved
    return StreamForm(order, calls, resumes)


def _order(node: Node) -> tuple[int, ...]:
    match = re.fullmatch(
        r"static const uint(8|16)_t order\[(\d+)\] = \{([^}]*)\};", _COMMENT.sub(" ", text_of(node)), re.DOTALL
    )
    if match is None:
        raise UnreadableError(node, "a stream has no table")
    values = elements(match[3], np.dtype(f"<u{int(match[1]) // 8}"))
    if len(values) != int(match[2]):
        raise UnreadableError(node, "the table is not as long as it says")
    return tuple(int(value) for value in values.tolist())


def _begin(node: Node, name: str, names: Names) -> bool:
    """Takes one line before the loop; whether it says that the stream resumes."""
    words = words_of(node)
    running = re.fullmatch(r"const uint8_t \* in_(\d+) = input ;", words)
    if running:
        names.pointers[f"in_{running[1]}"] = Pointer(f"input {running[1]}")
    elif words == "uint8_t * const lines = scratch ;":
        names.pointers["lines"] = Pointer("lines")
    elif words in ("uint8_t * out = output ;", f"uint8_t * out = ( uint8_t * ) output + {name}_written ;"):
        names.pointers["out"] = Pointer("output")
        return words.endswith("_written ;")
    elif words != "( void ) scratch ;" and words != "bool taken = false ;":
        raise UnreadableError(node, "this line of a stream is not known")
    return False


def _case(case: Node, number: int, name: str, resumes: bool, names: Names) -> tuple[Statement, ...]:
    value = case.child_by_field_name("value")
    blocks = [node for node in parts(case) if node.type == "compound_statement"]
    if value is None or integer(value) != number or len(blocks) != 1:
        raise UnreadableError(case, "the cases are not in order")
    nodes = list(parts(blocks[0]))
    if not nodes or nodes.pop().type != "break_statement":
        raise UnreadableError(case, "a case does not end")
    if resumes and nodes and nodes[0].type == "if_statement":
        wait = (
            f"if ( taken ) {{ {name}_next = ( uint32_t ) i ; "
            f"{name}_written = ( uint32_t ) ( out - ( uint8_t * ) output ) ; return false ; }}"
        )
        if [words_of(node) for node in nodes[:2]] != [wait, "taken = true ;"]:
            raise UnreadableError(case, "a stream waits otherwise")
        nodes = nodes[2:]
    return statements(nodes, names)
