from __future__ import annotations

from typing import Any

import pytest
from flatbuffers import flexbuffers
from hypothesis import given
from hypothesis import strategies as st
from tflmgen.frontend.tflite.flexbuffer import flexbuffer_map

FIELDS = {"i": -3, "f": 0.5, "t": True, "s": "text", "v": [1, 2, 3], "m": {"inner": [1.5, "x", None]}, "b": b"abc"}
READ = {**FIELDS, "v": (1, 2, 3), "m": {"inner": (1.5, "x", None)}}


def dump(value: Any) -> bytes:
    return bytes(flexbuffers.Dumps(value))


def test_a_map() -> None:
    assert flexbuffer_map(dump(FIELDS)) == READ
    assert flexbuffer_map(dump({})) == {}


@pytest.mark.parametrize("data", [b"", b"ab", dump([1, 2]), dump(5), b"\x01\x00\x02"])
def test_what_is_no_map(data: bytes) -> None:
    assert flexbuffer_map(data) is None


def test_vectors_of_one_type() -> None:
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.TypedVectorFromElements("typed", [1, 2])
        builder.FixedTypedVectorFromElements("fixed", [3, 4, 5])
    assert flexbuffer_map(bytes(builder.Finish())) == {"typed": (1, 2), "fixed": (3, 4, 5)}


def test_depth_is_bounded() -> None:
    deep: Any = 1
    for _ in range(10):
        deep = {"x": deep}
    assert flexbuffer_map(dump(deep)) is None


def test_many_references_to_one_vector_are_not_followed() -> None:
    """A vector whose elements are one vector, of which again the elements are one: 200**3 numbers in 5 kB."""

    def elements(target: int, start: int) -> bytes:
        offsets = b"".join((start + 2 + 2 * i - target).to_bytes(2, "little") for i in range(200))
        return (200).to_bytes(2, "little") + offsets + bytes([10 << 2 | 1]) * 200

    data = (200).to_bytes(2, "little") + bytes(400) + bytes([1 << 2 | 1]) * 200
    at = 2
    for _ in range(3):
        start = len(data)
        data += elements(at, start)
        at = start + 2
    keys = len(data)
    data += b"k\0" + (1).to_bytes(2, "little")
    first = len(data)
    data += (first - keys).to_bytes(2, "little")
    root = len(data)
    data += (root - first).to_bytes(2, "little") + (2).to_bytes(2, "little") + (1).to_bytes(2, "little")
    entry = len(data)
    data += (entry - at).to_bytes(2, "little") + bytes([10 << 2 | 1])
    data += (len(data) - entry).to_bytes(1, "little") + bytes([9 << 2 | 1, 1])
    assert flexbuffers.GetRoot(data).IsMap
    assert flexbuffer_map(data) is None


def is_plain(value: Any) -> bool:
    """Whether a value is one of those that a map can have, all the way down."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(item) for key, item in value.items())
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    return value is None or isinstance(value, bool | int | float | str | bytes)


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    assert is_plain(flexbuffer_map(data))


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4))
def test_damaged_maps(changes: list[tuple[int, int]]) -> None:
    data = bytearray(dump(FIELDS))
    for at, byte in changes:
        data[at % len(data)] = byte
    read = flexbuffer_map(bytes(data))
    assert is_plain(read)
    assert read == READ or bytes(data) != dump(FIELDS)
