"""Errors that users see: a small tree of exceptions, each problem with its location in the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Location:
    """Location of a problem in a model. Empty fields do not appear in the text."""

    model: str
    subgraph: int | None = None
    subgraph_name: str = ""
    operator: int | None = None
    operator_name: str = ""
    tensor: int | None = None
    tensor_name: str = ""

    def __str__(self) -> str:
        parts = []
        for part, index, name, form in (
            ("subgraph", self.subgraph, self.subgraph_name, " '{}'"),
            ("operator", self.operator, self.operator_name, " ({})"),
            ("tensor", self.tensor, self.tensor_name, " '{}'"),
        ):
            if index is not None:
                parts.append(f"{part} {index}" + (form.format(name) if name else ""))
        return self.model + (": " + ", ".join(parts) if parts else "")


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule: its location, the rule's sentence, and advice for the user."""

    where: Location
    rule: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}" + (f". {self.advice}" if self.advice else "")


class TflmgenError(Exception):
    """Base of every error that ends a command with exit code 1 and no traceback.

    problems  each broken rule with its location in the model; empty for errors that are not about a model
    """

    problems: tuple[Problem, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles text and attributes: by default an error would be made anew of its text, which is no argument."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[TflmgenError], args: tuple[Any, ...], attributes: Mapping[str, Any]) -> TflmgenError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class ModelError(TflmgenError):
    """All problems that one run finds in a model; at least one."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class InternalError(TflmgenError):
    """A fault of tflmgen: a plan that its own checker rejects. Never the user's fault."""

    def __init__(self, text: str) -> None:
        super().__init__(f"internal error: {text}")


class BudgetError(TflmgenError):
    """The model needs more memory than the board has."""


class UsageError(TflmgenError):
    """A command line that is malformed or contradicts itself; exit code 2."""


def os_error_text(error: OSError) -> str:
    """Text of an error of the operating system, with the file's name first."""
    prefix = f"{error.filename}: " if error.filename else ""
    return f"{prefix}{error.strerror or error}"


@contextmanager
def os_errors_for_users() -> Iterator[None]:
    """Makes a TflmgenError of the operating system's: a name that is too long, a full disk, a missing permission."""
    try:
        yield
    except OSError as error:
        raise TflmgenError(os_error_text(error)) from error


LONGEST_REASON = 600
"""Characters of another program's reason; what is beyond them is left out."""


def reason_of(error: BaseException) -> str:
    """Reason of another program's error on one line: the first of its text, and after a colon the next paragraph.

    The exception's type where it has no text.
    """
    first, *rest = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    words = [first]
    if first.endswith(":"):
        paragraph = "\n".join(rest).strip("\n").partition("\n\n")[0]
        words += paragraph.splitlines()
    text = " ".join(words)
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 1].rstrip()}…"
