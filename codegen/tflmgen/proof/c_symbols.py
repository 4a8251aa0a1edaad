"""Names in the generated C, and the places that expressions made of them point to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from tflmgen.proof.c_syntax import Node, UnreadableError, integer, parts, struct_fields, text_of, unwrapped
from tflmgen.proof.c_syntax import field as part
from tflmgen.proof.statements import NULL, Pointer, Struct

_BYTE_POINTERS = ("uint8_t *", "const uint8_t *")


@dataclass(slots=True)
class Names:
    """Symbol table of the C text: offsets of places, const structs, arrays in flash, pointers, library functions."""

    offsets: Mapping[str, int]
    structs: dict[str, Struct]
    arrays: frozenset[str]
    functions: frozenset[str]
    pointers: dict[str, Pointer] = field(default_factory=dict)
    arena_starts: tuple[int, ...] = (0,)

    def pointer(self, node: Node) -> Pointer:
        """Place that an expression of pointer type points to."""
        node = unwrapped(node)
        if node.type == "null":
            return NULL
        if node.type == "identifier":
            name = text_of(node)
            if name in self.pointers:
                return self.pointers[name]
            if name in self.arrays:
                return Pointer(f"flash {name}")
        elif node.type == "cast_expression" and text_of(part(node, "type")).endswith("*"):
            return self.pointer(part(node, "value"))
        elif node.type == "call_expression" and (array := self._array(text_of(part(node, "function")))) is not None:
            (argument,) = parts(part(node, "arguments"))
            return self._within(node, *array, self._offset(argument))
        elif node.type == "binary_expression" and text_of(part(node, "operator")) == "+":
            left = part(node, "left")
            base, more = self.pointer(left), integer(part(node, "right"))
            if self._points_to_bytes(left):
                if base.base != "arena":
                    return Pointer(base.base, base.offset + more)
                start = self._start(base.offset)
                return self._within(node, base.base, start, base.offset - start + more)
        raise UnreadableError(node, "this is no place")

    def _array(self, macro: str) -> tuple[str, int] | None:
        """Memory and first byte of the array whose places a macro is for."""
        if macro == "STATE_AT":
            return "state", 0
        number = macro.removeprefix("AT_")
        if macro == "AT":
            return "arena", 0
        is_further = number.isdigit() and 0 < int(number) < len(self.arena_starts) and macro == f"AT_{int(number)}"
        return ("arena", self.arena_starts[int(number)]) if is_further else None

    def _start(self, offset: int) -> int:
        """First byte of the arena's array that holds the byte at `offset`."""
        return self.arena_starts[max(0, bisect_right(self.arena_starts, offset) - 1)]

    def _within(self, node: Node, memory: str, start: int, offset: int) -> Pointer:
        """The place `offset` bytes into an array, which it must not leave for another array of the arena."""
        if memory == "arena" and self._start(start + offset) != start:
            raise UnreadableError(node, "this leaves its array of the arena")
        return Pointer(memory, start + offset)

    def _points_to_bytes(self, node: Node) -> bool:
        node = unwrapped(node)
        if node.type == "cast_expression":
            return text_of(part(node, "type")) in _BYTE_POINTERS
        return node.type == "identifier" and text_of(node) == "lines"

    def _offset(self, node: Node) -> int:
        if node.type == "identifier" and text_of(node) in self.offsets:
            return self.offsets[text_of(node)]
        if node.type == "binary_expression" and text_of(part(node, "operator")) == "+":
            return self._offset(part(node, "left")) + integer(part(node, "right"))
        raise UnreadableError(node, "this is no offset")

    def loaded(self, node: Node, c_type: str) -> Pointer:
        """Place that `*(const c_type *)place` reads."""
        node = unwrapped(node)
        if node.type == "pointer_expression" and text_of(part(node, "operator")) == "*":
            cast = part(node, "argument")
            if cast.type == "cast_expression" and text_of(part(cast, "type")) == f"const {c_type} *":
                return self.pointer(part(cast, "value"))
        raise UnreadableError(node, f"this reads no {c_type}")

    def keep_struct(self, declaration: Node) -> bool:
        """Whether it declares a const struct with numbers, which has its name from here on."""
        kind = part(declaration, "type")
        declarator = part(declaration, "declarator")
        if kind.type != "struct_specifier" or declarator.type != "init_declarator":
            return False
        value = part(declarator, "value")
        qualifiers = [text_of(n) for n in declaration.named_children if n.type.endswith(("specifier", "qualifier"))]
        if value.type != "initializer_list" or qualifiers[:2] != ["static", "const"]:
            return False
        name = text_of(part(declarator, "declarator"))
        if name in self.structs:
            raise UnreadableError(declaration, "a struct has two values")
        self.structs[name] = Struct(text_of(part(kind, "name")), struct_fields(value))
        return True
