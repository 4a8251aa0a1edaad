"""What is known of each operator as data: types, references, rules; for `tflmgen operators` and docs/use/operators.md.

The element types are those that the support rules let through (kernels/accepted.py): the table cannot say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tflmgen.frontend import BUILTIN_OPERATORS, CONTROL_FLOW, CUSTOM, LAYERS
from tflmgen.ir import DType
from tflmgen.kernels import ANY, FAULTS, Operator, Signature, Types, accepted_types, who_takes

CONTROL = (*CONTROL_FLOW, "STABLEHLO_CASE")
"""Operators without a kernel: they become C's own control flow."""

VARIABLES = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")
"""Operators without a kernel: they become the model's state."""

SPLIT_UP = tuple(LAYERS)
"""Operators without a kernel: they become others that have one."""


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One operator as models name it.

    signatures  element types that go together
    references  main element type -> who takes it too: "TFLM", whose kernel ours equals, "TFLM*", whose kernel ours does
                not follow, "LiteRT", of those that TFLite Micro lacks; "" where neither does
    rules       the sentences of the support rules
    fault       what is wrong with TFLite Micro's kernel; mostly empty
    """

    name: str
    signatures: tuple[Signature, ...]
    references: Mapping[DType, str]
    rules: tuple[str, ...]
    fault: str = ""

    @property
    def is_custom(self) -> bool:
        return self.name.startswith(CUSTOM)

    @property
    def in_tflm(self) -> bool:
        return any(who.startswith("TFLM") for who in self.references.values())


def operator_rows(operators: Iterable[Operator]) -> list[OperatorRow]:
    """The operators that files may hold, by name, builtin ones first. Those that only passes make are left out."""
    rows = [_row(o) for o in operators if o.name in BUILTIN_OPERATORS or o.name.startswith(CUSTOM)]
    return sorted(rows, key=lambda row: (row.is_custom, row.name))


def _row(operator: Operator) -> OperatorRow:
    signatures = accepted_types(operator)
    types = main_types(signatures)
    name = operator.name
    references = {t: who_takes(name, t.label) for t in types}
    rules = tuple(rule.sentence for rule in operator.rules)
    return OperatorRow(name, signatures, references, rules, FAULTS.get(name, ""))


def main_operand(signatures: tuple[Signature, ...]) -> int:
    """The operand whose element type tells the kernel: the one with most types; outputs count on after the inputs."""
    rows = [(*s.inputs, *s.outputs) for s in signatures]
    kinds = [frozenset[DType | None]().union(*column) - {None} for column in zip(*rows, strict=True)]
    return max(range(len(kinds)), key=lambda i: (len(kinds[i]), -i))


def main_types(signatures: tuple[Signature, ...]) -> tuple[DType, ...]:
    """The element types of the main operand."""
    operand = main_operand(signatures)
    found = {t for s in signatures for t in (*s.inputs, *s.outputs)[operand]}
    return tuple(t for t in DType if t in found)


def type_lines(signatures: tuple[Signature, ...]) -> list[str]:
    """The signatures as text; those that only differ in one type T that runs through them are one line."""
    rows = [(s, _common_type(s)) for s in signatures]
    common = [[types - {None} == {t} for types in (*s.inputs, *s.outputs)] for s, t in rows if t is not None]
    always = [all(column) for column in zip(*common, strict=True)]
    anywhere = [True] * len(always)
    return min((_lines(rows, places) for places in (anywhere, always)), key=len)


def _lines(rows: list[tuple[Signature, DType | None]], places: list[bool]) -> list[str]:
    """One line for those that are alike with T for the common type at some places."""
    groups: dict[str, list[DType]] = {}
    for signature, common in rows:
        operands = [*signature.inputs, *signature.outputs]
        named = [common if common is not None and place else None for place in places or [False] * len(operands)]
        texts = [_types(types, name) for types, name in zip(operands, named, strict=True)]
        line = f"{', '.join(texts[: len(signature.inputs)])} → {', '.join(texts[len(signature.inputs) :])}"
        groups.setdefault(line, []).extend([] if common is None else [common])
    return [_where(line, types) for line, types in groups.items()]


def _common_type(signature: Signature) -> DType | None:
    """The type of the first output, where at least one input has no other."""
    (first, *more) = signature.outputs[0]
    if more or first is None:
        return None
    return first if any(types - {None} == {first} for types in signature.inputs) else None


def _where(line: str, types: list[DType]) -> str:
    if len(types) == 1:
        return _named(line, types[0])
    return f"{line}; T: {_labels(frozenset(types))}" if types else line


def _named(line: str, dtype: DType) -> str:
    return " ".join(dtype.label + word[1:] if word in ("T", "T,") else word for word in line.split(" "))


def _types(types: Types, through: DType | None) -> str:
    if types == ANY:
        return "any"
    present = types - {None}
    text = "T" if through is not None and present == {through} else _labels(frozenset(present))
    return f"{text} or none" if None in types and present else text or "none"


def _labels(types: frozenset[DType | None]) -> str:
    return "/".join(t.label for t in DType if t in types)
