"""Random small models whose operators read constants: in the entry, in the branches of an If, and where nothing reads
the result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support.model_writer import ModelWriter, SubgraphWriter

SHAPE = (1, 2, 2, 4)
"""Of every value, so that any operator may follow any other."""


def constant_program(seed: int) -> bytes:
    """Two inputs, `x` and the condition of an If, and two outputs; what is computed depends on both."""
    rng, w = np.random.default_rng(seed), ModelWriter()
    dtype = str(rng.choice(["float32", "int32"]))
    main = w.subgraph("main")
    x, condition = main.tensor("x", dtype, SHAPE), main.tensor("condition", "bool", [1])
    values = _statements(rng, main, dtype, [x])
    branches = [w.subgraph("then"), w.subgraph("else")]
    given = [_pick(rng, values), _constant(rng, main, dtype)]
    for branch in branches:
        branch.inputs = [branch.tensor(f"in{i}", dtype, SHAPE) for i in range(len(given))]
        found = _statements(rng, branch, dtype, list(branch.inputs))
        branch.outputs = [_pick(rng, found), found[-1]]
    results = [main.tensor(f"result{i}", dtype, SHAPE) for i in range(2)]
    indices = {"then_subgraph_index": branches[0].index, "else_subgraph_index": branches[1].index}
    main.operator("IF", [condition, *given], results, indices)
    total = main.tensor("total", dtype, SHAPE)
    main.operator("ADD", [results[0], x], [total])
    main.inputs, main.outputs = [x, condition], [total, results[1]]
    return w.finish()


def _statements(rng: np.random.Generator, g: SubgraphWriter, dtype: str, values: list[int]) -> list[int]:
    """The values with those of one to five operators more; two operands of three are constants."""
    values = list(values)
    for _ in range(int(rng.integers(1, 6))):
        operand = _constant(rng, g, dtype) if rng.random() < 2 / 3 else _pick(rng, values)
        result = g.tensor(f"t{len(g.tensors)}", dtype, SHAPE)
        _OPERATORS[int(rng.integers(len(_OPERATORS)))](rng, g, dtype, operand, result, values)
        values.append(result)
    return values


def _pick(rng: np.random.Generator, values: list[int]) -> int:
    return values[int(rng.integers(len(values)))]


def _constant(rng: np.random.Generator, g: SubgraphWriter, dtype: str) -> int:
    return g.constant(f"c{len(g.tensors)}", rng.integers(-9, 10, SHAPE).astype(dtype))


_Writer = Callable[[np.random.Generator, SubgraphWriter, str, int, int, list[int]], None]


def _with_table(name: str, table: list[list[int]] | list[int], **options: int) -> _Writer:
    """An operator with a constant table as its second input."""

    def write(rng: np.random.Generator, g: SubgraphWriter, dtype: str, x: int, y: int, values: list[int]) -> None:
        del rng, values
        more = [g.constant(f"c{len(g.tensors)}", np.array(7, dtype))] if name == "PADV2" else []
        table_ = g.constant(f"c{len(g.tensors)}", np.array(table, np.int32))
        g.operator(name, [x, table_, *more], [y], options)

    return write


def _binary(name: str) -> _Writer:
    def write(rng: np.random.Generator, g: SubgraphWriter, dtype: str, x: int, y: int, values: list[int]) -> None:
        del dtype
        g.operator(name, [x, _pick(rng, values)], [y])

    return write


def _space_to_depth(rng: np.random.Generator, g: SubgraphWriter, dtype: str, x: int, y: int, values: list[int]) -> None:
    del rng, dtype, values
    g.operator("SPACE_TO_DEPTH", [x], [y], {"block_size": 1})


NOTHING = [[0, 0]] * 4
_OPERATORS: tuple[_Writer, ...] = (
    _binary("ADD"),
    _binary("MAXIMUM"),
    _binary("MUL"),
    _space_to_depth,
    _with_table("MIRROR_PAD", NOTHING, mode=0),
    _with_table("PAD", NOTHING),
    _with_table("PADV2", NOTHING),
    _with_table("RESHAPE", list(SHAPE)),
    _with_table("RESIZE_NEAREST_NEIGHBOR", [2, 2]),
    _with_table("REVERSE_V2", [3]),
    _with_table("TRANSPOSE", [0, 2, 1, 3]),
)
