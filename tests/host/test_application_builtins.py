"""Built-ins against numpy, the microfrontend against TFLite Micro's own model of it, and what files may not say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.corpus import CORPUS
from support.repository import ROOT
from tflmgen.applications import read_program
from tflmgen.applications.conditions import parse_condition
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite import read_model
from tflmgen.options import BuildOptions
from tflmgen.reference import Interpreter

PREPROCESSOR = CORPUS / "real" / "tflm_audio_preprocessor_int8.tflite"
SAMPLES = 480


def application(folder: Path, text: str) -> Interpreter:
    path = folder / "app.toml"
    path.write_text(text)
    return Interpreter(read_program(path, BuildOptions()))


def on_frame(folder: Path, stage: str, dtype: str = "float32") -> Interpreter:
    return application(folder, f'[input.x]\ntype = "{dtype}"\nshape = [{SAMPLES}]\n[stage.s]\ninput = "x"\n{stage}\n')


def tones(count: int) -> NDArray[np.int16]:
    rng, time = np.random.default_rng(4), np.arange(SAMPLES) / 16000
    frames = [
        3000 * rng.random() * np.sin(2 * np.pi * rng.uniform(100, 7000) * time) + rng.normal(0, 200, SAMPLES)
        for _ in range(count)
    ]
    return np.array(frames).astype(np.int16)


@pytest.mark.skipif(not PREPROCESSOR.exists(), reason="the corpus is not here")
def test_microfrontend_equals_the_audio_preprocessor_of_tflite_micro(tmp_path: Path) -> None:
    ours, theirs = on_frame(tmp_path, 'builtin = "microfrontend"', "int16"), Interpreter(read_model(PREPROCESSOR))
    key = theirs.model.signatures[0].key if theirs.model.signatures else None
    for frame in tones(20):
        (features,) = ours.invoke("step", [frame])
        (expected,) = theirs.invoke(key, [frame.reshape(1, -1)])
        assert np.array_equal(features.reshape(-1), expected)


def reference_power(frame: NDArray[Any]) -> NDArray[np.float64]:
    window = 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(SAMPLES) + 0.5) / SAMPLES)
    return np.asarray(np.abs(np.fft.rfft(frame * window, 512)) ** 2)


def reference_logmel(frame: NDArray[Any], channels: int) -> NDArray[np.float64]:
    """Triangles by interpolation: each edge on the mel scale is 0, each centre 1."""
    mels = 1127 * np.log1p(np.arange(257) * 16000 / 512 / 700)
    edges = np.linspace(1127 * np.log1p(125 / 700), 1127 * np.log1p(7500 / 700), channels + 2)
    filters = [np.interp(mels, edges[i : i + 3], [0, 1, 0], 0, 0) for i in range(channels)]
    return np.log(np.array(filters) @ reference_power(frame) + 1e-6)


def test_spectra_equal_numpy(tmp_path: Path) -> None:
    frame = np.random.default_rng(1).normal(0, 1, SAMPLES).astype(np.float32)
    (power,) = on_frame(tmp_path, 'builtin = "spectrogram"').invoke("step", [frame])
    assert np.allclose(power[0], reference_power(frame), 1e-3, 1e-3)
    (features,) = on_frame(tmp_path, 'builtin = "logmel"\nchannels = 20').invoke("step", [frame])
    assert np.allclose(features[0], reference_logmel(frame, 20), 1e-3, 1e-3)
    (coefficients,) = on_frame(tmp_path, 'builtin = "mfcc"\nchannels = 20\ncoefficients = 8').invoke("step", [frame])
    angles = np.outer(np.arange(8), np.arange(20) + 0.5) * np.pi / 20
    expected = np.sqrt(2 / 20) * np.cos(angles) @ reference_logmel(frame, 20)
    expected[0] /= np.sqrt(2)
    assert np.allclose(coefficients[0], expected, 1e-3, 1e-3)


def test_rms_and_normalisation_equal_numpy(tmp_path: Path) -> None:
    frame = tones(1)[0]
    (value,) = on_frame(tmp_path, 'builtin = "rms"\nscale = 0.5', "int16").invoke("step", [frame])
    assert np.allclose(value, 0.5 * np.sqrt(np.mean(frame.astype(np.float64) ** 2)), 1e-4)
    text = '[input.x]\ntype = "float32"\nshape = [4, 3]\n[stage.s]\ninput = "x"\nbuiltin = "normalize"\n'
    x = np.random.default_rng(2).normal(0, 9, (4, 3)).astype(np.float32)
    (values,) = application(tmp_path, f"{text}mean = [1, 2, 3]\ndeviation = [4, 5, 0.5]\n").invoke("step", [x])
    assert np.allclose(values, (x - [1, 2, 3]) / [4, 5, 0.5], 1e-5)


HOP = 160


def windowed(folder: Path, stage: str, shape: str, rows: int) -> Interpreter:
    text = f'[input.x]\ntype = "float32"\nshape = {shape}\n[stage.s]\ninput = "x"\nslide = [0, {rows}]\n{stage}\n'
    return application(folder, text)


@pytest.mark.parametrize("stage", ["spectrogram", "logmel", "mfcc", "rms"])
def test_builtins_compute_frames_that_overlap(stage: str, tmp_path: Path) -> None:
    """30 ms every 10 ms: from the third call on, a window's outputs are those of its samples at once."""
    (tmp_path / "whole").mkdir()
    whole = on_frame(tmp_path / "whole", f'builtin = "{stage}"')
    sliding = windowed(tmp_path, f'builtin = "{stage}"\nwindow = {SAMPLES}', f"[{HOP}]", HOP)
    samples = np.random.default_rng(5).normal(0, 9, 7 * HOP).astype(np.float32)
    for call in range(7):
        value, ran = sliding.invoke("step", [samples[call * HOP :][:HOP]])
        end = (call + 1) * HOP
        assert bool(ran[0]) == (end >= SAMPLES)
        if end >= SAMPLES:
            np.testing.assert_array_equal(value, whole.invoke("step", [samples[end - SAMPLES : end]])[0])


