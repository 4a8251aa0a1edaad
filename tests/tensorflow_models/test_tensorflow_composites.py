"""Functions with `experimental_implements` become operators or plug-ins' operators, or are inlined."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from support.repository import ROOT
from support.tensorflow_environment import VARIABLE, file_beside, interpreter, requires_tensorflow
from tflmgen.conversion import ConversionSettings, SourceConversion, tensorflow_source
from tflmgen.conversion.source_conversion import convert_in
from tflmgen.conversion.tensorflow_process import TensorFlowProcess

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]

MODELS = file_beside("tensorflow_composites.py")


def _converted(tensorflow: TensorFlowProcess, name: str, *custom: str) -> SourceConversion:
    source = tensorflow_source(Path(f"{MODELS}:{name}"))
    assert source is not None
    return convert_in(tensorflow, source, ConversionSettings(composites=custom), lambda _: None)


@pytest.mark.parametrize(
    ("name", "custom", "has", "kept"),
    [
        ("unknown", (), {"IF": 1, "TANH": 2}, ""),
        ("of_a_plugin", (), {"IF": 1, "TANH": 2}, ""),
        ("of_a_plugin", ("acme.gain",), {"IF": 1, "TANH": 0, "CUSTOM:acme.gain": 2}, "acme.gain"),
        ("of_a_plugin_with_state", ("acme.gain",), {"TANH": 0, "CUSTOM:acme.gain": 1}, "acme.gain"),
        ("embedding", (), {"EMBEDDING_LOOKUP": 1, "GATHER": 0}, "embedding_lookup"),
        ("embedding_of_other_operands", (), {"GATHER": 4, "EMBEDDING_LOOKUP": 1}, "embedding_lookup"),
    ],
)
def test_a_composite_is_an_operator_or_inlined(
    tensorflow: TensorFlowProcess, name: str, custom: tuple[str, ...], has: dict[str, int], kept: str
) -> None:
    """A plug-in's is compared with its body in its place."""
    result = _converted(tensorflow, name, *custom)
    operators = [op.name for graph in result.model.subgraphs for op in graph.operators]
    assert {key: operators.count(key) for key in has} == has
    sentence = f"composites kept as operators: {kept}"
    assert (sentence in result.mends) == bool(kept), result.mends
    assert (result.proof.equal, result.proof.unsupported) == (12, "")
    assert result.proof.composites == custom


def test_detection_postprocessing_takes_its_options_from_the_composite(tensorflow: TensorFlowProcess) -> None:
    result = _converted(tensorflow, "detections", "TFLite_Detection_PostProcess")
    (graph,) = result.model.subgraphs
    assert [op.name for op in graph.operators] == ["CUSTOM:TFLite_Detection_PostProcess"]
    assert b"max_detections" in graph.operators[0].custom_options
    assert (result.proof.equal, result.proof.composites) == (12, ("TFLite_Detection_PostProcess",))


def test_a_composite_of_a_plugin_runs_on_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the plug-in, the body is refused; with it, one command builds and runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, interpreter() or "")
    source = f"{MODELS}:without_a_body_in_tflite"
    refused = tflmgen("convert", source)
    assert (refused.code, "TFLite has no operator for tf.Digamma" in refused.err) == (1, True), refused.err
    plugin = ROOT / "examples" / "erfinv" / "erfinv.py"
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    np.savez("in.npz", x=x)
    words = ("--inputs", "in.npz", "--outputs", "out.npz", "--plugin", plugin)
    done = tflmgen("run", source, "--board", "host", *words)
    assert done.code == 0, done.err
    assert "Mended: composites kept as operators: Erfinv." in done.out
    assert "Not compared: CUSTOM:Erfinv is not evaluated" in done.out
    with np.load("out.npz") as data:
        (result,) = data.values()
    np.testing.assert_allclose([math.erf(y - 1) for y in result.ravel()], np.tanh(x) * 0.9, rtol=1e-5, atol=1e-6)
