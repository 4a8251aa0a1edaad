"""A decoder in int8: the loss of the next token before and after, and caches that begin with zero bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.llama2_files import Checkpoint
from support.tools import requires
from tflmgen.errors import UsageError
from tflmgen.frontend.tflite import parse_model
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
