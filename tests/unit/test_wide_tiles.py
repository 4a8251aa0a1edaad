"""TILE along more dimensions than a copy has loops for."""

from __future__ import annotations

import numpy as np
import pytest
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from tflmgen.compiler import compile_module
from tflmgen.frontend import import_model
from tflmgen.frontend.tflite import parse_model
from tflmgen.frontend.wide_tiles import without_wide_tiles
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions


def tiled(shape: tuple[int, ...], multiples: tuple[int, ...]) -> bytes:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x = graph.tensor("x", "int8", list(shape), scale=[0.5], zero_point=[0])
    wanted = [d * m for d, m in zip(shape, multiples, strict=True)]
    y = graph.tensor("y", "int8", wanted, scale=[0.5], zero_point=[0])
    graph.operator("TILE", [x, graph.constant("multiples", np.array(multiples, np.int32))], [y])
    graph.inputs, graph.outputs = [x], [y]
    return writer.finish()


@pytest.mark.parametrize(
    ("shape", "multiples"),
    [
        ((2, 7, 6, 7), (1, 3, 2, 2)),
        ((2, 3, 2, 3), (2, 2, 3, 2)),
        ((2, 1, 3, 2, 2), (3, 2, 2, 2, 2)),
        ((2, 2, 2, 1, 2, 3), (2, 2, 2, 2, 2, 2)),
        ((2, 3, 2, 3), (2, 0, 3, 2)),
    ],
)
def test_many_dimensions_are_repeated(shape: tuple[int, ...], multiples: tuple[int, ...]) -> None:
    module = import_model(parse_model(tiled(shape, multiples), "tile.tflite"))
    compilation = compile_module(module, "tile_m", Target("host"), BuildOptions())
    values = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    program = build_native({"tile_m": compilation.sources})
    ((result,),) = run_native(program, [Invocation(0, 0, (values,))], [compilation.program.signatures])
    np.testing.assert_array_equal(result, np.tile(values, multiples))


def test_dimensions_of_one_element_take_no_loop() -> None:
    model = parse_model(tiled((1, 1, 1, 2, 3), (2, 3, 2, 2, 2)), "tile.tflite")
    assert without_wide_tiles(model) == model
