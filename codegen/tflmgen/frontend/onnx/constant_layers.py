"""Operators that are lowered where all their operands are constants; ONNX's evaluator computes the others."""

from __future__ import annotations

SEQUENCES = frozenset(
    {
        *("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength"),
        *("ConcatFromSequence", "SplitToSequence"),
    }
)
"""Operators that take or give sequences, whose lengths and places are known at build time."""

LOWERED = SEQUENCES | frozenset(
    {
        *("DequantizeLinear", "Slice", "Resize", "Upsample", "RoiAlign", "GridSample", "AffineGrid"),
        *("Softmax", "LogSoftmax", "Hardmax", "LpNormalization", "MeanVarianceNormalization", "LRN"),
        *("BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization"),
        *("Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "RNN", "GRU", "LSTM", "DFT", "STFT"),
        *("MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", "MaxUnpool"),
    }
)
"""Operators that are lowered even where all operands are constants: DequantizeLinear keeps integers, and of the others
ONNX's evaluator has layers that differ from ONNX Runtime, or from older versions of the operator set."""
