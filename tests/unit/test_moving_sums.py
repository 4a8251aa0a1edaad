"""Sums over time that are kept from hop to hop: of which operators, and where."""

from __future__ import annotations

import pytest
from support.pipeline import HOST
from support.window_models import averaged_rows, averaging, tc_resnet, valid_cnn
from tflmgen.compiler import compile_module
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Op
from tflmgen.options import BuildOptions


@pytest.mark.parametrize(
    ("data", "hop", "kept"),
    [
        (valid_cnn("int8"), 1, ["MEAN"]),
        (valid_cnn("int16"), 40, ["MEAN"]),
        (valid_cnn("int16"), 41, []),
        (averaged_rows("int8"), 1, ["MEAN"]),
        (averaging("int8"), 1, ["AVERAGE_POOL_2D", "SUM"]),
        (tc_resnet("int8"), 4, []),
        (valid_cnn("float32"), 1, []),
    ],
    ids=["mean", "long hops", "hops too long", "nothing else", "pool and sum, two phases", "rows at edges", "float"],
)
def test_integer_sums_over_time_are_kept_where_that_is_less_work(data: bytes, hop: int, kept: list[str]) -> None:
    """Of 88 rows, hops of 40 add 40 and take 40 away, which saves 8."""
    options = BuildOptions("m", slide=[f"t0=1,{hop}"], slide_phases=True)
    module = compile_module(import_model(parse_model(data, "m.tflite")), "m", HOST, options).module
    whole = {"MEAN", "SUM", "AVERAGE_POOL_2D"}
    operators = [node.operator for f in module.functions for node in f.body.nodes if isinstance(node, Op)]
    phases = module.hops[0].phases
    assert len([name for name in module.state if name.startswith("sums")]) == phases * len(kept)
    assert [*map(operators.count, ("REQUANTIZED_SUMS", "AVERAGED_SUMS"))] == [
        len({"MEAN", "SUM"}.intersection(kept)),
        kept.count("AVERAGE_POOL_2D"),
    ]
    assert bool(whole.intersection(operators)) == (not kept)
