"""Work that becomes slower where a web is widened."""

from __future__ import annotations

import numpy as np
from support.quantize_models import FEATURES, STEPS, UNITS, recurrent_loop
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.quantize.calibration import calibrate
from tflmgen.quantize.cycle_estimates import cost_of_invoke, operator_cycles
from tflmgen.quantize.model_quantization import prepare_float
from tflmgen.quantize.web_constraints import find_webs
from tflmgen.quantize.web_costs import widening_costs

SETS = 3


def test_products_count_with_both_their_ends() -> None:
    source = prepare_float(recurrent_loop())
    rng = np.random.default_rng(1)
    sets = [VectorSet("", 0, (rng.normal(size=(STEPS, FEATURES)).astype(np.float32),)) for _ in range(SETS)]
    webs = find_webs(source)
    costs = widening_costs(source, calibrate(source, Vectors(tuple(sets))), webs)
    body = source.subgraphs[2]
    (product,) = [op for op in body.operators if op.name == "FULLY_CONNECTED"]
    adding = 8 * UNITS * STEPS * SETS
    assert costs[webs.root((2, product.outputs[0]))] == UNITS * UNITS * STEPS * SETS + adding
    assert costs[webs.root((0, source.subgraphs[0].inputs[0]))] == UNITS * FEATURES * STEPS * SETS


def test_cycles_count_where_they_are_known() -> None:
    """A product that takes 50 cycles more in int16 costs them at both ends, in each of its runs."""
    source = prepare_float(recurrent_loop())
    rng = np.random.default_rng(1)
    sets = [VectorSet("", 0, (rng.normal(size=(STEPS, FEATURES)).astype(np.float32),)) for _ in range(SETS)]
    webs, calibration = find_webs(source), calibrate(source, Vectors(tuple(sets)))
    (product,) = [op for op in source.subgraphs[0].operators if op.name == "FULLY_CONNECTED"]
    costs = widening_costs(source, calibration, webs, {(0, product.index): 50})
    assert costs[webs.root((0, source.subgraphs[0].inputs[0]))] == 50 * SETS


def test_the_cycles_of_an_invoke_follow_the_runs_of_its_loop() -> None:
    source = prepare_float(recurrent_loop())
    once, twice = (cost_of_invoke("", source, {}, {0: 1, 1: n + 1, 2: n}, 1).cycles for n in (1, 2))
    per_operator = operator_cycles(source, {})
    inside = sum(cycles for (graph, _), cycles in per_operator.items() if graph in (1, 2))
    assert inside > 0
    assert twice - once == inside
