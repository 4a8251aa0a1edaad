"""Gradients of random models, with branches, loops and shared weights, equal those of PyTorch and of TensorFlow."""

from __future__ import annotations

import os
import subprocess

import pytest
from support.differentiated_flow import check, pytorch_gradients
from support.repository import ROOT
from support.sampling import sampled
from support.tensorflow_environment import file_beside, interpreter, requires_tensorflow

PROGRAMS, PART = 300, 10


@pytest.mark.parametrize("seed", sampled(range(PROGRAMS), 10))
def test_autograd(seed: int) -> None:
    pytest.importorskip("torch", reason="PyTorch derives the gradients to compare with")
    check(seed, pytorch_gradients)


@requires_tensorflow
@pytest.mark.parametrize("first", sampled(range(0, PROGRAMS, PART), PROGRAMS))
def test_gradient_tape(first: int) -> None:
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "codegen"), os.environ.get("PYTHONPATH", "")])
    words = [str(interpreter()), str(file_beside("differentiated_flow.py")), str(first), str(first + PART)]
    environment = {**os.environ, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
