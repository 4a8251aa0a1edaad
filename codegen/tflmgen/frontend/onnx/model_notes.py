"""Notes that tflmgen writes into the metadata of an ONNX model, and reads back: names of outputs, and pairs of state.

torch.onnx names outputs as the operators that compute them; the notes have the keys and fields under which forward()
returns them, since a value within the graph may have the same name. State that PyTorch mutated, which ONNX lacks, is a
pair of an input and the output that replaces it in the next invoke; first values are initialisers of the inputs.
Of a PyTorch program the notes also have which initialisers are parameters: its buffers and constants are none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import numpy_helper

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.user_files import parse_json

_OUTPUTS_KEY, _STATE_KEY, _PARAMETERS_KEY = "tflmgen.outputs", "tflmgen.state", "tflmgen.parameters"


def texts_of(model: onnx.ModelProto, key: str) -> dict[str, str]:
    """The note of a key, as texts by text: a JSON object, or a list of pairs. Empty where the model has no such note.

    Raises ModelError for a note of another form: any file may have the key.
    """
    text = next((entry.value for entry in model.metadata_props if entry.key == key), "{}")
    try:
        value: Any = parse_json(text)
        texts = dict(value)
    except (TypeError, ValueError):
        texts = {"": None}
    if not all(isinstance(part, str) for pair in texts.items() for part in pair):
        raise ModelError([Problem(Location(model.graph.name or "model"), f"its metadata '{key}' is none of tflmgen's")])
    return texts


def keys_of_outputs(torch: Any, program: Any) -> list[tuple[str, ...]]:
    """The path of each tensor in what forward() returns, from its first key or field on; empty where it has none.

    None, which is no output of the ONNX model, has no path. Raises ValueError for a number: torch.onnx cannot write it.
    """
    pytree, export = torch.utils._pytree, torch.export.graph_signature
    structure = program.call_spec.out_spec
    leaves, _ = pytree.tree_flatten_with_path(pytree.tree_unflatten(range(structure.num_leaves), structure))
    results = [spec.arg for spec in program.graph_signature.output_specs if spec.kind is export.OutputKind.USER_OUTPUT]
    keys = []
    for (path, _), result in zip(leaves, results, strict=True):
        if not isinstance(result, export.ConstantArgument):
            keys.append(_from_first_key(torch, path))
        elif result.value is not None:
            raise ValueError(f"forward() returns {result.value!r}, which is no tensor")
    return keys


def _from_first_key(torch: Any, path: Sequence[Any]) -> tuple[str, ...]:
    keyed = [not isinstance(part, torch.utils._pytree.SequenceKey) for part in path]
    if not any(keyed):
        return ()
    # Keys of dictionaries, fields of named tuples and data classes, places in tuples.
    return tuple(
        str(next(getattr(part, kind) for kind in ("key", "name", "idx") if hasattr(part, kind)))
        for part in path[keyed.index(True) :]
    )


def name_outputs(model: onnx.ModelProto, outputs: Sequence[str], keys: Sequence[tuple[str, ...]]) -> None:
    """Notes the names of outputs that have keys; a name that another output has, too, is not taken."""
    names = ["_".join(path) or output for output, path in zip(outputs, keys, strict=True)]
    count = Counter([*names, *outputs])
    count.subtract(output for output, name in zip(outputs, names, strict=True) if name == output)
    chosen = {output: name for output, name in zip(outputs, names, strict=True) if count[name] == 1}
    model.metadata_props.add(key=_OUTPUTS_KEY, value=json.dumps(chosen))


def output_names(model: onnx.ModelProto) -> dict[str, str]:
    """Output of the graph -> its name for people."""
    names = {entry.name: entry.name for entry in model.graph.output}
    return names | texts_of(model, _OUTPUTS_KEY)


def mark_state(model: onnx.ModelProto, pairs: Sequence[tuple[str, str]], initial: Sequence[onnx.TensorProto]) -> None:
    """Notes the (input, output) pairs of state in the model; `initial` has the inputs' names."""
    model.graph.initializer.extend(initial)
    onnx.helper.set_model_props(model, {_STATE_KEY: json.dumps(list(pairs))})


def state_pairs(model: onnx.ModelProto) -> dict[str, str]:
    """Input -> the output that is its next value."""
    pairs = texts_of(model, _STATE_KEY)
    inputs = {entry.name for entry in model.graph.input} & {tensor.name for tensor in model.graph.initializer}
    outputs = {entry.name for entry in model.graph.output}
    wrong = next((pair for pair in pairs.items() if pair[0] not in inputs or pair[1] not in outputs), None)
    if wrong is not None:
        rule = f"its metadata '{_STATE_KEY}' names '{wrong[0]}' and '{wrong[1]}', which are no input and output of it"
        raise ModelError([Problem(Location(model.graph.name or "model"), rule)])
    return pairs


def mark_parameters(model: onnx.ModelProto, parameters: Mapping[str, Any]) -> None:
    """Notes which initialisers hold parameters of a PyTorch program, by the parameters' names there.

    torch.onnx may name an initialiser differently, or store equal ones once: its contents tell then.
    """
    contents = {(tuple(value.shape), value.tobytes()): name for name, value in parameters.items()}
    named = {}
    for tensor in model.graph.initializer:
        name = tensor.name if tensor.name in parameters else contents.get(_contents(tensor))
        if name is not None:
            named[tensor.name] = name
    model.metadata_props.add(key=_PARAMETERS_KEY, value=json.dumps(named))


def _contents(tensor: onnx.TensorProto) -> tuple[tuple[int, ...], bytes]:
    return tuple(tensor.dims), numpy_helper.to_array(tensor).tobytes()


def parameter_names(model: onnx.ModelProto) -> dict[str, str] | None:
    """Initialiser -> the name of the parameter that it holds; None where nothing says which ones are parameters."""
    is_known = any(entry.key == _PARAMETERS_KEY for entry in model.metadata_props)
    return texts_of(model, _PARAMETERS_KEY) if is_known else None
