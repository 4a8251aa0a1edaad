"""`--labels`: names of classes from a text file or from a model's metadata, as a header of the library."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

import flatbuffers
import pytest
import tflmgen
from support.exported import exported
from support.repository import ROOT
from support.tools import requires_compiler
from tflmgen.errors import ModelError, UsageError
from tflmgen.frontend.tflite.metadata_labels import read_metadata_labels
from tflmgen.sources.label_files import class_labels

GATE = ROOT / "examples" / "gate.tflite"
CLASSES = ("nothing", "horizontal", 'a "vertical"', "größer??/", "falling")
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror")

USER = """
#include <stdio.h>
#include "gate_labels.h"
int main(void)
{
    static const int8_t scores[GATE_OUTPUT_CLASSES] = {-128, 3, 7, 7, -1};
    for (int32_t number = -1; number <= GATE_OUTPUT_CLASSES; number++) {
        printf("%s\\n", gate_output_label(number));
    }
    printf("%d\\n", (int)gate_output_class(scores));
    return 0;
}
"""


def _labels(folder: Path, names: tuple[str, ...] = CLASSES) -> Path:
    path = folder / "labels.txt"
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return path


@requires_compiler
def test_the_header_names_every_class_and_finds_the_greatest_score(tmp_path: Path) -> None:
    folder = exported(GATE, "plain", tmp_path, "--labels", str(_labels(tmp_path)))
    (tmp_path / "main.c").write_text(USER, encoding="utf-8")
    sources = [str(path) for path in (folder / "src").glob("*.c")]
    command = ["gcc", *FLAGS, "main.c", *sources, f"-I{folder / 'include'}", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout.decode()
    assert printed.splitlines() == ["", *CLASSES, "", "2"]


def test_all_other_files_are_those_without_labels(tmp_path: Path) -> None:
    plain = tflmgen.compile(GATE, validate="off").sources
    labelled = tflmgen.compile(GATE, validate="off", labels={"scores": _labels(tmp_path)}).sources
    assert {path: labelled[path] for path in plain} == plain
    assert [path for path in labelled if path not in plain] == ["include/gate_labels.h"]


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (lambda folder: _labels(folder, CLASSES[:4]), "has 4 names, but 'scores' has 5 classes"),
        (lambda folder: {"logits": _labels(folder)}, "'logits', which the model does not have. Outputs: scores"),
        (lambda folder: folder / "none.txt", "No such file"),
        (lambda _: "metadata", "has no labels in its metadata"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: object, text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=text):
        tflmgen.compile(GATE, validate="off", labels=labels(tmp_path))  # type: ignore[operator]


def _tables(builder: flatbuffers.Builder, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _table(builder: flatbuffers.Builder, fields: int, **slots: int) -> int:
    builder.StartObject(fields)
    for slot, offset in slots.items():
        builder.PrependUOffsetTRelativeSlot(int(slot[1:]), offset, 0)
    return int(builder.EndObject())


def _metadata(files: list[str]) -> bytes:
    """ModelMetadata with an output per file, whose labels along the axis it has; an empty name: no labels."""
    builder = flatbuffers.Builder()
    outputs = []
    for file in files:
        name = builder.CreateString(file)
        builder.StartObject(5)
        builder.PrependUOffsetTRelativeSlot(0, name, 0)
        builder.PrependInt8Slot(2, 2 if file else 1, 0)
        entry = int(builder.EndObject())
        outputs.append(_table(builder, 7, _6=_tables(builder, [entry])))
    subgraph = _table(builder, 8, _3=_tables(builder, outputs))
    builder.Finish(_table(builder, 8, _3=_tables(builder, [subgraph])), b"M001")
    return bytes(builder.Output())


def _file(metadata: bytes, texts: dict[str, str]) -> bytes:
    """A model of metadata alone, with an archive behind it."""
    builder = flatbuffers.Builder()
    data = builder.CreateByteVector(metadata)
    name = builder.CreateString("TFLITE_METADATA")
    buffers = _tables(builder, [_table(builder, 1, _0=data)])
    entries = _tables(builder, [_table(builder, 2, _0=name)])
    builder.Finish(_table(builder, 8, _4=buffers, _6=entries), b"TFL3")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for path, text in texts.items():
            file.writestr(path, text)
    return bytes(builder.Output()) + archive.getvalue()


def test_labels_of_metadata_are_those_of_each_output(tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(_file(_metadata(["", "labels.txt"]), {"labels.txt": "yes\nno\r\n\n"}))
    assert read_metadata_labels(model) == {1: ("yes", "no")}


@pytest.mark.parametrize("damage", ["absent", "cut", "archive"])
def test_damaged_metadata_is_an_error(damage: str, tmp_path: Path) -> None:
    metadata = _metadata(["labels.txt"])
    data = _file(metadata[:20] if damage == "cut" else metadata, {} if damage == "absent" else {"labels.txt": "yes"})
    model = tmp_path / "model.tflite"
    model.write_bytes(data[: data.index(b"PK")] if damage == "archive" else data)
    with pytest.raises(ModelError, match="its metadata cannot be read"):
        read_metadata_labels(model)


def test_a_label_is_a_line_and_a_byte_order_mark_is_none(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes("\ufeffcat\r\nb\u2028c\nd\x0be\x85f\n\n".encode())
    assert class_labels(tmp_path / "m.tflite", [str(path)]) == {"": ("cat", "b\u2028c", "d\x0be\x85f")}
