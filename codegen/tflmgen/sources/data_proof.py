"""Comparison of a converted file with its source, on seeded inputs, on both sides of each branch, and on the user's.

The file is evaluated by its definitions (room reference), the source by its own framework. Integers must be equal,
floats within a tolerance relative to the tensor's greatest magnitude. Where rounding alone may decide a branch, a set
that differs is undecided: the file's own outputs then differ as far if its operators round otherwise. So it is with
quantised operators, which frameworks round differently by up to a step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite import FileTensor, Model
from tflmgen.ir.graph import Port
from tflmgen.reference import (
    Array,
    Budget,
    Interpreter,
    RunTimeError,
    UnsupportedError,
    WorkError,
    branches_of,
    largest_distance,
    magnitude_of,
    make_input_sets,
    type_of,
    with_small_integers,
)
from tflmgen.sources.output_differences import is_within, relative_error
from tflmgen.sources.proof_result import InputSet, Outputs, Proof, Source, SourceRunError
from tflmgen.sources.source_entry import SourceEntry

SETS = 12
"""Planned input sets of each entry."""
INVOKES = 3
"""Invokes in a row of a set, of a source that keeps state."""
SHARE = 12
"""One set may take a twelfth of the work that is left: a loop may run 2**31 times."""
SEED = 20_260_501
"""Seed of the generated inputs, so that a conversion is compared on the same ones each time."""
NOTHING_ENDS = "no input set ends within the work that the comparison may do"
NOISES = 5
"""Runs with other rounding for a set that differs."""


@dataclass(frozen=True, slots=True)
class ProofSettings:
    """Settings of a comparison on data.

    calibration  the user's input sets, compared beside generated ones
    tolerance    greatest difference of floats, relative to the greatest magnitude of the tensor
    seconds      estimated CPU time of evaluating the file
    first        estimated CPU time of the first set, which is the only one of large models
    advice       what a user can do about a difference
    """

    calibration: Mapping[str, Array] = field(default_factory=dict)
    tolerance: float = 1e-4
    seconds: float = 8.0
    first: float = 8.0
    advice: str = "No file was written. --tolerance allows more"


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """An input set with the file's outputs."""

    inputs: InputSet
    outputs: Outputs


def prove(
    model: Model,
    entries: Sequence[SourceEntry],
    source: Source,
    stateful: bool,
    settings: ProofSettings,
) -> Proof:
    """Compares. Raises ModelError that names the first tensor that differs, if a set differs and not for rounding.

    Where the source's runner is no authority, the Proof says what differs.
    """
    run = _Comparison(model, entries, settings, INVOKES if stateful else 1)
    try:
        sets = run.sets(settings.calibration)
        results = source.run([sample.inputs for sample in sets])
    except UnsupportedError as error:
        return Proof(unsupported=f"{error} is not evaluated")
    except RecursionError:
        return Proof(unsupported="such a deep nesting is not evaluated")
    except SourceRunError as error:
        return Proof(unsupported=str(error))
    if not results:
        return Proof(unsupported=f"{source.title} ends no input set in time" if sets else NOTHING_ENDS)
    return run.compare(sets[: len(results)], results, source)


