"""Decoder of FlexBuffers, the schemaless format of custom operators' options and composites' attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flatbuffers import flexbuffers

_DEPTH = 4
"""Deepest nesting of options that is read."""
_BUDGET = 10_000
"""Limits on depth and number of values: a file may refer to the same bytes many times."""


def flexbuffer_map(data: bytes) -> Mapping[str, Any] | None:
    """Fields of a FlexBuffers map as int, float, bool, str, bytes, dict and tuple; None if the bytes are no map."""
    if len(data) < 3:
        return None
    try:
        root = flexbuffers.GetRoot(data)
        return dict(_Reader().map(root.AsMap, 0)) if root.IsMap else None
    except Exception:  # the package checks nothing: malformed bytes may raise any exception
        return None


class _Reader:
    """Reader with a budget of values."""

    def __init__(self) -> None:
        self._left = _BUDGET

    def map(self, source: Any, depth: int) -> dict[str, Any]:
        keys = source.Keys
        self._spend(len(keys), depth)
        values = source.Values
        return {str(keys[i].AsKey): self.value(values[i], depth + 1) for i in range(len(keys))}

    def value(self, ref: Any, depth: int) -> Any:
        if ref.IsBlob:
            return bytes(ref.AsBlob)
        for is_kind, attribute in _SCALARS:
            if getattr(ref, is_kind):
                return getattr(ref, attribute)
        if ref.IsMap:
            return self.map(ref.AsMap, depth)
        for is_kind, attribute in _VECTORS:
            if getattr(ref, is_kind):
                vector = getattr(ref, attribute)
                self._spend(len(vector), depth)
                return tuple(self.value(vector[i], depth + 1) for i in range(len(vector)))
        return None

    def _spend(self, count: int, depth: int) -> None:
        self._left -= count
        if self._left < 0 or depth > _DEPTH:
            raise ValueError("too many values, or too deep")


_SCALARS = tuple((f"Is{kind}", f"As{kind}") for kind in ("Bool", "Int", "Float", "String", "Key"))
_VECTORS = tuple((f"Is{kind}", f"As{kind}") for kind in ("TypedVector", "FixedTypedVector", "Vector"))
