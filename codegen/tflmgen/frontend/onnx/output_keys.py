"""Names of a PyTorch program's outputs: the keys and fields under which forward() returns them.

torch.onnx names outputs as the operators that compute them. The names of this module stand in the model's metadata,
since a value within the graph may have the same one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import onnx

from tflmgen.frontend.onnx.model_notes import texts_of

METADATA_KEY = "tflmgen.outputs"


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
    model.metadata_props.add(key=METADATA_KEY, value=json.dumps(chosen))


def output_names(model: onnx.ModelProto) -> dict[str, str]:
    """Output of the graph -> its name for people."""
    names = {entry.name: entry.name for entry in model.graph.output}
    return names | texts_of(model, METADATA_KEY)
