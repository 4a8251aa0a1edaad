"""Fits of cost models: what invented counts were made of is found again."""

from __future__ import annotations

import numpy as np
import pytest
from support.cost_fit import Alone, errors, fit, left_alone
from support.cost_samples import Sample
from tflmgen.kernels.declaration import cost_models

FAMILY = "add_dsp"
CYCLES = {"call": 90.0, "element": 8.5, "rest": 13.0, "clamp": 3.0}


def samples(cycles: dict[str, float], alone: bool = False, count: int = 20) -> list[Sample]:
    """Layers that take exactly these cycles."""
    rng = np.random.default_rng(3)
    counted = []
    for _ in range(count):
        numbers = {"count": int(rng.integers(1, 200)), "greatest": int(rng.choice([100, 127]))}
        taken = sum(cycles[term] * often for term, often in cost_models()[FAMILY].counts(numbers).items())
        counted.append(Sample("tflmgen_add_dsp_s8", FAMILY, numbers, taken, alone))
    return counted


def test_cycles_of_terms_are_found() -> None:
    known = samples(CYCLES)
    fitted = fit(FAMILY, known, [1.0] * len(known))
    assert fitted == pytest.approx(CYCLES, rel=1e-3)
    assert np.abs(errors(FAMILY, known, fitted)).max() < 1e-3


def test_a_layer_of_much_weight_decides() -> None:
    """Between counts that contradict one another the estimate is near the weightier."""
    light, heavy = samples({**CYCLES, "element": 12.0}), samples(CYCLES)
    fitted = fit(FAMILY, [*light, *heavy], [1.0] * len(light) + [50.0] * len(heavy))
    assert np.abs(errors(FAMILY, heavy, fitted)).mean() < 0.02 < np.abs(errors(FAMILY, light, fitted)).mean()


def test_a_term_that_takes_nothing_is_left_out() -> None:
    known = samples({**CYCLES, "rest": 0.0})
    assert set(fit(FAMILY, known, [1.0] * len(known))) == {"call", "element", "clamp"}


def test_what_is_left_where_calls_are_alone_is_found() -> None:
    alone = samples({**CYCLES, "element": 0.5 * CYCLES["element"]}, alone=True)
    left = left_alone(FAMILY, [Alone(alone, [1.0] * len(alone), CYCLES)])
    assert left["element"] == pytest.approx(0.5, abs=0.1)
    assert np.abs(errors(FAMILY, alone, {term: v * left.get(term, 1) for term, v in CYCLES.items()})).mean() < 0.03


def test_nothing_is_said_where_being_alone_changes_nothing() -> None:
    alone = samples(CYCLES, alone=True)
    assert left_alone(FAMILY, [Alone(alone, [1.0] * len(alone), CYCLES)]) == {}
