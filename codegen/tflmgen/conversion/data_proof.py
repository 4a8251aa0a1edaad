"""Comparison of a converted file with its source, on seeded inputs, on both sides of each branch, and on the user's.

The file is evaluated by its definitions (room reference), the source by TensorFlow. Integers must be equal, floats
within a tolerance relative to the tensor's greatest magnitude. Where rounding alone may decide a branch, a set that
differs is undecided: the file's own outputs then differ as far if its operators round otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tflmgen.compare import largest_distance
from tflmgen.conversion.port_names import SourceEntry
from tflmgen.emulators import read_arrays
from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend import Model, Signature
from tflmgen.ir import Port
from tflmgen.reference import (
    Array,
    Budget,
    BudgetError,
    Interpreter,
    RunTimeError,
    UnsupportedError,
    branches_of,
    make_input_sets,
    type_of,
    with_small_integers,
)

SETS = 12
"""Planned input sets of each entry."""
INVOKES = 3
"""Invokes in a row of a set, of a source that keeps state."""
SECONDS = 8.0
"""Estimated CPU time of evaluating the file."""
SHARE = 12
"""One set may take a twelfth of the work that is left: a loop may run 2**31 times."""
SEED = 20_260_501
NOISES = 5
"""Runs with other rounding for a set that differs."""
FLOOR = 0.01
"""Share of the tolerance that is relative to the inputs' greatest magnitude: what cancels out leaves rounding."""


class Source(Protocol):
    """The process that has the source loaded."""

    folder: Path

    def ask(self, request: str, **details: Any) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Proof:
    """How a comparison went.

    equal        input sets whose outputs are equal
    undecided    sets that differ by no more than the file's own rounding makes it differ
    undefined    sets for which the source or the file reports an error
    branches     sides of Ifs and Whiles that were taken, and how many there are
    errors       (entry, output) -> greatest difference, relative to the tensor's greatest magnitude
    unsupported  what cannot be evaluated, so that nothing was compared
    """

    equal: int = 0
    undecided: int = 0
    undefined: int = 0
    branches: tuple[int, int] = (0, 0)
    errors: Mapping[tuple[str, str], float] = field(default_factory=dict)
    unsupported: str = ""

    @property
    def text(self) -> str:
        """For people: "12 input sets equal TensorFlow's, 4 of 4 branches taken"."""
        if self.unsupported:
            return f"not compared: {self.unsupported} is not evaluated"
        words = [f"{self.equal} input sets equal the source's"]
        words += [f"{self.undecided} undecided: rounding decides a branch"] if self.undecided else []
        words += [f"{self.undefined} left out: an error of the source, or out of range"] if self.undefined else []
        taken, count = self.branches
        words += [f"{taken} of {count} branches taken"] if count else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class _Set:
    """Inputs of each invoke, with all inputs of the source, and the file's outputs."""

    label: str
    entry: int
    sequence: Sequence[Sequence[Array]]
    outputs: Sequence[Sequence[Array]]


def prove(
    model: Model,
    entries: Sequence[SourceEntry],
    source: Source,
    calibration: Path | None,
    tolerance: float,
    stateful: bool,
) -> Proof:
    """Compares. Raises ModelError that names the first tensor that differs, if a set differs and not for rounding."""
    run = _Comparison(model, entries, tolerance, INVOKES if stateful else 1)
    try:
        sets = run.sets(read_arrays(calibration) if calibration is not None else {})
    except UnsupportedError as error:
        return Proof(unsupported=str(error))
    except RecursionError:
        return Proof(unsupported="such a deep nesting")
    arrays: dict[str, Any] = {"n_sets": np.array(len(sets))}
    for k, sample in enumerate(sets):
        arrays |= {f"s{k}_entry": np.array(sample.entry), f"s{k}_n": np.array(len(sample.sequence))}
        arrays |= {f"s{k}_{n}_in_{i}": a for n, operands in enumerate(sample.sequence) for i, a in enumerate(operands)}
    np.savez(source.folder / "inputs.npz", **arrays)
    source.ask("run", inputs="inputs.npz", outputs="outputs.npz")
    return run.compare(sets, read_arrays(source.folder / "outputs.npz"), source)


