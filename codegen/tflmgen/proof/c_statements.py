"""Functions of the generated C as statements: what each line does, by syntax alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tflmgen.proof.c_symbols import Names
from tflmgen.proof.c_syntax import (
    Node,
    UnreadableError,
    integer,
    parts,
    text_of,
    unwrapped,
    words_of,
)
from tflmgen.proof.c_syntax import (
    field as part,
)
from tflmgen.proof.statements import (
    Advance,
    CallOf,
    CopyBytes,
    Fetch,
    FetchWait,
    Fill,
    FunctionForm,
    IfElse,
    Iterate,
    Pointer,
    Rotate,
    RunFunction,
    Statement,
    Struct,
    joined,
)

_OK = "TFLMGEN_OK"


def function_form(body: Node, names: Names, results: str, fails: bool) -> FunctionForm:
    """Statements of the body of a C function. results: prefix of the names of its static pointers."""
    slots: list[Pointer] = []
    nodes = list(parts(body))
    while nodes and slot_of(nodes[0]) is not None:
        name, start = slot_of(nodes[0]) or ("", nodes[0])
        slots.append(names.pointer(start))
        names.pointers[name] = Pointer(f"slot {len(slots) - 1}")
        nodes.pop(0)
    if fails:
        if not nodes or words_of(nodes[-1]) != f"return {_OK} ;":
            raise UnreadableError(body, "there is no status")
        nodes.pop()
    kept: list[tuple[int, Pointer]] = []
    while nodes and (pair := _kept_result(nodes[-1], results)) is not None:
        kept.insert(0, (pair[0], names.pointer(pair[1])))
        nodes.pop()
    return FunctionForm(tuple(slots), statements(nodes, names), tuple(kept), fails)


def slot_of(node: Node) -> tuple[str, Node] | None:
    """`void *name = place;`"""
    declarator = node.child_by_field_name("declarator") if node.type == "declaration" else None
    if declarator is None or declarator.type != "init_declarator" or text_of(part(node, "type")) != "void":
        return None
    pointer = part(declarator, "declarator")
    inner = pointer.child_by_field_name("declarator")
    if (
        pointer.type != "pointer_declarator"
        or inner is None
        or inner.type != "identifier"
        or words_of(pointer).split() != ["*", text_of(inner)]
    ):
        return None
    return text_of(inner), part(declarator, "value")


def _kept_result(node: Node, results: str) -> tuple[int, Node] | None:
    """`results_N = slot;`"""
    assignment = next(parts(node), None) if node.type == "expression_statement" else None
    if assignment is None or assignment.type != "assignment_expression":
        return None
    name = text_of(part(assignment, "left"))
    number = name.removeprefix(results)
    return (int(number), part(assignment, "right")) if name.startswith(results) and number.isdigit() else None


def statements(nodes: Sequence[Node], names: Names) -> tuple[Statement, ...]:
    """Statements of C in the form that they are compared in, one after the other."""
    result: list[Statement] = []
    pending: tuple[str, str] | None = None
    for node in nodes:
        if pending is not None:
            result.append(_checked_run(node, *pending))
            pending = None
        elif node.type == "declaration":
            pending = _status(node, names)
            if pending is None and not names.keep_struct(node):
                raise UnreadableError(node, "this declaration is not known")
        else:
            result += _statement(node, names)
    if pending is not None:
        raise UnreadableError(nodes[-1], "a status is not looked at")
    return joined(result)


def _status(node: Node, names: Names) -> tuple[str, str] | None:
    """(variable, function) of `const tflmgen_status status = run();`"""
    words = words_of(node).split()
    fits = words[:2] == ["const", "tflmgen_status"] and words[3:4] == ["="] and words[5:] == ["(", ")", ";"]
    return (words[2], words[4]) if fits and words[4] in names.functions else None


def _checked_run(node: Node, status: str, function: str) -> RunFunction:
    if words_of(node) != f"if ( {status} != {_OK} ) {{ return {status} ; }}":
        raise UnreadableError(node, "a status is not returned")
    return RunFunction(function, True)


def _statement(node: Node, names: Names) -> Iterator[Statement]:
    if node.type == "expression_statement":
        (expression,) = parts(node)
        yield from _expression(expression, names)
    elif node.type == "if_statement":
        yield _if(node, names)
    elif node.type == "for_statement":
        yield _for(node, names)
    elif node.type == "compound_statement":
        yield _block(node, names)
    else:
        raise UnreadableError(node, "this statement is not known")


def _expression(node: Node, names: Names) -> Iterator[Statement]:
    if node.type == "assignment_expression" and text_of(part(node, "operator")) == "+=":
        yield Advance(names.pointer(part(node, "left")).base, integer(part(node, "right")))
        return
    if node.type != "call_expression":
        raise UnreadableError(node, "this expression is not known")
    function, arguments = text_of(part(node, "function")), list(parts(part(node, "arguments")))
    if function == "TFLMGEN_PROGRESS":
        integer(*arguments)
    elif function in ("memcpy", "memmove"):
        destination, source, size = arguments
        places = names.pointer(destination), names.pointer(source)
        yield CopyBytes(*places, integer(size), function == "memmove")
    elif function == "tflmgen_prefetch":
        destination, source, size = arguments
        yield Fetch(names.pointer(destination), names.pointer(source), integer(size))
    elif function == "tflmgen_prefetch_wait" and not arguments:
        yield FetchWait()
    elif function == "memset":
        destination, byte, size = arguments
        yield Fill(names.pointer(destination), integer(byte), integer(size))
    elif function in names.functions and not arguments:
        yield RunFunction(function, False)
    else:
        yield _call(node, names)


def _call(node: Node, names: Names, struct: Struct | None = None) -> CallOf:
    """A kernel's call; struct: what &in_use is."""
    function, arguments = text_of(part(node, "function")), list(parts(part(node, "arguments")))
    last = arguments[-1] if arguments else None
    if last is not None and last.type == "pointer_expression" and text_of(part(last, "operator")) == "&":
        name = text_of(part(last, "argument"))
        struct = struct if name == "in_use" and struct is not None else names.structs.get(name)
        if struct is None:
            raise UnreadableError(last, "this struct is not known")
        arguments.pop()
    elif struct is not None:
        raise UnreadableError(node, "the numbers in use are not passed")
    return CallOf(function, tuple(map(names.pointer, arguments)), struct)


