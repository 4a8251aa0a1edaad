"""Validation of a build: the file and its final Module give the same outputs, on seeded and adversarial inputs.

Both are evaluated by this room's interpreters, which share nothing with importer, passes and kernels. Integers must be
equal; floats, too, but for rounding: sets that differ in float32 are compared once more in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tflmgen.errors import InternalError
from tflmgen.frontend.tflite import FileSignature, Model
from tflmgen.ir.graph import EntryPoint, Module
from tflmgen.reference.branch_search import BranchSearch, branches_of
from tflmgen.reference.constant_origins import check_origins
from tflmgen.reference.file_interpreter import Interpreter
from tflmgen.reference.first_difference import Trace, describe, differing, is_scatter, magnitude_of
from tflmgen.reference.inadmissible_shapes import has_inadmissible_shapes
from tflmgen.reference.input_sets import (
    MORE_SETS,
    TRIES,
    RandomInputs,
    make_input_sets,
    make_more_sets,
    sets_of_all_shapes,
    with_small_integers,
)
from tflmgen.reference.module_interpreter import ModuleInterpreter
from tflmgen.reference.operation import Array, BoundError, CustomReferences, RunTimeError, UnsupportedError
from tflmgen.reference.range_claims import ClaimError, Claims
from tflmgen.reference.validation_result import Effort, Validation
from tflmgen.reference.window_pushes import invoke_window, series
from tflmgen.reference.work_budget import STEP, Budget, ClockError, WorkError

FILLING = 20.0
"""Nanoseconds to make one element of an input set and to compare it."""
INVOKES = 3
"""Invokes in a row of a set, of a model that keeps state."""
SEED = 20_240_229
"""Seed of the generated inputs, so that a build is validated on the same ones each time."""
SCATTERED = 5
"""Runs with other rounding for a set that differs."""
LOOPS = frozenset({"WHILE", "STABLEHLO_WHILE"})
RUNAWAY = (50, 50e6)
"""A graph does at most so many times the work of its file, and so many nanoseconds more; else it does not end."""
QUICK_SHARE = 0.1
"""Further sets run where they take no more of the effort's work than this part: models of few elements."""
SHARE = 6
"""One set of a model with loops may take a sixth of the work that is left: they may run 2**31 times."""


@dataclass(frozen=True)
class ValidationContext:
    """Optional information about a build that validation uses.

    custom    what operators of plug-ins compute
    imported  the Module before the passes, whose values have the bounds of each of the file's tensors
    report    told of sets that are done, and how many were to be run, as far as is known
    """

    custom: CustomReferences = field(default_factory=dict)
    imported: Module | None = None
    report: Callable[[int, int], None] | None = None


NO_CONTEXT = ValidationContext()


def validate(
    model: Model, module: Module, effort: Effort, claims: Claims, context: ValidationContext = NO_CONTEXT
) -> Validation:
    """Compares a file with its Module, on as many sets as fit the effort.

    Raises InternalError where an output differs, with the first tensor that differs, where a claim does not hold, or
    where a constant is not the file's.
    """
    check_origins(model, module)
    run = _Run(model, module, effort, claims, context)
    try:
        for number, signature in enumerate(module.signatures):
            run.signature_to_an_end(_entry(model, number), signature)
    except UnsupportedError as error:
        return Validation(run.result.sets, unsupported=str(error))
    except ClockError:
        run.result = replace(run.result, out_of_time=True)
    except WorkError:
        run.result = replace(run.result, over_budget=True)
    taken = {side for side in run.sides if side[:2] in run.branches}
    return replace(run.result, branches=(len(taken), sum(run.branches.values())))


def _entry(model: Model, number: int) -> FileSignature:
    """The signature of the file in the order of its subgraph, which is the Module's."""
    index = model.signatures[number].subgraph if model.signatures else 0
    subgraph = model.subgraphs[index]
    return FileSignature("", index, tuple(("", i) for i in subgraph.inputs), tuple(("", i) for i in subgraph.outputs))


