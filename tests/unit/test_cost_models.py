"""Cost models of kernels: their data, and what is chosen by them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_costs import TABLE, text_of
from support.kernel_harness import constant, make_case, tensor
from support.repository import ROOT
from tflmgen.architectures import ARCHITECTURES
from tflmgen.ir.kernel.call import Cost, Kernel, Params, Scratch, Target
from tflmgen.ir.kernel.kernel_choice import CostedKernel, KernelChoice
from tflmgen.kernels import choice as kernel_choice
from tflmgen.kernels.costs import estimate as costs
from tflmgen.kernels.costs.cost_model import CALL, FEW
from tflmgen.kernels.costs.estimate import ALONE, cycles_of, cycles_table, estimate, numbers_of
from tflmgen.kernels.declaration import cost_models

MAX_TERMS, MAX_COEFFICIENTS = 8, 1300
"""Of one family on one core; of all together."""

RECORDED = json.loads((ROOT / "tests" / "models" / "kernel_candidates.json").read_text())
"""calls: C function, its family of costs, numbers of the call, and its cycles by core, from cost models of many terms
that were within 3 % of counts. layers: of the corpus' real models those with several kernels of similar cost, as
indices into calls."""

WITHIN = 0.005
"""How many cycles more than the best candidates the chosen ones may take, in sum."""


def kernel(name: str, *operands: Scratch, variant: str = "dsp", family: str = "", **numbers: int) -> Kernel:
    params = Params("some", tuple(numbers.items()))
    return Kernel(f"tflmgen_{name}", "some.h", operands, params, cost=Cost(100, family), variant=variant)


def convolution(family: str, **numbers: int) -> Kernel:
    sizes: dict[str, Any] = {f"{tensor}_{along}": 8 for tensor in ("input", "output") for along in ("height", "width")}
    windows: dict[str, Any] = {"filter_height": 3, "filter_width": 3, "padding_top": 1, "padding_left": 1, "steps": 18}
    channels = {"input_channels": 8, "output_channels": 16, "own_scales": 1, "signed": 1}
    known: dict[str, Any] = {"batches": 1, **channels, **sizes, **windows, **numbers}
    return kernel(f"{family}_s8", family=family, **known)


def test_every_family_has_figures_for_its_terms_alone() -> None:
    assert set(cycles_table()) == set(cost_models())
    for name, by_core in cycles_table().items():
        assert set(by_core) <= {*(core.costs for a in ARCHITECTURES for core in a.cores.values()), ALONE}
        for cycles in by_core.values():
            assert set(cycles) <= {CALL, *cost_models()[name].terms}, name


def test_figures_are_written_as_they_are() -> None:
    """What is measured anew changes its own lines."""
    assert TABLE.read_text(encoding="utf-8") == text_of(cycles_table())


def test_no_term_is_there_for_nothing() -> None:
    for name, family in cost_models().items():
        fitted = {term for cycles in cycles_table()[name].values() for term in cycles}
        assert set(family.terms) <= fitted, name
    used = {term for family in cost_models().values() for term in family.terms}
    assert frozenset().union(*(family.vocabulary for family in cost_models().values())) == used


def test_costs_are_small() -> None:
    tables = [cycles for by_core in cycles_table().values() for cycles in by_core.values()]
    assert max(family.has_call + len(family.terms) for family in cost_models().values()) <= MAX_TERMS
    assert sum(map(len, tables)) <= MAX_COEFFICIENTS
    assert (
        min(cycle for by_core in cycles_table().values() for core in by_core for cycle in by_core[core].values()) >= 0
    )


def test_few_elements_take_no_call() -> None:
    """They are computed in place of a call, in one row."""
    inlined, called = (kernel("add_dsp_s8", family="add_dsp", count=count) for count in (FEW, FEW + 4))
    cycles = [estimate(k, "cortex-m4") or 0 for k in (inlined, called)]
    assert cycles[1] - cycles[0] > cycles_table()["add_dsp"]["cortex-m4"][CALL]
    nest = {"rank": 2, "extent0": 2, "extent1": 4, "stride10": 4, "stride11": 1, "stride20": 4, "stride21": 1}
    model = cost_models()["mul_dsp"]
    assert (model.counts(nest)[CALL], model.counts(nest)["row"]) == (1, 2)
    flat = {"rank": 1, "extent0": 8, "stride10": 1, "stride20": 1}
    assert (model.counts(flat)[CALL], model.counts(flat)["row"]) == (0, 0)


def test_a_call_that_is_alone_takes_less() -> None:
    """By what is left of each term; kernels of other families make no difference."""
    first, other = convolution("conv2d_dsp", input_channels=1), kernel("other")
    shared, alone = estimate(first, "cortex-m4"), estimate(first, "cortex-m4", alone=True)
    assert shared is not None
    assert alone is not None
    assert alone < shared
    choice = KernelChoice(CostedKernel(first, shared))
    once = kernel_choice.estimated_together({1: choice, 2: KernelChoice.of(other)}, "cortex-m4")
    twice = kernel_choice.estimated_together({1: choice, 2: choice}, "cortex-m4")
    assert [cycles_of(once[number]) for number in once] == [alone, 600]
    assert [cycles_of(twice[number]) for number in twice] == [shared, shared]


def test_others_are_estimated_as_if_they_were_chosen() -> None:
    layer = convolution("conv2d_dsp", input_channels=1)
    cycles = estimate(layer, "cortex-m4")
    assert cycles is not None
    considering = KernelChoice(CostedKernel(kernel("some"), 9), considered=(CostedKernel(layer, cycles),))
    beside = kernel_choice.estimated_together(
        {1: considering, 2: KernelChoice(CostedKernel(layer, cycles))}, "cortex-m4"
    )
    alone = kernel_choice.estimated_together({1: considering}, "cortex-m4")
    (first,), (second,) = (choices[1].considered for choices in (beside, alone) if isinstance(choices[1], KernelChoice))
    assert (first.cycles, second.cycles) == (cycles, estimate(layer, "cortex-m4", alone=True))


def test_nothing_is_said_of_other_kernels_and_cores() -> None:
    assert estimate(kernel("softmax_s8"), "cortex-m4") is None
    assert estimate(convolution("conv2d_dsp"), "host") is None
    assert estimate(convolution("conv2d_mve"), "cortex-m4") is None


def test_a_kernel_without_figures_has_no_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is declared before it is measured."""
    layer = convolution("conv2d_dsp")
    assert estimate(layer, "cortex-m4")
    monkeypatch.setattr(costs, "cycles_table", dict)
    assert estimate(layer, "cortex-m4") is None


