"""Reads an .onnx file, with its external data, and lowers it."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import inliner

from tflmgen.errors import Location, ModelError, Problem, reason_of
from tflmgen.frontend.onnx.class_names import with_class_numbers
from tflmgen.frontend.onnx.convert_graph import OnnxOptions, to_tflite
from tflmgen.frontend.onnx.float32_model import with_float32
from tflmgen.frontend.onnx.layout_graph import Array
from tflmgen.frontend.onnx.model_notes import output_names, state_pairs
from tflmgen.frontend.onnx.node import ONNX_DTYPES
from tflmgen.frontend.onnx.onnx_program import OnnxProgram
from tflmgen.frontend.onnx.source_function import file_of_source, stem_of_source
from tflmgen.frontend.onnx.torch_export import TorchRunner, onnx_of_torch, runner_of
from tflmgen.frontend.tflite.model import Model
from tflmgen.user_files import MODEL_LIMIT, read_limited

OLDEST = 7
"""Oldest version of ONNX's operator set whose forms the lowerings know."""


def read_onnx(
    path: Path,
    shapes: Mapping[str, Sequence[int]],
    constants: Mapping[str, object],
    nhwc_inputs: bool,
    for_training: bool = False,
    batch: int = 1,
) -> Model:
    """The Model of an ONNX file. Raises ModelError, which names the node or input.

    batch         size of an input's first dimension where that alone is open
    for_training  parameters that a PyTorch program tells stay as they are, for what computes with them alone, too
    """
    source, name = _loaded(path, for_training), str(path)
    numbered, names = with_class_numbers(_valid(source, name))
    model, other_floats = with_float32(numbered)
    version = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    if version and not OLDEST <= version <= onnx.defs.onnx_opset_version():
        rule = (
            f"it has version {version} of the operator set, but {OLDEST} to {onnx.defs.onnx_opset_version()} are known"
        )
        raise _error(name, rule, "Convert it with onnx.version_converter, or get a newer onnx package")
    inputs = {entry.name: entry for entry in model.graph.input}
    for kind, named in (("--shape", shapes), ("--constant", constants)):
        for unknown in [key for key in named if key not in inputs]:
            raise _error(name, f"{kind} names '{unknown}', which is none of its inputs: {', '.join(inputs)}")
    arrays = _constants(model, name, constants)
    options = OnnxOptions(shapes, arrays, nhwc_inputs, for_training, batch)
    lowered = to_tflite(model, name, options, _digest(path, source))
    types = [f"its {' and '.join(other_floats)} values are computed in float32"] if other_floats else []
    return replace(lowered, notes=(*types, *lowered.notes), class_names=_named_outputs(model, names))


def _named_outputs(model: onnx.ModelProto, names: Mapping[str, tuple[str, ...]]) -> dict[str | int, tuple[str, ...]]:
    """Names of classes by the names that outputs have for people."""
    shown = output_names(model)
    return {shown[output]: labels for output, labels in names.items()}


def program_of(path: Path, constants: Mapping[str, object]) -> OnnxProgram:
    """The model that read_onnx() accepts, as it is run. Raises ModelError."""
    source = _loaded(path)
    model, other_floats = with_float32(with_class_numbers(_valid(source, str(path)))[0])
    results = defaultdict[str, list[str]](list)
    for node in model.graph.node:
        names = [name for name in node.output if name]
        results[node.name or next(iter(names), node.op_type)] += names
    return OnnxProgram(
        onnx=model.SerializeToString(),
        torch=str(path.resolve()) if _torch_parts(path) else "",
        inputs=[entry.name for entry in _open_inputs(model.graph)],
        constants=_constants(model, str(path), constants),
        results=results,
        operators=frozenset(node.op_type for node in model.graph.node),
        is_stateful=bool(state_pairs(model)),
        types={entry.name: _dtype_name(entry) for entry in _open_inputs(source.graph)},
        other_floats=other_floats,
    )


def _dtype_name(entry: onnx.ValueInfoProto) -> str:
    """numpy's name of an input's element type, as the source takes it; empty where it has none."""
    number = entry.type.tensor_type.elem_type
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)).name if number else ""


def _digest(path: Path, model: onnx.ModelProto) -> str:
    """SHA-256 of the file, and of the model with its external data where it has such; empty for a function."""
    if file_of_source(path) != path:
        return ""
    content = path.read_bytes()
    digest = hashlib.sha256(content)
    if path.suffix.lower() != ".pt2" and model.ByteSize() > len(content):
        digest.update(model.SerializeToString(deterministic=True))
    return digest.hexdigest()


def inputs_of(path: Path) -> dict[str, bool]:
    """Names of a model's inputs without those that have a value, and whether each has dynamic dimensions."""
    graph = _loaded(path).graph
    return {
        entry.name: any(not dim.HasField("dim_value") for dim in entry.type.tensor_type.shape.dim)
        for entry in _open_inputs(graph)
    }


