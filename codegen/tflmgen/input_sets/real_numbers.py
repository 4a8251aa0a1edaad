"""Real numbers as a quantised input's integers, and how many of them lie beyond its range."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tflmgen.input_sets.array_file import Array
from tflmgen.ir.graph import Port


def takes_real_numbers(port: Port) -> bool:
    """Whether a port's integers stand for real numbers by one scale."""
    quantization = port.type.quantization
    return (
        port.type.dtype.numpy.kind in "iu"
        and quantization is not None
        and not quantization.per_channel
        and quantization.scale > 0
    )


@dataclass(slots=True)
class RealNumbers:
    """Quantises arrays as TFLite's QUANTIZE does, and counts by input what it quantised and what it saturated."""

    total: Counter[str] = field(default_factory=Counter)
    saturated: Counter[str] = field(default_factory=Counter)

    def quantized(self, port: Port, real: Array) -> Array:
        """The integers of finite numbers for a port that takes_real_numbers()."""
        quantization, dtype = port.type.quantization, port.type.dtype
        assert quantization is not None
        steps = (real.astype(np.float32) / np.float32(quantization.scale)).astype(np.float64)
        integers = np.copysign(np.floor(np.abs(steps) + 0.5), steps) + quantization.zero_point
        low, high = dtype.limits
        self.total[port.name] += real.size
        self.saturated[port.name] += int(np.count_nonzero((integers < low) | (integers > high)))
        stored: Array = np.clip(integers, low, high).astype(dtype.numpy)
        return stored

    def notes(self) -> tuple[str, ...]:
        """A sentence for each input that was given in real numbers."""
        return tuple(
            f"real numbers of input '{name}' were quantised: {self.saturated[name]:,} of {count:,} "
            f"{'lies' if self.saturated[name] == 1 else 'lie'} beyond its range"
            for name, count in self.total.items()
        )