class _Comparison:
    def __init__(self, model: Model, entries: Sequence[SourceEntry], settings: ProofSettings, invokes: int) -> None:
        self._model, self._entries, self._invokes = model, entries, invokes
        self._tolerance, self._advice = settings.tolerance, settings.advice
        self._budget, self._first = Budget(settings.seconds * 1e9), Budget(settings.first * 1e9)
        self._has_run = False
        self._definitions: Sequence[Outputs | None] | None = None
        self._tally = Counter[str]()
        self._errors: dict[tuple[str, str], float] = {}
        self._difference = ""
        self._sides: set[tuple[int, int, int]] = set()
        self._branches = dict(branches_of(model, [signature.subgraph for signature in model.signatures]))
        self._undefined = 0
        self._quantized = any(
            is_quantized(tensor) for graph in model.subgraphs for tensor in graph.tensors if tensor.data is None
        )

    def sets(self, calibration: Mapping[str, Array]) -> list[_Evaluated]:
        """Input sets of all entries, with what the file computes."""
        return [sample for number in range(len(self._entries)) for sample in self._sets_of(number, calibration)]

    def _sets_of(self, number: int, calibration: Mapping[str, Array]) -> Iterator[_Evaluated]:
        signature = self._model.signatures[number]
        tensors = self._model.subgraphs[signature.subgraph].tensors
        ports = [Port(name, type_of(tensors[index])) for name, index in signature.inputs]
        for operands in _user_sets(calibration, [port.name for port in ports], ports):
            yield from self._evaluated(number, "calibration", operands, True)
        rng = np.random.default_rng(SEED)
        for candidate in make_input_sets(self._model, ports, rng, SETS if ports else 1):
            all_taken = len(self._sides) >= sum(self._branches.values())
            if (not candidate.planned and all_taken) or self._budget.is_exhausted:
                return
            evaluated = list(self._evaluated(number, candidate.label, candidate.arrays, candidate.planned))
            if not evaluated and candidate.planned:
                small = with_small_integers(candidate, ports, np.random.default_rng(self._undefined))
                evaluated = list(self._evaluated(number, small.label, small.arrays, True))
                self._undefined += not evaluated
            yield from evaluated

    def _evaluated(self, number: int, label: str, operands: Sequence[Array], planned: bool) -> Iterator[_Evaluated]:
        """The set with the file's outputs; nothing if it has none, or takes no new branch and is not planned."""
        signature = self._model.signatures[number]
        sequence = [[np.roll(a, k) for a in operands] for k in range(self._invokes)]
        budget = self._budget.share(SHARE) if self._has_run else self._first
        self._has_run = True
        interpreter = Interpreter(self._model, budget=budget)
        try:
            outputs = [interpreter.invoke(signature, arrays) for arrays in sequence]
        except (RunTimeError, WorkError, MemoryError):
            return
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise UnsupportedError(f"this model ({type(error).__name__}: {error})") from error
        sides = {side for side in interpreter.sides if side[:2] in self._branches}
        if planned or not sides <= self._sides:
            self._sides |= sides
            inputs = InputSet(label, number, [self._all_inputs(number, arrays) for arrays in sequence])
            yield _Evaluated(inputs, outputs)

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

    def compare(self, sets: Sequence[_Evaluated], results: Sequence[Outputs | None], source: Source) -> Proof:
        """The outcome of all sets. Raises ModelError at the first that differs."""
        for number, (sample, wanted) in enumerate(zip(sets, results, strict=True)):
            if wanted is None:
                self._undefined += 1
                continue
            if source.open_rows and not self._has_open_outputs(sample.inputs.entry):
                sample = replace(sample, outputs=_common_rows(sample.outputs, wanted))
            wrong = self._first_wrong(sample, wanted)
            if wrong is None or self._rounding_decides(sample, wanted):
                self._tally["equal" if wrong is None else "undecided"] += 1
                self._note_errors(sample, wanted, wrong is not None)
            else:
                self._judge(number, sample, wanted, wrong, sets, source)
        if self._undefined and not self._tally.total():
            return Proof(unsupported=f"the source defines no result for any of {self._undefined} input sets")
        return Proof(
            self._tally["equal"],
            self._tally["undecided"],
            quantized=self._quantized,
            undefined=self._undefined,
            branches=(len(self._sides), sum(self._branches.values())),
            errors=self._errors,
            runner=source.title,
            difference=self._difference,
            is_authority=source.is_authority,
            by_definition=self._tally["by_definition"],
            differing=self._tally["differing"],
        )

    def _has_open_outputs(self, number: int) -> bool:
        """Whether an entry's outputs have the rows that the data give, instead of as many as are declared."""
        signature = self._model.signatures[number]
        tensors = self._model.subgraphs[signature.subgraph].tensors
        return any(-1 in (tensors[index].shape_signature or ()) for _, index in signature.outputs)

    def _judge(
        self,
        number: int,
        sample: _Evaluated,
        wanted: Outputs,
        wrong: tuple[int, int],
        sets: Sequence[_Evaluated],
        source: Source,
    ) -> None:
        """Counts a set that differs as undefined, as equal by definition, or as differing from what is no authority.

        Raises ModelError for another.
        """
        wanted, is_open = self._defined(sample, wanted, sets, number, source)
        if is_open:
            self._undefined += 1
        elif self._first_wrong(sample, wanted) is None:
            self._tally.update(("equal", "by_definition"))
            self._note_errors(sample, wanted, False)
        else:
            self._difference = self._difference or self._describe(sample, wanted, *wrong, source)
            if source.is_authority:
                raise self._error(self._difference, source)
            self._tally["differing"] += 1

    def _note_errors(self, sample: _Evaluated, wanted: Outputs, rounded: bool) -> None:
        """Enters the errors of a set; where rounding decides, those of integers alone say anything."""
        entry = self._entries[sample.inputs.entry]
        for n, row in enumerate(wanted) if self._quantized or not rounded else ():
            magnitude = magnitude_of(sample.inputs.sequence[n])
            for port, actual, expected in zip(entry.outputs, sample.outputs[n], row, strict=True):
                key = (entry.key, port.name)
                self._errors[key] = max(self._errors.get(key, 0.0), relative_error(actual, expected, magnitude))

    def _defined(
        self, sample: _Evaluated, wanted: Outputs, sets: Sequence[_Evaluated], number: int, source: Source
    ) -> tuple[Outputs, bool]:
        """Results by definition of the source's operators for a set that differs, and whether they are left open."""
        if self._leaves_range(sample, wanted, source.open_rows):
            return wanted, True
        if self._definitions is None:
            self._definitions = source.run_by_definition([each.inputs for each in sets])
        defined = self._definitions[number] if number < len(self._definitions) else ()
        return (wanted, True) if defined is None else (defined or wanted, False)

    def _leaves_range(self, sample: _Evaluated, wanted: Outputs, open_rows: bool) -> bool:
        """Whether the source leaves float32, or has more rows than it declares; what remains is equal."""
        for ours, theirs in zip(sample.outputs, wanted, strict=True):
            for actual, expected in zip(ours, theirs, strict=True):
                if actual.shape != expected.shape:
                    if (
                        not open_rows
                        or actual.ndim != expected.ndim
                        or all(g >= w for g, w in zip(actual.shape, expected.shape, strict=True))
                    ):
                        return False
                    continue
                known = np.isfinite(expected) if expected.dtype.kind == "f" else np.full(expected.shape, True)
                if not is_within(actual[known], expected[known], self._tolerance, 1.0):
                    return False
        return True

    def _first_wrong(self, sample: _Evaluated, wanted: Outputs) -> tuple[int, int] | None:
        """(invoke, output) of the first that differs."""
        for n, (row, operands) in enumerate(zip(wanted, sample.inputs.sequence, strict=True)):
            magnitude = magnitude_of(operands)
            for j, expected in enumerate(row):
                if not is_within(sample.outputs[n][j], expected, self._tolerance, magnitude):
                    return n, j
        return None

    def _other_roundings(self) -> Iterator[Interpreter]:
        """The file with sums of more bits, and with each result moved by a rounding."""
        yield Interpreter(self._model, wide=True)
        for seed in range(NOISES):
            yield Interpreter(self._model, noise=np.random.default_rng(seed), moves_integers=True)

    def _rounding_decides(self, sample: _Evaluated, wanted: Outputs) -> bool:
        """Whether the file's outputs are the source's, or as far from its own, if its operators round otherwise."""
        spread = [[0.0] * len(row) for row in wanted]
        entry, sequence = sample.inputs.entry, sample.inputs.sequence
        for interpreter in self._other_roundings():
            for n, operands in enumerate(sequence):
                actual = interpreter.invoke(self._model.signatures[entry], self._own_inputs(entry, operands))
                for j, array in enumerate(actual):
                    distance = largest_distance(sample.outputs[n][j].astype(np.float64), array.astype(np.float64))
                    spread[n][j] = max(spread[n][j], distance)
        return all(
            is_within(sample.outputs[n][j], expected, self._tolerance, magnitude_of(sequence[n]))
            or largest_distance(expected.astype(np.float64), sample.outputs[n][j].astype(np.float64))
            <= 4 * spread[n][j]
            for n, row in enumerate(wanted)
            for j, expected in enumerate(row)
        )

    def _describe(self, sample: _Evaluated, wanted: Outputs, n: int, j: int, source: Source) -> str:
        """The sentence about an output that differs, with the first tensor that does."""
        entry = self._entries[sample.inputs.entry]
        actual, expected = sample.outputs[n][j], wanted[n][j]
        place = f"input set '{sample.inputs.label}'" + (f", invoke {n}" if self._invokes > 1 else "")
        output = f"output '{entry.outputs[j].name}'"
        if actual.shape != expected.shape:
            fact = f"{output} has the shape {list(actual.shape)} instead of {list(expected.shape)}"
        else:
            error = relative_error(actual, expected, magnitude_of(sample.inputs.sequence[n]))
            fact = f"{output} differs by {error:.3g} of its magnitude ({self._tolerance:g} allowed)"
        first = self._first_tensor(sample.inputs, source) if n == 0 else ""
        text = f"the converted model is not the source as {source.title} runs it: {place}: {fact}"
        return text + (f"; the first tensor that differs is '{first}'" if first else "")

    def _error(self, text: str, source: Source) -> ModelError:
        advice = f"{self._advice}, --keep keeps {source.intermediate}" if source.intermediate else self._advice
        return ModelError([Problem(Location(self._model.name), text, advice)])

    def _first_tensor(self, sample: InputSet, source: Source) -> str:
        """Name of the first tensor outside of branches and loops that differs; empty if none can be compared."""
        seen: dict[str, Array] = {}
        signature = self._model.signatures[sample.entry]
        tensors = self._model.subgraphs[signature.subgraph].tensors

        def observe(subgraph: int, index: int, array: Array) -> None:
            if subgraph == signature.subgraph:
                seen[tensors[index].name] = array

        operands = sample.sequence[0]
        Interpreter(self._model).invoke(signature, self._own_inputs(sample.entry, operands), observe)
        for name, values in source.trace(operands, list(seen)).items():
            same = [value for value in values if value.shape == seen[name].shape]
            if same and not any(is_within(seen[name], value, self._tolerance, 1.0) for value in same):
                return name
        return ""


def is_quantized(tensor: FileTensor) -> bool:
    """Whether it has integers that stand for real numbers."""
    return tensor.quantization is not None and tensor.dtype is not None and not tensor.dtype.is_float


def _common_rows(outputs: Outputs, wanted: Outputs) -> Outputs:
    """The outputs cut to the shapes of those `wanted`; an output of another rank is left as it is."""
    return [
        [
            np.asarray(actual[tuple(map(slice, expected.shape))]) if actual.ndim == expected.ndim else actual
            for actual, expected in zip(*rows, strict=True)
        ]
        for rows in zip(outputs, wanted, strict=True)
    ]


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