def test_a_core_without_figures_takes_those_of_its_relative() -> None:
    layer = convolution("conv2d_thumb")
    assert estimate(layer, "cortex-m7") == estimate(layer, "cortex-m3") != estimate(layer, "cortex-m0")


@pytest.mark.parametrize(("family", "core"), [("conv2d_dsp", "cortex-m4"), ("conv2d_mve", "cortex-m55")])
def test_terms_count_parts_of_a_convolution(family: str, core: str) -> None:
    """64 pixels in blocks of 3 or 4, by 8 pairs of channels, 18 steps each."""
    layer = convolution(family)
    assert layer.params is not None
    counts = cost_models()[family].counts(numbers_of(layer))
    cycles = cycles_table()[family][core]
    assert estimate(layer, core) == round(sum(cycles[term] * counts[term] for term in cycles))
    blocks = 22 if family == "conv2d_dsp" else 16
    assert (counts["block"], counts["step"]) == (blocks * 8, blocks * 8 * 18)
    assert counts.get(CALL) == (1 if cost_models()[family].has_call else None)


def test_clamping_costs_more() -> None:
    plain = convolution("depthwise_nine_dsp", input_channels=16, output_min=-128, output_max=127)
    assert plain.params is not None
    clamping = replace(plain, params=Params("some", (*plain.params.fields[:-1], ("output_max", 100))))
    first, second = estimate(plain, "cortex-m4"), estimate(clamping, "cortex-m4")
    assert first is not None
    assert second is not None
    clamp = cycles_table()["depthwise_nine_dsp"]["cortex-m4"]["clamp"]
    assert second - first == pytest.approx(clamp * 8 * 8 * 16, abs=1)


@pytest.mark.parametrize("core", RECORDED["layers"])
def test_chosen_kernels_take_few_cycles_more_than_the_best(core: str) -> None:
    chosen = best = 0
    for candidates in RECORDED["layers"][core]:
        calls = [RECORDED["calls"][index] for index in candidates]
        recorded = {f"tflmgen_{function}": cycles[core] for function, _, _, cycles in calls}
        kernels = [kernel(function, family=family, **numbers) for function, family, numbers, _ in calls]
        choice = kernel_choice.choose_fastest(kernels, Target(core))
        chosen, best = chosen + recorded[choice.kernel.function], best + min(recorded.values())
    assert chosen <= (1 + WITHIN) * best


def choose(monkeypatch: pytest.MonkeyPatch, **costs: int) -> KernelChoice:
    known = {f"tflmgen_{name}": cost for name, cost in costs.items()}
    monkeypatch.setattr(kernel_choice, "estimate", lambda candidate, *_: known.get(candidate.function))
    scratch = {"small": Scratch(100), "large": Scratch(400), "portable": Scratch(0)}
    candidates = [kernel(name, scratch[name], variant="portable" if name == "portable" else "dsp") for name in scratch]
    return kernel_choice.choose_fastest(candidates, Target("cortex-m4"))


def test_fewest_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose(monkeypatch, small=900, large=500, portable=800)
    assert chosen.kernel.function == "tflmgen_large"
    assert [candidate.kernel.function for candidate in chosen.considered] == ["tflmgen_portable", "tflmgen_small"]
    assert [candidate.kernel.function for candidate in chosen.alternatives] == ["tflmgen_small", "tflmgen_portable"]


def test_the_first_where_cycles_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(monkeypatch, small=524, large=500, portable=501).kernel.function == "tflmgen_small"
    assert choose(monkeypatch, small=526, large=500, portable=501).kernel.function == "tflmgen_large"


def test_a_portable_one_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose(monkeypatch, small=900, large=500)
    assert chosen.kernel.function == "tflmgen_large"
    assert [candidate.kernel.function for candidate in chosen.considered] == ["tflmgen_small"]


def test_the_first_where_one_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(monkeypatch, large=500, portable=100).kernel.function == "tflmgen_small"


def test_kernels_without_a_model_count_by_their_products() -> None:
    assert cycles_of(KernelChoice.of(kernel("some"))) == 600
    assert cycles_of(KernelChoice(CostedKernel(kernel("some"), 70))) == 70


def test_floats_have_costs_where_there_is_a_floating_point_unit() -> None:
    case = make_case(
        "FULLY_CONNECTED",
        [tensor("float32", (1, 16)), constant("float32", np.ones((8, 16))), constant("float32", np.ones(8))],
        [tensor("float32", ())],
    )
    choices = {
        features: case.choice_for(Target("cortex-m4", frozenset(features))) for features in (("dsp", "fpu"), ("dsp",))
    }
    assert [choice.kernel.variant for choice in choices.values()] == ["fpu", "portable"]
    assert [choice.chosen.cycles > 0 for choice in choices.values()] == [True, False]
