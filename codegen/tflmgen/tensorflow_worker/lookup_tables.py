"""Tables of tf.lookup from numbers to numbers: each lookup becomes a search among sorted keys, and no table is left.

A function may take tables as operands, which become numbers that nothing reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.graph_functions import bodies_of, node_name, set_types
from tflmgen.tensorflow_worker.node_constants import GraphBody
from tflmgen.tensorflow_worker.written_operations import call_function, rename_outputs
from tflmgen.tensorflow_worker.written_rows import bisected
from tflmgen.tensorflow_worker.written_shapes import check_size

READS = {"LookupTableFindV2": "values", "LookupTableSizeV2": "size"}
"""Operations that read a table, and the names of their results."""
_CALLEES = ("f", "then_branch", "else_branch", "cond", "body")
_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
"""Operations whose first operand is the condition."""

Places = dict[str, dict[str, set[str]]]
"""Function, "" for the graph -> placeholder, argument or copy -> placeholders of the graph that it may be."""


@dataclass(frozen=True)
class NumberTable:
    """A table of numbers: keys in ascending order and their values; `names`: function -> what the table is there."""

    keys: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    names: Mapping[str, frozenset[str]]


def has_tables(graph_def: Any) -> bool:
    """Whether a node looks something up."""
    return any(node.op in READS for nodes in bodies_of(graph_def) for node in nodes)


def captured_tables(graph_def: Any, captures: Sequence[tuple[Any, Any]]) -> dict[str, NumberTable]:
    """Placeholder -> table of numbers behind it, for those that are only read, each place one table alone.

    captures  (table or other tensor of TensorFlow, its placeholder)
    """
    functions = {function.signature.name: function for function in graph_def.library.function}
    handles = {inner.op.name: outer for outer, inner in captures if outer.dtype == tf.resource}
    places: Places = {"": {name: {name} for name in handles}}
    readers: list[tuple[set[str], Any]] = []
    while _pass_on(graph_def, functions, places, readers):
        readers.clear()
    tables = {}
    for handle, outer in handles.items():
        nodes = [node for owners, node in readers if handle in owners]
        mixed = any(handle in owners and len(owners) > 1 for known in places.values() for owners in known.values())
        types = {(n.attr["Tin"].type, n.attr["Tout"].type) for n in nodes if n.op == "LookupTableFindV2"}
        if nodes and not mixed and all(node.op in READS for node in nodes) and len(types) == 1:
            key, value = map(tf.as_dtype, types.pop())
            names = {f: frozenset(n for n, owners in known.items() if handle in owners) for f, known in places.items()}
            if tf.string not in (key, value):
                tables[handle] = _exported(outer, key, value, names)
    return tables


def _exported(handle: Any, key: Any, value: Any, names: Mapping[str, frozenset[str]]) -> NumberTable:
    with tf.init_scope():
        check_size(int(tf.raw_ops.LookupTableSizeV2(table_handle=handle)), "the table")
        keys, values = tf.raw_ops.LookupTableExportV2(table_handle=handle, Tkeys=key, Tvalues=value)
    order = np.argsort(keys.numpy(), kind="stable")
    return NumberTable(keys.numpy()[order], values.numpy()[order], names)


def search_tables(graph_def: Any, tables: Mapping[str, NumberTable]) -> str:
    """Writes each lookup in tables, by placeholder, as a search. Placeholders and operands become numbers."""
    done = 0
    for function in (None, *graph_def.library.function):
        name = "" if function is None else function.signature.name
        handles = {n: table for table in tables.values() for n in table.names.get(name, ())}
        body = graph_def if function is None else function
        done += _search(graph_def.library, body, function is not None, handles)
        _forget(body, function is not None, handles)
    return f"{done} lookups in tables written with others" if done else ""


def _pass_on(graph_def: Any, functions: Mapping[str, Any], places: Places, readers: list[tuple[set[str], Any]]) -> bool:
    """Tells functions and copies which resources they get, and lists what else reads these; whether one was new."""
    learnt = False
    for name, known in list(places.items()):
        for node in functions[name].node_def if name else graph_def.node:
            for i, operand in enumerate(node.input):
                owners = set() if operand.startswith("^") else known.get(node_name(operand), set())
                if not owners:
                    continue
                targets = [(places.setdefault(f, {}), argument) for f, argument in _arguments(node, i, functions)]
                targets += [(known, node.name)] if node.op == "Identity" else []
                if not targets:
                    readers.append((owners, node))
                for other, argument in targets:
                    learnt |= not owners <= other.get(argument, set())
                    other[argument] = other.get(argument, set()) | owners
    return learnt


def _arguments(node: Any, i: int, functions: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(function, argument) that get operand i of a node that calls functions."""
    first = 1 if node.op in _BRANCHES else 0
    called = [node.attr[key].func.name for key in _CALLEES if key in node.attr]
    called += [branch.name for branch in node.attr["branches"].list.func] if "branches" in node.attr else []
    for name in called:
        if name in functions:
            yield name, functions[name].signature.input_arg[i - first].name


