"""Large states that begin with zeros, such as caches of keys and values: with a zero point of 0 their bytes are 0, too.

A state of zeros takes no flash, and its bytes are cleared. Other first contents are there twice: once for the start,
once for a reset. Half a bit of a range that is not symmetric is a small price for that where the state is large.
"""

from __future__ import annotations

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import constant_values
from tflmgen.frontend.tflite import Model
from tflmgen.quantize.web_constraints import Webs

_LARGE = 1024
"""Elements of a state from which on its image would take two kilobytes of flash or more."""


def zero_states(model: Model, webs: Webs) -> frozenset[TensorKey]:
    """Roots of the webs of variables that a model begins with so many zeros."""
    first: dict[TensorKey, list[bool]] = {}
    for graph in model.subgraphs:
        for op in graph.operators:
            tensor = graph.tensors[op.inputs[1]] if op.name == "ASSIGN_VARIABLE" else None
            if tensor is not None and tensor.data is not None:
                variable = webs.variables.get(webs.root((graph.index, op.inputs[0])))
                if variable is not None:
                    values = constant_values(tensor)
                    is_large = values.size >= _LARGE and not values.any()
                    first.setdefault(webs.root(variable), []).append(is_large)
    return frozenset(root for root, are_large in first.items() if all(are_large))
