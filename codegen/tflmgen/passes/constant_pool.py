"""Constants that passes read and add."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, Ids, TensorType, constant_array, contents
from tflmgen.ir.graph import Module, Value


class Pool:
    """Constants of a module during a pass, which may add to them."""

    def __init__(self, module: Module) -> None:
        self.constants = dict(module.constants)
        self._module = module
        self._values: dict[tuple[str, TensorType], Value] = {}

    @cached_property
    def ids(self) -> Ids:
        """Ids that nothing in the module has."""
        return Ids(self._module)

    def into(self, module: Module) -> Module:
        """The module, which the pass made of the pool's, with the pool's constants; itself if there are no new ones."""
        is_new = len(self.constants) > len(self._module.constants)
        return replace(module, constants=self.constants) if is_new else module

    def array(self, value: Value | None) -> NDArray[Any] | None:
        """Elements of a constant in its shape; None for other values."""
        return constant_array(value, self.constants)

    def truth(self, value: Value) -> bool | None:
        """Element of a bool constant of one element; None for any other value."""
        if value.type.dtype is not DType.BOOL or value.type.elements != 1 or not value.is_constant:
            return None
        return bool(np.ravel(np.asarray(self.array(value)))[0])

    def boolean(self, truth: bool, template: Value) -> Value:
        """The constant `truth`, with the name and type of `template`."""
        return self.add(np.full(template.type.max_shape, truth), template)

    def add(self, array: NDArray[Any], template: Value) -> Value:
        """A constant with the elements of `array`, and the name and type of `template`. Its key is a content hash."""
        data = contents(array, template.type.dtype)
        key = f"folded.{hashlib.sha256(data).hexdigest()[:32]}"
        self.constants[key] = data
        if (key, template.type) not in self._values:
            self._values[key, template.type] = Value(self.ids.take(), template.name, template.type, key)
        return self._values[key, template.type]

    def table(self, numbers: Sequence[int]) -> Value:
        """A constant int32 vector, for axes, shapes and permutations."""
        return self.add(np.array(numbers), Value(0, "table", TensorType(DType.INT32, (len(numbers),))))
