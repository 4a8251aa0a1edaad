"""Numbers of scalars, equal for values that are equal: which predicate a branch is of, in whatever graph it is traced.

Value numbering (Alpern, Wegman and Zadeck, "Detecting equality of variables in programs", 1988): a number for each
operation on operands of these numbers. Forms carry them as names of TensorSpecs.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.flow_body import PASSED
from tflmgen.tensorflow_worker.node_constants import is_pure


class ValueNumbers:
    """Numbers by tensor, as texts."""

    def __init__(self) -> None:
        self._names: dict[Hashable, str] = {}
        # With the tensor, lest another gets its identity.
        self._by_tensor: dict[int, tuple[Any, str]] = {}

    def named(self, *key: Hashable) -> str:
        """The number of whatever has this key."""
        return self._names.setdefault(key, f"value_{len(self._names)}")

    def number(self, leaf: Any) -> str | None:
        """The number of a leaf, if it has one."""
        if isinstance(leaf, np.ndarray):
            return self.named("constant", leaf.tobytes(), str(leaf.dtype))
        known = self._by_tensor.get(id(leaf))
        if known is None and isinstance(leaf, tf.Tensor) and leaf.op.type == "Const" and leaf.shape.num_elements() == 1:
            return self.number(np.asarray(tf.get_static_value(leaf)))
        return None if known is None else known[1]

    def assign(self, leaf: Any, number: str | None) -> None:
        """Gives a tensor a number; what has one keeps it."""
        if isinstance(leaf, tf.Tensor) and number is not None:
            self._by_tensor.setdefault(id(leaf), (leaf, number))

    def assign_results(self, node: Any, path: tuple[str, ...], operands: Any, results: Any) -> None:
        """Numbers of the scalars that a node computes on this path of calls, branches and loops."""
        numbers = [self.number(operand) for operand in operands]
        for i, result in enumerate(results):
            if not isinstance(result, tf.Tensor) or result.shape.num_elements() != 1 or self.number(result) is not None:
                continue
            if node.op in PASSED and numbers[0] is not None:
                self.assign(result, numbers[0])
            elif node.input and is_pure(node) and all(number is not None for number in numbers):
                self.assign(result, self.named(node.op, str(result.dtype), i, *numbers))
            else:
                self.assign(result, self.named("result", path, node.name, i))
