"""Whether places in flash hold the constants that the graph and the operator table ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tflmgen.ir.graph import Value
from tflmgen.ir.kernel import ConstantArray
from tflmgen.ir.program import Flash, Place


@dataclass(frozen=True, slots=True)
class FlashContents:
    """arrays: the Program's constants. values: the Module's, key -> raw little-endian bytes."""

    arrays: Mapping[str, ConstantArray]
    values: Mapping[str, bytes]

    def has_array(self, place: Place | None, wanted: ConstantArray) -> bool:
        """Whether a place in flash begins with this very array."""
        array = self._array_at(place)
        return array is not None and (array.dtype.c_type, array.data) == (wanted.dtype.c_type, wanted.data)

    def has_value(self, place: Place | None, value: Value) -> bool:
        """Whether a place in flash begins with a constant value's bytes."""
        array = self._array_at(place)
        return array is not None and value.constant is not None and array.data == self.values[value.constant]

    def _array_at(self, place: Place | None) -> ConstantArray | None:
        return self.arrays.get(place.name) if isinstance(place, Flash) and place.offset == 0 else None
