from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tflmgen.input_sets.array_file import VectorsError
from tflmgen.input_sets.npz import Vectors, VectorSet, read_vectors, write_outputs
from tflmgen.ir.graph.module import EntryPoint, Port
from tflmgen.ir.types import DType, Quantization, TensorType

X = Port("x", TensorType(DType.INT8, (2,)))
W = Port("w", TensorType(DType.FLOAT32, ()))
Y = Port("y", TensorType(DType.INT16, (1, 2)))
GO_ONLY = (EntryPoint("go", "go", (X, W), (Y,)),)
GO_AND_OTHER = (*GO_ONLY, EntryPoint("other", "other", (), (W,)))

X_DATA = np.array([1, -2], np.int8)
W_DATA = np.array(0.5, np.float32)
Y_DATA = np.array([[3, 4]], np.int16)


def _file(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "v.npz", **arrays)
    return folder / "v.npz"


def _read(
    path: Path, key: str | None = None, signatures: tuple[EntryPoint, ...] = GO_ONLY, expected: bool = False
) -> Vectors:
    return read_vectors(path, signatures, key, expected)


def test_sets(tmp_path: Path) -> None:
    arrays = {"n_sets": 2, "stateful": True, "s0_label": "warm", "extra": [1]}
    vectors = _read(
        _file(tmp_path, s0_in_0=X_DATA, s0_in_1=W_DATA, s1_in_0=X_DATA + 1, s1_in_1=W_DATA, s0_out_0=Y_DATA, **arrays)
    )
    assert vectors.stateful
    assert not vectors.simple
    assert [s.label for s in vectors.sets] == ["warm", ""]
    np.testing.assert_array_equal(vectors.sets[1].inputs[0], X_DATA + 1)
    assert vectors.sets[0].expected == ()


@pytest.mark.parametrize("stateful", [True, False])
def test_samples_may_follow_one_another(tmp_path: Path, stateful: bool) -> None:
    samples = {"x": np.stack([X_DATA, X_DATA]), "w": np.stack([W_DATA, W_DATA])}
    vectors = _read(_file(tmp_path, **samples, stateful=stateful))
    assert len(vectors.sets) == 2
    assert vectors.says_states
    assert vectors.stateful is stateful
    assert not _read(_file(tmp_path, **samples)).says_states


def test_an_input_named_stateful_says_nothing_of_state(tmp_path: Path) -> None:
    signature = EntryPoint("go", "go", (Port("stateful", TensorType(DType.INT8, (2,))),), ())
    vectors = _read(_file(tmp_path, stateful=np.ones((3, 2), np.int8)), signatures=(signature,))
    assert len(vectors.sets) == 3
    assert not vectors.stateful


def test_labels_cannot_command_the_terminal(tmp_path: Path) -> None:
    (vector_set,) = _read(_file(tmp_path, s0_in_0=X_DATA, s0_in_1=W_DATA, s0_label="\x1b[31mred")).sets
    assert vector_set.label == "\ufffd[31mred"


def test_sets_are_counted_where_n_sets_is_missing(tmp_path: Path) -> None:
    assert len(_read(_file(tmp_path, s0_in_0=X_DATA, s0_in_1=W_DATA, s1_in_0=X_DATA, s1_in_1=W_DATA)).sets) == 2


def test_simple_form_goes_by_name(tmp_path: Path) -> None:
    vectors = _read(_file(tmp_path, w=W_DATA, x=X_DATA, y=Y_DATA, z=Y_DATA), expected=True)
    assert vectors.simple
    assert [array.dtype for array in vectors.sets[0].inputs] == [np.int8, np.float32]
    np.testing.assert_array_equal(vectors.sets[0].expected[0], Y_DATA)


def test_numbers_of_one_kind_become_those_of_the_model(tmp_path: Path) -> None:
    vectors = _read(_file(tmp_path, x=X_DATA.astype(np.int64), w=W_DATA.astype(np.float64)))
    assert [array.dtype for array in vectors.sets[0].inputs] == [np.int8, np.float32]
    assert vectors.sets[0].inputs[0].tolist() == [1, -2]


