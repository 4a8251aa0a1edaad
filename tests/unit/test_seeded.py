from __future__ import annotations

import numpy as np
import pytest
from tflmgen.errors import UsageError
from tflmgen.input_sets.seeded import SETS, generator_inputs, seeded_sets
from tflmgen.ir.graph.module import EntryPoint, Port
from tflmgen.ir.types import DType, TensorType


def _signature(*ports: tuple[DType, int]) -> EntryPoint:
    inputs = tuple(Port(f"in{i}", TensorType(dtype, (1, size))) for i, (dtype, size) in enumerate(ports))
    return EntryPoint("s", "s", inputs, ())


def test_generator_is_one_stream_over_the_inputs() -> None:
    signature = _signature((DType.INT8, 2), (DType.INT16, 1), (DType.FLOAT32, 1))
    first, second, third = generator_inputs(signature)
    x, raw = 0x12345678, []
    for _ in range(4):
        x = (1664525 * x + 1013904223) % 2**32
        raw.append(x)
    assert first.shape == (1, 2)
    assert [int(v) % 256 for v in first.flat] == [raw[0] >> 24, raw[1] >> 24]
    assert int(second[0, 0]) % 2**16 == raw[2] >> 16
    assert float(third[0, 0]) == ((raw[3] >> 8) - 2**23) / 2**23
    assert [a.dtype for a in (first, second, third)] == [np.int8, np.int16, np.float32]


def test_generator_refuses_other_types() -> None:
    with pytest.raises(UsageError, match=r"'in0' of type int32\[1,3\].*--inputs"):
        generator_inputs(_signature((DType.INT32, 3)))


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (DType.INT8, -128, 127),
        (DType.UINT8, 0, 255),
        (DType.INT16, -32768, 32767),
        (DType.INT32, 0, 1),
        (DType.INT64, 0, 1),
        (DType.BOOL, 0, 1),
        (DType.FLOAT32, -1, 1),
    ],
)
def test_seeded_values_fill_their_range(dtype: DType, low: int, high: int) -> None:
    (array,) = seeded_sets([_signature((dtype, 4000))], [0])[0].inputs
    assert array.dtype == dtype.numpy
    assert low <= array.min() <= low + (high - low) * 0.01
    assert high - (high - low) * 0.01 <= array.max() <= high


def test_seeded_sets_are_the_same_each_time_and_differ_from_each_other() -> None:
    signatures = [_signature((DType.INT8, 100)), _signature((DType.INT8, 50))]
    once, repeated = (seeded_sets(signatures, [0, 1]) for _ in range(2))
    assert [s.signature for s in once] == [0, 1] * SETS
    assert len({vectors.inputs[0].tobytes() for vectors in once}) == len(once)
    for vectors, other in zip(once, repeated, strict=True):
        np.testing.assert_array_equal(vectors.inputs[0], other.inputs[0])
