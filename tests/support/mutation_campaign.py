"""The mutation campaign: faults that stages of a build might have, and what the proof says of each.

A mutant is rejected, or shown to be equivalent by other means than the proof, or has survived. Mutants that are equal
to their originals are not counted.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from tflmgen.backend import Sources
from tflmgen.compiler import check_sources
from tflmgen.errors import InternalError
from tflmgen.frontend.tflite import Model
from tflmgen.ir import verify
from tflmgen.ir.graph import Module
from tflmgen.ir.program import Program
from tflmgen.passes.pipeline import run_passes
from tflmgen.reference import Claims, ValidationContext
from tflmgen.reference.validation import validate
from tflmgen.reference.validation_result import EFFORTS, Effort

from support import mutate, mutate_constants, mutate_meaning, mutate_module, mutate_packing, mutate_text
from support.mutate_packing import MUTATORS as PACKING_MUTATORS
from support.packed_layers import PACKED, packings
from support.pipeline import compile_bytes
from support.random_models import MAKERS
from support.random_program import Seeded
from support.repository import ROOT
from support.trial import is_proved, seeded_trials

LONG = Effort(1000, 5.0, 100.0)
"""Input sets that a mutant's graph is compared on when quick validation accepts it, and seconds of work."""

NAME = "m"


@dataclass(frozen=True)
class Mutant:
    """What became of a mutant: equivalent says how that was shown; where neither, it has survived."""

    mutator: str
    origin: str
    rejected: bool
    equivalent: str = ""

    @property
    def survived(self) -> bool:
        return not self.rejected and not self.equivalent


@dataclass
class Score:
    """Counts of one kind's mutants."""

    mutants: int = 0
    rejected: int = 0
    equivalent: Counter[str] = field(default_factory=Counter)
    survivors: list[str] = field(default_factory=list)

    def note(self, mutant: Mutant) -> None:
        self.mutants += 1
        self.rejected += mutant.rejected
        if mutant.survived:
            self.survivors.append(f"{mutant.mutator} in {mutant.origin}")
        elif not mutant.rejected:
            self.equivalent[mutant.equivalent] += 1

    @property
    def differing(self) -> int:
        """Mutants that are not equivalent."""
        return self.rejected + len(self.survivors)


Campaign = Callable[[int, int], Iterator[Mutant]]
"""The mutants of `count` originals from a seed on."""

SIMULATED = "the same outputs, simulated byte by byte"
ON_SUMS = "the same weights, the same outputs for all sampled sums"
ON_SETS = f"the same outputs on {LONG.sets} input sets"
SAME_GRAPH = "the same graph after the passes"


# -- plan and lowering


def _of_programs(mutations: tuple[mutate_meaning.Mutation, ...], rounds: int) -> Campaign:
    def campaign(seed: int, count: int) -> Iterator[Mutant]:
        for trial in seeded_trials(range(seed, seed + count)):
            choose = Seeded(seed + len(trial.label) * 1009 + sum(trial.label.encode()))
            for mutation in mutations * rounds:
                program = mutation(trial.stages.program, choose)
                if program == trial.stages.program:
                    continue
                rejected = not is_proved(trial.stages, program)
                same = not rejected and trial.holds_for(program)
                yield Mutant(mutation.__name__, trial.label, rejected, SIMULATED if same else "")

    return campaign


# -- packing


def packing(seed: int, count: int) -> Iterator[Mutant]:
    """Corrupted packings of `count` layers of each declaration's kinds."""
    rng = np.random.default_rng(seed)
    for declaration in PACKED:
        for packed, mutator in itertools.product(packings(declaration, seed, count), PACKING_MUTATORS):
            for data in mutate_packing.mutants(packed, mutator, 1, rng):
                rejected = bool(packed.problem(data))
                same = not rejected and not mutate_packing.differs(packed, data, rng)
                yield Mutant(mutator.__name__, packed.kernel.function, rejected, ON_SUMS if same else "")


# -- emission