def _search(library: Any, body: Any, is_function: bool, handles: Mapping[str, NumberTable]) -> int:
    """Writes the lookups of the graph or a function; how many they are."""
    known = GraphBody(body, is_function)
    lookups = 0
    for node in known.nodes:
        table = handles.get(node_name(node.input[0])) if node.op in READS else None
        if table is None:
            continue
        lookups += 1
        result, operands = READS[node.op], [name for name in node.input[1:] if not name.startswith("^")]
        types = [tf.as_dtype(values.dtype) for values in (table.keys, table.values)]
        if result == "size":
            specs, results = [], [tf.int64]
        else:
            specs = [tf.TensorSpec(known.operand(name)[0], t) for name, t in zip(operands, types, strict=True)]
            results = types[1:]
        function = tf.function(_reader(table, result), autograph=False).get_concrete_function(*specs)
        node.input.pop(0)
        call_function(library, node, function, [spec.dtype for spec in specs], results)
        if is_function:
            rename_outputs(body, node.name, [f"{result}:0"])
    return lookups


def _reader(table: NumberTable, result: str) -> Any:
    """The function of a lookup (keys, default), or that of a table's size."""
    keys, values = table.keys, table.values

    def size() -> Any:
        return np.int64(len(keys))

    def find(wanted: Any, default: Any) -> Any:
        flat = tf.reshape(wanted, [-1])
        if not len(keys):
            return tf.fill(tf.shape(wanted), default)
        places = tf.minimum(bisected(keys, 0, len(keys), flat, tf.less), len(keys) - 1)
        is_there = tf.equal(tf.gather(keys, places), flat)
        values_there = tf.where(is_there, tf.gather(values, places), tf.fill(tf.shape(flat), default))
        return tf.reshape(values_there, tf.shape(wanted))

    return size if result == "size" else find


def _forget(body: Any, is_function: bool, handles: Mapping[str, NumberTable]) -> None:
    """Makes tables int32 numbers: placeholders, arguments, results of functions, and their types at calls."""
    number = tf.int32.as_datatype_enum
    for node in body.node_def if is_function else body.node:
        if node.name in handles and node.op == "Placeholder":
            node.op = "Const"
            node.attr.clear()
            node.attr["dtype"].type = number
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0, tf.int32))
        elif node.name in handles:
            node.attr["T"].type = number
        for key in ("Tin", "T"):
            operands = node.input[1 if node.op in _BRANCHES else 0 :]
            types = list(node.attr[key].list.type) if key in node.attr else []
            if types:
                set_types(node, key, [number if node_name(operands[i]) in handles else t for i, t in enumerate(types)])
    if is_function:
        for argument in body.signature.input_arg:
            argument.type = number if argument.name in handles else argument.type
        for result in body.signature.output_arg:
            result.type = number if node_name(body.ret[result.name]) in handles else result.type
