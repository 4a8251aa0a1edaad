"""Stacks of TensorFlow 1, on which gradients of loops keep values, become tensor lists that loops have as variables.

    s = StackV2(); StackPushV2(Enter(s), x) in a loop    ->  l = Merge(Enter(EmptyTensorList()), NextIteration(l'))
    y = StackPopV2(Enter(s)) in the loop that goes back      l' = TensorListPushBack(Switch(l), x)

A push under a condition is a list that passes a Switch and a Merge. A stack has one push and one pop, in the frames and
under the conditions that BranchMap finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.graph_functions import bodies_of, node_name
from tflmgen.tensorflow_worker.merged_branches import BranchMap, Condition, UnstructuredError

STACK = "StackV2"
_PUSH, _POP = "StackPushV2", "StackPopV2"
_PASSING = frozenset({"Enter", "Switch", "Identity"})
_VARIANT = tf.variant.as_datatype_enum


def has_stacks(graph_def: Any) -> bool:
    """Whether a graph or a function of it keeps values on stacks."""
    return any(node.op == STACK for nodes in bodies_of(graph_def) for node in nodes)


def lower_stacks(graph_def: Any) -> None:
    """Rewrites all stacks. Raises UnstructuredError for control flow that no conds and while_loops make."""
    if any(node.op == STACK for node in graph_def.node):
        _StackRewrite(graph_def).run()


class _StackRewrite:
    def __init__(self, graph_def: Any) -> None:
        self._graph_def = graph_def
        self._nodes = {node.name: node for node in graph_def.node}
        self._map = BranchMap(dict(self._nodes))

    def run(self) -> None:
        """Rewrites the nodes in place."""
        accesses: dict[str, list[Any]] = {}
        for node in self._nodes.values():
            if node.op in (_PUSH, _POP):
                accesses.setdefault(self._stack_of(node), []).append(node)
        for name, users in accesses.items():
            users.sort(key=lambda node: node.op == _POP)
            if [node.op for node in users].count(_PUSH) != 1 or len(users) > 2:
                raise UnstructuredError(f"the stack '{name}' is pushed and popped at several places")
            list_ = self._empty_list(self._nodes[name])
            for node in users:
                list_ = self._through(node, list_, list(self._map.place(node.name)[1]), frozenset())

    def _stack_of(self, node: Any) -> str:
        """The stack behind a handle."""
        while node.op != STACK:
            if node.op not in (*_PASSING, _PUSH, _POP):
                raise UnstructuredError(f"'{node.name}' makes a handle of a stack")
            node = self._nodes[node_name(node.input[0])]
        return str(node.name)

    def _add(self, op: str, label: str, inputs: Sequence[str]) -> Any:
        node = self._graph_def.node.add(name=f"tflmgen_stack/{label}_{len(self._graph_def.node)}", op=op)
        node.input.extend(inputs)
        if op not in ("Const", "TensorListPushBack", "TensorListPopBack"):
            node.attr["T"].type = _VARIANT
        return node

    def _any_shape(self) -> str:
        node = self._add("Const", "shape", [])
        node.attr["dtype"].type = tf.int32.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(-1, tf.int32))
        return str(node.name)

    def _empty_list(self, stack: Any) -> str:
        """Makes the node of a stack that of an empty list."""
        size, dtype = stack.input[0], stack.attr["elem_type"].type
        stack.op = "EmptyTensorList"
        del stack.input[:]
        stack.attr.clear()
        stack.input.extend([self._any_shape(), size])
        stack.attr["element_dtype"].type = dtype
        stack.attr["shape_type"].type = tf.int32.as_datatype_enum
        return str(stack.name)

    def _through(self, node: Any, list_: str, frames: Sequence[str], outside: frozenset[Condition]) -> str:
        """The list behind an access in these frames, which runs under the conditions `outside` and its own."""
        place = self._map.loops[frames[0]].condition if frames else node.name
        conditions = self._map.place(place)[0] - outside
        choices = []
        # A predicate may be computed under another.
        for predicate, side in sorted(conditions, key=lambda c: (len(self._map.place(node_name(c[0]))[0]), c[0])):
            choice = self._add("Switch", "choice", [list_, predicate])
            choices.append((choice, side))
            list_ = f"{choice.name}:{int(side)}"
        list_ = self._in_frame(node, list_, frames, outside | conditions) if frames else self._access(node, list_)
        for choice, side in reversed(choices):
            merge = self._add("Merge", "merge", [f"{choice.name}:{int(not side)}", list_])
            merge.attr["N"].i = 2
            list_ = str(merge.name)
        return list_

    def _in_frame(self, node: Any, list_: str, frames: Sequence[str], outside: frozenset[Condition]) -> str:
        """The list behind the loop of the first frame, one of whose variables it becomes."""
        enter = self._add("Enter", "enter", [list_])
        enter.attr["frame_name"].s = frames[0].encode()
        following = self._add("NextIteration", "next", [])
        merge = self._add("Merge", "merge", [enter.name, following.name])
        merge.attr["N"].i = 2
        switch = self._add("Switch", "switch", [merge.name, self._map.loops[frames[0]].condition])
        following.input.append(self._through(node, f"{switch.name}:1", frames[1:], outside))
        return str(self._add("Exit", "exit", [f"{switch.name}:0"]).name)

    def _access(self, node: Any, list_: str) -> str:
        """Makes a push or pop the name of its value, and accesses the list instead."""
        is_push, dtype = node.op == _PUSH, node.attr["T" if node.op == _PUSH else "elem_type"].type
        op = "TensorListPushBack" if is_push else "TensorListPopBack"
        access = self._add(op, "access", [list_, node.input[1] if is_push else self._any_shape()])
        access.attr["element_dtype"].type = dtype
        controls = [name for name in node.input if name.startswith("^")]
        value = node.input[1] if is_push else f"{access.name}:1"
        node.op = "Identity"
        node.attr.clear()
        del node.input[:]
        node.input.extend([value, *controls])
        node.attr["T"].type = dtype
        return str(access.name)
