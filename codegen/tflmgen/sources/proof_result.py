"""Result of a comparison with a source: the program that runs it, the input sets, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tflmgen.errors import TflmgenError
from tflmgen.frontend.onnx import ONNX_EVALUATOR
from tflmgen.reference import Array

DEFINITION = ONNX_EVALUATOR
"""Name of the evaluator of ONNX's own definitions, in words for people."""
Outputs = Sequence[Sequence[Array]]
"""Arrays of the outputs of each invoke."""


class SourceRunError(TflmgenError):
    """The source cannot be run at all; the text is a sentence about it."""


class Source(Protocol):
    """Runs the source.

    title        what runs it, for people: "TensorFlow"
    is_authority what it computes is what the source means: a difference is an error
    intermediate what a user may look at when results differ; empty if there is nothing
    open_rows    the source has fewer rows where the file has as many as it declares; those that both have are compared
    """

    title: str
    is_authority: bool
    intermediate: str
    open_rows: bool

    def run(self, sets: Sequence[InputSet]) -> Sequence[Outputs | None]:
        """Outputs of each invoke of each set, which begins at the first state; None for a set that is an error.

        As many sets as there was time for. Raises SourceRunError.
        """

    def run_by_definition(self, sets: Sequence[InputSet]) -> Sequence[Outputs | None]:
        """Outputs as run() returns them, computed by the definitions of the source's operators.

        None for a set whose outputs the definitions leave open, nothing for one on which they say nothing. As many sets
        as there was time for.

        Nothing at all where there is no other definition than what run() does.
        """

    def trace(self, operands: Sequence[Array], names: Sequence[str]) -> Mapping[str, Sequence[Array]]:
        """Values in the source of those tensors of the file that it knows, for inputs of the first entry.

        names    of the file's tensors outside of branches and loops, in the order of evaluation
        results  arrays of which one equals the tensor, in any order of dimensions that the file may have
        """


@dataclass(frozen=True, slots=True)
class Proof:
    """Result of comparing a file with its source.

    equal        input sets whose outputs are equal
    undecided    sets that differ by no more than the file's own rounding makes it differ
    quantized    rounding moves integers by steps
    undefined    sets for which the source or the file reports an error
    branches     sides of Ifs and Whiles that were taken, and how many there are
    errors       (entry, output) -> greatest difference, relative to the tensor's greatest magnitude
    unsupported  why nothing was compared
    runner       what ran the source: "TensorFlow"
    composites   custom operators that were compared as the bodies of their composites
    by_definition  of the equal sets those that the runner gives otherwise, and ONNX's evaluator, which defines, as here
    differing    sets that differ from a runner that is no authority
    difference   a sentence about the first of them
    is_authority a difference from the runner would have been an error
    """

    equal: int = 0
    undecided: int = 0
    quantized: bool = False
    undefined: int = 0
    branches: tuple[int, int] = (0, 0)
    errors: Mapping[tuple[str, str], float] = field(default_factory=dict)
    unsupported: str = ""
    runner: str = ""
    composites: tuple[str, ...] = ()
    by_definition: int = 0
    differing: int = 0
    difference: str = ""
    is_authority: bool = True

    @property
    def text(self) -> str:
        """The result as text for people: "Compared with TensorFlow: 12 input sets equal, 4 of 4 branches taken"."""
        if self.unsupported:
            return f"Not compared: {self.unsupported}"
        reason = "undecided: rounding decides a branch" if self.branches[1] else "within the rounding of float32"
        if self.quantized:
            reason = "within the rounding of their integers"
        words = [f"{self.equal} input sets equal"]
        words += [f"{self.differing} differ"] if self.differing else []
        words += [f"{self.by_definition} of them by {DEFINITION}: {self.runner} differs"] if self.by_definition else []
        words += [f"{self.undecided} {reason}"] if self.undecided else []
        words += [f"{self.undefined} left out: the source defines no result"] if self.undefined else []
        taken, count = self.branches
        words += [f"{taken} of {count} branches taken"] if count else []
        words += [f"{', '.join(self.composites)} as the body of its composite"] if self.composites else []
        sets = "" if self.is_authority else f" on {self.equal + self.differing + self.undecided} sets"
        return f"Compared with {self.runner}{sets}: {', '.join(words)}"

    @property
    def warning(self) -> str:
        """A sentence about what differs and is no error; empty where nothing does."""
        if self.difference:
            advice = f"{self.runner} is wrong in places: ONNX Runtime is asked where it is installed and runs the model"
            return f"{self.difference}. {advice}"
        if self.by_definition:
            return f"{self.runner} differs on {self.by_definition} input sets, on which {DEFINITION} agrees"
        return ""


@dataclass(frozen=True, slots=True)
class InputSet:
    """Inputs of each invoke, with all inputs of the source's entry of this number."""

    label: str
    entry: int
    sequence: Sequence[Sequence[Array]]