def _if(node: Node, names: Names) -> Statement:
    condition, then, otherwise = unwrapped(part(node, "condition")), part(node, "consequence"), _else(node)
    negated = condition.type == "unary_expression" and text_of(part(condition, "operator")) == "!"
    asked = unwrapped(part(condition, "argument")) if negated else condition
    if asked.type == "call_expression":
        words = words_of(then).split()
        if not negated or otherwise is not None or words[:2] != ["{", "return"] or words[3:] != [";", "}"]:
            raise UnreadableError(node, "a kernel's answer is not returned")
        call = _call(asked, names)
        return CallOf(call.function, call.arguments, call.struct, (), words[2])
    place = names.loaded(asked, "tflmgen_bool")
    both = _inside(then, names), () if otherwise is None else _inside(otherwise, names)
    return IfElse(place, *(reversed(both) if negated else both))


def _else(node: Node) -> Node | None:
    alternative = node.child_by_field_name("alternative")
    return None if alternative is None else next(parts(alternative))


def _inside(block: Node, names: Names) -> tuple[Statement, ...]:
    if block.type != "compound_statement":
        raise UnreadableError(block, "this is no block")
    return statements(list(parts(block)), names)


def _for(node: Node, names: Names) -> Iterate:
    trip, trips = _header(node)
    nodes = list(parts(part(node, "body")))
    before: list[Node] = []
    test = limit = None
    while nodes and test is None and limit is None:
        test, limit = _test(nodes[0], names), _limit(nodes[0], trip)
        if test is None and limit is None:
            before.append(nodes.pop(0))
    if test is not None:
        nodes.pop(0)
        limit = _limit(nodes[0], trip) if nodes else None
    if limit is not None:
        nodes.pop(0)
    if test is None and limit is None:
        before, nodes = [], before
    return Iterate(trips, limit, statements(before, names), test, statements(nodes, names))


