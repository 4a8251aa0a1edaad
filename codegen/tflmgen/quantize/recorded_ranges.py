"""Ranges that a file records beside tensors, as those of the webs that these belong to.

A range is a statement about one name of a value. What other operators give to the same web, such as the other branch of
an If or the first value of a loop variable, may lie beyond it.
"""

from __future__ import annotations

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import constant_values
from tflmgen.frontend.tflite import Model
from tflmgen.ir import DType
from tflmgen.quantize.element_types import NOTHING, Range, hull
from tflmgen.quantize.integer_forms import finite_range
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.value_sources import own_values
from tflmgen.quantize.web_constraints import Webs


def recorded_ranges(model: Model, webs: Webs, calibration: Calibration) -> dict[TensorKey, Range]:
    """Ranges of webs with a recorded range, by their roots, which take the place of measured ones.

    A range of a name that gets its value from elsewhere, such as a loop variable in the body, is that of all its
    values. Ranges of operators' results are those of what these operators give to the web.
    """
    ranges: dict[TensorKey, Range] = {}
    whole: set[TensorKey] = set()
    computed = {graph.index: own_values(graph, graph.index not in webs.called) for graph in model.subgraphs}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            if tensor.recorded_range is not None and tensor.data is None:
                root = webs.root((graph.index, tensor.index))
                ranges[root] = hull(ranges.get(root, NOTHING), tensor.recorded_range)
                whole |= set() if tensor.index in computed[graph.index] else {root}
    for (graph_index, index), statistics in calibration.tensors.items():
        root = webs.root((graph_index, index))
        tensor = model.subgraphs[graph_index].tensors[index]
        if root in ranges and root not in whole and index in computed[graph_index] and tensor.recorded_range is None:
            ranges[root] = hull(ranges[root], (statistics.minimum, statistics.maximum))
    for target, (graph_index, index) in webs.constants:
        root, tensor = webs.root(target), model.subgraphs[graph_index].tensors[index]
        if root in ranges and root not in whole and tensor.dtype is DType.FLOAT32 and tensor.data:
            ranges[root] = hull(ranges[root], finite_range(constant_values(tensor)) or NOTHING)
    return ranges
