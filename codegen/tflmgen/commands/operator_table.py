"""Operators as data: element types, references and rules; for `tflmgen operators` and docs/use/operators.md.

The element types are derived from the support rules (kernels/accepted.py), so the table cannot contradict them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tflmgen.frontend import LAYERS
from tflmgen.frontend.model_graph import CONTROL_FLOW
from tflmgen.frontend.tflite import BUILTIN_OPERATORS, CUSTOM
from tflmgen.ir import DType
from tflmgen.kernels import ANY, AcceptedTypes, Types, accepted_types, reference_runtimes
from tflmgen.kernels.specification import OperatorSpec

CONTROL = (*CONTROL_FLOW, "STABLEHLO_CASE")
"""Operators without a kernel that become C control flow."""

VARIABLES = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")
"""Operators without a kernel that read and write the model's state."""

SPLIT_UP = tuple(LAYERS)
"""Operators without a kernel that are split into others with kernels."""


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One operator under the name that model files use.

    signatures  accepted combinations of element types
    references  main element type -> runtime with a kernel for it: "TFLM", equal to ours; "TFLM*", not equal;
                "LiteRT", if only that has one; "" if neither
    rules       what the support rules require
    fault       known fault of TFLite Micro's kernel, or empty
    """

    name: str
    signatures: tuple[AcceptedTypes, ...]
    references: Mapping[DType, str]
    rules: tuple[str, ...]
    fault: str = ""

    @property
    def is_custom(self) -> bool:
        """Whether it is a custom operator, which files name by text."""
        return self.name.startswith(CUSTOM)

    @property
    def in_tflm(self) -> bool:
        """Whether TFLite Micro has a kernel of it, for some element types at least."""
        return any(runtimes.startswith("TFLM") for runtimes in self.references.values())


def operator_rows(operators: Iterable[OperatorSpec]) -> list[OperatorRow]:
    """Rows of the operators that files may contain, builtin ones first, by name. Internal operators have none."""
    rows = [_row(o) for o in operators if o.name in BUILTIN_OPERATORS or o.name.startswith(CUSTOM)]
    return sorted(rows, key=lambda row: (row.is_custom, row.name))


def _row(operator: OperatorSpec) -> OperatorRow:
    signatures = accepted_types(operator)
    types = main_types(signatures)
    name = operator.name
    references = {t: reference_runtimes(name, t.label) for t in types}
    rules = tuple(rule.requirement for rule in operator.rules)
    return OperatorRow(name, signatures, references, rules, operator.fault)


def main_operand(signatures: tuple[AcceptedTypes, ...]) -> int:
    """Index of the operand that decides on the kernel: the one with most element types. Outputs follow the inputs."""
    rows = [(*s.inputs, *s.outputs) for s in signatures]
    kinds = [frozenset[DType | None]().union(*column) - {None} for column in zip(*rows, strict=True)]
    return max(range(len(kinds)), key=lambda i: (len(kinds[i]), -i))


def main_types(signatures: tuple[AcceptedTypes, ...]) -> tuple[DType, ...]:
    """The element types of the main operand."""
    operand = main_operand(signatures)
    present = {t for s in signatures for t in (*s.inputs, *s.outputs)[operand]}
    return tuple(t for t in DType if t in present)


def type_lines(signatures: tuple[AcceptedTypes, ...]) -> list[str]:
    """Signatures as text. Signatures that differ only in one common type share a line, with T for that type."""
    rows = [(s, _common_type(s)) for s in signatures]
    matches = [[types - {None} == {t} for types in (*s.inputs, *s.outputs)] for s, t in rows if t is not None]
    common_places = [all(column) for column in zip(*matches, strict=True)]
    every_place = [True] * len(common_places)
    return min((_lines(rows, places) for places in (every_place, common_places)), key=len)


def _lines(rows: list[tuple[AcceptedTypes, DType | None]], places: list[bool]) -> list[str]:
    """Lines of the signatures after T has replaced the common type at the operands marked in `places`."""
    groups: dict[str, list[DType]] = {}
    for signature, common in rows:
        operands = [*signature.inputs, *signature.outputs]
        substituted = [common if common is not None and place else None for place in places or [False] * len(operands)]
        texts = [_types(types, name) for types, name in zip(operands, substituted, strict=True)]
        line = f"{', '.join(texts[: len(signature.inputs)])} → {', '.join(texts[len(signature.inputs) :])}"
        groups.setdefault(line, []).extend([] if common is None else [common])
    return [_with_type_list(line, types) for line, types in groups.items()]


def _common_type(signature: AcceptedTypes) -> DType | None:
    """Type of the first output if it has only one and at least one input has the same; else None."""
    (first, *others) = signature.outputs[0]
    if others or first is None:
        return None
    return first if any(types - {None} == {first} for types in signature.inputs) else None


def _with_type_list(line: str, types: list[DType]) -> str:
    if len(types) == 1:
        return _with_type(line, types[0])
    return f"{line}; T: {_labels(frozenset(types))}" if types else line


def _with_type(line: str, dtype: DType) -> str:
    return " ".join(dtype.label + word[1:] if word in ("T", "T,") else word for word in line.split(" "))


def _types(types: Types, through: DType | None) -> str:
    if types == ANY:
        return "any"
    present = types - {None}
    text = "T" if through is not None and present == {through} else _labels(frozenset(present))
    return f"{text} or none" if None in types and present else text or "none"


def _labels(types: frozenset[DType | None]) -> str:
    return "/".join(t.label for t in DType if t in types)
