"""Inputs of CSV, WAV and PNG files: values, windows and located errors."""

from __future__ import annotations

import re
import struct
import sys
import wave
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.commands import tflmgen, write_adder
from tflmgen.input_sets import VectorsError, VectorSet, read_input_sets
from tflmgen.ir import DType, Quantization, TensorType
from tflmgen.ir.graph import EntryPoint, Port

UNIT = Quantization((1 / 255,), (-128,))
WHOLE = Quantization((1.0,), (-128,))


def port(dtype: DType, *shape: int, name: str = "x", quantization: Quantization | None = None) -> Port:
    return Port(name, TensorType(dtype, shape, quantization))


def sets(path: Path, *ports: Port) -> tuple[VectorSet, ...]:
    return read_input_sets(path, (EntryPoint("go", "go", ports, ()),), None, expected=False).sets


def csv_file(folder: Path, text: str) -> Path:
    (folder / "in.csv").write_text(text)
    return folder / "in.csv"


def wav_file(path: Path, samples: bytes, width: int, channels: int = 1) -> Path:
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(width)
        sound.setframerate(8000)
        sound.writeframes(samples)
    return path


def test_a_row_per_set(tmp_path: Path) -> None:
    first, second = sets(csv_file(tmp_path, "1,2,0.5\n\n-3,4,1e-1\n"), port(DType.INT8, 1, 2), port(DType.FLOAT32, 1))
    np.testing.assert_array_equal(first.inputs[0], np.array([[1, 2]], np.int8))
    np.testing.assert_array_equal(second.inputs[0], np.array([[-3, 4]], np.int8))
    assert second.inputs[1].tolist() == [np.float32(0.1)]


@pytest.mark.parametrize("header", ["", "acc x;acc y\n"])
def test_rows_are_the_outer_axis_where_columns_are_the_last(tmp_path: Path, header: str) -> None:
    two = sets(csv_file(tmp_path, header + "1;2\n3;4\n5;6\n7;8\n"), port(DType.FLOAT32, 1, 2, 2))
    assert [s.inputs[0].tolist() for s in two] == [[[[1, 2], [3, 4]]], [[[5, 6], [7, 8]]]]


def test_a_header_names_inputs_and_elements(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "y,label,x[1],x[0]\n9,cat,1,2\n")
    (only,) = sets(path, port(DType.INT16, 2), port(DType.UINT8, 1, name="y"))
    assert [array.tolist() for array in only.inputs] == [[2, 1], [9]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,x\n", "line 1, column 2: 'x' is not a number"),
        ("1,2\n3,x\n", "in.csv: line 2, column 2: 'x' is not a number"),
        ("1,2\n3,200\n", "line 2, column 2: '200' is not a whole number from -128 to 127"),
        ("1,2\n3,0.5\n", "line 2, column 2: '0.5' is not a whole number"),
        ("1,2\n3,nan\n", "line 2, column 2: 'nan' is not a whole number"),
        ("1,2\n3\n", "line 2 has 1 columns, and line 1 has 2"),
        ("1,2,3\n", "columns for input 'x' number 3, and it is int8[1,2]"),
        ("1\n2\n3\n", "line 3: the last set has 1 rows, and the model takes 2"),
        ("x[0],x[2]\n1,2\n", "line 1: columns of 'x' must be each of [0] to [1] once"),
        ("a,b\n", "no row of numbers"),
        ("", "no row of numbers"),
    ],
)
def test_errors_of_tables_have_a_line_and_a_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(VectorsError, match=re.escape(message)):
        sets(csv_file(tmp_path, text), port(DType.INT8, 1, 2))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"1,\xff\n")
    with pytest.raises(VectorsError, match=r"not UTF-8 text: .* at byte"):
        sets(tmp_path / "in.csv", port(DType.INT8, 2))


