"""Input sets of files of any kind: archives (npz.py), tables, sound and images, and folders of the latter three."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tflmgen.input_sets.array_file import Array, ArrayFile, VectorsError
from tflmgen.input_sets.csv_inputs import csv_sets
from tflmgen.input_sets.media_inputs import png_set, wav_sets
from tflmgen.input_sets.npz import Vectors, VectorSet, choose_signature, read_vectors
from tflmgen.input_sets.real_numbers import RealNumbers
from tflmgen.ir.graph import EntryPoint, Port

_SUFFIXES = (".csv", ".wav", ".png")


def has_inputs_only(path: Path) -> bool:
    """Whether the file, or folder of files, has inputs without names of arrays, and no expected outputs."""
    return path.is_dir() or path.suffix.lower() in _SUFFIXES


def arrays_by_name(path: Path) -> Mapping[str, Array]:
    """Arrays of an archive; none for other kinds of files. Raises VectorsError if an archive cannot be read."""
    return {} if has_inputs_only(path) else ArrayFile(path)


def array_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of an archive's arrays, none of which is read; empty for other kinds of files. Raises VectorsError."""
    return {} if has_inputs_only(path) else {name: header.shape for name, header in ArrayFile(path).headers.items()}


def read_input_sets(
    path: Path,
    signatures: Sequence[EntryPoint],
    key: str | None,
    expected: bool,
    frozen: Sequence[int] = (),
    is_real: bool = False,
) -> Vectors:
    """Input sets of a file, or of a folder's files in the order of their names; see read_vectors().

    is_real  tables hold real numbers for quantised inputs
    Raises VectorsError where they don't fit the model.
    """
    if not has_inputs_only(path):
        return read_vectors(path, signatures, key, expected, frozen)
    number = choose_signature(signatures, key, str(path))
    ports = signatures[number].inputs
    for port in ports:
        if not port.type.is_static:
            raise VectorsError(f"{path}: input '{port.name}' is {port.type}, whose shape is dynamic. Use .npz")
    try:
        real = RealNumbers()
        sets = [pair for file in files_of_inputs(path) for pair in _sets(file, ports, real if is_real else None)]
    except OSError as error:
        raise VectorsError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from error
    return Vectors(tuple(VectorSet(label, number, inputs) for inputs, label in sets), notes=real.notes())


def files_of_inputs(path: Path) -> list[Path]:
    """The file, or the files of a folder in the order of their names. Raises VectorsError if it has none."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES)
    if not files:
        raise VectorsError(f"{path}: the folder has no {', '.join(_SUFFIXES)} file")
    return files


def _sets(path: Path, ports: Sequence[Port], real: RealNumbers | None) -> list[tuple[tuple[Array, ...], str]]:
    """Inputs and label of each set of one file."""
    if path.suffix.lower() == ".csv":
        if not ports:
            raise VectorsError(f"{path}: the model has no inputs")
        return [(inputs, "") for inputs in csv_sets(path, ports, real)]
    if len(ports) != 1:
        names = ", ".join(f"'{port.name}'" for port in ports) or "none"
        raise VectorsError(f"{path}: fills one input, and the model has {len(ports)}: {names}. Use .npz or .csv")
    if path.suffix.lower() == ".png":
        return [((png_set(path, ports[0]),), path.name)]
    return [((window,), label) for window, label in wav_sets(path, ports[0])]