class _Comparison:
    def __init__(self, model: Model, entries: Sequence[SourceEntry], tolerance: float, invokes: int) -> None:
        self._model, self._entries, self._tolerance, self._invokes = model, entries, tolerance, invokes
        self._budget = Budget(SECONDS * 1e9)
        self._sides: set[tuple[int, int, int]] = set()
        self._branches = dict(branches_of(model, [signature.subgraph for signature in model.signatures]))
        self._undefined = 0

    def sets(self, calibration: Mapping[str, Array]) -> list[_Set]:
        """Input sets of all entries, with what the file computes."""
        return [sample for number in range(len(self._entries)) for sample in self._sets_of(number, calibration)]

    def _sets_of(self, number: int, calibration: Mapping[str, Array]) -> Iterator[_Set]:
        signature = self._model.signatures[number]
        tensors = self._model.subgraphs[signature.subgraph].tensors
        ports = [Port(name, type_of(tensors[index])) for name, index in signature.inputs]
        for operands in _user_sets(calibration, [port.name for port in ports], ports):
            yield from self._evaluated(number, "calibration", operands, True)
        rng = np.random.default_rng(SEED)
        for candidate in make_input_sets(self._model, ports, rng, SETS if ports else 1):
            all_taken = len(self._sides) >= sum(self._branches.values())
            if (not candidate.planned and all_taken) or self._budget.is_over:
                return
            evaluated = list(self._evaluated(number, candidate.label, candidate.arrays, candidate.planned))
            if not evaluated and candidate.planned:
                small = with_small_integers(candidate, ports, np.random.default_rng(self._undefined))
                evaluated = list(self._evaluated(number, small.label, small.arrays, True))
                self._undefined += not evaluated
            yield from evaluated

    def _evaluated(self, number: int, label: str, operands: Sequence[Array], planned: bool) -> Iterator[_Set]:
        """The set with the file's outputs; nothing if it has none, or takes no new branch and is not planned."""
        signature = self._model.signatures[number]
        sequence = [[np.roll(a, k) for a in operands] for k in range(self._invokes)]
        interpreter = Interpreter(self._model, budget=self._budget.share(SHARE))
        try:
            outputs = [interpreter.invoke(signature, arrays) for arrays in sequence]
        except (RunTimeError, BudgetError, MemoryError):
            return
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise UnsupportedError(f"this model ({type(error).__name__}: {error})") from error
        sides = {side for side in interpreter.sides if side[:2] in self._branches}
        if planned or not sides <= self._sides:
            self._sides |= sides
            yield _Set(label, number, [self._all_inputs(number, arrays) for arrays in sequence], outputs)

    def _all_inputs(self, number: int, operands: Sequence[Array]) -> list[Array]:
        """The inputs of the source: zeros for those that the file has not, since nothing depends on them."""
        named = dict(zip((name for name, _ in self._model.signatures[number].inputs), operands, strict=True))
        return [
            named[port.name] if port.name in named else np.zeros(port.shape or (), port.dtype)
            for port in self._entries[number].inputs
        ]

    def _own_inputs(self, number: int, operands: Sequence[Array]) -> list[Array]:
        """The inputs of the file among those of the source."""
        named = {port.name: array for port, array in zip(self._entries[number].inputs, operands, strict=True)}
        return [named[name] for name, _ in self._model.signatures[number].inputs]

    def compare(self, sets: Sequence[_Set], results: Mapping[str, Array], source: Source) -> Proof:
        """The outcome of all sets. Raises ModelError at the first that differs."""
        equal = undecided = 0
        errors: dict[tuple[str, str], float] = {}
        for k, sample in enumerate(sets):
            if f"s{k}_error" in results:
                self._undefined += 1
                continue
            entry = self._entries[sample.entry]
            wanted = [
                [results[f"s{k}_{n}_out_{j}"] for j in range(len(entry.outputs))] for n in range(len(sample.sequence))
            ]
            wrong = self._first_wrong(sample, wanted)
            if wrong is not None:
                if not self._rounding_decides(sample, wanted):
                    raise self._difference(sample, wanted, *wrong, source)
                undecided += 1
                continue
            equal += 1
            for port, got, want in (
                item for n, row in enumerate(wanted) for item in zip(entry.outputs, sample.outputs[n], row, strict=True)
            ):
                key = (entry.key, port.name)
                errors[key] = max(errors.get(key, 0.0), relative_error(got, want))
        taken = len(self._sides)
        return Proof(equal, undecided, self._undefined, (taken, sum(self._branches.values())), errors)

    def _first_wrong(self, sample: _Set, wanted: Sequence[Sequence[Array]]) -> tuple[int, int] | None:
        """(invoke, output) of the first that differs."""
        for n, (row, operands) in enumerate(zip(wanted, sample.sequence, strict=True)):
            magnitude = magnitude_of(operands)
            for j, want in enumerate(row):
                if not is_within(sample.outputs[n][j], want, self._tolerance, magnitude):
                    return n, j
        return None

    def _other_roundings(self) -> Iterator[Interpreter]:
        """The file with sums of more bits, and with each result moved by less than a rounding."""
        yield Interpreter(self._model, wide=True)
        for seed in range(NOISES):
            yield Interpreter(self._model, noise=np.random.default_rng(seed))

    def _rounding_decides(self, sample: _Set, wanted: Sequence[Sequence[Array]]) -> bool:
        """Whether the file's outputs are the source's, or as far from its own, if its operators round otherwise."""
        spread = [[0.0] * len(row) for row in wanted]
        for interpreter in self._other_roundings():
            for n, operands in enumerate(sample.sequence):
                got = interpreter.invoke(self._model.signatures[sample.entry], self._own_inputs(sample.entry, operands))
                for j, array in enumerate(got):
                    distance = largest_distance(sample.outputs[n][j].astype(np.float64), array.astype(np.float64))
                    spread[n][j] = max(spread[n][j], distance)
        return all(
            is_within(sample.outputs[n][j], want, self._tolerance, magnitude_of(sample.sequence[n]))
            or largest_distance(want.astype(np.float64), sample.outputs[n][j].astype(np.float64)) <= 4 * spread[n][j]
            for n, row in enumerate(wanted)
            for j, want in enumerate(row)
        )

    def _difference(
        self, sample: _Set, wanted: Sequence[Sequence[Array]], n: int, j: int, source: Source
    ) -> ModelError:
        """The error about an output that differs, with the first tensor that does."""
        signature, entry = self._model.signatures[sample.entry], self._entries[sample.entry]
        got, want = sample.outputs[n][j], wanted[n][j]
        place = f"input set '{sample.label}'" + (f", invoke {n}" if self._invokes > 1 else "")
        output = f"output '{entry.outputs[j].name}'"
        if got.shape != want.shape:
            fact = f"{output} has the shape {list(got.shape)} instead of {list(want.shape)}"
        else:
            fact = f"{output} differs by {relative_error(got, want):.3g} of its magnitude ({self._tolerance:g} allowed)"
        first = self._first_tensor(signature, sample, source) if n == 0 else ""
        rule = f"the converted model is not the source: {place}: {fact}"
        rule += f"; the first tensor that differs is '{first}'" if first else ""
        advice = "No file was written. --tolerance allows more, --keep keeps what TensorFlow made of it"
        return ModelError([Problem(Location(self._model.name), rule, advice)])

    def _first_tensor(self, signature: Signature, sample: _Set, source: Source) -> str:
        """Name of the first tensor outside of branches and loops that differs; empty if none can be compared."""
        seen: dict[str, Array] = {}
        tensors = self._model.subgraphs[signature.subgraph].tensors

        def observe(subgraph: int, index: int, array: Array) -> None:
            if subgraph == signature.subgraph:
                seen[tensors[index].name] = array

        Interpreter(self._model).invoke(signature, self._own_inputs(sample.entry, sample.sequence[0]), observe)
        nodes = {part: name for name in seen for part in name.split(";")}
        np.savez(source.folder / "trace.npz", **{f"in_{i}": a for i, a in enumerate(sample.sequence[0])})  # type: ignore[arg-type]
        if not source.ask("trace", nodes=list(nodes), inputs="trace.npz", outputs="traced.npz")["traced"]:
            return ""
        values = read_arrays(source.folder / "traced.npz")
        for name, array in seen.items():
            pairs = [values[part] for part in name.split(";") if part in values and values[part].shape == array.shape]
            # A fused tensor has the names of all its parts, the last of which it equals.
            if pairs and not any(is_within(array, want, self._tolerance, 1.0) for want in pairs):
                return name
        return ""


