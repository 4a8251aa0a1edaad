"""Random layers of kernel declarations, with what the reference says of each, at every overlap that kernels claim.

A layer is run with its operands apart, at each claimed distance of output and input, at a greater one that the claim
allows, and at one element less, which it does not allow.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir import contents, elements_of
from tflmgen.ir.kernel import ConstantArray, Kernel, Overlap
from tflmgen.kernels.declaration import KernelDeclaration
from tflmgen.kernels.specification.window import EXPLICIT_PADDING
from tflmgen.reference import Operation, UnsupportedError
from tflmgen.reference.attribute_options import options_of_attributes
from tflmgen.reference.definitions.evaluations import EVALUATIONS

from support.case_models import model_bytes
from support.emulated_kernels import Run, kernels_for
from support.kernel_harness import Array, Case, broken_rules, claims, facing, offsets
from support.variant_cases import CaseInputs, generator, machine_of

ALIGNMENT = 4
"""Bytes that buffers in the arena are aligned to."""

IMAGE_BYTES = 600_000
"""Data of the calls in one firmware image."""

Values = Sequence[Array | None]


def evaluated(case: Case, values: Values) -> list[Array]:
    """Outputs by the reference: the operator's own, then the new contents of the variable tensors that it updates."""
    inputs: list[Array | None] = []
    for item, value in zip(case.inputs, values, strict=True):
        if item is None:
            inputs.append(None)
        else:
            data = None if item.data is None else contents(item.data, item.type.dtype)
            inputs.append(value if data is None else elements_of(item.type, data))
    evaluation = EVALUATIONS.get(case.operator)
    if evaluation is None:
        raise UnsupportedError(case.operator)
    operation = Operation(
        case.operator,
        tuple(inputs),
        tuple(None if item is None else item.type for item in case.inputs),
        case.outputs,
        _options(case),
    )
    with np.errstate(all="ignore"):
        results = evaluation(operation)
    return [np.asarray(r).astype(t.dtype.numpy) for r, t in zip(results, case.outputs, strict=True)]


def _options(case: Case) -> Mapping[str, Any]:
    """Options as a file has them, or a graph where passes made them."""
    if EXPLICIT_PADDING in case.options:
        return options_of_attributes(case.instance.attributes)
    (op,) = parse_model(model_bytes(case), "layer.tflite").subgraphs[0].operators
    return {**(op.options or {}), "custom_options": op.custom_options}


@dataclass(frozen=True)
class Fuzzed:
    """A call of a kernel. too_near: its output lies one element nearer to the input than the kernel claims."""

    run: Run
    kernel: Kernel
    claim: Overlap | None = None
    too_near: bool = False

    @property
    def owner(self) -> str:
        """Key under which a claim is counted: the C function and the direction in which it runs."""
        assert self.claim is not None
        function = facing(self.kernel, self.claim).function
        return f"{function} behind" if self.claim.behind else function


def images(calls: Iterable[Fuzzed]) -> Iterator[list[Fuzzed]]:
    """Calls in groups whose data fit an emulated board's memory."""
    group: list[Fuzzed] = []
    used = 0
    for call in calls:
        size = _data_bytes(call)
        if group and used + size > IMAGE_BYTES:
            yield group
            group, used = [], 0
        group.append(call)
        used += size
    if group:
        yield group


def _data_bytes(call: Fuzzed) -> int:
    arrays = (*call.run.values, *call.run.expected)
    packed = (len(o.data) for o in call.kernel.operands if isinstance(o, ConstantArray))
    constants = (item.data.nbytes for item in call.run.case.inputs if item and item.data is not None)
    return sum(a.nbytes for a in arrays if a is not None) + sum(packed) + sum(constants)


ENOUGH = 10
"""Calls too near of one owner of claims, of which one at least must go wrong."""


