"""SVDF and LSTM in many shapes, and layers in other types than int8, for the cost models of their kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from support.conv_cases import pick
from support.cost_samples import LSTM, Layer


def typed(name: str, layer: Layer, rng: np.random.Generator) -> Layer:
    """The layer in the type of family `name`, with what matters to its kernels alone."""
    if "_s16_" in name:
        # Windows are copied by halves of words where there are few channels.
        channels = int(rng.integers(1, 6)) if name.startswith("conv2d") and rng.random() < 0.3 else layer.channels
        return replace(layer, dtype="int16", channels=channels)
    if not name.endswith("_f32"):
        return layer
    layer = replace(layer, dtype="float32", six=bool(rng.random() < 0.2))
    if rng.random() > 0.3:
        return layer
    if name.startswith("depthwise"):
        channels = int(rng.integers(1, 9))
        return replace(layer, channels=channels, outputs=channels * int(pick(rng, 2, 8)))
    if name.startswith("conv2d"):
        return replace(layer, channels=int(pick(rng, 4, 8, 24)), outputs=int(pick(rng, 8, 12)), groups=2)
    return replace(layer, outputs=int(rng.integers(1, 4)))  # units that are computed one by one


def svdf_layer(name: str, rng: np.random.Generator) -> Layer:
    real = name.endswith("_f32")
    return Layer(
        "SVDF",
        (int(pick(rng, 1, 1, 2)), 1),
        int(pick(rng, 8, 16, 40, 64, rng.integers(4, 120))),
        outputs=int(pick(rng, 4, 8, 16, 32, 33, 40 if real else 64, rng.integers(2, 40 if real else 100))),
        relu=False,
        beyond=name == "svdf_dsp" and bool(rng.random() < 0.3),
        dtype="float32" if real else "int8",
        rank=int(pick(rng, 1, 1, 2, 3, 4)),
        memory=int(pick(rng, 8, 12, 16, 32, rng.integers(2, 20), rng.integers(2, 20))),
        state=str(pick(rng, "int8", "int16")),
    )


def lstm_layer(name: str, rng: np.random.Generator) -> Layer:
    dsp, real = name == "lstm_dsp", name.endswith("_f32")
    most = 24 if real else 64  # as many weights as the smallest flash holds
    inputs, cells = (int(pick(rng, 8, 16, 20, min(most, 32), rng.integers(2, most))) for _ in range(2))
    if dsp and rng.random() < 0.2:
        inputs = int(rng.integers(250, 288))
    return Layer(
        LSTM,
        (int(pick(rng, 1, 1, 2)), int(rng.integers(1, 8))),
        inputs,
        outputs=cells,
        relu=bool(rng.random() < 0.3),
        dtype="float32" if real else "int8",
    )
