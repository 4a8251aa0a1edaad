"""Work that becomes slower where a web is widened."""

from __future__ import annotations

import numpy as np
from support.quantize_models import FEATURES, STEPS, UNITS, recurrent_loop
from tflmgen.emulators import Vectors, VectorSet
from tflmgen.quantize import calibrate, find_webs, prepare_float, widening_costs

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
