"""quantize --weights: int4 and int8 by blocks in place of float32 weights, and what a file cannot say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.llama2_files import Checkpoint
from support.tools import requires
from tflmgen.errors import UsageError
from tflmgen.frontend.tflite import ModelBuilder, parse_model, write_model
from tflmgen.ir import DType
from tflmgen.options import QuantizeOptions, SourceOptions
from tflmgen.quantize import BlockedFile, quantize_weights, weight_format


def quantized(folder: Path, checkpoint: Checkpoint, text: str) -> BlockedFile:
    (folder / "m.bin").write_bytes(checkpoint.bytes())
    count = min(16, checkpoint.positions)
    token = np.random.default_rng(0).integers(checkpoint.vocabulary, size=(count, 1)).astype(np.int32)
    position = np.arange(count, dtype=np.int32)[:, None]
    np.savez(folder / "text.npz", stateful=np.array(True), token=token, position=position)
    choices = QuantizeOptions(weights=text, next_token="token")
    return quantize_weights(folder / "m.bin", folder / "text.npz", weight_format(text), choices, None, SourceOptions())


@requires("gcc")
def test_weights_by_blocks_of_a_decoder(tmp_path: Path) -> None:
    checkpoint = Checkpoint(dim=64, hidden=48, layers=1, vocabulary=40, positions=16)
    result = quantized(tmp_path, checkpoint, "int4:32")
    formats = [text for _, text in result.layers]
    assert formats.count("int4:32") == 7
    assert formats.count("int8, one scale") == 1
    assert formats.count("int8, a scale per row: blocks of 32 do not divide 48") == 1
    tensors = parse_model(result.data, "m.tflite").subgraphs[0].tensors
    blocked = [tensor for tensor in tensors if tensor.blocks is not None]
    assert {(tensor.dtype, tensor.blocks and tensor.blocks.size) for tensor in blocked} == {(DType.INT4, 32)}
    floats = [tensor for tensor in tensors if tensor.dtype is DType.FLOAT32 and tensor.data is not None]
    assert all(len(tensor.data or b"") <= 4 * 16 * 16 for tensor in floats)
    assert result.loss is not None
    assert abs(result.loss.growth) < 0.1
    finer = quantized(tmp_path, checkpoint, "int8:32")
    assert finer.evaluation.sqnr_db > result.evaluation.sqnr_db + 15


@requires("gcc")
def test_a_table_of_embedding_lookup(tmp_path: Path) -> None:
    """Its table is the second operand; that of GATHER is the first."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    token, rows = graph.tensor("token", DType.INT32, (1,)), graph.tensor("rows", DType.FLOAT32, (1, 64))
    table = np.random.default_rng(1).normal(size=(40, 64)).astype(np.float32)
    graph.operator("EMBEDDING_LOOKUP", [token, graph.constant("table", table)], [rows])
    graph.inputs, graph.outputs = [token], [rows]
    (tmp_path / "m.tflite").write_bytes(write_model(builder.model()))
    np.savez(tmp_path / "text.npz", token=np.arange(8, dtype=np.int32)[:, None])
    paths = (tmp_path / "m.tflite", tmp_path / "text.npz")
    result = quantize_weights(*paths, weight_format("int4:32"), QuantizeOptions(), None, SourceOptions())
    assert [text for _, text in result.layers] == ["int8, one scale"]
    assert result.evaluation.sqnr_db > 30


@pytest.mark.parametrize("text", ["int4", "int4:16", "int2:32", "int4:32:1", ""])
def test_other_formats_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="requires one of int4:32, int4:64, int4:128, int8:32"):
        weight_format(text)
