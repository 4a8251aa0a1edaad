"""Exports models, and says what their examples should print."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tflmgen.hardware.board import HOST
from tflmgen.options import BuildOptions
from tflmgen.project.firmware_build import plan_for
from tflmgen.project.library_export import PRINTED

from support.commands import tflmgen

STAND_INS = Path(__file__).parent / "stand_ins"


def exported(model: Path, form: str, folder: Path, *options: str) -> Path:
    """The folder of an exported library, called by the model's name as its README wants it."""
    target = folder / form / "library"
    finished = tflmgen("export", model, "--format", form, "-o", target, *options)
    assert finished.code == 0, finished.err
    return target


def expected_lines(model: Path) -> dict[str, list[float]]:
    """Output name -> its first elements after one invoke with zeros, by `tflmgen run` on the host."""
    return _expected(model.read_bytes())


@cache
def _expected(data: bytes) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, inputs, outputs = (folder / file for file in ("model.tflite", "zeros.npz", "got.npz"))
        model.write_bytes(data)
        for signature in plan_for(model, HOST, BuildOptions()).module.signatures:
            arrays = {
                f"s0_in_{i}": np.zeros(port.type.max_shape, port.type.dtype.numpy)
                for i, port in enumerate(signature.inputs)
            }
            np.savez(inputs, n_sets=np.array(1), s0_sig=np.array(signature.key), **arrays)  # type: ignore[arg-type]
            finished = tflmgen("run", model, "--board", "host", "--inputs", inputs, "--outputs", outputs)
            assert finished.code == 0, finished.err
            with np.load(outputs) as got:
                for i, port in enumerate(signature.outputs):
                    values[port.name] = [float(x) for x in got[f"s0_out_{i}"].ravel()[:PRINTED]]
    return values


def printed_lines(text: str) -> dict[str, list[float]]:
    """Output name -> the numbers behind it, from what an example prints."""
    pairs = (line.rsplit(":", 1) for line in text.splitlines())
    return {name: [float(word) for word in numbers.split()] for name, numbers in pairs}


def check_printed(text: str, expected: dict[str, list[float]]) -> None:
    printed = printed_lines(text)
    assert printed.keys() == expected.keys()
    for name, numbers in expected.items():
        assert printed[name] == pytest.approx(numbers, rel=1e-5, abs=1e-6)


def run(*command: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
