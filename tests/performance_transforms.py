"""The section of docs/understand/performance.md on Fourier transforms, suppression of boxes and a Kalman filter."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper
from support.commands import tflmgen
from tflmgen.frontend.tflite import ModelBuilder, write_model
from tflmgen.ir import DType

BOARDS = (("Cortex-M4", "mps2_an386"), ("Cortex-M7", "mps2_an500"), ("Cortex-M55", "mps3_an547"))

TEXT = """## Transforms and filters

In float32. **Words** is the lower bound of words moved: inputs, outputs and constants, each once, in 4 bytes.

CMSIS-DSP's `arm_rfft_fast_f32` is counted by hand from its published source: floating-point operations, loads and
stores alone, without addresses, loops and calls. Its complex transform of half the length has butterflies of radix 8:
56 operations, 16 loads and 16 stores, and 42 operations and 14 loads more where the inputs are turned. 512 points are
73 of the former and 119 of the latter; 256 points are 64 butterflies of radix 4, of 56 instructions, before 36 and 28
of radix 8. 220 and 224 pairs change places, in 10 instructions each; each number of the spectrum but the first takes 22
in `stage_rfft_f32`."""

TRANSFORMS = (
    (512, 64 * 56 + 36 * 88 + 28 * 144 + 220 * 10 + 255 * 22),
    (1024, 73 * 88 + 119 * 144 + 224 * 10 + 511 * 22),
)
"""Lengths, and instructions of CMSIS-DSP that are counted by hand."""

BOXES, SELECTED = 100, 20


@dataclass(frozen=True, slots=True)
class Case:
    """A model: what the page calls it, its file, words of its inputs and outputs, and what CMSIS-DSP takes."""

    title: str
    suffix: str
    content: bytes
    ports: int
    peer: int | None = None


KALMAN = """<ir_version: 9, opset_import: ["" : 18]> kalman (float[6,1] x, float[6,6] p, float[2,1] z)
    => (float[6,1] y, float[6,6] q) {
    moved = MatMul(f, x) fp = MatMul(f, p) ft = Transpose(f) fpf = MatMul(fp, ft) ahead = Add(fpf, noise)
    hp = MatMul(h, ahead) ht = Transpose(h) hph = MatMul(hp, ht) s = Add(hph, r) det = Det(s)
    flat = Reshape(s, four) turned = Gather(flat, places) signed = Mul(turned, signs) adjugate = Reshape(signed, two)
    inverse = Div(adjugate, det) pht = Transpose(hp) gain = MatMul(pht, inverse) seen = MatMul(h, moved)
    off = Sub(z, seen) step = MatMul(gain, off) y = Add(moved, step) less = MatMul(gain, hp) q = Sub(ahead, less) }"""


def transform(length: int) -> bytes:
    builder = ModelBuilder("transform")
    graph = builder.subgraph("main")
    graph.inputs = [graph.tensor("samples", DType.FLOAT32, (1, length))]
    graph.outputs = [graph.tensor("spectrum", DType.FLOAT32, (1, length + 2))]
    graph.operator("CUSTOM:SignalRfft", graph.inputs, graph.outputs, {"T": 0, "fft_length": length})
    return write_model(builder.model())


def suppression() -> bytes:
    builder = ModelBuilder("suppression")
    graph = builder.subgraph("main")
    boxes = graph.tensor("boxes", DType.FLOAT32, (BOXES, 4))
    scores = graph.tensor("scores", DType.FLOAT32, (BOXES,))
    numbers = [graph.constant("most", np.int32(SELECTED)), graph.constant("overlap", np.float32(0.5))]
    numbers.append(graph.constant("least", np.float32(0.1)))
    graph.inputs = [boxes, scores]
    graph.outputs = [graph.tensor("selected", DType.INT32, (SELECTED,)), graph.tensor("number", DType.INT32, ())]
    graph.operator("NON_MAX_SUPPRESSION_V4", [boxes, scores, *numbers], graph.outputs)
    return write_model(builder.model())


def kalman() -> bytes:
    """A step of a filter of a point with two coordinates, their speeds and accelerations, of which two are measured."""
    model = onnx.parser.parse_model(KALMAN)
    motion = np.kron(np.array([[1, 0.1, 0.005], [0, 1, 0.1], [0, 0, 1]]), np.eye(2)).astype(np.float32)
    arrays: dict[str, Any] = {
        "f": motion,
        "noise": np.float32(0.01) * np.eye(6, dtype=np.float32),
        "h": np.eye(2, 6, dtype=np.float32),
        "r": np.float32(0.1) * np.eye(2, dtype=np.float32),
        "four": np.array([4]),
        "two": np.array([2, 2]),
        "places": np.array([3, 1, 2, 0]),
        "signs": np.array([1, -1, -1, 1], np.float32),
    }
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return bytes(model.SerializeToString())


def transforms_section() -> list[str]:
    cases = [
        Case(f"real transform of {n:,} samples", "tflite", transform(n), 2 * n + 2, peer) for n, peer in TRANSFORMS
    ]
    title = f"suppression of {BOXES} boxes, {SELECTED} selected at most"
    cases.append(Case(title, "tflite", suppression(), 5 * BOXES + SELECTED + 1))
    cases.append(Case("Kalman step of 6 states, 2 measured", "onnx", kalman(), 86))
    lines = [TEXT, "", "| Core | | instructions | words | CMSIS-DSP | cycles (estimated) | code, bytes |"]
    lines.append("|---|---|--:|--:|--:|--:|--:|")
    with TemporaryDirectory() as folder:
        for core, board in BOARDS:
            for case in cases:
                path = Path(folder, f"m.{case.suffix}")
                path.write_bytes(case.content)
                lines.append(_row(core, board, case, path))
                print(lines[-1], flush=True)
    return [*lines, ""]


def _row(core: str, board: str, case: Case, path: Path) -> str:
    peer = case.peer if board == "mps2_an386" else None
    done = tflmgen("bench", path, "--board", board, "--json", "--timeout", "600")
    if done.code != 0:
        sys.exit(done.err)
    report = done.json
    low, high = report["total"]["cycles_range"]
    words = case.ports + report["memory"]["weights_bytes"] // 4
    cells = [core, case.title, f"{report['total']['instructions']:,}", f"{words:,}", f"{peer:,}" if peer else ""]
    cells += [f"{low:,}" if low == high else f"{low:,} to {high:,}", f"{report['memory']['code_bytes']:,}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print("\n".join(transforms_section()))
