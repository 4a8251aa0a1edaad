"""Weights alone in 4 or 8 bits with a scale for each block of a row: activations stay float32, state and control flow.

FULLY_CONNECTED quantises its input at run time, as LiteRT's blockwise kernels do. Rows that a table is read by are int8
with one scale. A layer whose rows no whole number of blocks makes up has int8 weights and a scale per row, since a
.tflite file has no shorter block at the end of a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.frontend.model_graph import SubGraphRewrite, constant_values, rewrite_model, with_own_buffers
from tflmgen.frontend.tflite import FileOperator, FileTensor, Model, parse_model, without_unused, write_model
from tflmgen.ir import BlockQuantization, DType, Quantization
from tflmgen.kernels import traits_of
from tflmgen.options import QuantizeOptions, SourceOptions
from tflmgen.quantize.calibration_data import CalibrationData, read_calibration
from tflmgen.quantize.evaluation import Array, Evaluation, compare_runs, run_sets
from tflmgen.quantize.observed_build import observed_build
from tflmgen.quantize.token_losses import TokenLoss, check_loss, token_loss, wanted_tokens
from tflmgen.sources import read_source

_SIZES = (32, 64, 128)
"""Weights of a block."""
_SHRUNK = np.linspace(1, 0.7, 7)
"""Ranges that are tried of a block, as parts of its largest magnitude: ends that saturate may cost less than steps."""

_LEAST_WEIGHTS = 1024
"""Weights of a layer from which on its bytes count."""


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """Element type of weights, and how many of a row have a scale together."""

    dtype: DType
    block: int

    @property
    def text(self) -> str:
        """The format as the option has it."""
        return f"{self.dtype.label}:{self.block}"


@dataclass(frozen=True, slots=True)
class BlockedFile:
    """A model with such weights; layers: operators in order, with the format of their weights as messages have it."""

    data: bytes
    source: Model
    layers: tuple[tuple[str, str], ...]
    calibration: CalibrationData
    evaluation: Evaluation
    loss: TokenLoss | None


def weight_format(text: str) -> WeightFormat:
    """The format that an option names, as int4:32. Raises UsageError for another form."""
    name, _, size = text.partition(":")
    formats = {f"{dtype.label}:{block}": (dtype, block) for dtype in (DType.INT4, DType.INT8) for block in _SIZES}
    if f"{name}:{size}" not in formats:
        raise UsageError(f"--weights {text}: requires one of {', '.join(formats)}")
    return WeightFormat(*formats[text])


def with_block_weights(model: Model, wanted: WeightFormat) -> tuple[Model, tuple[tuple[str, str], ...]]:
    """The Model with its weights in a format, and the layers as BlockedFile has them.

    Raises ModelError for one that has no layers with constant weights in float32.
    """
    layers: list[tuple[str, str]] = []

    def rule(graph: SubGraphRewrite, op: FileOperator) -> bool:
        text = _rewritten(graph, op, wanted)
        if text:
            layers.append((f"{graph.graph.index}.{op.index} {op.name}", text))
        return bool(text)

    changed = rewrite_model(model, rule)
    if not layers:
        rule_text = f"it has no FULLY_CONNECTED and no table of {_LEAST_WEIGHTS:,} constant weights in float32 or more"
        raise ModelError([Problem(Location(model.name), rule_text)])
    return with_own_buffers(without_unused(changed)), tuple(layers)


def quantize_weights(
    path: Path,
    calibration: Path,
    wanted: WeightFormat,
    choices: QuantizeOptions,
    signature: str | None,
    source: SourceOptions,
) -> BlockedFile:
    """The model of a file with such weights, and its errors on the input sets of another. Raises as quantize_file."""
    model = read_source(path, source)
    changed, layers = with_block_weights(model, wanted)
    data = write_model(changed)
    changed = parse_model(data, model.name)
    with observed_build(model) as own, observed_build(changed) as other:
        sets = read_calibration(calibration, own.signatures, signature, own.has_state)
        text = wanted_tokens(own, sets.everything, choices)
        reference = run_sets(own, sets.everything)
        evaluation = compare_runs(own, sets.everything, reference, run_sets(other, sets.everything), changed)
        loss = token_loss(own, other, sets.everything, text) if text is not None else None
    check_loss(path, loss, choices.max_loss)
    return BlockedFile(data, model, layers, sets, evaluation, loss)


def _rewritten(graph: SubGraphRewrite, op: FileOperator, wanted: WeightFormat) -> str:
    """The format that an operator's weights get; empty where it stays as it is."""
    options, roles = op.options or {}, traits_of(op.name).roles
    is_table = roles.table is not None
    place = roles.table if is_table else roles.weights
    if place is None or options.get("axis") or options.get("batch_dims"):
        return ""
    weights = graph.tensors[op.inputs[place]]
    if weights.dtype is not DType.FLOAT32 or weights.data is None or len(weights.shape) != 2:
        return ""
    if math.prod(weights.shape) < _LEAST_WEIGHTS or (is_table and weights.shape[1] < wanted.block):
        return ""
    values = constant_values(weights)
    if is_table:
        return _table(graph, op, place, values)
    if values.shape[1] % wanted.block:
        scales = _scales(np.abs(values).max(1), 127)
        quantization = Quantization(tuple(map(float, scales)), (0,) * len(scales))
        data = np.clip(np.round(values / scales[:, None]), -127, 127)
        tensor = graph.constant(weights.name, data, DType.INT8, quantization)
        text = f"int8, a scale per row: blocks of {wanted.block} do not divide {values.shape[1]}"
    else:
        tensor, text = _blocked(graph, weights, values, wanted), wanted.text
    options = {**options, "asymmetric_quantize_inputs": True}
    graph.operators.append(graph.versioned(op, inputs=_with(op, place, tensor), options=options))
    return text


