"""Quantises a float model with calibration data and runs the result here and in TFLite Micro."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from tflmgen.compare.oracle import tflm_outputs
from tflmgen.frontend.tflite import Model
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.ir import DType
from tflmgen.quantize import observed_build
from tflmgen.quantize.calibration import calibrate
from tflmgen.quantize.model_quantization import QuantizationChoice, QuantizedModel, prepare_float, quantize_model

from support.silent_watcher import SilentWatcher

Array = NDArray[Any]
Outputs = list[tuple[Array, ...]]

_ARENA = 1 << 22
_SECONDS = 120


@dataclass(frozen=True)
class QuantizedRun:
    """A quantised model, and its outputs for the sets that it was calibrated with.

    before  outputs of the float model
    after   of the quantised one, by the host build
    in_order  all sets run one after the other, without a reset between them
    """

    quantized: QuantizedModel
    vectors: Vectors
    before: Outputs
    after: Outputs
    in_order: bool = False

    @property
    def operators(self) -> list[Counter[str]]:
        """How many operators of each name the subgraphs have."""
        return [Counter(op.name for op in graph.operators) for graph in self.quantized.model.subgraphs]

    def of_tflm(self, folder: Path) -> Outputs:
        """Outputs of the quantised model by TFLite Micro."""
        path = folder / "quantized.tflite"
        path.write_bytes(self.quantized.data)
        return tflm_outputs(path, self.vectors.sets, _ARENA, _SECONDS, stateful=self.in_order)


def quantized_run(
    model: Model,
    inputs: Sequence[tuple[Array, ...]],
    float_io: bool = True,
    fuses_lstm: bool = False,
    keeps_state: bool = True,
    in_order: bool = False,
    activations: DType = DType.INT8,
) -> QuantizedRun:
    """Calibrates and runs a model of one signature with sets of inputs, each from the initial state.

    in_order     both models run all sets without a reset
    activations  int8 or int16
    keeps_state  as in QuantizationChoice; without it the quantised model runs all sets without a reset
    """
    vectors = Vectors(tuple(VectorSet("", 0, arrays) for arrays in inputs), stateful=in_order)
    source = prepare_float(model, fuses_lstm, keeps_state)
    with observed_build(source) as build:
        before = list(build.run(vectors.sets, in_order, SilentWatcher()))
    choice = QuantizationChoice(activations, float_io=float_io, fuses_lstm=fuses_lstm, keeps_state=keeps_state)
    quantized = quantize_model(source, calibrate(source, vectors), choice)
    with observed_build(quantized.model) as build:
        if not float_io:
            return QuantizedRun(quantized, vectors, before, [])
        after = list(build.run(vectors.sets, in_order or not keeps_state, SilentWatcher()))
    return QuantizedRun(quantized, vectors, before, after, in_order)
