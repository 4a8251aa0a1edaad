"""Makes examples/loop_8k.tflite and examples/if_8k.tflite: control flow over 8 kB of float32, with element-wise bodies.

    python examples/make_control_flow.py

It also has the small models whose C docs/understand/control-flow.md shows, `choice` and `swap`.

loop_8k: x, n -> x after n times x = x * 0.75 + 0.5. if_8k: x, p -> x * 0.5 if p else max(x, 0). An interpreter keeps
the data three or four times, for the operator's operands and results and for each subgraph's; here it is kept once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.model_writer import ModelWriter, SubgraphWriter  # noqa: E402

ELEMENTS = 2048


def scaled(g: SubgraphWriter, x: int, factor: float, name: str) -> int:
    """x * factor."""
    y = g.tensor(name, "float32", [ELEMENTS])
    g.operator("MUL", [x, g.constant(f"{name}/factor", np.array([factor], np.float32))], [y])
    return y


def loop_model() -> bytes:
    w = ModelWriter(description="tflmgen's example: a loop over 8 kB")
    g = w.subgraph("main")
    x, n = g.tensor("x", "float32", [ELEMENTS]), g.tensor("n", "int32", [])
    results = [g.tensor("y", "float32", [ELEMENTS]), g.tensor("trips", "int32", []), g.tensor("limit", "int32", [])]
    zero = g.constant("zero", np.array(0, np.int32))
    g.operator("WHILE", [x, zero, n], results, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    g.inputs, g.outputs = [x, n], results[:1]
    condition, body = w.subgraph("condition"), w.subgraph("body")
    for s in (condition, body):
        s.inputs = [s.tensor("x", "float32", [ELEMENTS]), s.tensor("i", "int32", []), s.tensor("n", "int32", [])]
    condition.outputs = [condition.tensor("more", "bool", [])]
    condition.operator("LESS", condition.inputs[1:], condition.outputs)
    product = scaled(body, body.inputs[0], 0.75, "product")
    following, count = body.tensor("following", "float32", [ELEMENTS]), body.tensor("count", "int32", [])
    body.operator("ADD", [product, body.constant("addend", np.array([0.5], np.float32))], [following])
    body.operator("ADD", [body.inputs[1], body.constant("one", np.array(1, np.int32))], [count])
    body.outputs = [following, count, body.inputs[2]]
    return w.finish()


def if_model() -> bytes:
    w = ModelWriter(description="tflmgen's example: an If over 8 kB")
    g = w.subgraph("main")
    x, p, y = g.tensor("x", "float32", [ELEMENTS]), g.tensor("p", "bool", []), g.tensor("y", "float32", [ELEMENTS])
    g.operator("IF", [p, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    g.inputs, g.outputs = [x, p], [y]
    then, orelse = w.subgraph("then"), w.subgraph("else")
    for s in (then, orelse):
        s.inputs = [s.tensor("x", "float32", [ELEMENTS])]
    then.outputs = [scaled(then, then.inputs[0], 0.5, "half")]
    orelse.outputs = [orelse.tensor("positive", "float32", [ELEMENTS])]
    orelse.operator("RELU", orelse.inputs, orelse.outputs)
    return w.finish()


def choice_model() -> bytes:
    """a + b where a < b, else a * b."""
    w = ModelWriter()
    g = w.subgraph("main")
    g.inputs = a, b = [g.tensor("a", "float32", []), g.tensor("b", "float32", [])]
    less, g.outputs = g.tensor("less", "bool", []), [g.tensor("y", "float32", [])]
    g.operator("LESS", [a, b], [less])
    g.operator("IF", [less, a, b], g.outputs, {"then_subgraph_index": 1, "else_subgraph_index": 2})
    for name, operator, result in (("then", "ADD", "sum"), ("else", "MUL", "product")):
        s = w.subgraph(name)
        s.inputs = [s.tensor("a", "float32", []), s.tensor("b", "float32", [])]
        s.outputs = [s.tensor(result, "float32", [])]
        s.operator(operator, s.inputs, s.outputs)
    return w.finish()


def swap_model() -> bytes:
    """n times a, b = b, a."""
    w = ModelWriter()
    g, condition, body = w.subgraph("main"), w.subgraph("condition"), w.subgraph("body")
    for s in (g, condition, body):
        s.inputs = [s.tensor(name, "float32", [16]) for name in ("a", "b")]
        s.inputs += [s.tensor(name, "int32", []) for name in ("n", "i")[: 1 + (s is not g)]]
    results = [g.tensor(name, "float32", [16]) for name in ("a_out", "b_out")]
    results += [g.tensor(name, "int32", []) for name in ("n_out", "i_out")]
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    g.operator("WHILE", [*g.inputs, g.constant("zero", np.array(0, np.int32))], results, options)
    g.outputs = results[:2]
    condition.outputs = [condition.tensor("again", "bool", [])]
    condition.operator("LESS", [condition.inputs[3], condition.inputs[2]], condition.outputs)
    count = body.tensor("next", "int32", [])
    body.operator("ADD", [body.inputs[3], body.constant("one", np.array(1, np.int32))], [count])
    body.outputs = [body.inputs[1], body.inputs[0], body.inputs[2], count]
    return w.finish()


MODELS = {"loop_8k": loop_model, "if_8k": if_model}


def main() -> None:
    for name, make in MODELS.items():
        data = make()
        (HERE / f"{name}.tflite").write_bytes(data)
        print(f"{name}.tflite: {len(data)} bytes")


if __name__ == "__main__":
    main()