@pytest.mark.parametrize(
    ("width", "samples"),
    [
        (1, bytes([128, 192, 0, 128, 7])),
        (2, np.array([0, 1 << 14, -1 << 15, 0, 7], "<i2").tobytes()),
        (3, b"\0\0\0\0\0\x40\0\0\x80\0\0\0\7\0\0"),
        (4, np.array([0, 1 << 30, -1 << 31, 0, 7], "<i4").tobytes()),
    ],
)
def test_windows_of_sound(tmp_path: Path, width: int, samples: bytes) -> None:
    path = wav_file(tmp_path / "s.wav", samples, width)
    first, second = sets(path, port(DType.FLOAT32, 1, 2))
    assert (first.inputs[0].tolist(), second.inputs[0].tolist()) == ([[0.0, 0.5]], [[-1.0, 0.0]])
    assert second.label == "s.wav 0.000 s"
    assert sets(path, port(DType.INT16, 2))[0].inputs[0].tolist() == [0, 1 << 14]
    quantized = port(DType.INT8, 2, quantization=Quantization((1 / 64,), (10,)))
    assert sets(path, quantized)[1].inputs[0].tolist() == [-54, 10]


def test_channels_are_the_last_axis(tmp_path: Path) -> None:
    path = wav_file(tmp_path / "s.wav", np.array([1, 2, 3, 4], "<i2").tobytes(), 2, channels=2)
    assert sets(path, port(DType.INT16, 1, 2, 2))[0].inputs[0].tolist() == [[[1, 2], [3, 4]]]
    with pytest.raises(VectorsError, match=r"2 channels at 8000 Hz, and input 'x' is int16.*one channel"):
        sets(path, port(DType.INT16, 1, 2))
    with pytest.raises(VectorsError, match=r"2 samples per channel at 8000 Hz.*3 at least"):
        sets(path, port(DType.INT16, 3, 2))


@pytest.mark.parametrize("cut", [2, 20, 45])
def test_damaged_sound(tmp_path: Path, cut: int) -> None:
    path = wav_file(tmp_path / "s.wav", bytes(64), 2)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(VectorsError, match=r"s.wav: .*(damaged|not a WAV file)"):
        sets(path, port(DType.INT16, 2))


def test_an_image_is_not_unpacked_before_its_size_is_known(tmp_path: Path) -> None:
    """The header alone says that the image has 81 million pixels; the data are not there."""
    header = struct.pack(">IIBBBBB", 9_000, 9_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", len(header)) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", 0) + b"IDAT")
    with pytest.raises(VectorsError, match=r"the image is 9000 x 9000 \(height, width\)"):
        sets(tmp_path / "p.png", port(DType.UINT8, 1, 8, 8, 3))


@pytest.mark.parametrize(
    ("kind", "width", "data", "expected"),
    [
        (1, 2, np.array([0, 1 << 14], "<i2"), [0.0, 0.5]),
        (3, 4, np.array([-0.25, 0.75], "<f4"), [-0.25, 0.75]),
        (0xFFFE, 4, np.array([-0.25, 0.75], "<f4"), [-0.25, 0.75]),
    ],
    ids=["integers", "floats", "extensible"],
)
def test_sound_of_other_formats(
    tmp_path: Path, kind: int, width: int, data: np.ndarray[Any, Any], expected: list[float]
) -> None:
    header = struct.pack("<HHIIHH", kind, 1, 8000, 8000 * width, width, 8 * width)
    header += struct.pack("<HHIH14s", 22, 8 * width, 4, 3, bytes(14)) if kind == 0xFFFE else b""
    chunks = b"fmt " + struct.pack("<I", len(header)) + header + b"data" + struct.pack("<I", data.nbytes)
    contents = b"WAVE" + chunks + data.tobytes()
    (tmp_path / "s.wav").write_bytes(b"RIFF" + struct.pack("<I", len(contents)) + contents)
    assert sets(tmp_path / "s.wav", port(DType.FLOAT32, 1, 2))[0].inputs[0].tolist() == [expected]


@pytest.mark.parametrize(
    ("kind", "reason"), [(6, "its samples are A-law"), (0x55, "its samples are MP3"), (99, "its samples are format 99")]
)
def test_sound_that_is_no_plain_samples(tmp_path: Path, kind: int, reason: str) -> None:
    header = struct.pack("<HHIIHH", kind, 1, 8000, 8000, 1, 8)
    contents = b"WAVEfmt " + struct.pack("<I", len(header)) + header + b"data" + struct.pack("<I", 4) + bytes(4)
    (tmp_path / "s.wav").write_bytes(b"RIFF" + struct.pack("<I", len(contents)) + contents)
    with pytest.raises(VectorsError, match=reason):
        sets(tmp_path / "s.wav", port(DType.FLOAT32, 1, 2))


