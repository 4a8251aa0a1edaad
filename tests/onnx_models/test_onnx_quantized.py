"""Quantised ONNX models run by integer kernels, within one step of ONNX Runtime without its optimisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from support.onnx_networks import CLASSES, NETWORKS, SHAPE, network
from support.onnx_quantized import (
    LAYERS,
    RUNTIME_LAYERS,
    Array,
    compiled,
    exact_session,
    float_operators,
    operators,
    outputs_of,
    random_layer,
    runtime_layer,
    step_differences,
)

Case = tuple[str, int | str]
"""What a layer is, and what else decides it."""

Layer = tuple[onnx.ModelProto, list[dict[str, Array]]]


def _differences(layers: Mapping[Case, Layer], path: Path) -> list[str]:
    """Layers that differ from ONNX Runtime by more than a step, or that don't run in integers."""
    models = [compiled(model, path / "m.onnx", f"m{k}") for k, (model, _) in enumerate(layers.values())]
    results = outputs_of(models, [samples for _, samples in layers.values()])
    differences = []
    for (case, (model, samples)), model_c, ours in zip(layers.items(), models, results, strict=True):
        session = exact_session(model)
        distance = max(
            float(step_differences(o, session.run(None, feed)[0], model).max())
            for o, feed in zip(ours, samples, strict=True)
        )
        if distance > 1:
            differences.append(f"{case}: {distance} steps")
        if float_operators(model_c):
            differences.append(f"{case}: computes {float_operators(model_c)}")
        if not {*case[0].split()[0].split("/")} & {*operators(model_c)}:
            differences.append(f"{case}: is {operators(model_c)}")
    return differences


def _random(seeds: range) -> dict[Case, Layer]:
    return {(kind, seed): random_layer(kind, seed) for kind in LAYERS for seed in seeds}


def test_each_layer_is_within_a_step_in_integers(tmp_path: Path) -> None:
    assert _differences(_random(range(1)), tmp_path) == []


@pytest.mark.sweep
def test_many_layers(tmp_path: Path) -> None:
    assert _differences(_random(range(1, 21)), tmp_path) == []


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_operators_of_onnx_runtime_are_within_a_step_in_integers(dtype: str, tmp_path: Path) -> None:
    layers: dict[Case, Layer] = {(kind, dtype): runtime_layer(kind, dtype) for kind in RUNTIME_LAYERS}
    assert _differences(layers, tmp_path) == []


class _Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, images: Sequence[Array]) -> None:
        self._images = iter(images)

    def get_next(self) -> dict[str, Array] | None:
        image = next(self._images, None)
        return None if image is None else {"x": image}


def _quantised(name: str, path: Path, number: int) -> onnx.ModelProto:
    """A network quantised by ONNX Runtime: int8 or uint8 activations, per channel or not, QDQ or QLinear operators."""
    onnx.save(network(name), path / "float.onnx")
    quantize_static(
        path / "float.onnx",
        path / "quantized.onnx",
        _Samples(_images(8, 0)),
        quant_format=QuantFormat.QOperator if number % 5 == 4 else QuantFormat.QDQ,
        activation_type=QuantType.QUInt8 if number % 2 else QuantType.QInt8,
        weight_type=QuantType.QInt8,
        per_channel=number % 3 != 2,
        reduce_range=number % 5 == 4,  # ONNX Runtime's products of uint8 and int8 saturate on x86-64 without VNNI
    )
    return onnx.load(path / "quantized.onnx")


def _images(count: int, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(count)]


def test_networks_are_within_a_step_for_99_percent_of_their_outputs(tmp_path: Path) -> None:
    models = {name: _quantised(name, tmp_path, number) for number, name in enumerate(NETWORKS)}
    compiled_models = [compiled(model, tmp_path / "m.onnx", f"m{k}") for k, model in enumerate(models.values())]
    images = _images(6, 1)
    results = outputs_of(compiled_models, [[{"x": image} for image in images]] * len(compiled_models))
    differences = []
    for (name, model), model_c, ours in zip(models.items(), compiled_models, results, strict=True):
        session = exact_session(model)
        theirs = [session.run(None, {"x": image})[0] for image in images]
        distances = np.concatenate(
            [step_differences(a, b, model).reshape(-1) for a, b in zip(ours, theirs, strict=True)]
        )
        if (distances <= 1).mean() < 0.99:
            differences.append(
                f"{name}: {(distances > 1).sum()} of {distances.size} differ by up to {distances.max()} steps"
            )
        # Of classes whose outputs are equal, either may come first.
        same = [b.reshape(-1)[a.argmax()] == b.max() for a, b in zip(ours, theirs, strict=True)]
        if theirs[0].size == CLASSES and not all(same):
            differences.append(f"{name}: another class")
        if float_operators(model_c):
            differences.append(f"{name}: computes {float_operators(model_c)}")
    assert differences == []
