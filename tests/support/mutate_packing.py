"""Corrupts packed constants as a wrong packer would, and judges by brute force which corruptions change a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, PackedCall, UnpackedPart
from tflmgen.kernels.declaration import reader_of
from tflmgen.proof.array_calls import ArrayCall
from tflmgen.proof.layer_arrays import arrays_problem
from tflmgen.proof.layer_numbers import layer_numbers, reachable
from tflmgen.proof.packed_constants import problem_of

Data = tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class Packing:
    """A kernel's constants: per argument the bytes in flash."""

    operator: str
    op: OperatorInstance
    kernel: Kernel
    data: Data

    @property
    def packed(self) -> list[int]:
        """The arguments that are packed; tables of functions are not."""
        arrays = ((i, o) for i, o in enumerate(self.kernel.operands) if isinstance(o, ConstantArray))
        return [i for i, array in arrays if array.name != "sigmoid"]

    def problem(self, data: Data) -> str | None:
        """The problem that check_constants reports for other bytes; None or empty where it reports none."""
        function, reader = self.kernel.function, reader_of(self.kernel.header)
        try:
            problem = arrays_problem(self.kernel.header, ArrayCall(self.operator, self.op, function, data))
        except ValueError as error:
            return str(error)
        if reader is None or problem:
            return problem
        fields = dict(self.kernel.params.fields) if self.kernel.params else {}
        unpacked = problem_of(self.operator, self.op, function, fields, data, reader)
        return problem if unpacked is None else unpacked


def packing_of(operator: str, op: OperatorInstance, kernel: Kernel) -> Packing:
    """The constants of a kernel as it is declared."""

    def contents(operand: object) -> bytes | None:
        if isinstance(operand, ConstantArray):
            return operand.data
        value = op.constants[operand.index] if isinstance(operand, Input) else None
        return None if value is None else value.tobytes()

    return Packing(operator, op, kernel, tuple(contents(operand) for operand in kernel.operands))


Mutator = Callable[[bytes, np.random.Generator], bytes]


def change_byte(data: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(data)))
    return data[:at] + bytes([data[at] ^ int(rng.integers(1, 256))]) + data[at + 1 :]


def exchange_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    first, second = sorted(int(n) for n in rng.integers(len(data), size=2))
    changed = bytearray(data)
    changed[first], changed[second] = changed[second], changed[first]
    return bytes(changed)


def exchange_words(data: bytes, rng: np.random.Generator) -> bytes:
    words = np.frombuffer(data[: len(data) // 4 * 4], dtype="<u4").copy()
    if len(words) < 2:
        return data
    first, second = rng.integers(len(words), size=2)
    words[[first, second]] = words[[second, first]]
    return words.tobytes() + data[len(words) * 4 :]


def change_bit(data: bytes, rng: np.random.Generator) -> bytes:
    """One bit of a bias, a multiplier or an addend is another."""
    words = np.frombuffer(data[: len(data) // 4 * 4], dtype="<u4").copy()
    if not len(words):
        return data
    words[rng.integers(len(words))] ^= np.uint32(1 << int(rng.integers(32)))
    return words.tobytes() + data[len(words) * 4 :]


def exchange_halves(data: bytes, rng: np.random.Generator) -> bytes:
    """Two runs of words change places, as where channels are packed in another order."""
    words = np.frombuffer(data[: len(data) // 4 * 4], dtype="<u4")
    if len(words) < 2:
        return data
    length = int(rng.integers(1, len(words) // 2 + 1))
    first = int(rng.integers(0, len(words) - 2 * length + 1))
    second = int(rng.integers(first + length, len(words) - length + 1))
    changed = words.copy()
    changed[first : first + length] = words[second : second + length]
    changed[second : second + length] = words[first : first + length]
    return changed.tobytes() + data[len(words) * 4 :]


def shorten(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: -4 * int(rng.integers(1, 3))]


MUTATORS: tuple[Mutator, ...] = (
    change_byte,
    exchange_bytes,
    exchange_words,
    change_bit,
    exchange_halves,
    shorten,
)


def mutants(packing: Packing, mutator: Mutator, count: int, rng: np.random.Generator) -> list[Data]:
    """Up to `count` corruptions that are other bytes."""
    changed_operands = []
    for _ in range(count):
        at = packing.packed[int(rng.integers(len(packing.packed)))]
        data = packing.data[at]
        assert data is not None
        changed = mutator(data, rng) if data else data
        if changed != data:
            changed_operands.append((*packing.data[:at], changed, *packing.data[at + 1 :]))
    return changed_operands


_SAMPLES = 4000
"""Sums of each channel that two packings are compared at."""


def differs(packing: Packing, data: Data, rng: np.random.Generator) -> bool:
    """Whether such bytes, which have the layout, compute something else than the packing's for some of many sums.

    True where weights differ of a channel whose output depends on them, or where constants are numbers that are not
    functions of sums.
    """
    assert packing.kernel.params is not None
    before, after = _parts(packing, packing.data), _parts(packing, data)
    if not before or [part.rows.tolist() for part in before] != [part.rows.tolist() for part in after]:
        return True
    fields: dict[str, Any] = dict(packing.kernel.params.fields)
    low, high = int(fields["output_min"]), int(fields["output_max"])
    for old, new in zip(before, after, strict=True):
        (least, greatest), (other_least, other_greatest) = reachable(old.weights), reachable(new.weights)
        least, greatest = np.minimum(least, other_least), np.maximum(greatest, other_greatest)
        shares = np.concatenate([[0, 1], rng.random(_SAMPLES)])
        sums = np.floor(least[:, None] + (greatest - least)[:, None] * shares).astype(np.int64)
        try:
            first, second = (np.clip(part.outputs(sums), low, high) for part in (old, new))
        except ValueError:
            return True
        reads_other_weights = (old.weights != new.weights).reshape(len(old.rows), -1).any(axis=1)
        depends_on_sums = (first != first[:, :1]).any(axis=1)
        if (first != second).any() or (reads_other_weights & depends_on_sums).any():
            return True
    return False


def _parts(packing: Packing, data: Data) -> list[UnpackedPart]:
    reader, layer = reader_of(packing.kernel.header), layer_numbers(packing.operator, packing.op)
    if reader is None or layer is None or packing.kernel.params is None:
        return []
    fields = dict(packing.kernel.params.fields)
    call = PackedCall(packing.kernel.function, fields, data, layer.channels, layer.taps, layer.inputs)
    return [part for part in reader(call) if isinstance(part, UnpackedPart) and len(part.rows)]
