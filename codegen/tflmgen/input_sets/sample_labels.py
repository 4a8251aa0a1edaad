"""Labels of samples: a .npy file, an array of the samples' .npz, or a column of their .csv."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tflmgen.frontend.tflite import printable
from tflmgen.input_sets.array_file import DAMAGED_ARRAY, LARGEST_ARRAY, Array, ArrayFile, VectorsError
from tflmgen.input_sets.csv_inputs import named_column
from tflmgen.user_files import open_regular


def labels_of_samples(inputs: Path, text: str) -> Array:
    """The labels that --labels-of names, the first axis samples: a .npy file, or what the samples' file has.

    Raises VectorsError.
    """
    return _labels_in(Path(text)) if text.endswith(".npy") else _column_of(inputs, text)


def _labels_in(path: Path) -> Array:
    try:
        with open_regular(path, LARGEST_ARRAY) as file:
            return _checked(path, np.lib.format.read_array(file, allow_pickle=False))
    except OSError as error:
        raise VectorsError(f"{path}: cannot be read: {error.strerror or error}") from error
    except DAMAGED_ARRAY as error:
        raise VectorsError(f"{path}: not a .npy file of numbers: {printable(str(error))}") from error


def _column_of(inputs: Path, name: str) -> Array:
    if inputs.suffix.lower() == ".csv":
        numbers = np.array(named_column(inputs, name))
        is_whole = np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all()
        return _checked(inputs, numbers.astype(np.int64) if is_whole else numbers)
    if inputs.is_dir():
        raise VectorsError(f"{inputs}: a folder has no labels. Give a .npy file")
    arrays = ArrayFile(inputs)
    if name not in arrays:
        listed = ", ".join(f"'{printable(own)}'" for own in arrays)
        raise VectorsError(f"{inputs}: it has no array '{name}', only {listed}. Labels may be a .npy file, too")
    return _checked(inputs, arrays[name])


def _checked(path: Path, labels: Array) -> Array:
    if labels.dtype.kind not in "iubf" or labels.ndim == 0 or not labels.size:
        raise VectorsError(f"{path}: labels are numbers along a first axis of samples, and these are {labels.dtype}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise VectorsError(f"{path}: a label is infinite or no number")
    column = labels.ndim == 2 and labels.shape[1] == 1 and labels.dtype.kind in "iub"
    return labels[:, 0] if column else labels
