"""Inputs, outputs and expected outputs in .npz files (NumPy archives, no pickles).

Three forms are read. Sets: `n_sets`, `s{k}_in_{i}` and `s{k}_out_{j}` in the order of the model's inputs and outputs,
`s{k}_sig` the signature's key where the model has several, `s{k}_label` a word for people, and `stateful`: the sets run
in order on one instance, else each starts afresh. Simple: one array per input or output name. Samples: the same, with
one more dimension in front of each array, or with more than one sample in a first dimension that is 1 in the model;
`stateful` holds for samples, too, unless an input or output has that name. Other arrays are ignored, but an only array
is for an only input whatever its name. Floats for a quantised input are real numbers.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tflmgen.frontend.tflite import printable
from tflmgen.input_sets.array_file import Array, ArrayFile, VectorsError
from tflmgen.input_sets.real_numbers import RealNumbers, takes_real_numbers
from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.user_files import write_whole

_STATEFUL = "stateful"
"""Name of the array that says whether state carries over between sets."""


@dataclass(frozen=True, slots=True)
class VectorSet:
    """Data of one invoke: index of the signature, inputs, and expected outputs (empty if not requested)."""

    label: str
    signature: int
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...] = ()


@dataclass(frozen=True, slots=True)
class Vectors:
    """Input sets in order.

    stateful     state carries over between sets
    says_states  the file says whether it does
    simple       the simple form of the file
    notes        what the user should know of the sets, a sentence each
    """

    sets: tuple[VectorSet, ...]
    stateful: bool = False
    says_states: bool = False
    simple: bool = False
    notes: tuple[str, ...] = ()


def set_caption(number: int, label: str) -> str:
    """Name of an input set in tables: its number, and its label if it has one."""
    return f"{number}: {label}" if label else str(number)


def choose_signature(signatures: Sequence[EntryPoint], key: str | None, label: str) -> int:
    """Index of the signature `key`, or of the only one. Raises UsageError if there is no such signature."""
    keys = [signature.key for signature in signatures]
    if key in keys:
        return keys.index(key)
    listed = ", ".join(f"'{k}'" for k in keys)
    if key is not None:
        raise VectorsError(f"{label}: the model has no signature '{key}', only {listed}")
    if len(keys) > 1:
        raise VectorsError(f"{label}: the model has several signatures: choose one of {listed} with --signature")
    return 0


def read_vectors(
    path: Path, signatures: Sequence[EntryPoint], key: str | None, expected: bool, frozen: Sequence[int] = ()
) -> Vectors:
    """Input sets of a file, with expected outputs if `expected`. Raises VectorsError if they don't fit the model.

    frozen  positions of inputs that became constants, which the sets still have
    """
    reader = _Reader(path, ArrayFile(path), signatures, key, expected, frozen)
    return replace(reader.read(), notes=reader.real_numbers.notes())


def vector_set_of(label: str, arrays: Mapping[str, Array], signatures: Sequence[EntryPoint], number: int) -> VectorSet:
    """The input set of arrays by input name, for signature `number`. Raises VectorsError if they don't fit the model.

    label  what messages call the arrays
    """
    return _Reader(Path(label), arrays, signatures, None, False, ()).named(number)


def write_outputs(
    path: Path, vectors: Vectors, signatures: Sequence[EntryPoint], outputs: Sequence[Sequence[Array]]
) -> None:
    """Writes the outputs of each set atomically: by name those of the simple form, else in the form of sets."""
    if vectors.simple:
        names = [port.name for port in signatures[vectors.sets[0].signature].outputs]
        arrays = dict(zip(names, outputs[0], strict=True))
    else:
        arrays = {f"s{k}_out_{j}": array for k, of_set in enumerate(outputs) for j, array in enumerate(of_set)}
        arrays["n_sets"] = np.array(len(outputs))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        for name, array in arrays.items():
            with members.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    write_whole(path, archive.getvalue())


def _has_shape(shape: tuple[int, ...], type_: TensorType) -> bool:
    """Whether the shape fits; a dynamic dimension may have any size up to its bound."""
    dynamic = type_.dynamic_axes
    return len(shape) == len(type_.shape) and all(
        size <= maximum if axis in dynamic else size == maximum
        for axis, (size, maximum) in enumerate(zip(shape, type_.max_shape, strict=True))
    )


def _sample_count(port: Port, shape: tuple[int, ...] | None) -> int | None:
    """Number of samples in an array of that shape for a port; None if it is a single one, or does not fit."""
    own = port.type.max_shape
    if shape is None or not port.type.is_static:
        return None
    if len(shape) == len(own) + 1 and shape[1:] == own:
        return shape[0]
    if len(shape) == len(own) and own[:1] == (1,) and shape[1:] == own[1:] and shape[0] != 1:
        return shape[0]
    return None


class _Reader:
    def __init__(
        self,
        path: Path,
        arrays: Mapping[str, Array],
        signatures: Sequence[EntryPoint],
        key: str | None,
        expected: bool,
        frozen: Sequence[int],
    ) -> None:
        self._path = path
        self._arrays = arrays
        self._signatures = signatures
        self._key = key
        self._expected = expected
        self._frozen = frozen
        self.real_numbers = RealNumbers()

    def read(self) -> Vectors:
        if "n_sets" in self._arrays or any(re.fullmatch(r"s\d+_(in|out)_\d+", name) for name in self._arrays):
            return self._in_order(tuple(self._set(k) for k in range(self._count())))
        number = choose_signature(self._signatures, self._key, str(self._path))
        samples = self._samples(number)
        if not samples:
            return Vectors((self.named(number),), simple=True)
        ports = (*self._signatures[number].inputs, *self._signatures[number].outputs)
        return Vectors(samples) if any(p.name == _STATEFUL for p in ports) else self._in_order(samples)

    def _in_order(self, sets: tuple[VectorSet, ...]) -> Vectors:
        """The sets, with what the file says about state between them."""
        return Vectors(sets, bool(self._scalar(_STATEFUL, False)), _STATEFUL in self._arrays)

    def _samples(self, number: int) -> tuple[VectorSet, ...]:
        """A set for each sample; none if the inputs are not those of several samples."""
        signature = self._signatures[number]
        counts = {_sample_count(p, self._shape(n)) for p, n in self._named_inputs(signature)} or {None}
        count = counts.pop()
        if counts or not count:
            return ()
        inputs = [self._stacked(port, name, count, "input") for port, name in self._named_inputs(signature)]
        outputs = signature.outputs if self._expected else ()
        expected = [self._stacked(port, port.name, count, "output") for port in outputs]
        return tuple(
            VectorSet("", number, tuple(array[k] for array in inputs), tuple(array[k] for array in expected))
            for k in range(count)
        )

    def _named_inputs(self, signature: EntryPoint) -> list[tuple[Port, str]]:
        """Inputs with the names of their arrays: an only input takes an only array of any name."""
        names = [port.name for port in signature.inputs]
        others = [name for name in self._arrays if name not in {_STATEFUL, *(port.name for port in signature.outputs)}]
        if len(names) == 1 and names[0] not in self._arrays and len(others) == 1:
            names = others
        return list(zip(signature.inputs, names, strict=True))

    def _stacked(self, port: Port, name: str, count: int, role: str) -> Array:
        """The array of a port's samples, with one more dimension in front for them."""
        shape = (count, *port.type.max_shape)
        samples = Port(port.name, TensorType(port.type.dtype, shape, port.type.quantization))
        if _sample_count(port, self._shape(name)) == count:
            return self._port(samples, name, role, self._arrays[name].reshape(samples.type.max_shape))
        return self._port(samples, name, role)

    def named(self, number: int) -> VectorSet:
        """The set whose arrays have the names of inputs and outputs."""
        signature = self._signatures[number]
        inputs = self._ports(signature.inputs, [name for _, name in self._named_inputs(signature)], "input")
        expected = (
            self._ports(signature.outputs, [p.name for p in signature.outputs], "output") if self._expected else ()
        )
        return VectorSet("", number, inputs, expected)

    def _count(self) -> int:
        numbers = [int(match[1]) for name in self._arrays if (match := re.match(r"s(\d+)_(?:in|out)_\d+$", name))]
        value = self._scalar("n_sets", max(numbers, default=-1) + 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise VectorsError(f"{self._path}: array 'n_sets' must be a whole number from 1 on, and is {value!r}")
        return value

    def _set(self, k: int) -> VectorSet:
        own_key = self._scalar(f"s{k}_sig", None)
        key = self._key if own_key is None else str(own_key)
        number = choose_signature(self._signatures, key, f"{self._path}: set {k}")
        signature = self._signatures[number]
        places = [i for i in range(len(signature.inputs) + len(self._frozen)) if i not in self._frozen]
        inputs = self._ports(signature.inputs, [f"s{k}_in_{i}" for i in places], "input")
        expected: tuple[Array, ...] = ()
        if self._expected:
            names = [f"s{k}_out_{j}" for j in range(len(signature.outputs))]
            expected = self._ports(signature.outputs, names, "output")
        return VectorSet(printable(str(self._scalar(f"s{k}_label", ""))), number, inputs, expected)

    def _shape(self, name: str) -> tuple[int, ...] | None:
        """Shape of an array, None if it is absent. An array in a file is not read for it."""
        if name not in self._arrays:
            return None
        return (self._arrays.headers if isinstance(self._arrays, ArrayFile) else self._arrays)[name].shape

    def _scalar(self, name: str, default: object) -> object:
        shape = self._shape(name)
        if shape is None:
            return default
        if math.prod(shape) != 1:
            raise VectorsError(f"{self._path}: array '{name}' must hold one value, and has shape {list(shape)}")
        return self._arrays[name].reshape(()).item()

    def _ports(self, ports: Iterable[Port], names: Sequence[str], role: str) -> tuple[Array, ...]:
        return tuple(self._port(port, name, role) for port, name in zip(ports, names, strict=True))

    def _port(self, port: Port, name: str, role: str, array: Array | None = None) -> Array:
        label = f"{role} '{port.name}'" if port.name != name else role
        dtype = port.type.dtype.numpy
        shape = self._shape(name)
        if shape is None:
            raise VectorsError(
                f"{self._path}: array '{name}' is missing: {label} is {port.type}{self._contents_hint(role)}"
            )
        if array is None and not _has_shape(shape, port.type):
            header = self._arrays.headers[name] if isinstance(self._arrays, ArrayFile) else self._arrays[name]
            raise self._misfit(name, header.dtype, shape, label, port)
        array = self._arrays[name] if array is None else array
        is_real = role == "input" and array.dtype.kind == "f" and takes_real_numbers(port)
        if is_real and np.isfinite(array).all():
            return self.real_numbers.quantized(port, array)
        array = _of_type(array, port.type.dtype)
        if array.dtype.newbyteorder("=") != dtype.newbyteorder("="):
            raise self._misfit(name, array.dtype, array.shape, label, port)
        return np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)

    def _misfit(self, name: str, dtype: object, shape: Sequence[int], label: str, port: Port) -> VectorsError:
        actual = f"{printable(str(dtype))}[{','.join(map(str, shape))}]"
        return VectorsError(f"{self._path}: array '{name}' is {actual}, but {label} is {port.type}")

    def _contents_hint(self, role: str) -> str:
        names = sorted(self._arrays)
        if not names:
            return ". The file holds no arrays"
        if role == "output":
            is_without = not any(re.fullmatch(r"s\d+_out_\d+", name) for name in names)
            is_without &= not any(port.name in names for s in self._signatures for port in s.outputs)
            hint = (
                ". The file has inputs only: add the outputs that are expected, or let `tflmgen run` write those of now"
            )
            return hint if is_without else ""
        listed = ", ".join(f"'{printable(name)}'" for name in names[:8])
        return f". The file holds {listed}{' ...' if len(names) > 8 else ''}"


def _of_type(array: Array, dtype: DType) -> Array:
    """The array in this type where that keeps the values: of numbers of one kind, within the type's limits.

    float64, which NumPy makes of Python's numbers, becomes float32; integers change their width. An array of integers
    becomes none of floats, nor the reverse: quantised values and real ones are too easily taken for each other.
    """
    wanted, actual = dtype.numpy.kind, array.dtype.kind
    if wanted == actual == "f":
        with np.errstate(over="ignore"):
            converted = array.astype(dtype.numpy)
        return converted if np.array_equal(np.isfinite(converted), np.isfinite(array)) else array
    if wanted not in "iu" or actual not in "iu":
        return array
    low, high = dtype.limits
    fits = array.size == 0 or (int(array.min()) >= low and int(array.max()) <= high)
    return array.astype(dtype.numpy) if fits else array
