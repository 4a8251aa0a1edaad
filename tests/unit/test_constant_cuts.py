"""Parts of a tensor with constant bounds, against NumPy's own slices."""

from __future__ import annotations

import numpy as np
import pytest
from tflmgen.frontend import constant_cut
from tflmgen.frontend.tflite import ModelBuilder
from tflmgen.ir import DType

SHAPE = (4, 6, 3)
DATA = np.arange(4 * 6 * 3).reshape(SHAPE)


def cut_of(name: str, *bounds: tuple[int, ...], **options: int) -> tuple[range, ...] | None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, SHAPE), graph.tensor("y", DType.FLOAT32, (1,))
    constants = [graph.constant(f"bound{i}", np.array(part, np.int32)) for i, part in enumerate(bounds)]
    graph.operator(name, [x, *constants], [y], options)
    graph.inputs, graph.outputs = [x], [y]
    subgraph = builder.model().subgraphs[0]
    return constant_cut(subgraph.operators[0], subgraph)


@pytest.mark.parametrize(
    ("bounds", "options", "expected"),
    [
        (((1, 0, 0), (3, 6, 3), (1, 1, 1)), {}, DATA[1:3]),
        (((-1, 5, 0), (-4, -7, 3), (-1, -2, 1)), {}, DATA[-1:-4:-1, 5:-7:-2]),
        (((1, 2), (3, 9), (1, 3)), {"begin_mask": 2, "end_mask": 1}, DATA[1:, :9:3]),
        (((-2, 1, 0), (0, 3, 0), (1, 1, 1)), {"shrink_axis_mask": 1, "end_mask": 4}, DATA[2:3, 1:3]),
        (((3, 0, 0), (0, 0, 0), (1, 1, 1)), {"shrink_axis_mask": 1, "begin_mask": 1, "end_mask": 6}, DATA[:1]),
    ],
)
def test_strided_slices(bounds: tuple[tuple[int, ...], ...], options: dict[str, int], expected: np.ndarray) -> None:
    cut = cut_of("STRIDED_SLICE", *bounds, **options)
    assert cut is not None
    np.testing.assert_array_equal(DATA[np.ix_(*cut)], expected)


def test_a_slice_of_size_minus_one_reaches_to_the_end() -> None:
    cut = cut_of("SLICE", (1, 0, 2), (2, -1, 1))
    assert cut is not None
    np.testing.assert_array_equal(DATA[np.ix_(*cut)], DATA[1:3, :, 2:])


@pytest.mark.parametrize(
    ("name", "bounds", "options"),
    [
        ("SLICE", ((1, 0, 2), (4, -1, 1)), {}),
        ("SLICE", ((1, 0), (1, 6)), {}),
        ("STRIDED_SLICE", ((0, 0, 0, 0), (1, 1, 1, 1), (1, 1, 1, 1)), {}),
        ("STRIDED_SLICE", ((0, 0, 0), (1, 1, 1), (1, 0, 1)), {}),
        ("STRIDED_SLICE", ((0, 0, 0), (1, 1, 1), (1, 1, 1)), {"ellipsis_mask": 1}),
        ("STRIDED_SLICE", ((0, 0, 0), (1, 1, 1), (1, 1, 1)), {"new_axis_mask": 2}),
        ("STRIDED_SLICE", ((0, 0, 0), (1, 1, 1), (1, 1, 1)), {"offset": 1}),
        ("RELU", (), {}),
    ],
)
def test_what_is_none(name: str, bounds: tuple[tuple[int, ...], ...], options: dict[str, int]) -> None:
    assert cut_of(name, *bounds, **options) is None
