"""Files that are no models, damaged or out of reach: one error each that names the file."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from support.flatbuffer_tables import build
from support.model_writer import ModelWriter
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite.reader import parse_model, read_model


def refusal(data: bytes) -> str:
    with pytest.raises(ModelError) as caught:
        parse_model(data, "m.tflite")
    return str(caught.value)


def small_model() -> bytes:
    writer = ModelWriter()
    g = writer.subgraph("main")
    g.inputs = g.outputs = [g.tensor("x", "int8", [1, 2])]
    return writer.finish()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "the file is empty"),
        (b"TFL", "the file is damaged: it has only 3 bytes. Get it again or convert the model anew"),
        (bytes(64), "this is not a TensorFlow Lite file: it lacks the identifier TFL3"),
        (
            b"PK\x03\x04" + bytes(64),
            "this is not a TensorFlow Lite file: it lacks the identifier TFL3. "
            "It is a zip archive, perhaps a .keras file. Convert the model with tf.lite.TFLiteConverter",
        ),
        (
            b"\xff\xff\xff\x7fTFL3" + bytes(64),
            "the file is damaged: Model would be at bytes 2147483647 to 2147483651, but the file has 72 bytes. "
            "Get it again or convert the model anew",
        ),
        (
            b"\x08\x00\x00\x00TFL3" + b"\x7f\x00\x00\x00" + bytes(64),
            "the file is damaged: Model would be at bytes -119 to -117, but the file has 76 bytes. "
            "Get it again or convert the model anew",
        ),
    ],
)
def test_not_a_model(data: bytes, expected: str) -> None:
    assert refusal(data) == f"m.tflite: {expected}"


def test_a_file_cut_off_anywhere() -> None:
    data = small_model()
    for size in range(8, len(data) // 2):
        assert refusal(data[:size]).startswith("m.tflite: the file is damaged: ")


def test_a_vector_longer_than_the_file() -> None:
    data = small_model()
    shape = data.index(np.array([2, 1, 2], "<u4").tobytes())
    text = refusal(data[:shape] + b"\xff\xff\xff\xff" + data[shape + 4 :])
    assert f"Tensor.shape would be at bytes {shape + 4} to {shape + 4 + 4 * 0xFFFFFFFF}, but" in text


@pytest.mark.parametrize(("offset", "size"), [(2**64 - 8, 16), (2**63, 2**63), (16, 1 << 40)])
def test_contents_outside_the_file(offset: int, size: int) -> None:
    writer = ModelWriter()
    writer.subgraph("main")
    writer.buffer(b"", offset, size)
    data = writer.finish()
    assert refusal(data) == (
        f"m.tflite: the file is damaged: Buffer 1 would be at bytes {offset} to {offset + size}, "
        f"but the file has {len(data)} bytes. Get it again or convert the model anew"
    )


def test_tables_used_over_and_over_cost_no_time() -> None:
    b = flatbuffers.Builder(1024)
    tensor = build(b, "Tensor", name="x" * 10000, shape=[1] * 10000)
    graph = build(b, "SubGraph", tensors=[tensor] * 10000)
    b.Finish(build(b, "Model", version=3, subgraphs=[graph] * 100), file_identifier=b"TFL3")
    assert "its tables refer to the same bytes over and over" in refusal(bytes(b.Output()))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def text(path: Path) -> str:
        with pytest.raises(ModelError) as caught:
            read_model(path)
        return str(caught.value).removeprefix(f"{path}: ")

    assert text(tmp_path / "none.tflite") == "there is no such file. Give the path of a .tflite file"
    assert text(tmp_path) == "it is a directory. Give the path of a .tflite file"
    assert text(Path("/dev/null")) == "it cannot be read: it is no regular file"
    (tmp_path / "file").touch()
    assert text(tmp_path / "file" / "model.tflite") == "it cannot be read: Not a directory"
    assert text(tmp_path / "file") == "the file is empty"
    with (tmp_path / "big").open("wb") as big:
        big.truncate(1 << 30)
    assert text(tmp_path / "big") == "it cannot be read: it has 1,073,741,824 bytes, and may have 536,870,912"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (["net/constants.pkl", "net/data.pkl"], "It is a TorchScript archive, which could run code"),
        (["archive/data.pkl"], "It is a PyTorch pickle of torch.save, which could run code"),
        (["net/models/model.json"], "Give it the suffix .pt2"),
        (["config.json", "model.weights.h5"], "Give it the suffix .keras"),
        (["notes.txt"], "It is a zip archive"),
    ],
)
def test_other_formats(tmp_path: Path, members: list[str], expected: str) -> None:
    with zipfile.ZipFile(tmp_path / "net.pt", "w") as archive:
        for member in members:
            archive.writestr(member, b"")
    with pytest.raises(ModelError, match=re.escape(expected)):
        read_model(tmp_path / "net.pt")
    (tmp_path / "state.pth").write_bytes(b"\x80\x02}q\x00.")
    with pytest.raises(ModelError, match="It is a Python pickle"):
        read_model(tmp_path / "state.pth")


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.tflite"
    path.touch()

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ModelError, match=r"m\.tflite: it cannot be read: Permission denied$"):
        read_model(path)