def libraries(seeds: range, examples: str) -> Iterator[tuple[str, Program, Sources]]:
    """Random programs, and the examples of this pattern, whose kernels have structs and weights."""
    for trial in seeded_trials(seeds):
        yield trial.label, trial.stages.program, trial.stages.sources(NAME)
    for path in sorted((ROOT / "examples").glob(examples)):
        if path.stem != "erfinv":
            stages = compile_bytes(path.read_bytes())
            yield path.stem, stages.program, stages.sources(NAME)


def is_read(program: Program, sources: Sources) -> bool:
    """Whether the checker of text finds the Program in its C."""
    try:
        check_sources(program, NAME, sources)
    except InternalError:
        return False
    return True


def emission(seed: int, count: int) -> Iterator[Mutant]:
    """Corrupted C of `count` random programs and of the examples."""
    for label, program, sources in libraries(range(seed, seed + count), "*.tflite"):
        choose = Seeded(seed + sum(label.encode()))
        for path, mutators in ((f"src/{NAME}.c", mutate_text.PLAN), (f"src/{NAME}_weights.h", mutate_text.WEIGHTS)):
            text = sources.files[path]
            for mutator in mutators * 2:
                changed = mutator(text, choose)
                if changed != text:
                    corrupted = replace(sources, files={**sources.files, path: changed})
                    yield Mutant(mutator.__name__, label, not is_read(program, corrupted))


# -- passes


def passes(seed: int, count: int) -> Iterator[Mutant]:
    """Wrong rewrites of `count` random models of each kind: of the graph as imported, and after the passes."""
    for number, (kind, source) in itertools.product(range(seed, seed + count), MAKERS.items()):
        models = source.models(kind, number)
        if models is None:
            continue
        model, imported = models
        module = imported if number % 3 == 0 else run_passes(imported)
        choose = Seeded(number)
        # A fault of the importer, which there is where the graph is the imported one, is in that, too.
        context = ValidationContext() if module is imported else ValidationContext(imported=imported)
        is_same = _validates(model, module, EFFORTS["quick"], context)
        if is_same is False:
            yield Mutant("none", f"{kind} {number}", False)
        if not is_same:  # or else every input set ends with an error of the model, by the file alone
            continue
        for mutation in (*mutate_module.MUTATIONS, *mutate_constants.MUTATIONS):
            mutant = mutation(module, choose)
            if mutant.functions != module.functions or mutant.constants != module.constants:
                yield _judged(model, (module, mutant), context, mutation.__name__, f"{kind} {number}")


def _validates(model: Model, module: Module, effort: Effort, context: ValidationContext) -> bool | None:
    """Whether a graph is found to be the file's; None: no set has shown anything."""
    try:
        result = validate(model, verify(module, "mutation"), effort, Claims(), context)
    except InternalError:
        return False
    return True if result.equal else None


def _judged(
    model: Model, graphs: tuple[Module, Module], context: ValidationContext, mutator: str, origin: str
) -> Mutant:
    """graphs: the right one and the mutant."""
    module, mutant = graphs
    if _validates(model, mutant, EFFORTS["quick"], context) is False:
        return Mutant(mutator, origin, True)
    if mutant.constants == module.constants and _finished(mutant) == _finished(module):
        return Mutant(mutator, origin, False, SAME_GRAPH)
    same = _validates(model, mutant, LONG, context)
    return Mutant(mutator, origin, False, ON_SETS if same else "")


def _finished(module: Module) -> object:
    """The functions after the passes; a value of its own for a graph that they do not take."""
    try:
        return run_passes(module).functions
    except (InternalError, ArithmeticError, LookupError, TypeError, ValueError):
        return object()


@cache
def kinds() -> Mapping[str, Campaign]:
    """The campaign of each kind of fault."""
    return {
        "plan": _of_programs(mutate.MUTATIONS, 2),
        "lowering": _of_programs((*mutate_meaning.CONTROL, *mutate_meaning.NUMBERS), 2),
        "packing": packing,
        "emission": emission,
        "passes": passes,
    }


def score(kind: str, seed: int, count: int) -> Score:
    result = Score()
    for mutant in kinds()[kind](seed, count):
        result.note(mutant)
    return result