@dataclass
class Findings:
    """What a campaign counted: per owner of claims, calls that were too near, and how many went wrong.

    floor: of claims that allow the output to begin where the input does, which is as near as a plan asks for. Kernels
    that read a block before they write one may leave bytes to spare there.
    """

    calls: int = 0
    wrong: list[str] = field(default_factory=list)
    near: Counter[str] = field(default_factory=Counter)
    spoiled: Counter[str] = field(default_factory=Counter)
    floor: Counter[str] = field(default_factory=Counter)

    def note(self, fuzzed: Sequence[Fuzzed], faults: Iterable[int]) -> None:
        """Counts calls that gave wrong outputs, by their numbers."""
        wrong = set(faults)
        self.calls += len(fuzzed)
        for number, run in enumerate(fuzzed):
            if run.too_near:
                assert run.claim is not None
                self.near[run.owner] += 1
                self.spoiled[run.owner] += number in wrong
                self.floor[run.owner] += run.claim.distance <= 0
            elif number in wrong:
                claim = f" at {run.claim}" if run.claim else ""
                self.wrong.append(f"{run.kernel.function}{claim}: {run.run.case}")

    @property
    def loose(self) -> dict[str, int]:
        """Owners of claims that no call has shown to be the least, and the number of calls that tried."""
        return {owner: count for owner, count in sorted(self.near.items()) if not self.spoiled[owner]}

    @property
    def too_cautious(self) -> dict[str, int]:
        """Loose owners whose claimed distance is above 0 and was tried often enough to show that less would do."""
        tries = {owner: count - self.floor[owner] for owner, count in self.loose.items()}
        return {owner: count for owner, count in tries.items() if count >= ENOUGH}


def calls_of(
    case: Case, values: Values, kernel: Kernel, expected: Sequence[Array], rng: np.random.Generator
) -> list[Fuzzed]:
    """A kernel's calls on one layer, at all distances that are to be tried."""
    runs = [Fuzzed(Run(case, values, expected, None, kernel), kernel)]
    for claim in claims(kernel):
        aligned = _alignments(case, claim)
        for distance in sorted({claim.distance, _placed(claim, max(*aligned, ALIGNMENT), int(rng.integers(4)))}):
            runs.append(Fuzzed(Run(case, values, expected, replace(claim, distance=distance), kernel), kernel, claim))
        nearer = replace(claim, distance=_too_near(claim, *aligned))
        runs.append(Fuzzed(Run(case, values, expected, nearer, kernel), kernel, claim, True))
    return runs


def _alignments(case: Case, claim: Overlap) -> tuple[int, int]:
    """Alignments in bytes of the input and the output that overlap: 1, or at least ALIGNMENT for larger elements, which
    kernels read and write by words, too.
    """
    source = case.inputs[claim.input]
    assert source is not None
    sizes = (source.type.dtype.bits // 8, case.outputs[claim.output].dtype.bits // 8)
    return tuple(size if size == 1 else max(size, ALIGNMENT) for size in sizes)  # type: ignore[return-value]


def _too_near(claim: Overlap, input_alignment: int, output_alignment: int) -> int:
    """The greatest distance below the claimed one at which both are aligned."""
    for distance in itertools.count(claim.distance - 1, -1):
        source, output = offsets(replace(claim, distance=distance))
        if source % input_alignment == 0 and output % output_alignment == 0:
            return distance
    raise AssertionError


def _placed(claim: Overlap, alignment: int, number: int) -> int:
    """A distance at which a plan may place the output: number 0 is the least one."""
    if claim.exact:
        return claim.distance
    step = int(np.lcm(alignment, claim.multiple))
    candidates = range(claim.distance, claim.distance + (number + 1) * step, claim.multiple)
    return [claim.distance, *(d for d in candidates if d % alignment == 0)][-1]


def layers_of(declaration: KernelDeclaration, seed: int, count: int) -> Iterator[tuple[CaseInputs, list[Kernel]]]:
    """`count` random layers that the declaration computes, with all its kernels for each."""
    rng = np.random.default_rng([seed, *declaration.header.encode()])
    sources = [(cases, generator(name)) for cases in declaration.cases for name in cases.layers.split()]
    drawn = 0
    for draw, (cases, make) in enumerate(itertools.cycle(sources)):
        assert draw < 200 * count + 1000, f"no layers of {declaration.header}"
        case, values = make(rng)
        if broken_rules(case):
            continue
        with pytest.MonkeyPatch.context() as patch:
            if cases.in_turn:
                module = import_module(f"tflmgen.kernels.{cases.in_turn}")
                patch.setattr(module, "SHIFTS", (module.SHIFTS[draw // len(sources) % len(module.SHIFTS)],))
            chosen = kernels_for(case, machine_of(declaration, cases))
        kernels = [k for kernel in chosen for k in (kernel, *kernel.smaller) if k.header in declaration.headers]
        if kernels:
            yield (case, values), kernels
            drawn += 1
            if drawn == count:
                return


def fuzz_of(declaration: KernelDeclaration, seed: int, count: int) -> Iterator[list[Fuzzed]]:
    """The calls of each of `count` random layers."""
    rng = np.random.default_rng(seed)
    for (case, values), kernels in layers_of(declaration, seed, count):
        expected = evaluated(case, values)
        distinct = {(k.function, k.params, k.operands): k for k in kernels}
        yield [call for k in distinct.values() for call in calls_of(case, values, k, expected, rng)]