def test_pixels_by_the_input_type(tmp_path: Path) -> None:
    pixels = np.array([[[0, 51, 255], [1, 2, 3]]], np.uint8)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    path, shape = tmp_path / "p.png", (1, 1, 2, 3)
    np.testing.assert_array_equal(sets(path, port(DType.FLOAT32, *shape))[0].inputs[0], pixels[None] / np.float32(255))
    np.testing.assert_array_equal(sets(path, port(DType.UINT8, *shape))[0].inputs[0], pixels[None])
    for quantization in (UNIT, WHOLE, None):
        (only,) = sets(path, port(DType.INT8, *shape, quantization=quantization))
        np.testing.assert_array_equal(only.inputs[0], pixels[None].astype(np.int16) - 128)
    channels_first = sets(path, port(DType.UINT8, 1, 3, 1, 2))[0].inputs[0]
    np.testing.assert_array_equal(channels_first[0], pixels.transpose(2, 0, 1))
    with pytest.raises(VectorsError, match=r"the image is 1 x 2 x 3 \(height, width, channels\), and input 'x'"):
        sets(path, port(DType.UINT8, 1, 2, 2, 3))


def test_a_folder_is_its_files_and_bad_ones_are_named(tmp_path: Path) -> None:
    for name, value in (("b.png", 2), ("a.png", 1)):
        Image.fromarray(np.full((2, 2), value, np.uint8)).save(tmp_path / name)
    x = port(DType.UINT8, 1, 2, 2, 1)
    assert [(s.label, s.inputs[0].max()) for s in sets(tmp_path, x)] == [("a.png", 1), ("b.png", 2)]
    (tmp_path / "c.png").write_bytes((tmp_path / "a.png").read_bytes()[:40])
    with pytest.raises(VectorsError, match=r"c.png: not a PNG file, or a damaged one"):
        sets(tmp_path, x)


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    (tmp_path / "p.png").write_bytes(b"")
    with pytest.raises(VectorsError, match=re.escape("pip install 'tflmgen[images]'")):
        sets(tmp_path / "p.png", port(DType.UINT8, 1))


def test_commands_take_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    adder = write_adder(tmp_path / "adder.tflite")
    csv_file(tmp_path, "1,2,3,4,10,20,30,40\n")
    ran = tflmgen("run", adder, "--board", "host", "--inputs", "in.csv", "--outputs", "out.npz")
    assert ran.code == 0, ran.err
    with np.load("out.npz") as outputs:
        assert outputs["s0_out_0"].tolist() == [[11, 22, 33, 44]]
    bad = tflmgen("run", adder, "--board", "host", "--inputs", "nothing.csv", "--outputs", "none.npz")
    assert (bad.code, Path("none.npz").exists()) == (1, False)
    assert "nothing.csv: cannot be read: No such file" in bad.err
    wav_file(tmp_path / "s.wav", bytes(64), 2)
    two = tflmgen("run", adder, "--board", "host", "--inputs", "s.wav", "--outputs", "none.npz")
    assert two.code == 1
    assert "s.wav: fills one input, and the model has 2" in two.err


def test_a_table_without_outputs_is_compared_with_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tflite_micro")
    monkeypatch.chdir(tmp_path)
    adder = write_adder(tmp_path / "adder.tflite")
    csv_file(tmp_path, "1,2,3,4,10,20,30,40\n5,6,7,8,1,1,1,1\n")
    tested = tflmgen("test", adder, "--board", "host", "--vectors", "in.csv")
    assert tested.code == 0, tested.err
    assert "all 2 outputs agree" in tested.out


def test_samples_of_a_table_calibrate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    adder = write_adder(tmp_path / "adder.tflite")
    np.savetxt(tmp_path / "in.csv", np.random.default_rng(1).normal(size=(40, 8)), delimiter=",")
    done = tflmgen("quantize", adder, "--calibration", "in.csv", "-o", "q.tflite")
    assert done.code == 0, done.err
    assert "of 40 calibration sets" in done.out
    csv_file(tmp_path, "1,2,3,4,5,6,7,inf\n")
    bad = tflmgen("quantize", adder, "--calibration", "in.csv", "-o", "none.tflite")
    assert (bad.code, Path("none.tflite").exists()) == (1, False)
    assert "calibration needs finite values" in bad.err
