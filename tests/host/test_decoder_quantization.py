"""A decoder in int8: the loss of the next token before and after, and caches that begin with zero bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.llama2_files import Checkpoint
from support.tools import requires
from tflmgen.errors import UsageError
from tflmgen.frontend.tflite import ModelBuilder, parse_model, write_model
from tflmgen.ir import DType
from tflmgen.options import QuantizeOptions
from tflmgen.quantize import quantize_file


def loss_of(checkpoint: Checkpoint, tokens: list[int]) -> float:
    logits = checkpoint.logits(tokens)[:-1]
    own = logits - logits.max(1, keepdims=True)
    return float(np.mean(np.log(np.exp(own).sum(1)) - own[np.arange(len(own)), tokens[1:]]))


@requires("gcc")
def test_a_decoder_in_int8(tmp_path: Path) -> None:
    checkpoint = Checkpoint(layers=1, positions=64, vocabulary=20, heads=2)
    (tmp_path / "m.bin").write_bytes(checkpoint.bytes())
    texts = np.random.default_rng(0).integers(20, size=(2, 24))
    positions = np.tile(np.arange(24), 2)
    token, position = (column.reshape(-1, 1).astype(np.int32) for column in (texts, positions))
    np.savez(tmp_path / "text.npz", stateful=np.array(True), token=token, position=position)

    def quantized(**choices: object) -> object:
        options = QuantizeOptions(**choices)  # type: ignore[arg-type]
        return quantize_file(tmp_path / "m.bin", tmp_path / "text.npz", options, None, lambda *_: None)

    result = quantized(next_token="token")
    loss = result.loss  # type: ignore[attr-defined]
    # The second text overwrites the rows of the first one, and sees none of them.
    assert loss.tokens == 46
    assert loss.before == pytest.approx(np.mean([loss_of(checkpoint, [int(t) for t in text]) for text in texts]), 1e-4)
    assert abs(loss.growth) < 0.05
    model = parse_model(result.quantized.data, "m.tflite")  # type: ignore[attr-defined]
    states = [graph.tensors[op.inputs[1]] for graph in model.subgraphs for op in graph.operators if "ASSIGN" in op.name]
    first_contents = [tensor for tensor in states if tensor.data is not None]
    assert [tensor.dtype for tensor in first_contents] == [DType.INT8] * 2
    assert not any(any(tensor.data or b"") for tensor in first_contents)
    with pytest.raises(UsageError, match="the model has token, position"):
        quantized(next_token="tok")
    with pytest.raises(UsageError, match="--max-loss requires --next-token"):
        quantized(max_loss=0.1)


@requires("gcc")
def test_noise_that_costs_no_loss_is_left(tmp_path: Path) -> None:
    """Behind a value of 300 times the others' range, logits of the others are noise; but all logits are small."""
    rng = np.random.default_rng(2)
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    token, row, hidden, logits = (
        graph.tensor(name, dtype, shape)
        for name, dtype, shape in (
            ("token", DType.INT32, (1,)),
            ("row", DType.FLOAT32, (1, 8)),
            ("hidden", DType.FLOAT32, (1, 8)),
            ("logits", DType.FLOAT32, (1, 12)),
        )
    )
    scales = np.array([300, *[1] * 7])[:, None]
    embedding, inner, outer = (rng.normal(0, size, (n, 8)) for n, size in ((12, 1), (8, 1), (12, 1e-3)))
    outer[6:, 0] = 0
    table, first, second = (
        graph.constant(name, array.astype(np.float32))
        for name, array in (("table", embedding), ("first", inner * scales), ("second", outer / scales.T))
    )
    graph.operator("GATHER", [table, token], [row], {"axis": 0, "batch_dims": 0})
    graph.operator("FULLY_CONNECTED", [row, first], [hidden])
    graph.operator("FULLY_CONNECTED", [hidden, second], [logits])
    graph.inputs, graph.outputs = [token], [logits]
    (tmp_path / "m.tflite").write_bytes(write_model(builder.model()))
    np.savez(tmp_path / "text.npz", stateful=np.array(True), token=rng.integers(12, size=(60, 1)).astype(np.int32))

    def hidden_type(**choices: object) -> DType | None:
        options = QuantizeOptions(**choices)  # type: ignore[arg-type]
        result = quantize_file(tmp_path / "m.tflite", tmp_path / "text.npz", options, None, lambda *_: None)
        own = parse_model(result.quantized.data, "m.tflite").subgraphs[0]
        return next(own.tensors[op.inputs[0]].dtype for op in own.operators[::-1] if op.name == "FULLY_CONNECTED")

    assert hidden_type(next_token="token") is DType.INT8
    assert hidden_type() is not DType.INT8
