"""SVDF and LSTM in many shapes, for their kernels' cost models."""

from __future__ import annotations

import numpy as np

from support.conv_cases import pick
from support.cost_samples import LSTM, Layer


def svdf_layer(name: str, rng: np.random.Generator) -> Layer:
    real = name.endswith("_f32")
    return Layer(
        "SVDF",
        (int(pick(rng, 1, 1, 2)), 1),
        int(pick(rng, 8, 16, 40, 64, rng.integers(4, 120))),
        outputs=int(pick(rng, 4, 8, 16, 32, 33, 64, rng.integers(2, 100))),
        relu=False,
        beyond=name == "svdf_dsp" and bool(rng.random() < 0.3),
        dtype="float32" if real else "int8",
        rank=int(pick(rng, 1, 1, 2, 3, 4)),
        memory=int(pick(rng, 8, 12, 16, 32, rng.integers(2, 20), rng.integers(2, 20))),
        state=str(pick(rng, "int8", "int16")),
    )


def lstm_layer(name: str, rng: np.random.Generator) -> Layer:
    dsp, real = name == "lstm_dsp", name.endswith("_f32")
    inputs, cells = (int(pick(rng, 8, 16, 20, 32, rng.integers(2, 64))) for _ in range(2))
    if dsp and rng.random() < 0.2:
        inputs = int(rng.integers(250, 288))
    return Layer(
        LSTM,
        (int(pick(rng, 1, 1, 2)), int(rng.integers(1, 8))),
        inputs,
        outputs=cells,
        relu=bool(rng.random() < 0.3),
        beyond=dsp and bool(rng.random() < 0.3),
        dtype="float32" if real else "int8",
    )
