"""Rewrites of a float Model before calibration, so that more of its operators have integer forms.

Tensors keep their indices; operands that are constants lose theirs, and new constants come last.
"""

from __future__ import annotations

from tflmgen.frontend import LstmLoop, find_lstm_loops
from tflmgen.frontend.model_graph import rewrite_model, with_own_buffers, without_captured
from tflmgen.frontend.tflite import Model
from tflmgen.quantize.fake_quantization import without_fake_quant
from tflmgen.quantize.float_rules import constant_dequantized, constant_moved, flat_bias, stand_in, sum_chain
from tflmgen.quantize.hoisted_products import with_hoisted_products
from tflmgen.quantize.layer_moves import with_moved_layers


def simplify(model: Model, fuses_lstm: bool, keeps_state: bool) -> Model:
    """The Model with fewer operators and constants for loop variables, and with products hoisted out of loops.

    fuses_lstm, keeps_state  loops that are such LSTM layers stay as they are, as do those of stateful layers
    """
    model = _with_constants(model)
    layers = {b: layer for b, layer in find_lstm_loops(model, keeps_state).items() if isinstance(layer, LstmLoop)}
    fused = {body for body, layer in layers.items() if (fuses_lstm and not layer.takes_sums) or layer.is_stateful}
    return with_own_buffers(with_moved_layers(with_hoisted_products(model, fused), fused))


def lstm_loops_of(model: Model, keeps_state: bool) -> dict[int, LstmLoop | str]:
    """Loops of a float model with an LSTM cell, as `find_lstm_loops` has them."""
    return find_lstm_loops(_with_constants(model), keeps_state)


def _with_constants(model: Model) -> Model:
    """The Model with DEQUANTIZE of constants evaluated, captured constants inside, and operators with int8 kernels."""
    model = without_captured(without_fake_quant(rewrite_model(model, constant_dequantized)))
    for rule in (constant_moved, sum_chain, stand_in, flat_bias):
        model = rewrite_model(model, rule)
    return model