def is_within(got: Array, want: Array, tolerance: float, magnitude: float) -> bool:
    """Whether two arrays are equal: integers exactly, floats within the tolerance. magnitude: of the inputs."""
    if got.shape != want.shape:
        return False
    if want.dtype.kind != "f":
        return bool(np.array_equal(got, want))
    finite = want[np.isfinite(want)]
    scale = float(np.abs(finite).max(initial=0.0))
    with np.errstate(all="ignore"):
        return bool(
            np.allclose(got, want, rtol=tolerance, atol=tolerance * max(scale, FLOOR * magnitude), equal_nan=True)
        )


def relative_error(got: Array, want: Array) -> float:
    """Greatest difference, relative to the greatest finite magnitude."""
    with np.errstate(all="ignore"):
        scale = float(np.abs(want[np.isfinite(want)].astype(np.float64)).max(initial=0.0))
    return largest_distance(want, got) / scale if scale else largest_distance(want, got)


def magnitude_of(inputs: Sequence[Array]) -> float:
    """Greatest magnitude of float inputs, at least 1."""
    return max((float(np.abs(a).max(initial=1.0)) for a in inputs if a.dtype.kind == "f"), default=1.0)


def _user_sets(arrays: Mapping[str, Array], names: Sequence[str], ports: Sequence[Port]) -> Iterator[list[Array]]:
    """Sets of an .npz file: s0_in_0 and so on, or one array per input name, samples perhaps along a first dimension."""
    numbered = 0
    while all(f"s{numbered}_in_{i}" in arrays for i in range(len(names))) and names:
        yield [arrays[f"s{numbered}_in_{i}"] for i in range(len(names))]
        numbered += 1
    if numbered or not names or not all(name in arrays for name in names):
        return
    ranks = [len(port.type.shape) for port in ports]
    if all(arrays[name].ndim == rank for name, rank in zip(names, ranks, strict=True)):
        yield [arrays[name] for name in names]
        return
    for sample in zip(*(arrays[name] for name in names), strict=False):
        yield [np.asarray(a) for a in sample]
