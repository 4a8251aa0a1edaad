"""Operators: name, operands and options, with indices and option tables checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflmgen.frontend.tflite.circle import CIRCLE_IDENTIFIER, own_operator
from tflmgen.frontend.tflite.flatbuffer import TableDecoder
from tflmgen.frontend.tflite.flexbuffer import flexbuffer_map
from tflmgen.frontend.tflite.model import ABSENT, FileOperator
from tflmgen.frontend.tflite.names import (
    BUILTIN_OPERATORS,
    CUSTOM,
    OPTIONS_UNIONS,
    operator_name,
    options_table,
    printable,
)
from tflmgen.frontend.tflite.operator_versions import highest_version
from tflmgen.frontend.tflite.problems import Complain, ProblemList
from tflmgen.frontend.tflite.schema import union_tables

_INDEX_OPTION = "subgraph_index"


class OperatorReader:
    """Reads the operators of one file. `file` is its decoded root table."""

    def __init__(self, decoder: TableDecoder, file: Mapping[str, Any], problems: ProblemList) -> None:
        self._decoder = decoder
        self._codes = file["operator_codes"]
        self._subgraphs = len(file["subgraphs"])
        self._problems = problems

    def read(self, index: int, raw: Mapping[str, Any], subgraph: tuple[int, str], tensors: int) -> FileOperator:
        """Operator of the decoded table `raw`, in a subgraph with `tensors` tensors.

        Reports tensor indices out of range; such inputs become absent, such outputs are omitted.
        """
        name, version = self._name(raw, self._problems.located(subgraph, (index, "")))
        complain = self._problems.located(subgraph, (index, name))
        highest = highest_version(name)
        if highest is not None and version > highest:
            rule = f"its version is {version}, but the highest that is known is {highest}"
            complain(rule, "Convert the model with an older TensorFlow, or get a newer tflmgen")
        custom = self._custom_options(raw)
        return FileOperator(
            index=index,
            name=name,
            version=version,
            inputs=_operands(raw["inputs"], tensors, "input", complain),
            outputs=_results(raw["outputs"], tensors, complain),
            options=flexbuffer_map(custom) if name.startswith(CUSTOM) else self._options(raw, name, complain),
            custom_options=custom,
            intermediates=_operands(raw["intermediates"], tensors, "intermediate", complain),
        )

    def _name(self, raw: Mapping[str, Any], complain: Complain) -> tuple[str, int]:
        if raw["opcode_index"] >= len(self._codes):
            complain(f"it refers to operator code {raw['opcode_index']}, but the file has {len(self._codes)}")
            return "", 1
        row = self._codes[raw["opcode_index"]]
        own = own_operator(row) if self._decoder.identifier == CIRCLE_IDENTIFIER else None
        if own is not None:
            return own, row["version"]
        code = max(row["builtin_code"], row["deprecated_builtin_code"])
        name = operator_name(code, printable(row["custom_code"]))
        if name is None:
            last = len(BUILTIN_OPERATORS) - 1
            complain(f"builtin operator code {code} is not known", f"Known are 0 to {last} ({BUILTIN_OPERATORS[last]})")
        elif name == CUSTOM:
            complain("a custom operator without a name")
        return name or "", row["version"]

    def _options(self, raw: Mapping[str, Any], name: str, complain: Complain) -> Mapping[str, Any] | None:
        expected = options_table(name)
        for field, union in OPTIONS_UNIONS:
            options = raw[field]
            if options is None:
                continue
            table = union_tables(union)[raw[f"{field}_type"]]
            if expected not in (None, table):
                complain(f"it has {table} instead of {expected}")
                return None
            for key, value in options.items():
                if (key.endswith(_INDEX_OPTION) or (name, key) == ("CALL", "subgraph")) and self._is_outside(value):
                    complain(f"{key} is {value}, but the file has {self._subgraphs} subgraphs")
            return dict(options)
        return None

    def _is_outside(self, subgraph: int) -> bool:
        return not 0 <= subgraph < self._subgraphs

    def _custom_options(self, raw: Mapping[str, Any]) -> bytes:
        offset, size = raw["large_custom_options_offset"], raw["large_custom_options_size"]
        if offset > 1:
            return self._decoder.slice(offset, size, "large custom options")
        return bytes(raw["custom_options"])


def _operands(indices: Sequence[int], tensors: int, label: str, complain: Complain) -> tuple[int, ...]:
    for place, index in enumerate(indices):
        if not ABSENT <= index < tensors:
            complain(f"{label} {place} is tensor {index}, but the subgraph has {tensors} tensors")
    return tuple(index if ABSENT <= index < tensors else ABSENT for index in indices)


def _results(indices: Sequence[int], tensors: int, complain: Complain) -> tuple[int, ...]:
    for place, index in enumerate(indices):
        if not 0 <= index < tensors:
            complain(f"output {place} is tensor {index}, but the subgraph has {tensors} tensors")
    return tuple(index for index in indices if 0 <= index < tensors)
