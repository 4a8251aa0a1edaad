"""Comparison of a model's outputs with references: given vectors, or the host build and TFLite Micro."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tflmgen.actions.invokes import Invokes, in_sequence, invoke_sets
from tflmgen.actions.planned_model import PlannedModel
from tflmgen.compare import VECTORS, Difference, Reference, Tolerance, difference, find_references
from tflmgen.emulators import Result
from tflmgen.errors import TflmgenError
from tflmgen.input_sets import (
    Vectors,
    VectorSet,
    choose_signature,
    has_inputs_only,
    read_input_sets,
    seeded_sets,
    set_caption,
)
from tflmgen.ir.graph import EntryPoint
from tflmgen.options import SessionOptions
from tflmgen.reference import largest_distance
from tflmgen.terminal import Console


class MismatchError(TflmgenError):
    """An output of the firmware differs from its reference."""


@dataclass(frozen=True, slots=True)
class Check:
    """Comparison of one output of one input set with one reference; `difference` is None if they agree."""

    set: str
    signature: str
    output: str
    type: str
    reference: str
    largest: float
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """Every output of every input set, compared with each reference that is available."""

    checks: tuple[Check, ...]
    references: tuple[Reference, ...]
    invokes: Invokes

    @property
    def wrong(self) -> tuple[Check, ...]:
        """Comparisons with a difference, in order."""
        return tuple(check for check in self.checks if check.difference is not None)


def compare_outputs(
    model: PlannedModel, vectors_path: Path | None, tolerance: Tolerance, session: SessionOptions, console: Console
) -> OutputComparison:
    """Runs the input sets of a file, or seeded ones, and compares the outputs with those expected.

    vectors_path  inputs and expected outputs, or inputs alone; None: seeded inputs. Without expected outputs, the
                  references that are available
    """
    signatures = model.compilation.module.signatures
    vectors = sets_of(model.path, vectors_path, signatures, session, model.frozen.places)
    vectors = in_sequence(model, vectors_path, vectors)
    if vectors_path is None or has_inputs_only(vectors_path):
        references = find_references(
            model.path, model.board, model.compilation, vectors, model.options, session, console
        )
    else:
        references = [Reference(VECTORS, [vector_set.expected for vector_set in vectors.sets])]
    invokes = invoke_sets(model, vectors, session, console)
    checks = _checks(signatures, vectors.sets, invokes.results, references, tolerance)
    return OutputComparison(tuple(checks), tuple(references), invokes)


def sets_of(
    model: Path,
    path: Path | None,
    signatures: Sequence[EntryPoint],
    session: SessionOptions,
    frozen: Sequence[int] = (),
) -> Vectors:
    """Input sets of the file `path`; without one, seeded sets for the session's signature, or for each signature.

    frozen  positions of inputs that became constants
    """
    key = session.signature
    if path is not None:
        return read_input_sets(path, signatures, key, not has_inputs_only(path), frozen, session.real)
    numbers = range(len(signatures)) if key is None else [choose_signature(signatures, key, str(model))]
    return Vectors(seeded_sets(signatures, list(numbers)))


def _checks(
    signatures: Sequence[EntryPoint],
    sets: Sequence[VectorSet],
    results: Sequence[Result],
    references: Sequence[Reference],
    tolerance: Tolerance,
) -> list[Check]:
    checks = []
    for number, (vector_set, result) in enumerate(zip(sets, results, strict=True)):
        signature = signatures[vector_set.signature]
        for reference in references:
            if reference.unused:
                continue
            for port, expected, actual in zip(
                signature.outputs, reference.outputs[number], result.outputs, strict=True
            ):
                label = set_caption(number, vector_set.label)
                largest_error, output_difference = (
                    largest_distance(expected, actual),
                    difference(expected, actual, tolerance),
                )
                checks.append(
                    Check(
                        label,
                        signature.key,
                        port.name,
                        str(port.type),
                        reference.name,
                        largest_error,
                        output_difference,
                    )
                )
    return checks