class _Run:
    """The interpreters of a model, and what they have found so far."""

    def __init__(
        self, model: Model, module: Module, effort: Effort, claims: Claims, context: ValidationContext
    ) -> None:
        self._model, self._module, self._context = model, module, context
        self._whole = effort.seconds * 1e9
        self._patience = effort.patience
        self._budget = self._new_budget()
        self._parts = SHARE
        self._first: RandomInputs | None = None
        self._count = effort.sets
        self._file = Interpreter(model, custom=context.custom)
        self._compiled = ModuleInterpreter(module, claims=claims, custom=context.custom)
        self._has_floats = any(t.type_name == "float32" for g in model.subgraphs for t in g.tensors)
        self.sides: set[tuple[int, int, int]] = set()
        self.branches = dict(branches_of(model, [_entry(model, i).subgraph for i in range(len(module.signatures))]))
        self.result = Validation(sum(effort.sets if s.inputs else 1 for s in module.signatures))
        self._done = 0
        self._refused = 0
        """Planned sets that only the graph ends with an error, though no tensor of the file is too large."""
        self._search = BranchSearch()
        self._has_loops = any(op.name in LOOPS for g in model.subgraphs for op in g.operators)
        signatures = [t.shape_signature or () for g in model.subgraphs for t in g.tensors if t.has_rank]
        self._has_run_time_shapes = any(-1 in s for s in signatures) or not all(
            t.has_rank or t.dtype is None for g in model.subgraphs for t in g.tensors
        )

    def signature_to_an_end(self, entry: FileSignature, signature: EntryPoint) -> None:
        """Runs the sets of one signature; if all were given up since they run long, one of them without a share.

        That one may do once more the work of the whole effort. Raises BudgetError when the effort is made.
        """
        runs, cut = self.result.equal + self.result.undecided, self.result.cut
        try:
            self.signature(entry, signature)
        finally:
            is_cut = self.result.cut > cut and self.result.equal + self.result.undecided == runs
            if is_cut and self._first is not None:
                rest, self._budget, self._parts = self._budget, self._new_budget(), 1
                self.result = replace(self.result, cut=self.result.cut - 1)
                self._first = replace(self._first, planned=True)
                try:
                    self._set(entry, signature, self._first, 1)
                except WorkError:
                    self.result = replace(self.result, cut=self.result.cut + 1)
                self._budget, self._parts = rest, SHARE

    def _new_budget(self) -> Budget:
        return Budget(self._whole, time.process_time() + self._patience)

    def signature(self, entry: FileSignature, signature: EntryPoint) -> None:
        """Runs the sets of one signature. Raises BudgetError when the effort is made."""
        self._first = None
        has_state = bool(self._module.function(signature.function).state)
        rng = np.random.default_rng(SEED)
        count, before, refused = self._count if signature.inputs else 1, self._runs, self._refused
        invokes = max([INVOKES if has_state else 1, *(hop.invokes for hop in self._module.hops)])
        start = planned = self._budget.nanoseconds
        share = QUICK_SHARE * self._whole
        self._search = BranchSearch()
        sets = make_input_sets(self._model, signature.inputs, rng, count, self._search)
        for number, candidate in enumerate(sets):
            if number == count:
                planned = self._budget.nanoseconds
            if number > count + TRIES and planned - self._budget.nanoseconds > share:
                break
            if not candidate.planned and len(self.sides) >= sum(self.branches.values()):
                break
            self._candidate(entry, signature, candidate, invokes)
        if signature.inputs and (start - planned) / count * MORE_SETS <= share:
            self.result = replace(self.result, sets=self.result.sets + MORE_SETS)
            for candidate in make_more_sets(signature.inputs, rng):
                self._candidate(entry, signature, candidate, invokes)
        if self._refused > refused and self._runs == before:
            self._try_all_shapes(entry, signature, rng, invokes)

    @property
    def _runs(self) -> int:
        """Sets that neither the file nor the graph has ended with an error."""
        return self.result.equal + self.result.undecided + self.result.cut

    def _try_all_shapes(
        self, entry: FileSignature, signature: EntryPoint, rng: np.random.Generator, invokes: int
    ) -> None:
        """Raises InternalError if the graph ends with an error whatever shapes its inputs have, and the file does not.

        Firmware may take less than the file: one size of an image of all that a transposed convolution reads.
        """
        before, refused = self._runs, self._refused
        sets = sets_of_all_shapes(signature.inputs, rng)
        for candidate in sets:
            self.result = replace(self.result, sets=self.result.sets + 1)
            self._candidate(entry, signature, candidate, invokes)
            if self._runs > before:
                return
        if sets and self._refused == refused + len(sets):
            raise InternalError(
                f"{self._module.path}: validation: the graph ends with an error for all shapes of inputs"
            )

    def _candidate(self, entry: FileSignature, signature: EntryPoint, candidate: RandomInputs, invokes: int) -> None:
        self._budget.spend(STEP + FILLING * sum(array.size for array in candidate.arrays))
        if self._context.report is not None:
            self._context.report(self._done, self.result.sets)
        self._done += candidate.planned
        self._first = self._first or candidate
        self._set(entry, signature, candidate, invokes)

    def _set(self, entry: FileSignature, signature: EntryPoint, candidate: RandomInputs, invokes: int) -> None:
        """Runs one set; one that is not planned only if it takes a new branch."""
        before, left = len(self.sides), self._budget.nanoseconds
        try:
            try:
                sequence, wanted = self._outputs_of_file(entry, signature, candidate, invokes)
            except RunTimeError:
                rng = np.random.default_rng(self.result.equal)
                candidate = with_small_integers(candidate, signature.inputs, rng)
                sequence, wanted = self._outputs_of_file(entry, signature, candidate, invokes)
            self._search.learn(candidate.arrays, self._file.margins)
            self.sides |= {side for side in self._file.sides if side[:2] in self.branches}
            if not candidate.planned and len(self.sides) == before:
                return
            self._compiled.budget = self._limited((left - self._budget.nanoseconds) * signature.pushes)
            is_equal = self._compare(entry, signature, candidate, sequence, wanted)
        except (RunTimeError, MemoryError):
            self.result = replace(self.result, undefined=self.result.undefined + candidate.planned)
            return
        except ClockError:
            raise
        except WorkError:
            if self._budget.is_exhausted:
                raise
            self.result = replace(self.result, cut=self.result.cut + candidate.planned)
            return
        self.result = replace(
            self.result,
            equal=self.result.equal + is_equal,
            sets=self.result.sets + (not candidate.planned),
        )

    def _outputs_of_file(
        self, entry: FileSignature, signature: EntryPoint, candidate: RandomInputs, invokes: int
    ) -> tuple[list[tuple[Array, ...]], list[tuple[Array, ...]]]:
        """Inputs and outputs of each invoke."""
        self._file.reset()
        self._file.budget = self._budget.share(self._parts if self._has_loops else 1)
        self._file.sides, self._file.margins = set(), {}
        sequence = series(candidate.arrays, signature.inputs, invokes)
        try:
            return sequence, [self._file.invoke(entry, arrays) for arrays in sequence]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # The reference itself fails here, which says nothing about the build.
            raise UnsupportedError(f"this model ({type(error).__name__}: {error})") from error

    def _compare(
        self,
        entry: FileSignature,
        signature: EntryPoint,
        candidate: RandomInputs,
        sequence: Sequence[tuple[Array, ...]],
        wanted: Sequence[tuple[Array, ...]],
    ) -> bool:
        """True if all outputs are equal. Raises InternalError if they are not, in float64 either."""
        self._compiled.reset()
        for k, (arrays, expected) in enumerate(zip(sequence, wanted, strict=True)):
            trace, past = Trace(self._model), sequence[: k + 1]
            actual = self._outputs_of_graph(entry, signature, candidate, past, trace)
            has_other_shapes = [a.shape for a in actual] != [a.shape for a in expected]
            if has_other_shapes and self._has_run_time_shapes and self._is_inadmissible(entry, signature, past):
                raise RunTimeError("the shapes are other ones than the file's types and the user's bounds admit")
            output = differing(actual, expected, magnitude_of(arrays))
            if output is None:
                continue
            if not self._has_floats:
                raise InternalError(self._difference(entry, signature, candidate, past, output))
            if self._equal_in_float64(entry, signature, past):
                continue
            if not self._rounding_decides(entry, past, actual, expected):
                raise InternalError(self._difference(entry, signature, candidate, past, output))
            self.result = replace(self.result, undecided=self.result.undecided + 1)
            return False
        return True

    def _limited(self, work: float) -> Budget:
        """Budget of the graph's run on a set: a multiple of the work that the file's run took, and some more."""
        times, more = RUNAWAY
        budget = self._budget.share(1)
        budget.nanoseconds = min(budget.nanoseconds, times * work + more)
        return budget

    def _is_inadmissible(
        self, entry: FileSignature, signature: EntryPoint, sequence: Sequence[tuple[Array, ...]]
    ) -> bool:
        modules = [m for m in (self._module, self._context.imported) if m is not None]
        file = Interpreter(self._model, custom=self._context.custom)
        return has_inadmissible_shapes(file, modules, entry, signature.outputs, sequence)

    def _runs_as_imported(self, signature: EntryPoint, sequence: Sequence[tuple[Array, ...]]) -> bool:
        """Whether the graph before the passes takes these inputs: its error is then none of firmware's bounds."""
        imported = self._context.imported
        if imported is None or signature.pushes != 1:
            return False
        graph = ModuleInterpreter(imported, budget=self._budget, custom=self._context.custom)
        try:
            (own,) = (s for s in imported.signatures if s.key == signature.key)
            for arrays in sequence:
                graph.invoke(own, arrays)
        except (ArithmeticError, ValueError, IndexError, RunTimeError):
            return False
        return True

    def _outputs_of_graph(
        self,
        entry: FileSignature,
        signature: EntryPoint,
        candidate: RandomInputs,
        sequence: Sequence[tuple[Array, ...]],
        trace: Trace,
    ) -> tuple[Array, ...]:
        """Outputs of the last invoke. Raises InternalError where only the graph has none: the file's run had."""
        place = f"{self._module.path}: validation: input set '{candidate.label}', invoke {len(sequence) - 1}"
        try:
            return invoke_window(self._compiled, signature, sequence[-1], len(sequence) == 1, trace.see_value)
        except ClaimError as error:
            raise InternalError(f"{place}: {error}") from None
        except ClockError:
            raise
        except WorkError:
            if self._budget.is_exhausted:
                raise
            raise InternalError(f"{place}: the graph does far more work than the file; a loop may not end") from None
        except (ArithmeticError, ValueError, IndexError, RunTimeError) as error:
            # With shapes known at run time, firmware answers such operands with an error code. A tensor that exceeds
            # its bound is excused only where the file's tensors exceed the admitted shapes.
            is_argument = isinstance(error, RunTimeError) and not isinstance(error, BoundError)
            is_too_large = self._has_run_time_shapes and self._is_inadmissible(entry, signature, sequence)
            self._refused += is_argument and not is_too_large and candidate.planned
            is_excused = self._has_run_time_shapes and (is_argument or is_too_large)
            if is_excused and not self._runs_as_imported(signature, sequence):
                raise RunTimeError(str(error)) from error
            raise InternalError(f"{place}: the graph cannot be evaluated: {error}") from error

    def _equal_in_float64(
        self, entry: FileSignature, signature: EntryPoint, sequence: Sequence[tuple[Array, ...]]
    ) -> bool:
        """Whether the last invoke's outputs are equal without the rounding to float32."""
        custom = self._context.custom
        file = Interpreter(self._model, wide=True, budget=self._budget, custom=custom)
        compiled = ModuleInterpreter(self._module, wide=True, budget=self._budget, custom=custom)
        for k, arrays in enumerate(sequence):
            expected, actual = file.invoke(entry, arrays), invoke_window(compiled, signature, arrays, k == 0)
        return differing(actual, expected, magnitude_of(arrays)) is None

    def _rounding_decides(
        self,
        entry: FileSignature,
        sequence: Sequence[tuple[Array, ...]],
        actual: Sequence[Array],
        expected: Sequence[Array],
    ) -> bool:
        """Whether the file's own outputs scatter as far as the difference when its operators round otherwise."""
        runs = []
        for seed in range(SCATTERED):
            noise, custom = np.random.default_rng(seed), self._context.custom
            file = Interpreter(self._model, budget=self._budget, noise=noise, custom=custom)
            for arrays in sequence:
                outputs = file.invoke(entry, arrays)
            runs.append(outputs)
        return all(is_scatter(*of_output) for of_output in zip(actual, expected, zip(*runs, strict=True), strict=True))

    def _difference(
        self,
        entry: FileSignature,
        signature: EntryPoint,
        candidate: RandomInputs,
        sequence: Sequence[tuple[Array, ...]],
        output: int,
    ) -> str:
        """The sentence about the first tensor that differs, or else about the output."""
        custom, trace = self._context.custom, Trace(self._model)
        file, compiled = Interpreter(self._model, custom=custom), ModuleInterpreter(self._module, custom=custom)
        for k, arrays in enumerate(sequence):
            expected = file.invoke(entry, arrays, trace.see_tensor)
            actual = invoke_window(compiled, signature, arrays, k == 0, trace.see_value)
        label = f"{self._module.path}: validation: input set '{candidate.label}', invoke {len(sequence) - 1}"
        difference = trace.first_difference()
        if difference is not None:
            return describe(label, *difference)
        return describe(label, f"output {output} '{signature.outputs[output].name}'", actual[output], expected[output])