def types_of(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Types of a model's inputs without those that have a value, and of its outputs: float[n,3,32,32]."""
    model = _loaded(path)
    graph, next_state, shown = model.graph, state_pairs(model).values(), output_names(model)
    return (
        {entry.name: _type_text(entry) for entry in _open_inputs(graph)},
        {shown[entry.name]: _type_text(entry) for entry in graph.output if entry.name not in next_state},
    )


def _open_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """The inputs without those that have a value."""
    valued = {tensor.name for tensor in graph.initializer}
    return [entry for entry in graph.input if entry.name not in valued]


def _type_text(entry: onnx.ValueInfoProto) -> str:
    proto = entry.type.tensor_type
    name = onnx.TensorProto.DataType.Name(proto.elem_type).lower()
    dims = [str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in proto.shape.dim]
    return f"{name}[{','.join(dims)}]" if proto.HasField("shape") else name


def _valid(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model without local functions, which ONNX's checker accepts."""
    try:
        onnx.checker.check_model(model)
        return inliner.inline_local_functions(model) if model.functions else model
    except (onnx.checker.ValidationError, RuntimeError) as error:
        raise _error(name, f"it is no valid ONNX model: {reason_of(error)}") from error


def _loaded(path: Path, for_training: bool = False) -> onnx.ModelProto:
    name = str(path)
    parts = _torch_parts(path)
    if parts:
        file, function = parts
        if not file.exists():
            raise _error(str(file), "there is no such file")
        return _exported(file, function, file.stat().st_mtime_ns, for_training)
    try:
        model = onnx.load_model_from_string(read_limited(path, MODEL_LIMIT))
    except FileNotFoundError:
        raise _error(name, "there is no such file") from None
    except OSError as error:
        raise _error(name, f"it cannot be read: {error.strerror or error}") from None
    except (DecodeError, onnx.checker.ValidationError, ValueError) as error:
        raise _error(name, f"it is no ONNX file: {reason_of(error)}") from error
    try:
        _check_external(model, path.parent)
        onnx.load_external_data_for_model(model, str(path.parent))
    except (OSError, onnx.checker.ValidationError, ValueError) as error:
        raise _error(name, f"its external data cannot be read: {reason_of(error)}") from error
    return model


def _check_external(model: onnx.ModelProto, folder: Path) -> None:
    """Raises ValueError where tensors would read more of external files than they declare, or more than a model has."""
    read = 0
    for tensor in onnx.external_data_helper._get_all_tensors(model):
        if not onnx.external_data_helper.uses_external_data(tensor):
            continue
        place = {entry.key: entry.value for entry in tensor.external_data}
        file = folder / place.get("location", "")
        length = int(place["length"]) if place.get("length") else file.stat().st_size if file.is_file() else 0
        declared = 8 * math.prod(tensor.dims)
        if length > max(declared, 8):
            raise ValueError(f"'{tensor.name}' has {length:,} bytes, and its shape takes {declared:,} at most")
        read += length
    if read > MODEL_LIMIT:
        raise ValueError(f"its tensors have {read:,} bytes; at most {MODEL_LIMIT:,} are read")


def torch_runner(path: Path) -> TorchRunner:
    """Runs a PyTorch source by PyTorch."""
    parts = _torch_parts(path)
    assert parts
    return runner_of(*parts)


def _torch_parts(path: Path) -> tuple[Path, str] | None:
    """File and function of a PyTorch source; None for another."""
    if (file := file_of_source(path)) != path:
        return file, stem_of_source(path)
    return (path, "") if path.suffix.lower() == ".pt2" else None


@lru_cache(maxsize=2)
def _exported(path: Path, function: str, _changed: int, for_training: bool) -> onnx.ModelProto:
    """The ONNX model of a PyTorch program, exported once as long as the file does not change."""
    model: onnx.ModelProto = onnx_of_torch(path, function, for_training)
    return model


def _error(name: str, rule: str, advice: str = "") -> ModelError:
    return ModelError([Problem(Location(name), rule, advice)])


def _constants(model: onnx.ModelProto, name: str, values: Mapping[str, object]) -> dict[str, Array]:
    inputs = {entry.name: entry for entry in model.graph.input}
    return {key: _array(name, inputs[key], value) for key, value in values.items()}


def _array(name: str, entry: onnx.ValueInfoProto, value: object) -> Array:
    proto = entry.type.tensor_type
    dtype = ONNX_DTYPES.get(proto.elem_type)
    try:
        if dtype is None:
            raise ValueError("has an unsupported type")
        array = np.array(value).astype(dtype.numpy)
        dims = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in proto.shape.dim]
        if proto.HasField("shape") and not _has_shape(array, dims):
            raise ValueError(f"its shape is {list(array.shape)}, but the model has {_type_text(entry)}")
        return array
    except (ValueError, TypeError) as error:
        raise _error(name, f"--constant {entry.name}: {error}") from error


def _has_shape(array: Array, dims: Sequence[int]) -> bool:
    return array.ndim == len(dims) and all(dim in (-1, size) for dim, size in zip(dims, array.shape, strict=True))
