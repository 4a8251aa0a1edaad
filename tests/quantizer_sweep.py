"""Compares tflmgen's quantiser with TensorFlow's and ONNX Runtime's on random nets: `python tests/quantizer_sweep.py`.

    python tests/quantizer_sweep.py FOLDER [--nets 200] [--tensorflow PYTHON] [--page]

Each net of `random_nets` has 300 samples: the first 100 calibrate, the others judge. All three quantisers get the same
float weights and samples, and keep float inputs and outputs. The figure is the noise about the mean, of all elements
and of the worst one. PYTHON runs TensorFlow. FOLDER keeps results, and what is there is not measured again. --page puts
the table into docs/use/quantize.md.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.random_nets import HEADS, UNITS, random_net
from tflmgen.actions import quantization_warnings
from tflmgen.frontend.tflite import write_model
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.options import QuantizeOptions, SourceOptions
from tflmgen.quantize import QuantizedFile, observed_build, quantize_file, run_sets
from tflmgen.quantize.cycle_estimates import rough_cycles
from tflmgen.quantize.model_quantization import QuantizationChoice, quantize_model
from tflmgen.quantize.output_errors import mean_noise
from tflmgen.sources import read_source

Array = NDArray[Any]
Record = dict[str, Any]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "use" / "quantize.md"
TITLES = "| Head, inputs | nets |"
CALIBRATION = 100
TOOLS = ("tflmgen", "TensorFlow", "ONNX Runtime")
BEST = 60.0
"""Decibels as which better results count, so that exact ones do not decide means."""

TENSORFLOW = """
import sys, numpy as np
from tensorflow.lite.python.optimize.calibrator import Calibrator
import tensorflow as tf
for folder in sys.argv[1:]:
    samples = np.load(f"{folder}/samples.npz")["x"][:100]
    calibrator = Calibrator(open(f"{folder}/f.tflite", "rb").read())
    try:
        data = calibrator.calibrate_and_quantize(
            lambda: ([x[None]] for x in samples), tf.float32, tf.float32, True, tf.int8, tf.int32)
        open(f"{folder}/tf.tflite", "wb").write(data)
    except Exception as error:
        open(f"{folder}/tf.txt", "w").write(str(error)[:200])
"""


def prepare(folder: Path, seed: int) -> None:
    """The net in both formats and its samples."""
    folder.mkdir(parents=True, exist_ok=True)
    net, samples, kind = random_net(seed)
    (folder / "f.onnx").write_bytes(net.SerializeToString())
    (folder / "f.tflite").write_bytes(write_model(read_source(folder / "f.onnx", SourceOptions())))
    np.savez(folder / "samples.npz", x=samples)
    np.savez(folder / "cal.npz", x=samples[:CALIBRATION])
    (folder / "kind.txt").write_text(kind)


def by_tflmgen(folder: Path, record: Record) -> Sequence[Array]:
    result = quantize_file(folder / "f.tflite", folder / "cal.npz", QuantizeOptions(), None, lambda *_: None)
    record["warned"] = any("dB" in text for text in quantization_warnings(result))
    record["cycles"] = cycles_beside_plain(result)
    with np.load(folder / "samples.npz") as arrays, observed_build(result.quantized.model) as build:
        sets = tuple(VectorSet("", 0, (x[None],)) for x in arrays["x"][CALIBRATION:])
        return [outputs[0] for outputs in run_sets(build, Vectors(sets)).outputs]


def cycles_beside_plain(result: QuantizedFile) -> float | None:
    """Estimated cycles by those of int8 throughout, with the same inputs and outputs and no measure against noise.

    None where that computes nothing: its output, around an offset, is a constant.
    """
    source, calibration = result.quantized.source, result.calibration
    plain = quantize_model(source, calibration, QuantizationChoice()).model
    own, other = (rough_cycles(model, {}, calibration.runs) for model in (result.quantized.model, plain))
    return own / other if other else None


def by_onnx_runtime(path: Path, samples: Array) -> Sequence[Array]:
    """Outputs of a file, operator by operator: kernels that ONNX Runtime joins may saturate where the processor has no
    VNNI, which is not the quantiser's doing."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [session.run(None, {"x": x[None]})[0] for x in samples]


def quantized_by_onnx_runtime(folder: Path, samples: Array) -> Sequence[Array]:
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.samples = iter([{"x": x[None]} for x in samples[:CALIBRATION]])

        def get_next(self) -> dict[str, Array] | None:
            return next(self.samples, None)

    target = folder / "ort.onnx"
    options = {"quant_format": QuantFormat.QDQ, "per_channel": True}
    types = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8}
    quantize_static(str(folder / "f.onnx"), str(target), Reader(), **options, **types)
    return by_onnx_runtime(target, samples[CALIBRATION:])


def by_tensorflow(folder: Path, samples: Array) -> Sequence[Array]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=(folder / "tf.tflite").read_bytes())
    interpreter.allocate_tensors()
    port, result = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    outputs = []
    for x in samples[CALIBRATION:]:
        interpreter.set_tensor(port, x[None])
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(result).copy())
    return outputs