@pytest.mark.parametrize(
    ("x", "w", "message"),
    [
        (np.array([1, 128]), W_DATA, r"array 'x' is int64\[2\], but input is int8\[2\]"),
        (X_DATA.astype(np.float32), W_DATA, "array 'x' is float32"),
        (X_DATA == 1, W_DATA, "array 'x' is bool"),
        (X_DATA, np.array(1), "array 'w' is int64"),
        (X_DATA, np.array(1e39), "array 'w' is float64"),
    ],
)
def test_numbers_that_are_none_of_the_model(tmp_path: Path, x: np.ndarray, w: np.ndarray, message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        _read(_file(tmp_path, x=x, w=w))


@pytest.mark.parametrize("shape", [(3, 2), (3, 1, 2)])
def test_samples_stacked_in_one_array_are_sets(tmp_path: Path, shape: tuple[int, ...]) -> None:
    outputs = np.arange(6, dtype=np.int16).reshape(shape)
    stacked = {"x": np.arange(6, dtype=np.int8).reshape(3, 2), "w": np.ones(3, np.float32), "y": outputs}
    vectors = _read(_file(tmp_path, **stacked), expected=True)
    assert not vectors.simple
    assert [s.inputs[0].tolist() for s in vectors.sets] == [[0, 1], [2, 3], [4, 5]]
    assert [s.expected[0].tolist() for s in vectors.sets] == [[[0, 1]], [[2, 3]], [[4, 5]]]


def test_numbers_of_samples_must_agree(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="array 'x' is int8"):
        _read(_file(tmp_path, x=np.zeros((3, 2), np.int8), w=np.ones(2, np.float32)))


def test_signature_of_a_set_wins_over_the_option(tmp_path: Path) -> None:
    path = _file(tmp_path, n_sets=2, s0_sig="other", s1_in_0=X_DATA, s1_in_1=W_DATA)
    assert [s.signature for s in _read(path, "go", GO_AND_OTHER).sets] == [1, 0]


def test_big_endian_arrays_are_understood(tmp_path: Path) -> None:
    (vector_set,) = _read(_file(tmp_path, x=X_DATA, w=W_DATA.astype(">f4"))).sets
    assert vector_set.inputs[1].tobytes() == W_DATA.tobytes()


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": X_DATA}, ["'w'", "missing", "float32[]", "'x'"]),
        ({}, ["'x'", "missing", "no arrays"]),
        ({"x": np.array([1, 300], np.int16), "w": W_DATA}, ["'x'", "int16[2]", "int8[2]"]),
        ({"x": X_DATA[:1], "w": W_DATA}, ["'x'", "int8[1]", "int8[2]"]),
        ({"n_sets": 2, "s0_in_0": X_DATA, "s0_in_1": W_DATA}, ["'s1_in_0'", "missing", "input 'x'"]),
        ({"n_sets": 0, "s0_in_0": X_DATA}, ["'n_sets'", "0"]),
        ({"n_sets": 1.5, "s0_in_0": X_DATA}, ["'n_sets'", "1.5"]),
        ({"n_sets": [1, 2], "s0_in_0": X_DATA}, ["'n_sets'", "one value"]),
        ({"s0_in_0": X_DATA, "s0_in_1": W_DATA, "s0_sig": "stop"}, ["set 0", "'stop'", "'go'"]),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, arrays: dict[str, Any], words: list[str]) -> None:
    path = _file(tmp_path, **arrays)
    with pytest.raises(VectorsError) as caught:
        _read(path)
    for word in (str(path), *words):
        assert word in str(caught.value)


def test_expected_outputs_are_demanded_where_asked_for(tmp_path: Path) -> None:
    with pytest.raises(
        VectorsError, match=r"'s0_out_0' is missing: output 'y' is int16\[1,2\]\. The file has inputs only"
    ):
        _read(_file(tmp_path, s0_in_0=X_DATA, s0_in_1=W_DATA), expected=True)
    with pytest.raises(VectorsError, match=r"'s1_out_0' is missing: output 'y' is int16\[1,2\]$"):
        _read(
            _file(tmp_path, s0_in_0=X_DATA, s0_in_1=W_DATA, s1_in_0=X_DATA, s1_in_1=W_DATA, s0_out_0=Y_DATA),
            expected=True,
        )


def test_several_signatures_need_a_choice(tmp_path: Path) -> None:
    path = _file(tmp_path, x=X_DATA, w=W_DATA)
    with pytest.raises(VectorsError, match="'go', 'other' with --signature"):
        _read(path, None, GO_AND_OTHER)


