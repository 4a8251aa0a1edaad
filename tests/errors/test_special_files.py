"""Files that are none: FIFOs, devices and links to them, and files of any size, at every door."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import tflmgen, write_adder
from tflmgen.errors import ModelError
from tflmgen.frontend.onnx.pt2_archive import checked_archive
from tflmgen.user_files import TEXT_LIMIT

DOORS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "model.tflite": lambda file: ("inspect", file),
    "model.onnx": lambda file: ("inspect", file),
    "model.keras": lambda file: ("inspect", file),
    "model.h5": lambda file: ("inspect", file),
    "model.pb": lambda file: ("inspect", file),
    "app.toml": lambda file: ("inspect", file),
    "labels.txt": lambda file: ("inspect", "adder.tflite", "--labels", file),
    "in.npz": lambda file: ("run", "adder.tflite", "--board", "host", "--inputs", file, "--outputs", "o.npz"),
    "in.csv": lambda file: ("run", "adder.tflite", "--board", "host", "--inputs", file, "--outputs", "o.npz"),
    "in.wav": lambda file: ("run", "one.tflite", "--board", "host", "--inputs", file, "--outputs", "o.npz"),
    "in.png": lambda file: ("run", "one.tflite", "--board", "host", "--inputs", file, "--outputs", "o.npz"),
    "old.json": lambda file: ("diff", file, file),
    "space.py": lambda file: ("sweep", file, "--boards", "host", "-o", "r.parquet"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_adder(tmp_path / "adder.tflite")
    return tmp_path


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_is_no_regular_file_is_refused_at_once(name: str, kind: str) -> None:
    if name == "space.py":
        pytest.importorskip("dask")
    if name == "model.onnx":
        pytest.importorskip("onnx")
    if name in ("in.wav", "in.png"):
        _one_input()
    if kind == "fifo":
        os.mkfifo(name)
    else:
        Path(name).symlink_to("/dev/zero")
    finished = tflmgen(*DOORS[name](name))
    assert finished.code in (1, 2)
    assert name in finished.err
    assert "regular file" in finished.err


def _one_input() -> None:
    from support.model_writer import ModelWriter

    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y = graph.tensor("x", "float32", [1, 4]), graph.tensor("y", "float32", [1, 4])
    graph.operator("ABS", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("one.tflite").write_bytes(writer.finish())


def test_a_folder_of_calibration_data_with_a_link_to_a_device() -> None:
    _one_input()
    Path("samples").mkdir()
    Path("samples/a.csv").write_text("1,2,3,4\n")
    Path("samples/z.csv").symlink_to("/dev/zero")
    finished = tflmgen("quantize", "one.tflite", "--calibration", "samples")
    assert (finished.code, "z.csv: cannot be read: it is no regular file" in finished.err) == (1, True), finished.err


@pytest.mark.parametrize("name", ["labels.txt", "old.json", "app.toml", "in.csv", "space.py", "board.json"])
def test_what_is_no_text_is_said_in_words(name: str) -> None:
    if name == "space.py":
        pytest.importorskip("dask")
    Path(name).write_bytes(b"{}\n\x80PNG")
    words = DOORS[name](name) if name in DOORS else ("inspect", "adder.tflite", "--board", ".")
    finished = tflmgen(*words)
    assert finished.code in (1, 2)
    assert "not UTF-8 text" in finished.err
    assert "codec" not in finished.err


def test_labels_have_the_length_of_names() -> None:
    Path("labels.txt").write_text("a\n" + "b" * 2000 + "\n")
    finished = tflmgen("inspect", "adder.tflite", "--labels", "labels.txt")
    assert (finished.code, "line 2 has 2,000 characters" in finished.err) == (2, True), finished.err
    Path("labels.txt").write_bytes(bytes(TEXT_LIMIT + 1))
    finished = tflmgen("inspect", "adder.tflite", "--labels", "labels.txt")
    assert (finished.code, "may have 4,000,000" in finished.err) == (2, True), finished.err


def test_a_program_of_pytorch_that_is_no_file() -> None:
    os.mkfifo("model.pt2")
    with pytest.raises(ModelError, match=r"model\.pt2: cannot be read: it is no regular file"):
        checked_archive(Path("model.pt2"), lambda _: True)


@pytest.mark.parametrize("name", ["left", "unknown"])
def test_an_archive_that_declares_gigabytes_is_refused_by_its_headers(name: str) -> None:
    """An array that the model does not name is not read, one that does not fit is refused by its header."""
    with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for member, count in {"left": 4, "right": 4, name: 2**36}.items():
            with archive.open(f"{member}.npy", "w") as file:
                shape = (1, count) if member in ("left", "right") else (count,)
                header = {"descr": "<f4", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                file.write(bytes(16))
    words = ("run", "adder.tflite", "--board", "host", "--inputs", "bomb.npz", "--outputs", "o.npz")
    finished = tflmgen(*words)
    if name == "unknown":
        assert finished.code == 0, finished.err
    else:
        assert (finished.code, "array 'left' is float32[1,68719476736]" in finished.err) == (1, True), finished.err


def test_samples_that_fit_but_for_their_number_are_bounded() -> None:
    with zipfile.ZipFile("bomb.npz", "w") as archive:
        for member in ("left", "right"):
            with archive.open(f"{member}.npy", "w") as file:
                header = {"descr": "<f4", "fortran_order": False, "shape": (2**34, 1, 4)}
                np.lib.format.write_array_header_1_0(file, header)
    finished = tflmgen("run", "adder.tflite", "--board", "host", "--inputs", "bomb.npz", "--outputs", "o.npz")
    assert (finished.code, "bytes; at most 1,024,000,000 are read" in finished.err) == (1, True), finished.err


def test_names_of_arrays_do_not_control_the_terminal() -> None:
    arrays: dict[str, Any] = {"\x1b[31mred": np.zeros(4, np.float32)}
    np.savez("v.npz", **arrays)
    finished = tflmgen("run", "adder.tflite", "--board", "host", "--inputs", "v.npz", "--outputs", "o.npz")
    assert finished.code == 1
    assert "\x1b" not in finished.err
    assert "31mred" in finished.err


def test_names_of_files_do_not_control_the_terminal() -> None:
    finished = tflmgen("inspect", "\x1b]0;owned\x07.tflite")
    assert finished.code == 1
    assert "\x1b" not in finished.err
