"""Operations that TFLite lacks, and detection models that use them: they become .tflite files that compute the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from support.repository import ROOT
from support.tensorflow_environment import VARIABLE, file_beside, interpreter, requires_tensorflow
from tflmgen.compiler import compile_model
from tflmgen.conversion import ConversionSettings, TensorFlowSource
from tflmgen.conversion.source_conversion import convert_in
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions, Validate

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]

SHARED = ROOT.parent / "shared"
SOURCES = sorted(path for path in (SHARED / "operators").glob("*") if path.is_dir())
PROGRAMS = file_beside("written_programs.py")
NAMES = re.findall(r"^(\w+) = (?:program|integers)\(", PROGRAMS.read_text(encoding="utf-8"), re.M)
DETECTORS = sorted((SHARED / "detection").glob("*.pb"))


def _check(model: Path, vectors: Path, folder: Path) -> None:
    """The outputs on the host are TensorFlow's, which the vectors have by number or, of a graph, by name."""
    arrays = dict(np.load(vectors))
    names = [str(name) for name in arrays.pop("outputs", ())]
    numbered = {
        f"{key.split('_out_')[0]}_out_{names.index(key.split('_out_')[1])}" if names and "_out_" in key else key: array
        for key, array in arrays.items()
    }
    np.savez(folder / "vectors.npz", **numbered)
    tested = tflmgen("test", model, "--board", "host", "--vectors", folder / "vectors.npz")
    assert tested.code == 0, tested.out + tested.err


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_an_operation(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, interpreter() or "")
    model = tmp_path / "model.tflite"
    converted = tflmgen("convert", source, "-o", model)
    assert converted.code == 0, converted.out + converted.err
    assert "written with others" in converted.out
    _check(model, source.with_suffix(".npz"), tmp_path)


@pytest.mark.parametrize("source", DETECTORS, ids=lambda source: source.stem)
def test_a_detector(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, interpreter() or "")
    vectors, model = source.with_suffix(".npz"), tmp_path / "model.tflite"
    outputs = ",".join(str(name) for name in np.load(vectors)["outputs"])
    converted = tflmgen("convert", source, "--inputs", "image", "--outputs", outputs, "-o", model)
    assert converted.code == 0, converted.out + converted.err
    _check(model, vectors, tmp_path)


@pytest.fixture(scope="module")
def process() -> Iterator[TensorFlowProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, interpreter() or "")
        with TensorFlowProcess(str(PROGRAMS)) as running:
            yield running


@pytest.mark.parametrize("name", NAMES)
def test_a_program(name: str, process: TensorFlowProcess, tmp_path: Path) -> None:
    """A conversion is compared with TensorFlow, and its operators have kernels."""
    source = TensorFlowSource(PROGRAMS, "python", name)
    conversion = convert_in(process, source, ConversionSettings(), lambda _: None)
    assert any("written with others" in sentence for sentence in conversion.mends)
    assert not conversion.proof.unsupported
    assert conversion.proof.equal
    file = tmp_path / "model.tflite"
    file.write_bytes(conversion.data)
    assert compile_model(file, Target(core="host"), BuildOptions(validate=Validate.OFF)).sources


def test_numbers_in_a_graph_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resizing to many pixels would have a table of weights for each of them."""
    monkeypatch.setenv(VARIABLE, interpreter() or "")
    refused = tflmgen("convert", f"{PROGRAMS}:too_large", "-o", tmp_path / "model.tflite")
    assert refused.code == 1
    assert "the table of weights would have 20,000,000 elements" in refused.err
