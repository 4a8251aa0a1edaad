"""Small models that several tests share: straight, with an If, with a While whose variables change places."""

from __future__ import annotations

import numpy as np

from support.model_writer import ModelWriter, SubgraphWriter


def straight_model() -> bytes:
    """z = reshape(x + c) * reshape(x), int32[4] -> int32[2,2]."""
    w = ModelWriter()
    g = w.subgraph("main")
    x, c = g.tensor("x", "int32", [4]), g.constant("c", np.array([1, 2, 3, 4], np.int32))
    total, shape = g.tensor("sum", "int32", [4]), g.constant("shape", np.array([2, 2], np.int32))
    left, right = g.tensor("left", "int32", [2, 2]), g.tensor("right", "int32", [2, 2])
    z = g.tensor("z", "int32", [2, 2])
    g.operator("ADD", [x, c], [total])
    g.operator("RESHAPE", [total, shape], [left])
    g.operator("RESHAPE", [x, shape], [right])
    g.operator("MUL", [left, right], [z])
    g.inputs, g.outputs = [x], [z]
    return w.finish()


def branch_model() -> bytes:
    """z = a + b if p else a; int32[3]. The else branch returns an operand as it is."""
    w = ModelWriter()
    g = w.subgraph("main")
    p, a, b = g.tensor("p", "bool", [1]), g.tensor("a", "int32", [3]), g.tensor("b", "int32", [3])
    z = g.tensor("z", "int32", [3])
    g.operator("IF", [p, a, b], [z], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    g.inputs, g.outputs = [p, a, b], [z]
    for name in ("then", "else"):
        s = w.subgraph(name)
        s.inputs = [s.tensor("a", "int32", [3]), s.tensor("b", "int32", [3])]
        s.outputs = s.inputs[:1]
        if name == "then":
            s.outputs = [s.tensor("sum", "int32", [3])]
            s.operator("ADD", s.inputs, s.outputs)
    return w.finish()


def swap_model(elements: int = 8) -> bytes:
    """a, b = b, a while i < n: i += 1; returns both. int32[elements]."""
    w = ModelWriter()
    g = w.subgraph("main")
    n = g.tensor("n", "int32", [1])
    a, b = g.tensor("a", "int32", [elements]), g.tensor("b", "int32", [elements])
    zero = g.constant("zero", np.array([0], np.int32))
    results = [g.tensor(name, "int32", shape) for name, shape in _variables(elements)]
    g.operator("WHILE", [zero, n, a, b], results, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    g.inputs, g.outputs = [n, a, b], results[2:]
    condition, body = w.subgraph("condition"), w.subgraph("body")
    for s in (condition, body):
        s.inputs = [s.tensor(name, "int32", shape) for name, shape in _variables(elements)]
    condition.outputs = [condition.tensor("again", "bool", [1])]
    condition.operator("LESS", condition.inputs[:2], condition.outputs)
    _increment(body)
    return w.finish()


def _variables(elements: int) -> list[tuple[str, list[int]]]:
    return [("i", [1]), ("n", [1]), ("a", [elements]), ("b", [elements])]


def _increment(body: SubgraphWriter) -> None:
    i, n, a, b = body.inputs
    following = body.tensor("next", "int32", [1])
    body.operator("ADD", [i, body.constant("one", np.array([1], np.int32))], [following])
    body.outputs = [following, n, b, a]


def calling_model() -> bytes:
    """Two signatures that call one subgraph, which counts x up to n."""
    w = ModelWriter()
    names = ("first", "second")
    for name in names:
        g = w.subgraph(name)
        g.inputs = [g.tensor("x", "int32", [1]), g.tensor("n", "int32", [1])]
        doubled = g.tensor("d", "int32", [1])
        g.outputs = [g.tensor("y", "int32", [1])]
        g.operator("ADD", [g.inputs[0], g.inputs[0]], [doubled])
        g.operator("CALL", [doubled, g.inputs[1]], g.outputs, {"subgraph": 2})
        w.signature(name, dict(zip(("x", "n"), g.inputs, strict=True)), {"y": g.outputs[0]}, g.index)
    counting = w.subgraph("counting")
    counting.inputs = [counting.tensor("x", "int32", [1]), counting.tensor("n", "int32", [1])]
    results = [counting.tensor("y", "int32", [1]), counting.tensor("m", "int32", [1])]
    counting.operator("WHILE", counting.inputs, results, {"cond_subgraph_index": 3, "body_subgraph_index": 4})
    counting.outputs = results[:1]
    for name in ("again", "up"):
        s = w.subgraph(name)
        s.inputs = [s.tensor("x", "int32", [1]), s.tensor("n", "int32", [1])]
        s.outputs = [s.tensor("r", "bool" if name == "again" else "int32", [1])]
        if name == "again":
            s.operator("LESS", s.inputs, s.outputs)
        else:
            s.operator("ADD", [s.inputs[0], s.constant("one", np.array([1], np.int32))], s.outputs)
            s.outputs.append(s.inputs[1])
    return w.finish()


def sum_model() -> bytes:
    """total += x, which it returns; total is a variable that begins at 10, and there are 8 more bytes of state."""
    w = ModelWriter()
    g = w.subgraph("main")
    x, total, following = (g.tensor(name, "int32", [1]) for name in ("x", "total", "following"))
    handle, other = g.tensor("handle", "resource", []), g.tensor("other", "resource", [])
    last, halves = g.tensor("last", "int32", [2]), g.constant("two", np.array([0, 1], np.int32))
    both = g.tensor("both", "int32", [2])
    g.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    for tensor, name in ((handle, "total"), (other, "last")):
        g.operator("VAR_HANDLE", [], [tensor], {"container": "", "shared_name": name})
    g.operator("READ_VARIABLE", [handle], [total])
    g.operator("READ_VARIABLE", [other], [last])
    g.operator("ADD", [total, x], [following])
    g.operator("ASSIGN_VARIABLE", [handle, following], [])
    g.operator("ADD", [last, halves], [both])
    g.operator("ASSIGN_VARIABLE", [other, both], [])
    g.inputs, g.outputs = [x], [following, both]
    s = w.subgraph("init")
    for name, start in (("total", np.array([10], np.int32)), ("last", np.array([1, 2], np.int32))):
        index = s.tensor(name, "resource", [])
        s.operator("VAR_HANDLE", [], [index], {"container": "", "shared_name": name})
        s.operator("ASSIGN_VARIABLE", [index, s.constant("start", start)], [])
    return w.finish()
