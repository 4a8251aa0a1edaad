"""The errors that users see: a small tree, each problem with the place it was found at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """Where in a model a problem is. Empty fields are left out of the text."""

    model: str
    subgraph: int | None = None
    subgraph_name: str = ""
    operator: int | None = None
    operator_name: str = ""
    tensor: int | None = None
    tensor_name: str = ""

    def __str__(self) -> str:
        parts = []
        for what, index, name, form in (
            ("subgraph", self.subgraph, self.subgraph_name, " '{}'"),
            ("operator", self.operator, self.operator_name, " ({})"),
            ("tensor", self.tensor, self.tensor_name, " '{}'"),
        ):
            if index is not None:
                parts.append(f"{what} {index}" + (form.format(name) if name else ""))
        return self.model + (": " + ", ".join(parts) if parts else "")


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule: where, what is wrong, and what to do about it."""

    where: Location
    rule: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}" + (f". {self.advice}" if self.advice else "")


class TflmgenError(Exception):
    """Base of every error that ends a command with exit code 1 and no traceback."""


class ModelError(TflmgenError):
    """One or more problems in a model; all that one run could find."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class InternalError(TflmgenError):
    """The tool contradicted itself (a plan that its checker rejects). Never the user's fault."""

    def __init__(self, text: str) -> None:
        super().__init__(f"internal error: {text}")


class UsageError(TflmgenError):
    """A command line that asks for something impossible; exit code 2."""
