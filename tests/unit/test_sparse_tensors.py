"""Sparse constants are read in dense form, as LiteRT's DENSIFY makes it; damaged ones are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from numpy.typing import NDArray
from support.commands import tflmgen
from support.litert import run_litert_model
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite.reader import parse_model

schema: Any = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="ai-edge-litert makes the files")

ROWS, COLUMNS = 8, 12
BLOCKS = ((1, 1), (1, 4), (4, 4), (2, 3))


def sparse_matrix(block: tuple[int, int], seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    kept = np.kron(rng.random((ROWS // block[0], COLUMNS // block[1])) < 0.4, np.ones(block))
    return np.where(kept, rng.normal(size=(ROWS, COLUMNS)), 0).astype(np.float32)


def sparsity(matrix: NDArray[np.float32], block: tuple[int, int]) -> tuple[Any, NDArray[np.float32]]:
    """Rows of blocks that list the columns of those with an element, and the elements in that order."""
    tall, wide = block
    blocks = matrix.reshape(ROWS // tall, tall, COLUMNS // wide, wide).swapaxes(1, 2)
    listed = [np.flatnonzero(row.any(axis=(1, 2))) for row in blocks]
    segments = np.cumsum([0, *map(len, listed)])
    parameters = schema.SparsityParametersT()
    parameters.traversalOrder, parameters.blockMap = [0, 1, 2, 3], [0, 1]
    parameters.dimMetadata = [
        _level(size=ROWS // tall),
        _level(segments=segments, indices=np.concatenate(listed)),
        _level(size=tall),
        _level(size=wide),
    ]
    return parameters, np.concatenate([row[columns] for row, columns in zip(blocks, listed, strict=True)]).reshape(-1)


def _level(size: int = 0, segments: Any = None, indices: Any = None) -> Any:
    level = schema.DimensionMetadataT()
    level.format, level.denseSize = int(segments is not None), size
    if segments is not None:
        level.arraySegmentsType = level.arrayIndicesType = schema.SparseIndexVector.Int32Vector
        level.arraySegments, level.arrayIndices = schema.Int32VectorT(), schema.Int32VectorT()
        level.arraySegments.values, level.arrayIndices.values = segments.tolist(), indices.tolist()
    return level


def model(parameters: Any, elements: NDArray[np.float32]) -> bytes:
    """DENSIFY of a sparse matrix, which FULLY_CONNECTED multiplies a row by."""
    file, graph, empty, weights = schema.ModelT(), schema.SubGraphT(), schema.BufferT(), schema.BufferT()
    file.version, weights.data, empty.data = 3, list(elements.tobytes()), []
    file.buffers, file.subgraphs, file.operatorCodes = [empty, weights], [graph], []
    shapes = {"x": (1, COLUMNS), "sparse": (ROWS, COLUMNS), "dense": (ROWS, COLUMNS), "y": (1, ROWS)}
    graph.tensors = []
    for name, shape in shapes.items():
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.hasRank = name, list(shape), schema.TensorType.FLOAT32, True
        tensor.buffer, tensor.sparsity = (1, parameters) if name == "sparse" else (0, None)
        graph.tensors.append(tensor)
    graph.operators = []
    for number, (name, inputs, outputs) in enumerate((("Densify", [1], [2]), ("FullyConnected", [0, 2, -1], [3]))):
        code, operator = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode = getattr(schema.BuiltinOperator, {"Densify": "DENSIFY"}.get(name, "FULLY_CONNECTED"))
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
        file.operatorCodes.append(code)
        operator.opcodeIndex, operator.inputs, operator.outputs = number, inputs, outputs
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, f"{name}Options")
        operator.builtinOptions = getattr(schema, f"{name}OptionsT")()
        graph.operators.append(operator)
    graph.inputs, graph.outputs = [0], [3]
    builder = flatbuffers.Builder(1024)
    builder.Finish(file.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_dense_form_is_that_of_litert(block: tuple[int, int], tmp_path: Path) -> None:
    matrix = sparse_matrix(block, sum(block))
    data = model(*sparsity(matrix, block))
    (graph,) = parse_model(data, "m.tflite").subgraphs
    assert [op.name for op in graph.operators] == ["FULLY_CONNECTED"]
    read = graph.tensors[graph.operators[0].inputs[1]].data
    assert read == matrix.tobytes()
    row = np.random.default_rng(7).normal(size=(1, COLUMNS)).astype(np.float32)
    (expected,) = run_litert_model(data, [row])
    (tmp_path / "m.tflite").write_bytes(data)
    np.savez(tmp_path / "in.npz", s0_in_0=row, s0_out_0=expected)
    done = tflmgen("test", tmp_path / "m.tflite", "--board", "host", "--vectors", tmp_path / "in.npz")
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: setattr(p.dimMetadata[1].arrayIndices, "values", [99] * 20), "segments|not below"),
        (lambda p: setattr(p.dimMetadata[1].arraySegments, "values", [0, 5, 2, 99, 1, 0, 0, 0, 0]), "segments"),
        (lambda p: setattr(p, "traversalOrder", [0, 0, 1, 2]), "order of its dimensions"),
        (lambda p: setattr(p, "blockMap", [0, 7]), "blocks are along"),
        (lambda p: setattr(p.dimMetadata[3], "denseSize", 5), "do not divide"),
        (lambda p: setattr(p.dimMetadata[0], "denseSize", 1 << 30), "dense dimension|elements"),
    ],
)
def test_damaged_forms_are_refused(change: Any, reason: str) -> None:
    parameters, elements = sparsity(sparse_matrix((1, 4), 5), (1, 4))
    change(parameters)
    with pytest.raises(ModelError, match=f"its sparse form is damaged: .*({reason})"):
        parse_model(model(parameters, elements), "m.tflite")


def test_little_files_do_not_become_large() -> None:
    parameters, elements = sparsity(sparse_matrix((1, 4), 5), (1, 4))
    file = schema.ModelT.InitFromPackedBuf(model(parameters, elements), 0)
    file.subgraphs[0].tensors[1].shape = [1 << 15, 1 << 15]
    builder = flatbuffers.Builder(1024)
    builder.Finish(file.Pack(builder), b"TFL3")
    with pytest.raises(ModelError, match="its sparse constants have 1,073,741,824 elements"):
        parse_model(bytes(builder.Output()), "m.tflite")
