"""Makes examples/erfinv/erfinv.tflite and erfinv.npz: uniform noise to normal noise, by a custom operator.

    python examples/erfinv/make_erfinv.py

The input is uniform between -1 and 1; sqrt(2) times its inverse error function is normal. The converter leaves such a
model with allow_custom_ops. The expected outputs come from Python's own statistics.NormalDist, in double precision.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from support.model_writer import ModelWriter  # noqa: E402

COUNT = 64
SETS = 3
SEED = 5


def model() -> bytes:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    uniform, middle, normal = (graph.tensor(n, "float32", [1, COUNT]) for n in ("uniform", "erfinv", "normal"))
    root = graph.constant("sqrt_2", np.float32(np.sqrt(2)))
    graph.operator("CUSTOM:Erfinv", [uniform], [middle])
    graph.operator("MUL", [middle, root], [normal])
    graph.inputs, graph.outputs = [uniform], [normal]
    return bytes(writer.finish())


def main() -> None:
    (HERE / "erfinv.tflite").write_bytes(model())
    rng = np.random.default_rng(SEED)
    arrays = {"n_sets": np.array(SETS)}
    for k in range(SETS):
        uniform = rng.uniform(-1, 1, (1, COUNT)).astype(np.float32)
        arrays[f"s{k}_in_0"] = uniform
        inverse = np.vectorize(NormalDist().inv_cdf)
        arrays[f"s{k}_out_0"] = inverse((1 + uniform.astype(np.float64)) / 2).astype(np.float32)
    np.savez(HERE / "erfinv.npz", **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
