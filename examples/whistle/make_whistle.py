"""Makes whistle.tflite: spots three whistled signals in a stream of frames, one frame per invocation.

    python examples/whistle/make_whistle.py

A frame has the energies of 8 frequency bands (int8, logarithms, 0: as loud as the noise). Two variables live from one
invocation to the next: the window of the last 12 frames, and the evidence for each signal, which is half the evidence
so far and half the window's likeness to the signal. The weights of that are the signals themselves, drawn into a
window: there is nothing to train.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests"))

from support.model_writer import ModelWriter  # noqa: E402

BANDS = 8
FRAMES = 12
SIGNALS = ("rise", "fall", "call")
LOUDNESS = 3.0
"""Of a signal that is recognised with a likeness of 1."""
ENERGY: dict[str, Any] = {"scale": [0.05], "zero_point": [0]}
LIKENESS: dict[str, Any] = {"scale": [0.01], "zero_point": [0]}
INSIDE = 98
"""The weight where a signal is; elsewhere weights are such that noise all over adds up to nothing."""


def band(signal: str, frame: int) -> int:
    """The band that a signal is in at one of its frames: up, down, or two notes in turn."""
    rising = frame * BANDS // FRAMES
    return {"rise": rising, "fall": BANDS - 1 - rising, "call": 2 if frame // 3 % 2 == 0 else 5}[signal]


def make_weights() -> NDArray[np.int8]:
    """[signals, frames * bands]"""
    weights = np.full((len(SIGNALS), FRAMES, BANDS), -INSIDE // (BANDS - 1), np.int8)
    for row, signal in zip(weights, SIGNALS, strict=True):
        for frame in range(FRAMES):
            row[frame, band(signal, frame)] = INSIDE
    return weights.reshape(len(SIGNALS), -1)


def make_model() -> bytes:
    w = ModelWriter(description="tflmgen's example: a keyword spotter with state")
    g, start = w.subgraph("main"), w.subgraph("start")
    count, window_shape = len(SIGNALS), [1, FRAMES, BANDS]
    variables = {"window": np.zeros(window_shape, np.int8), "evidence": np.zeros((1, count), np.float32)}
    g.operator("CALL_ONCE", [], [], {"init_subgraph_index": start.index})
    handles, old = {}, {}
    for name, initial in variables.items():
        known = ENERGY if name == "window" else {}
        handles[name] = g.tensor(f"{name}/handle", "resource", [])
        old[name] = g.tensor(f"{name}/old", initial.dtype.name, initial.shape, **known)
        g.operator("VAR_HANDLE", [], [handles[name]], {"shared_name": name})
        g.operator("READ_VARIABLE", [handles[name]], [old[name]])
        handle = start.tensor(f"{name}/handle", "resource", [])
        start.operator("VAR_HANDLE", [], [handle], {"shared_name": name})
        start.operator("ASSIGN_VARIABLE", [handle, start.constant(f"{name}/zero", initial, **known)], [])

    frame = g.tensor("frame", "int8", [1, 1, BANDS], **ENERGY)
    later = g.tensor("later", "int8", [1, FRAMES - 1, BANDS], **ENERGY)
    bounds = [g.constant(f"bound{i}", np.array(b, np.int32)) for i, b in enumerate(([0, 1, 0], [-1, FRAMES - 1, -1]))]
    g.operator("SLICE", [old["window"], *bounds], [later])
    window = g.tensor("window", "int8", window_shape, **ENERGY)
    g.operator("CONCATENATION", [later, frame], [window], {"axis": 1})
    g.operator("ASSIGN_VARIABLE", [handles["window"], window], [])

    flat = g.tensor("flat", "int8", [1, FRAMES * BANDS], **ENERGY)
    g.operator("RESHAPE", [window, g.constant("shape", np.array([1, FRAMES * BANDS], np.int32))], [flat])
    unit = 1.0 / (FRAMES * INSIDE * LOUDNESS)
    weights = g.constant("signals", make_weights(), scale=[unit], zero_point=[0])
    likeness = g.tensor("likeness", "int8", [1, count], **LIKENESS)
    g.operator("FULLY_CONNECTED", [flat, weights], [likeness])

    real, half = g.tensor("real", "float32", [1, count]), g.constant("half", np.array(0.5, np.float32))
    g.operator("DEQUANTIZE", [likeness], [real])
    total, evidence = g.tensor("total", "float32", [1, count]), g.tensor("evidence", "float32", [1, count])
    g.operator("ADD", [old["evidence"], real], [total])
    g.operator("MUL", [total, half], [evidence])
    g.operator("ASSIGN_VARIABLE", [handles["evidence"], evidence], [])
    g.inputs, g.outputs = [frame], [evidence]
    w.signature("listen", {"frame": frame}, {"evidence": evidence})
    return w.finish()


def main() -> None:
    data = make_model()
    (HERE / "whistle.tflite").write_bytes(data)
    print(f"whistle.tflite: {len(data)} bytes")


if __name__ == "__main__":
    main()
