"""Case becomes a balanced tree of If: TensorFlow's converter knows If, but no Case.

    Case(i; f0, f1, f2, f3)  ->  call of tree_0_4(i, operands...)
    tree_0_4(i, ...) = If(i < 2; tree_0_2, tree_2_4)        tree_0_1(i, ...) = f0(...)

An index outside of the branches takes the last one, as Case defines. Only the branch that is taken runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.graph_functions import (
    add_call,
    add_constant,
    add_function,
    add_node,
    bodies_of,
    return_outputs,
)

CASES = frozenset({"Case", "StatelessCase"})


def lower_cases(graph_def: Any, _: Sequence[str]) -> str:
    """Rewrites each Case of the graph and of its functions, which come to have more functions."""
    cases = [node for nodes in bodies_of(graph_def) for node in nodes if node.op in CASES]
    for number, node in enumerate(cases):
        _Tree(graph_def.library, node, number).build()
    return f"{len(cases)} Case written as If" if cases else ""


class _Tree:
    """The tree of one Case: functions of the index and the operands."""

    def __init__(self, library: Any, node: Any, number: int) -> None:
        self._library, self._node = library, node
        self._prefix = f"tflmgen_case_{number}"
        self._branches = [function.name for function in node.attr["branches"].list.func]
        self._suffix = "Stateless" if node.op == "StatelessCase" else ""
        self._call = "PartitionedCall" if self._suffix else "StatefulPartitionedCall"
        self._operands = list(node.attr["Tin"].list.type)
        self._results = list(node.attr["Tout"].list.type)

    def build(self) -> None:
        """Makes the node a call of the tree, which has the operands and results of the Case."""
        count = len(self._branches)
        root = self._function(f"{self._prefix}_root")
        # -1 for all indices below 0, and then the last: TFLite Micro selects among no int32.
        for name, number in (("zero", 0), ("least", -1), ("count", count)):
            add_constant(root, name, number)
        add_node(root, "Less", "is_below", ["index", "zero:output:0"], T=tf.int32)
        add_node(root, "Cast", "below", ["is_below:z:0"], SrcT=tf.bool, DstT=tf.int32)
        add_node(root, "Maximum", "bounded", ["index", "least:output:0"], T=tf.int32)
        add_node(root, "Mul", "turn", ["below:y:0", "count:output:0"], T=tf.int32)
        add_node(root, "AddV2", "chosen", ["bounded:z:0", "turn:z:0"], T=tf.int32)
        self._return(root, self._calling(root, self._tree(0, count), ["chosen:z:0", *self._names]))
        types = [tf.int32.as_datatype_enum, *self._operands]
        node = self._node
        node.op = self._call
        del node.attr["branches"]
        del node.attr["output_shapes"]
        del node.attr["Tin"]
        node.attr["Tin"].list.type.extend(types)
        node.attr["f"].func.name = root.signature.name

    def _tree(self, low: int, high: int) -> str:
        """Name of the function that chooses among the branches from low to high."""
        body = self._function(f"{self._prefix}_{low}_{high}")
        name = str(body.signature.name)
        if high - low == 1:
            self._return(body, self._calling(body, self._branches[low], self._names))
            return name
        middle = (low + high) // 2
        add_constant(body, "middle", middle)
        add_node(body, "Less", "is_below", ["index", "middle:output:0"], T=tf.int32)
        operands = ["is_below:z:0", "index", *self._names]
        choice = add_node(body, f"{self._suffix}If", "choice", operands, Tcond=tf.bool)
        choice.attr["Tin"].list.type.extend([tf.int32.as_datatype_enum, *self._operands])
        choice.attr["Tout"].list.type.extend(self._results)
        choice.attr["then_branch"].func.name = self._tree(low, middle)
        choice.attr["else_branch"].func.name = self._tree(middle, high)
        choice.attr["output_shapes"].CopyFrom(self._node.attr["output_shapes"])
        self._return(body, choice)
        return name

    @property
    def _names(self) -> list[str]:
        return [f"operand_{i}" for i in range(len(self._operands))]

    def _function(self, name: str) -> Any:
        """A new function of the index and the operands, without nodes."""
        inputs = {"index": tf.int32.as_datatype_enum, **dict(zip(self._names, self._operands, strict=True))}
        return add_function(self._library, name, inputs, self._results, is_stateful=not self._suffix)

    def _calling(self, body: Any, function: str, operands: Sequence[str]) -> Any:
        takes_index = len(operands) > len(self._operands)
        types = [*([tf.int32.as_datatype_enum] if takes_index else []), *self._operands]
        return add_call(body, self._call, function, operands, types, self._results)

    def _return(self, body: Any, node: Any) -> None:
        return_outputs(body, [f"{node.name}:output:{number}" for number in range(len(self._results))])
