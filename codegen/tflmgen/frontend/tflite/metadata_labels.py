"""Labels of a file's classes: TFLite Metadata names text files, which a zip archive behind the FlatBuffer holds.

The schema is tflite-support's metadata_schema.fbs; its tables here are read by the slots of their fields.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

from flatbuffers.table import Table

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite.flatbuffer import DamagedFileError, TableDecoder
from tflmgen.user_files import DAMAGED_ZIP, MODEL_LIMIT, TEXT_LIMIT, read_limited, read_member, text_of

_ENTRY = "TFLITE_METADATA"
_SUBGRAPHS, _OUTPUTS, _FILES = 3, 3, 6
"""Fields of ModelMetadata, SubGraphMetadata and TensorMetadata."""
_NAME, _TYPE = 0, 2
"""Fields of AssociatedFile."""
LONGEST_LABEL = 1000
"""Characters of a label: of more, the file is no list of names."""

_AXIS_LABELS = 2
"""AssociatedFileType.TENSOR_AXIS_LABELS: a line per class along the last dimension."""


def read_metadata_labels(path: Path) -> dict[str | int, tuple[str, ...]]:
    """Labels by number of the output of the first subgraph; outputs without labels are absent.

    Raises ModelError for metadata that cannot be read.
    """
    try:
        data = read_limited(path, MODEL_LIMIT)
        buffer = _metadata(data)
        if buffer is None:
            return {}
        names = {number: name for number, name in _label_files(buffer) if name}
        if not names:
            return {}
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {
                number: label_lines(text_of(read_member(archive, name, TEXT_LIMIT))) for number, name in names.items()
            }
    except (DamagedFileError, *DAMAGED_ZIP, OSError, IndexError, KeyError) as error:
        rule = f"its metadata cannot be read: {error}"
        raise ModelError([Problem(Location(str(path)), rule, "Give a file: --labels labels.txt")]) from error


def label_lines(text: str) -> tuple[str, ...]:
    """The labels of a text file, one per line; empty lines at its end are none. Raises ValueError for a long one."""
    labels = tuple(line.strip() for line in text.rstrip().split("\n"))
    for number, label in enumerate(labels, 1):
        if len(label) > LONGEST_LABEL:
            raise ValueError(f"line {number} has {len(label):,} characters; a label has at most {LONGEST_LABEL:,}")
    return labels


def _metadata(data: bytes) -> bytes | None:
    model = TableDecoder(data).root("Model")
    for entry in model["metadata"] or ():
        if entry["name"] == _ENTRY:
            return bytes(model["buffers"][entry["buffer"]]["data"] or b"") or None
    return None


def _label_files(buffer: bytes) -> Iterator[tuple[int, str]]:
    """(number of the output, name of its file of labels) for outputs of the first subgraph."""
    (root,) = struct.unpack_from("<I", buffer)
    for subgraph in [*_tables(Table(buffer, root), _SUBGRAPHS)][:1]:
        for number, output in enumerate(_tables(subgraph, _OUTPUTS)):
            for file in _tables(output, _FILES):
                kind, name = file.Offset(4 + 2 * _TYPE), file.Offset(4 + 2 * _NAME)
                if kind and buffer[file.Pos + kind] == _AXIS_LABELS:
                    yield number, text_of(file.String(file.Pos + name)) if name else ""
                    break


def _tables(table: Table, field: int) -> Iterator[Table]:
    offset = table.Offset(4 + 2 * field)
    for number in range(table.VectorLen(offset) if offset else 0):
        yield Table(table.Bytes, table.Indirect(table.Vector(offset) + 4 * number))
