"""The labels that `--labels` asks for: of text files, or of a model's own metadata."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tflmgen.errors import UsageError
from tflmgen.frontend.tflite import label_lines, read_metadata_labels
from tflmgen.sources.model_source import is_tflite
from tflmgen.user_files import read_text_limited

METADATA = "metadata"

Labels = dict[str | int, tuple[str, ...]]
"""Names of classes by the name of an output, or by its number; an empty name is the only output."""


def class_labels(path: Path, texts: Sequence[str]) -> Labels:
    """The labels of a model, for texts [OUTPUT=]FILE or `metadata`. Raises UsageError, and ModelError for bad metadata.

    path: of the model.
    """
    labels: Labels = {}
    for text in texts:
        if text == METADATA:
            own = read_metadata_labels(path) if is_tflite(path) and path.is_file() else {}
            if not own:
                raise UsageError(f"--labels {METADATA}: {path} has no labels in its metadata. Give a file: labels.txt")
            labels |= own
        else:
            output, _, file = ("", "", text) if Path(text).is_file() else text.rpartition("=")
            labels[output] = _read(Path(file))
    return labels


def _read(path: Path) -> tuple[str, ...]:
    try:
        return label_lines(read_text_limited(path))
    except (OSError, ValueError) as error:
        raise UsageError(f"--labels {path}: {getattr(error, 'strerror', None) or error}") from None