def _header(node: Node) -> tuple[str, int | None]:
    """The variable that counts, and how many iterations there are."""
    header = [words_of(child) for child in node.children if child.type not in ("compound_statement", "comment")]
    words = " ".join(header).split()
    if words == ["for", "(", ";", ";", ")"]:
        return "", None
    name = words[3] if len(words) > 3 else ""
    begin = f"for ( uint32_t {name} = 0 ;"
    if " ".join(words) == f"{begin} ; ++ {name} )":
        return name, None
    condition = node.child_by_field_name("condition")
    if condition is not None and condition.type == "binary_expression":
        bound = text_of(part(condition, "right"))
        if " ".join(words) == f"{begin} {name} < {bound} ; ++ {name} )":
            return name, integer(part(condition, "right"))
    raise UnreadableError(node, "this loop is not known")


def _test(node: Node, names: Names) -> Pointer | None:
    """The place of the bool in `if (!bool) { break; }`."""
    if node.type != "if_statement" or words_of(part(node, "consequence")) != "{ break ; }" or _else(node) is not None:
        return None
    condition = unwrapped(part(node, "condition"))
    if condition.type != "unary_expression" or text_of(part(condition, "operator")) != "!":
        raise UnreadableError(node, "a loop ends where it is to go on")
    return names.loaded(part(condition, "argument"), "tflmgen_bool")


def _limit(node: Node, trip: str) -> int | None:
    """The number in `if (trip == number) { return TFLMGEN_ERROR_ITERATIONS; }`."""
    if node.type != "if_statement" or words_of(part(node, "consequence")) != "{ return TFLMGEN_ERROR_ITERATIONS ; }":
        return None
    condition = unwrapped(part(node, "condition"))
    if (
        condition.type != "binary_expression"
        or words_of(condition).split()[:2] != [trip, "=="]
        or _else(node) is not None
    ):
        raise UnreadableError(node, "a loop is limited by something else")
    return integer(part(condition, "right"))


def _block(node: Node, names: Names) -> Statement:
    """A block of its own: pointers that change places, or a call with numbers of the run time."""
    nodes = list(parts(node))
    words = [words_of(child).split() for child in nodes]
    if words and words[0][:5] == ["void", "*", "const", "first", "="]:
        return _rotation(node, words, names)
    if not nodes or words[0][0] != "struct" or words[0][2:4] != ["in_use", "="] or words[0][4] not in names.structs:
        raise UnreadableError(node, "this block is not known")
    struct = names.structs[words[0][4]]
    if struct.tag != words[0][1]:
        raise UnreadableError(node, "this struct is of another type")
    counts = []
    for child in nodes[1:-1]:
        (assignment,) = parts(child)
        target = words_of(part(assignment, "left")).split()
        if target[:2] != ["in_use", "."] or text_of(part(assignment, "operator")) != "=":
            raise UnreadableError(child, "this sets no number")
        counts.append((target[2], names.loaded(part(assignment, "right"), "tflmgen_s32")))
    last, error = nodes[-1], ""
    if last.type == "if_statement":
        error = words_of(part(last, "consequence")).split()[2]
        if words_of(part(last, "consequence")) != f"{{ return {error} ; }}" or _else(last) is not None:
            raise UnreadableError(last, "a kernel's answer is not returned")
        negation = unwrapped(part(last, "condition"))
        if text_of(part(negation, "operator")) != "!":
            raise UnreadableError(last, "a kernel's answer is not returned")
        call = _call(unwrapped(part(negation, "argument")), names, struct)
    else:
        call = _call(next(parts(last)), names, struct)
    return CallOf(call.function, call.arguments, call.struct, tuple(counts), error)


def _rotation(node: Node, words: Sequence[Sequence[str]], names: Names) -> Rotate:
    """`first = a; a = b; b = first;` of slots: each takes what the right side pointed to before."""
    held = {"first": names.pointers[words[0][5]]} if words[0][5] in names.pointers else {}
    now = {name: place for name, place in names.pointers.items() if place.base.startswith("slot ")}
    for left, *rest in words[1:]:
        value = held.get(rest[1]) or now.get(rest[1]) if len(rest) == 3 and rest[0] == "=" and rest[2] == ";" else None
        if left not in now or value is None:
            raise UnreadableError(node, "this exchanges no pointers")
        now[left] = value
    pairs = ((names.pointers[name], place) for name, place in now.items())
    return Rotate(tuple(sorted((_slot(a), _slot(b)) for a, b in pairs if a != b)))


def _slot(place: Pointer) -> int:
    return int(place.base.removeprefix("slot "))