def test_windows_of_an_imu_are_normalised(tmp_path: Path) -> None:
    stage = 'builtin = "normalize"\nwindow = 5\nmean = [1, 2, 3]\ndeviation = [4, 5, 0.5]'
    rows = np.random.default_rng(6).normal(0, 9, (8, 3)).astype(np.float32)
    imu = windowed(tmp_path, stage, "[1, 3]", 1)
    for call in range(8):
        values, ran = imu.invoke("step", [rows[call : call + 1]])
        assert bool(ran[0]) == (call >= 4)
    assert np.allclose(values, (rows[3:8] - [1, 2, 3]) / [4, 5, 0.5], 1e-5)


TWO = 'input = "x"\nbuiltin = '
HEAD = '[input.x]\ntype = "float32"\nshape = [1, 4]\n[stage.a]\ninput = "x"\nbuiltin = "argmax"\n'
BAD = {
    '[input.x]\n[stage.a]\ninput = "x"\nbuiltin = "rms"\n': r"app.toml:1: input.x: needs a type and a shape",
    '[input.x]\ntype = "int7"\n[stage.a]\ninput = "x"\nbuiltin = "rms"\n': r"app.toml:2: input.x.type: 'int7'",
    '[input.x]\nperiod = "10 min"\n[stage.a]\ninput = "x"\nbuiltin = "rms"\n': r"app.toml:2: input.x.period: .*a time",
    "[input.x": r"app.toml: is not TOML",
    "a = 1": r"app.toml:1: a: is not a key here",
    '[input.x]\n[stage.a]\ninput = "x"\nmodel = "none.tflite"\n': r"app.toml:4: stage.a.model: there is no file",
    '[input.x]\n[stage.a]\ninput = "x"\n': r"app.toml:2: stage.a: a stage has either a model or a builtin",
    f"{HEAD}whne = 3\n": r"app.toml:7: stage.a.whne: is not a setting of argmax",
    f'{HEAD}when = "a.index[0] + 1"\n': r"app.toml:7: stage.a.when: .*is not an element",
    f'{HEAD}when = "__import__(1) > 2"\n': r"app.toml:7: stage.a.when: .*is not an element",
    f"{HEAD}every = 0\n": r"app.toml:7: stage.a.every",
    f"{HEAD}slide = [2, 1]\n": r"app.toml:7: stage.a.slide: .*no axis 2",
    f'{HEAD}[stage.b]\ninput = "c"\nbuiltin = "rms"\n': r"app.toml:8: stage.b.input: there is no 'c'",
    f'{HEAD}[stage.b]\ninput = "a"\nbuiltin = "rms"\n': r"app.toml:8: stage.b.input: 'a' is not an output; .* value",
    f'{HEAD}[stage.b]\n{TWO}"argmax"\nwhen = "a.index[7] > 1"\n': r"app.toml:10: .*\[7\] is not an element",
    f'{HEAD}[stage.b]\ninput = "b.index"\nbuiltin = "debounce"\ncount = 1\n': r"stage.b: reads its own outputs: b -> b",
    f'{HEAD}[stage.b]\n{TWO}"smooth"\nwindow = 2\nthreshold = 1\nhold = "1 s"\n': r"app.toml:12: .*period",
    '[input.x]\ntype = ["int16"]\nshape = [2]\n': r"app.toml:2: input.x.type: \['int16'\] is not an element type",
    '[input.x]\ntype = "int8"\nshape = [2000000000]\n': r"app.toml:3: input.x.shape: has more than 16,777,216",
    '[input.x]\ntype = "int8"\nshape = [2000000000, 2000000000, 2000000000]\n': r"app.toml:3: input.x.shape: has more",
    '[input.x]\nperiod = "1 s"\n[input.y]\nperiod = "2 s"\n[stage.a]\ninput = "x"\nbuiltin = "rms"\n': (
        r"app.toml:4: input.y.period: is another than that of 'x'"
    ),
    "[stages.a]\n": r"app.toml:1: stages: is not a key here",
    f"{HEAD}[[stage.b]]\n": r"app.toml:7: stage.b: is a table",
    f'{HEAD}[stage."b c"]\n{TWO}"rms"\n': r"app.toml:7: stage.b c: a name has letters",
    f'{HEAD}when = ""\n': r"app.toml:7: stage.a.when: is a condition",
    f'{HEAD}[stage.b]\ninput = "a."\nbuiltin = "rms"\n': r"app.toml:8: stage.b.input: 'a.' is neither NAME nor",
    f'{HEAD}[stage.b]\ninput = "a[0]"\nbuiltin = "rms"\n': r"app.toml:8: stage.b.input: 'a\[0\]' is neither NAME",
    f'outputs = ["a.index[0]"]\n{HEAD}': r"app.toml:1: outputs: 'a.index\[0\]' is neither NAME nor NAME.OUTPUT",
    f"{HEAD}slide = [1, 4]\n": r"app.toml:7: stage.a.slide: a call brings 4 of float32\[1,4\].*no window",
    f'{HEAD}[stage.b]\n{TWO}"rms"\nwhen = "x > 1"\n': r"app.toml:10: .*: all of it is not an element of 'x', which",
    '[input.x]\n[stage.a]\ninput = "x"\nmodel = "."\n': r"app.toml:4: stage.a.model: there is no file",
    '[input.x]\n[stage.a]\ninput = "x"\nmodel = "app.toml"\n': r"app.toml:4: stage.a.model: .*app.toml: this is not",
    f'outputs = ["a.ran", "a.ran"]\n{HEAD}': r"app.toml:1: outputs: has 'a.ran' twice",
}


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    """Editors of Windows begin a file with one."""
    application(tmp_path, f"\ufeff{HEAD}")


@pytest.mark.parametrize("text", BAD)
def test_errors_name_line_and_key(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=BAD[text]):
        application(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "a.b > c",
        "a > b > 1",
        "a.b[-1] > 0",
        "a.b.c > 1",
        "f(a) > 1",
        "a.b > 'x'",
        "1 > a.b",
        "",
        "(" * 300,
        "a if b else c",
    ],
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no|most"):
        parse_condition(text)


def test_a_model_that_does_not_fit_is_named(tmp_path: Path) -> None:
    gate = ROOT / "examples" / "gate.tflite"
    text = f'{HEAD}[stage.b]\ninput = "a.index"\nmodel = "{gate}"\n'
    with pytest.raises(ModelError, match=r"app.toml:8: stage.b.input: is int32\[1\], and the stage takes int8"):
        application(tmp_path, text)
