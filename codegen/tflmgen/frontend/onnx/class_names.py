"""Models with numbers in place of strings, and without ZipMap: classes by their number, of which a table has the names.

A microcontroller's outputs are numbers. Strings of a classifier are labels: each becomes its place in one table of the
model's strings, classes first, in the order of their scores. ZipMap, which makes dictionaries of label and score, is
left out: its scores are a tensor. Evaluators get the same model.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

_RENAMED: Mapping[str, Mapping[str, str]] = {
    "TreeEnsembleClassifier": {"classlabels_strings": "classlabels_int64s"},
    "LinearClassifier": {"classlabels_strings": "classlabels_ints"},
    "SVMClassifier": {"classlabels_strings": "classlabels_ints"},
    "OneHotEncoder": {"cats_strings": "cats_int64s"},
    "LabelEncoder": {
        "keys_strings": "keys_int64s",
        "values_strings": "values_int64s",
        "default_string": "default_int64",
    },
}
"""Attributes of strings -> their twins of integers, by operator."""


def with_class_numbers(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, tuple[str, ...]]]:
    """The model without strings and maps, and the names of classes by output: of their scores, or of their numbers."""
    graph = model.graph
    maps = {node.output[0]: node for node in graph.node if node.op_type == "ZipMap" and node.output and node.input}
    strings = _strings(graph)
    if not maps and not strings:
        return model, {}
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    numbers = {text: number for number, text in enumerate(strings)}
    names: dict[str, tuple[str, ...]] = {}
    for entry in (*changed.graph.input, *changed.graph.output, *changed.graph.value_info):
        if entry.type.tensor_type.elem_type == TensorProto.STRING:
            entry.type.tensor_type.elem_type = TensorProto.INT64
            if any(entry is output or entry.name == output.name for output in changed.graph.output):
                names[entry.name] = tuple(strings)
        elif entry.name in maps:
            labels = _labels(maps[entry.name])
            entry.CopyFrom(onnx.helper.make_tensor_value_info(entry.name, TensorProto.FLOAT, None))
            names |= {entry.name: labels} if labels else {}
    for tensor in changed.graph.initializer:
        _to_numbers(tensor, numbers)
    for node in changed.graph.node:
        _without_strings(node, numbers)
    return changed, names


def _labels(node: onnx.NodeProto) -> tuple[str, ...]:
    return next((_texts(entry) for entry in node.attribute if entry.name == "classlabels_strings"), ())


def _texts(entry: AttributeProto) -> tuple[str, ...]:
    """Strings of an attribute: a string, several, or a tensor of them."""
    if entry.type == AttributeProto.TENSOR:
        return _tensor_texts(entry.t)
    values = [entry.s] if entry.type == AttributeProto.STRING else entry.strings
    return tuple(value.decode("utf-8", errors="replace") for value in values)


def _tensor_texts(tensor: TensorProto) -> tuple[str, ...]:
    if tensor.data_type != TensorProto.STRING:
        return ()
    return tuple(value.decode("utf-8", errors="replace") for value in tensor.string_data)


def _strings(graph: onnx.GraphProto) -> dict[str, None]:
    """The model's strings, each once: of classifiers and constants first, then keys, values and defaults of tables."""
    strings: dict[str, None] = {}
    tables: list[str] = []
    for tensor in graph.initializer:
        strings |= dict.fromkeys(_tensor_texts(tensor))
    for node in graph.node:
        for entry in node.attribute:
            if entry.name in ("classlabels_strings", "value_string", "value_strings"):
                strings |= dict.fromkeys(_texts(entry))
            elif entry.type == AttributeProto.TENSOR:
                strings |= dict.fromkeys(_tensor_texts(entry.t))
            elif entry.name in _RENAMED.get(node.op_type, {}):
                tables += _texts(entry)
    return strings | dict.fromkeys(tables)


def _to_numbers(tensor: TensorProto, numbers: Mapping[str, int]) -> None:
    if tensor.data_type == TensorProto.STRING:
        values = np.array([numbers[text] for text in _tensor_texts(tensor)], np.int64).reshape(tuple(tensor.dims))
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _without_strings(node: onnx.NodeProto, numbers: Mapping[str, int]) -> None:
    """The node's attributes of strings as their twins of integers; ZipMap as Identity."""
    if node.op_type == "ZipMap":
        del node.attribute[:]
        node.op_type, node.domain = "Identity", ""
    renamed = _RENAMED.get(node.op_type, {})
    for entry in node.attribute:
        if entry.type == AttributeProto.TENSOR:
            _to_numbers(entry.t, numbers)
        elif entry.name in renamed or (node.op_type == "Constant" and entry.name in ("value_string", "value_strings")):
            values = [numbers[text] for text in _texts(entry)]
            is_one = entry.type == AttributeProto.STRING
            name = renamed.get(entry.name) or ("value_int" if is_one else "value_ints")
            entry.CopyFrom(onnx.helper.make_attribute(name, values[0] if is_one else values))
        elif node.op_type == "Cast" and entry.name == "to" and entry.i == TensorProto.STRING:
            entry.i = TensorProto.INT64