def figures(wanted: Sequence[Array], run: Callable[[], Sequence[Array]]) -> list[float] | str:
    """Decibels about the mean of all elements and of the worst one, or why there are none."""
    try:
        got = run()
    except Exception as error:  # another quantiser's refusal is a result
        return f"{type(error).__name__}: {error}"[:200]
    noise = mean_noise(wanted, [np.abs(a.astype(np.float64) - b) for a, b in zip(got, wanted, strict=True)])
    return [BEST, BEST] if noise is None else [min(noise.whole_db, BEST), min(noise.worst_db, BEST)]


def measured(folder: Path) -> Record:
    """Figures of tflmgen's model beside those of the others, which `others` keeps for the next version of tflmgen."""
    with np.load(folder / "samples.npz") as arrays:
        samples = arrays["x"]
    wanted = by_onnx_runtime(folder / "f.onnx", samples[CALIBRATION:])
    record: Record = {"kind": (folder / "kind.txt").read_text()}
    record["tflmgen"] = figures(wanted, lambda: by_tflmgen(folder, record))
    path = folder / "others.json"
    if not path.exists():
        runs = {"TensorFlow": by_tensorflow, "ONNX Runtime": quantized_by_onnx_runtime}
        others = {tool: figures(wanted, partial(run, folder, samples)) for tool, run in runs.items()}
        path.write_text(json.dumps(others))
    known: Record = json.loads(path.read_text())
    return record | known


def table(records: Sequence[Record]) -> list[str]:
    lines = [
        f"{TITLES} tflmgen, dB | TensorFlow, dB | ONNX Runtime, dB | worst element: tflmgen | below 15 dB, warned "
        "| cycles |"
    ]
    lines.append("|---|--:|--:|--:|--:|--:|--:|--:|")
    kinds = [f"{head}, {units}" for head in HEADS for units in UNITS]
    for kind in (*kinds, "all"):
        own = [r for r in records if kind in ("all", r["kind"]) and isinstance(r["tflmgen"], list)]
        if own:
            low = [r for r in own if r["tflmgen"][1] < 15]
            means = [_mean(own, tool, 0) for tool in TOOLS]
            warned = f"{len(low)}, {sum(r['warned'] for r in low)}"
            known = [r["cycles"] for r in own if r["cycles"] is not None]
            cycles = f"{sum(known) / len(known):.2f}" if known else "-"
            worst = _mean(own, "tflmgen", 1)
            lines.append(f"| {kind} | {len(own)} | {' | '.join(means)} | {worst} | {warned} | {cycles} |")
    return lines


def _mean(records: Sequence[Record], tool: str, place: int) -> str:
    known = [r[tool][place] for r in records if isinstance(r[tool], list) and math.isfinite(r[tool][place])]
    return f"{sum(known) / len(known):.1f}" if known else "-"


def behind(records: Sequence[Record]) -> list[str]:
    """Nets that are more than 1 dB below the better of the other two, or below 15 dB without a warning."""
    lines = []
    for r in records:
        others = [r[tool][0] for tool in TOOLS[1:] if isinstance(r[tool], list)]
        if not isinstance(r["tflmgen"], list):
            lines.append(f"{r['seed']}: {r['tflmgen']}")
        elif others and r["tflmgen"][0] < max(others) - 1:
            lines.append(f"{r['seed']} ({r['kind']}): {r['tflmgen'][0]:.1f} dB, others {max(others):.1f}")
        elif r["tflmgen"][1] < 15 and not r["warned"]:
            lines.append(f"{r['seed']} ({r['kind']}): worst element {r['tflmgen'][1]:.1f} dB without a warning")
    return lines


def put_on_page(lines: Sequence[str]) -> None:
    text = PAGE.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(text) if line.startswith(TITLES))
    end = next(number for number in range(first, len(text)) if not text[number].startswith("|"))
    PAGE.write_text("\n".join([*text[:first], *lines, *text[end:]]) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nets", type=int, default=200)
    parser.add_argument("--tensorflow", type=Path)
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    folders = {seed: arguments.folder.resolve() / str(seed) for seed in range(arguments.nets)}
    for seed, folder in folders.items():
        if not (folder / "kind.txt").exists():
            prepare(folder, seed)
    missing = [str(f) for f in folders.values() if not ((f / "tf.tflite").exists() or (f / "tf.txt").exists())]
    if arguments.tensorflow and missing:
        subprocess.run([str(arguments.tensorflow), "-c", TENSORFLOW, *missing], check=True, capture_output=True)
    records = []
    for seed, folder in folders.items():
        path = folder / "record.json"
        if not path.exists():
            path.write_text(json.dumps(measured(folder) | {"seed": seed}))
        records.append(json.loads(path.read_text()))
        print(json.dumps(records[-1]), file=sys.stderr, flush=True)
    print("\n".join([*table(records), "", *behind(records)]))
    if arguments.page:
        put_on_page(table(records))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