def test_files_that_are_no_archives(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    with pytest.raises(VectorsError, match="No such file"):
        _read(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(VectorsError, match=r"not an \.npz file"):
        _read(path)
    with pytest.raises(VectorsError, match="directory"):
        _read(tmp_path)


def test_pickles_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", x=np.array([{}, {}], dtype=object), w=W_DATA)
    with pytest.raises(VectorsError, match=r"'x' cannot be read: .*allow_pickle"):
        _read(tmp_path / "v.npz")


def test_any_cut_or_flipped_byte_is_an_error_or_harmless(tmp_path: Path) -> None:
    path = _file(tmp_path, x=X_DATA, w=W_DATA)
    data = path.read_bytes()
    refused = 0
    for at in range(0, len(data), 7):
        path.write_bytes(data[:at])
        with pytest.raises(VectorsError):
            _read(path)
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        try:
            (vector_set,) = _read(path).sets
        except VectorsError:
            refused += 1
            continue
        for read, written in zip(vector_set.inputs, (X_DATA, W_DATA), strict=True):
            np.testing.assert_array_equal(read, written)
    assert refused > len(data) // 14


def test_outputs_come_back_in_the_form_of_the_inputs(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    vector_set = VectorSet("", 0, (X_DATA, W_DATA))
    write_outputs(path, Vectors((vector_set, vector_set)), GO_ONLY, [[Y_DATA], [Y_DATA + 1]])
    with np.load(path, allow_pickle=False) as arrays:
        assert set(arrays.files) == {"n_sets", "s0_out_0", "s1_out_0"}
        assert int(arrays["n_sets"]) == 2
        np.testing.assert_array_equal(arrays["s1_out_0"], Y_DATA + 1)
    write_outputs(path, Vectors((vector_set,), simple=True), GO_ONLY, [[Y_DATA]])
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays.files == ["y"]
        assert arrays["y"].dtype == np.int16
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.npz"]


def test_an_only_input_takes_an_only_array_of_any_name(tmp_path: Path) -> None:
    signatures = (EntryPoint("", "main", (Port("frame", TensorType(DType.FLOAT32, (1, 2))),), ()),)
    path = _file(tmp_path, samples=np.zeros((3, 1, 2), np.float32))
    assert len(read_vectors(path, signatures, None, False).sets) == 3
    with pytest.raises(VectorsError, match=r"array 'frame' is missing.*holds 'a', 'b'"):
        read_vectors(_file(tmp_path, a=X_DATA, b=X_DATA), signatures, None, False)


def test_floats_for_a_quantised_input_are_real_numbers(tmp_path: Path) -> None:
    """Rounded half away from zero, as TFLite's QUANTIZE does; beyond the range they saturate, and are counted."""
    port = Port("x", TensorType(DType.INT8, (1, 5), Quantization((0.5,), (3,))))
    path = _file(tmp_path, x=np.array([[0.25, -0.25, 1.0, 1000.0, -1000.0]]))
    vectors = read_vectors(path, (EntryPoint("", "main", (port,), ()),), None, False)
    assert vectors.sets[0].inputs[0].tolist() == [[4, 2, 5, 127, -128]]
    assert vectors.notes == ("real numbers of input 'x' were quantised: 2 of 5 lie beyond its range",)
    nan = _file(tmp_path, x=np.full((1, 5), np.nan))
    with pytest.raises(VectorsError, match=r"array 'x' is float64\[1,5\], but input is int8"):
        read_vectors(nan, (EntryPoint("", "main", (port,), ()),), None, False)


@pytest.mark.parametrize(
    "header",
    ["{'descr': (", "{[]:1}", "{'descr': (), 'fortran_order': False, 'shape': (2,)}", "  x", "{'descr': '<i1'}"],
)
def test_headers_that_are_no_literals(tmp_path: Path, header: str) -> None:
    """NumPy reads headers as Python's literals, and raises what Python raises."""
    text = header.encode() + b"\n"
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(VectorsError, match="array 'x' cannot be read"):
        _read(tmp_path / "v.npz")


def test_a_header_that_declares_gigabytes(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "v.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x02\x00" + (10**8).to_bytes(4, "little") + b" " * 10**7)
    with pytest.raises(VectorsError, match="array 'x' cannot be read"):
        _read(tmp_path / "v.npz")
