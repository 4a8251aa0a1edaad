"""Random .tflite models of nested Ifs whose conditions are computed: products, counts, sums and equal sums."""

from __future__ import annotations

import numpy as np

from support.model_writer import ModelWriter, SubgraphWriter

SIZE = 6
"""Elements of each input."""
NONE = {"fused_activation_function": 0}


class _Builder:
    def __init__(self, seed: int, depth: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.writer = ModelWriter()
        self.depth = depth

    def inputs(self, graph: SubgraphWriter) -> list[int]:
        """Two vectors of floats for each level, so that conditions of several levels may hold at once."""
        graph.inputs = [graph.tensor(f"x{i}", "float32", [SIZE]) for i in range(2 * self.depth)]
        return list(graph.inputs)

    def sum_of(self, graph: SubgraphWriter, x: int) -> int:
        out = graph.tensor(f"sum{len(graph.tensors)}", "float32", [])
        axes = graph.constant(f"axes{len(graph.tensors)}", [0], "int32")
        graph.operator("SUM", [x, axes], [out], {"keep_dims": False})
        return out

    def condition(self, graph: SubgraphWriter, a: int, b: int) -> int:
        """A scalar of two vectors that few inputs make true, or few make false."""
        kind = int(self.rng.integers(4))
        flag = graph.tensor(f"flag{len(graph.tensors)}", "bool", [])
        bound = float(self.rng.uniform(5, 300))
        if kind == 0:
            product = graph.tensor(f"product{len(graph.tensors)}", "float32", [SIZE])
            graph.operator("MUL", [a, b], [product], NONE)
            operands = [self.sum_of(graph, product), graph.constant(f"k{len(graph.tensors)}", bound * 10, "float32")]
        elif kind == 1:
            mask = graph.tensor(f"mask{len(graph.tensors)}", "bool", [SIZE])
            counted = graph.tensor(f"counted{len(graph.tensors)}", "float32", [SIZE])
            graph.operator("GREATER", [a, graph.constant(f"t{len(graph.tensors)}", bound, "float32")], [mask])
            graph.operator("CAST", [mask], [counted], {"in_data_type": 6, "out_data_type": 0})
            wanted = float(self.rng.integers(2, SIZE)) + 0.5
            operands = [self.sum_of(graph, counted), graph.constant(f"k{len(graph.tensors)}", wanted, "float32")]
        elif kind == 2:
            total = graph.tensor(f"total{len(graph.tensors)}", "float32", [])
            graph.operator("SUB", [self.sum_of(graph, a), self.sum_of(graph, b)], [total], NONE)
            operands = [total, graph.constant(f"k{len(graph.tensors)}", bound * 20, "float32")]
        else:
            rounded = graph.tensor(f"rounded{len(graph.tensors)}", "float32", [])
            graph.operator("FLOOR", [self.sum_of(graph, a)], [rounded])
            operands = [rounded, graph.constant(f"k{len(graph.tensors)}", float(int(bound)), "float32")]
        graph.operator("EQUAL" if kind == 3 else "GREATER", operands, [flag])
        return flag

    def level(self, depth: int) -> int:
        """The number of a subgraph with that many Ifs one in another."""
        graph = self.writer.subgraph(f"level {depth} {len(self.writer.subgraphs)}")
        index = len(self.writer.subgraphs) - 1
        x = self.inputs(graph)
        out = graph.tensor("out", "float32", [SIZE])
        if depth == 0:
            factor = graph.constant("factor", float(self.rng.uniform(-3, 3)), "float32")
            graph.operator("MUL", [x[0], factor], [out], NONE)
        else:
            flag = self.condition(graph, x[2 * depth - 2], x[2 * depth - 1])
            branches = [self.level(depth - 1), self.level(0)]
            self.rng.shuffle(branches)
            graph.operator("IF", [flag, *x], [out], dict(zip(BRANCHES, branches, strict=True)))
        graph.outputs = [out]
        return index


BRANCHES = ("then_subgraph_index", "else_subgraph_index")


def deep_branches(seed: int, depth: int = 3) -> bytes:
    """A file with `depth` Ifs; any combination of their sides can be reached along the nesting."""
    builder = _Builder(seed, depth)
    builder.level(depth)
    return bytes(builder.writer.finish())