def _blocked(graph: SubGraphRewrite, weights: FileTensor, values: Array, wanted: WeightFormat) -> int:
    """Adds weights by blocks, and their scales in float16, which a file keeps in a tensor of their own."""
    top = 7 if wanted.dtype is DType.INT4 else 127
    blocks = values.astype(np.float64).reshape(len(values), -1, wanted.block)
    greatest = np.abs(blocks).max(2)
    best_scales, best_steps = np.ones_like(greatest), np.zeros_like(blocks)
    least = np.full_like(greatest, np.inf)
    for part in _SHRUNK:
        scales = _scales(greatest * part, top).astype(np.float16).astype(np.float64)
        scales = np.maximum(scales, float(np.finfo(np.float16).smallest_subnormal))
        steps = np.clip(np.round(blocks / scales[..., None]), -top, top)
        errors = ((steps * scales[..., None] - blocks) ** 2).sum(2)
        better = errors < least
        least[better], best_scales[better], best_steps[better] = errors[better], scales[better], steps[better]
    graph.constant(f"{weights.name}_scales", best_scales, DType.FLOAT16)
    quantization = BlockQuantization(tuple(map(float, best_scales.ravel())), wanted.block)
    tensor = graph.constant(weights.name, best_steps.reshape(values.shape).astype(np.int8), wanted.dtype)
    graph.tensors[tensor] = replace(graph.tensors[tensor], blocks=quantization)
    return tensor


def _with(op: FileOperator, place: int, tensor: int) -> tuple[int, ...]:
    """Inputs of an operator with another one at a place."""
    return (*op.inputs[:place], tensor, *op.inputs[place + 1 :])


def _table(graph: SubGraphRewrite, op: FileOperator, place: int, values: Array) -> str:
    """A table in int8, whose rows are converted as they are read."""
    scale = float(_scales(np.abs(values).max(), 127))
    quantization = Quantization((scale,), (0,))
    data = np.clip(np.round(values / scale), -127, 127)
    table = graph.constant(graph.tensors[op.inputs[place]].name, data, DType.INT8, quantization)
    result = graph.tensors[op.outputs[0]]
    row = graph.value(f"{result.name}_int8", result.shape, DType.INT8, quantization)
    graph.operators.append(graph.versioned(op, inputs=_with(op, place, table), outputs=(row,)))
    graph.convert(row, op.outputs[0])
    return "int8, one scale"


def _scales(greatest: Array, top: int) -> Array:
    """Steps by which numbers up to `greatest` become integers up to `top`; 1 for zeros."""
    return np.where(greatest > 0, greatest, top) / top
