"""Makes examples/gate.tflite and gate.npz: a classifier that runs its costly half only when there is something to see.

    python examples/make_gate.py

The input is a 16x16 frame (brightness against the background, int8). Eight 5x5 filters, four directions in bright and
dark, look for lines. IF their strongest answers exceed a threshold, a second convolution and a fully connected layer
tell the line's direction; else the answer is a constant. The filters are line detectors written down by hand, with a
little seeded noise: there is nothing to train. The expected outputs come from TFLite Micro (package tflite-micro);
without it, gate.npz is left as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.model_writer import ModelWriter, SubgraphWriter  # noqa: E402

SIDE = 16
CELLS = 6
CLASSES = ("nothing", "horizontal", "vertical", "rising", "falling")
DIRECTIONS = 4
SEED = 7
THRESHOLD = 1.25
SAME, VALID = 0, 1
RELU = 1

Array = NDArray[Any]
Quant = dict[str, list[Any]]


def quant(scale: float, zero_point: int = 0, channels: int = 1) -> Quant:
    return {"scale": [scale] * channels, "zero_point": [zero_point] * channels}


FRAME = quant(1 / 128)
EDGES = quant(1 / 128, -128)
STRENGTH = quant(1 / 32, -128)
EVIDENCE = quant(1 / 32, -128)
LOGITS = quant(1 / 16)
SCORES = quant(1 / 256, -128)


def across(direction: int) -> Array:
    """How far each pixel of a 5x5 window lies from the line through its centre, in steps perpendicular to it."""
    y, x = np.mgrid[-2:3, -2:3]
    return np.abs((y, x, x + y, x - y)[direction])


def line_filters() -> Array:
    """[8, 5, 5, 1]: bright lines, then dark ones. Each sums to zero, so that an even frame gives no answer."""
    straight, diagonal = np.array([2, 2, -3]), np.array([2, 2, -1, -3, -4])
    bright = np.stack([(straight if d < 2 else diagonal)[across(d)] for d in range(DIRECTIONS)])
    return 30 * np.concatenate([bright, -bright])[..., np.newaxis]


def evidence_filters(noise: np.random.RandomState) -> Array:
    """[16, 3, 3, 8]: for each line filter the cells along its line, against other directions; then wider ones."""
    filters = noise.randint(-3, 4, (16, 3, 3, 8))
    for i in range(16):
        own = i % 8
        along = across(own % DIRECTIONS)[1:4, 1:4] == 0
        filters[i, :, :, own] += np.where(along, 40, 0 if i < 8 else 12)
        for other in range(own // DIRECTIONS * DIRECTIONS, own // DIRECTIONS * DIRECTIONS + DIRECTIONS):
            if other != own:
                filters[i, 1, 1, other] -= 30 if i < 8 else 15
    return filters


def class_weights(noise: np.random.RandomState) -> Array:
    """[5, 16]: a direction's class weighs its own evidence against the others'; 'nothing' is a bias alone."""
    weights = noise.randint(-3, 4, (len(CLASSES), 16))
    for i in range(16):
        weights[1:, i] -= 20
        weights[1 + i % DIRECTIONS, i] += 100
    return weights


def convolution(
    g: SubgraphWriter, name: str, x: int, weights: Array, scales: tuple[float, float], like: tuple[Quant, int, int, int]
) -> int:
    """CONV_2D without bias, with RELU. scales: input, weights; like: quantisation, side, stride, padding."""
    output, side, stride, padding = like
    channels = len(weights)
    kernel = g.constant(f"{name}/weights", weights, "int8", **quant(scales[1], channels=channels))
    bias = g.constant(f"{name}/bias", np.zeros(channels), "int32", **quant(scales[0] * scales[1], channels=channels))
    y = g.tensor(name, "int8", [1, side, side, channels], **output)
    options = {"padding": padding, "stride_w": stride, "stride_h": stride, "fused_activation_function": RELU}
    g.operator("CONV_2D", [x, kernel, bias], [y], options)
    return y


def pool(g: SubgraphWriter, operator: str, name: str, x: int, channels: int, like: Quant) -> int:
    """Over the whole map, then flattened to [1, channels]."""
    pooled = g.tensor(f"{name}/pooled", "int8", [1, 1, 1, channels], **like)
    whole = dict.fromkeys(("stride_w", "stride_h", "filter_width", "filter_height"), CELLS)
    g.operator(operator, [x], [pooled], {"padding": VALID, **whole})
    shape = g.constant(f"{name}/shape", [1, channels], "int32")
    y = g.tensor(name, "int8", [1, channels], **like)
    g.operator("RESHAPE", [pooled, shape], [y], {"new_shape": [1, channels]})
    return y


def dense(
    g: SubgraphWriter, name: str, x: int, weights: Array, bias: list[int], scales: tuple[float, float], output: Quant
) -> int:
    """FULLY_CONNECTED. scales: input, weights."""
    kernel = g.constant(f"{name}/weights", weights, "int8", **quant(scales[1]))
    addend = g.constant(f"{name}/bias", bias, "int32", **quant(scales[0] * scales[1]))
    y = g.tensor(name, "int8", [1, len(weights)], **output)
    g.operator("FULLY_CONNECTED", [x, kernel, addend], [y])
    return y


def make_model() -> bytes:
    """The .tflite file: subgraph 0 looks and decides, 1 classifies, 2 answers 'nothing'."""
    noise = np.random.RandomState(SEED)
    w = ModelWriter(description="tflmgen's example: a gate before a classifier")
    g, busy, quiet = w.subgraph("main"), w.subgraph("classify"), w.subgraph("nothing")

    frame = g.tensor("frame", "int8", [1, SIDE, SIDE, 1], **FRAME)
    edges = convolution(g, "edges", frame, line_filters(), (1 / 128, 1 / 600), (EDGES, CELLS, 2, VALID))
    peaks = pool(g, "MAX_POOL_2D", "peaks", edges, 8, EDGES)
    strength = dense(g, "strength", peaks, np.full((1, 8), 64), [0], (1 / 128, 1 / 64), STRENGTH)
    threshold = g.constant("threshold", [[round(THRESHOLD * 32) - 128]], "int8", **STRENGTH)
    something = g.tensor("something", "bool", [1, 1])
    g.operator("GREATER", [strength, threshold], [something])
    scores = g.tensor("scores", "int8", [1, len(CLASSES)], **SCORES)
    g.operator("IF", [something, edges], [scores], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    g.inputs, g.outputs = [frame], [scores]

    x = busy.tensor("classify/edges", "int8", [1, CELLS, CELLS, 8], **EDGES)
    evidence = convolution(busy, "evidence", x, evidence_filters(noise), (1 / 128, 1 / 64), (EVIDENCE, CELLS, 1, SAME))
    total = pool(busy, "AVERAGE_POOL_2D", "total", evidence, 16, EVIDENCE)
    bias = [round(1.5 * 32 * 12), 0, 0, 0, 0]
    logits = dense(busy, "logits", total, class_weights(noise), bias, (1 / 32, 1 / 12), LOGITS)
    answer = busy.tensor("classify/scores", "int8", [1, len(CLASSES)], **SCORES)
    busy.operator("SOFTMAX", [logits], [answer], {"beta": 1.0})
    busy.inputs, busy.outputs = [x], [answer]

    ignored = quiet.tensor("nothing/edges", "int8", [1, CELLS, CELLS, 8], **EDGES)
    nothing = quiet.constant("nothing/scores", [[127, -128, -128, -128, -128]], "int8", **SCORES)
    quiet.inputs, quiet.outputs = [ignored], [nothing]
    return w.finish()


def make_frames() -> list[tuple[str, Array]]:
    """Label and int8 [1, 16, 16, 1] of each input set: four quiet frames and eight with a line."""
    noise = np.random.RandomState(SEED)
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    frames = {"even": np.full((SIDE, SIDE), 90), "ramp": 6 * x - 48, "noise": noise.randint(-12, 13, (SIDE, SIDE))}
    frames["dot"] = np.where((x == 5) & (y == 9), 60, 0)
    distances = {"horizontal": y - 6, "vertical": x - 9, "rising": x + y - 16, "falling": x - y + 1}
    for brightness in (110, -90):
        for direction, distance in distances.items():
            line = np.where((distance == 0) | (distance == 1), brightness, 0)
            label = f"{'bright' if brightness > 0 else 'dark'} {direction}"
            frames[label] = line + noise.randint(-8, 9, (SIDE, SIDE))
    return [(label, f.astype(np.int8).reshape(1, SIDE, SIDE, 1)) for label, f in frames.items()]


def golden(model: bytes, frames: list[tuple[str, Array]]) -> dict[str, Array]:
    """gate.npz's arrays, with TFLite Micro's outputs."""
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model, arena_size=100_000)
    arrays: dict[str, Array] = {"n_sets": np.array(len(frames)), "stateful": np.array(False)}
    for k, (label, frame) in enumerate(frames):
        interpreter.set_input(frame, 0)
        interpreter.invoke()
        arrays |= {f"s{k}_label": np.array(label), f"s{k}_in_0": frame, f"s{k}_out_0": interpreter.get_output(0)}
    return arrays


def main() -> None:
    model = make_model()
    (HERE / "gate.tflite").write_bytes(model)
    print(f"gate.tflite: {len(model)} bytes")
    try:
        arrays = golden(model, make_frames())
    except ModuleNotFoundError as error:
        print(f"gate.npz: left as it is, since there is no {error.name}")
        return
    np.savez_compressed(HERE / "gate.npz", **arrays)  # type: ignore[arg-type]
    for k in range(int(arrays["n_sets"])):
        print(f"{arrays[f's{k}_label']!s:18}", *arrays[f"s{k}_out_0"][0])


if __name__ == "__main__":
    main()
