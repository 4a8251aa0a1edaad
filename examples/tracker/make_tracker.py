"""Makes tracker.tflite and tracker.npz: where am I, by the distances from four beacons? An iterative solver as a While.

    python examples/tracker/make_tracker.py

Gauss-Newton: with unit vectors u from the beacons to the estimate p, and residuals r = measured - computed distances,
p = p + (sum u u^T)^-1 (sum r u), until a step is shorter than 1 cm or 20 are done. The estimate is a variable of the
model, so that the next solution starts from this one, and takes as many steps as the movement since then needs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests"))

from support.model_writer import ModelWriter, SubgraphWriter  # noqa: E402

BEACONS = np.array([[0, 0], [10, 0], [10, 8], [0, 8]], np.float32)
START = np.array([1, 1], np.float32)
SHORTEST = 1e-4
"""Square of the last step, in m^2."""
MOST = 20
VARIABLES = {
    "position": ("float32", [2]),
    "step": ("float32", []),
    "count": ("int32", []),
    "distances": ("float32", [4]),
}


class Formula:
    """Appends operators to a subgraph; each method gives the index of its result."""

    def __init__(self, graph: SubgraphWriter) -> None:
        self.graph = graph

    def constant(self, values: ArrayLike, dtype: str = "float32") -> int:
        array = np.asarray(values, dtype)
        return self.graph.constant(f"constant{len(self.graph.tensors)}", array)

    def op(self, name: str, inputs: list[int], shape: list[int], dtype: str = "float32", **options: object) -> int:
        result = self.graph.tensor(f"{name.lower()}{len(self.graph.tensors)}", dtype, shape)
        self.graph.operator(name, inputs, [result], options)
        return result

    def sum(self, x: int, axis: int, shape: list[int]) -> int:
        return self.op("SUM", [x, self.constant([axis], "int32")], shape)

    def reverse(self, x: int, axis: int, shape: list[int]) -> int:
        return self.op("REVERSE_V2", [x, self.constant([axis], "int32")], shape)


def _step(f: Formula, position: int, distances: int) -> int:
    """The Gauss-Newton step, with the inverse of the 2x2 matrix [[a, b], [b, c]] written out, both rows at once."""
    offset = f.op("SUB", [position, f.constant(BEACONS)], [4, 2])
    computed = f.op("SQRT", [f.sum(f.op("SQUARE", [offset], [4, 2]), 1, [4])], [4])
    residual = f.op("SUB", [distances, computed], [4])
    column = f.constant([4, 1], "int32")
    unit = f.op("DIV", [offset, f.op("RESHAPE", [computed, column], [4, 1])], [4, 2])
    pulled = f.op("MUL", [unit, f.op("RESHAPE", [residual, column], [4, 1])], [4, 2])
    gradient = f.sum(pulled, 0, [2])
    a_c = f.sum(f.op("SQUARE", [unit], [4, 2]), 0, [2])
    b_b = f.sum(f.op("MUL", [unit, f.reverse(unit, 1, [4, 2])], [4, 2]), 0, [2])
    c_a = f.reverse(a_c, 0, [2])
    determinant = f.op("SUB", [f.op("MUL", [a_c, c_a], [2]), f.op("SQUARE", [b_b], [2])], [2])
    straight = f.op("MUL", [c_a, gradient], [2])
    crossed = f.op("MUL", [b_b, f.reverse(gradient, 0, [2])], [2])
    return f.op("DIV", [f.op("SUB", [straight, crossed], [2]), determinant], [2])


def make_model() -> bytes:
    w = ModelWriter(description="tflmgen's example: positions by Gauss-Newton")
    g, condition, body, start = (w.subgraph(name) for name in ("main", "condition", "body", "start"))
    handle = g.tensor("handle", "resource", [])
    distances, old = g.tensor("distances", "float32", [4]), g.tensor("old", "float32", [2])
    g.operator("CALL_ONCE", [], [], {"init_subgraph_index": start.index})
    g.operator("VAR_HANDLE", [], [handle], {"shared_name": "position"})
    g.operator("READ_VARIABLE", [handle], [old])
    results = [g.tensor(f"{name}_out", *kind) for name, kind in VARIABLES.items()]
    far, none = g.constant("far", np.float32(1)), g.constant("none", np.int32(0))
    loop = {"cond_subgraph_index": condition.index, "body_subgraph_index": body.index}
    g.operator("WHILE", [old, far, none, distances], results, loop)
    g.operator("ASSIGN_VARIABLE", [handle, results[0]], [])
    g.inputs, g.outputs = [distances], [results[0], results[2]]
    w.signature("locate", {"distances": distances}, {"position": results[0], "steps": results[2]})

    state = start.tensor("handle", "resource", [])
    start.operator("VAR_HANDLE", [], [state], {"shared_name": "position"})
    start.operator("ASSIGN_VARIABLE", [state, start.constant("begin", START)], [])

    for s in (condition, body):
        s.inputs = [s.tensor(name, *kind) for name, kind in VARIABLES.items()]
    f = Formula(condition)
    moving = f.op("GREATER", [condition.inputs[1], f.constant(SHORTEST)], [], "bool")
    few = f.op("LESS", [condition.inputs[2], f.constant(MOST, "int32")], [], "bool")
    condition.outputs = [f.op("LOGICAL_AND", [moving, few], [], "bool")]

    f = Formula(body)
    position, _, count, measured = body.inputs
    delta = _step(f, position, measured)
    following = f.op("ADD", [position, delta], [2])
    square = f.sum(f.op("SQUARE", [delta], [2]), 0, [])
    body.outputs = [following, square, f.op("ADD", [count, f.constant(1, "int32")], [], "int32"), measured]
    return w.finish()


PLACES = {"far from the start": (8.0, 4.0), "a step further": (7.99, 4.3), "another one": (7.94, 4.59)}


def make_inputs() -> dict[str, Any]:
    """tracker.npz's arrays: distances of three places that are visited one after another."""
    arrays: dict[str, Any] = {"n_sets": np.array(len(PLACES)), "stateful": np.array(True)}
    for k, (label, place) in enumerate(PLACES.items()):
        distances = np.hypot(*(np.array(place) - BEACONS).T).astype(np.float32)
        arrays |= {f"s{k}_label": np.array(label), f"s{k}_in_0": distances}
    return arrays


def main() -> None:
    data = make_model()
    np.savez_compressed(HERE / "tracker.npz", **make_inputs())
    (HERE / "tracker.tflite").write_bytes(data)
    print(f"tracker.tflite: {len(data)} bytes")


if __name__ == "__main__":
    main()
