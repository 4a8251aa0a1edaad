"""Prints the table of docs/understand/performance.md on work of int8 layers that might be left out.

    PYTHONPATH=tests python -m avoidable_work

Of each model of the corpus with int8 CONV_2D, after the passes, at its first vectors: how many outputs are clamped, how
many of the multiplications need not be done where that is known from a part of the sum, and which weights are zero.
The rest of a sum is bounded by the weights and the range of int8, as saturation-aware convolution does
(arXiv:2511.05347).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
from support.corpus import CORPUS, corpus_manifest
from tflmgen.compiler import compile_model
from tflmgen.ir import DType
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions, Validate
from tflmgen.reference import Array, Operation
from tflmgen.reference.definitions.evaluations import EVALUATIONS
from tflmgen.reference.definitions.weighted_sums import (
    exact_product,
    finished,
    layer_scales,
    operand,
    unrolled,
    weights,
)
from tflmgen.reference.definitions.window_geometry import image_axes
from tflmgen.reference.module_interpreter import ModuleInterpreter

M0 = Target("cortex-m0")
PIXELS, CHANNELS = 2, 4
"""Of the blocks that kernels compute at a time, on an M0."""


@dataclass
class Work:
    """Sums over the layers of a model.

    products: multiplications. clamped: those of outputs that are clamped. single, in_blocks: those that come after half
    of a sum by which its output, or a block of outputs, is known to be clamped. columns: inputs of layers, each for one
    tap. zero_columns: those whose weights are all zero.
    """

    products: int = 0
    clamped: float = 0.0
    single: float = 0.0
    in_blocks: float = 0.0
    weights: int = 0
    zeros: int = 0
    columns: int = 0
    zero_columns: int = 0

    def observe(self, op: Operation) -> Sequence[Array]:
        """Evaluates a CONV_2D and adds what it could leave out."""
        outputs = CONV_2D(op)
        filters = weights(op)
        if op.output.dtype is DType.INT8 and filters.shape[-1] == op.array(0).shape[-1]:
            self._add(op, filters, outputs[0])
        return outputs

    def _add(self, op: Operation, filters: Array, output: Array) -> None:
        flat = filters.reshape(len(filters), -1)
        rows = unrolled(operand(op), image_axes(op.options, op.array(0).shape, filters.shape[1:3]), filters.shape[1:3])
        rows = rows.reshape(-1, rows.shape[-1])
        clamps = np.iinfo(np.int8).min, np.iinfo(np.int8).max
        products = rows.shape[0] * flat.size
        known = np.zeros((len(rows), len(flat)), bool)
        # The heaviest weights first, so that what is left has the least to say.
        order = np.argsort(-np.abs(flat), axis=1, kind="stable")
        first = np.zeros(flat.shape, bool)
        np.put_along_axis(first, order[:, : flat.shape[1] // 2], True, axis=1)
        begun = exact_product(rows, np.where(first, flat, 0).T)
        rest = np.where(first, 0, flat)
        low, high = (limit - op.zero_point(0) for limit in clamps)
        for bound, clamp in ((np.where(rest > 0, high, low), clamps[0]), (np.where(rest > 0, low, high), clamps[1])):
            sums = begun + (rest * bound).sum(axis=1)
            known |= finished(op, sums, 2, layer_scales(op), True) == clamp
        assert np.isin(output.reshape(known.shape)[known], clamps).all()
        self.products += products
        self.clamped += products * float(np.isin(output, clamps).mean())
        self.single += products * float(known.mean()) / 2
        self.in_blocks += products * _in_blocks(known) / 2
        self.weights += flat.size
        self.zeros += int((flat == 0).sum())
        self.columns += flat.shape[1]
        self.zero_columns += int((flat == 0).all(axis=0).sum())


CONV_2D = EVALUATIONS["CONV_2D"]


def _in_blocks(known: Array) -> float:
    """Part of the outputs [pixels, channels] that stand in blocks all of which are known."""
    pixels, channels = (size // edge for size, edge in zip(known.shape, (PIXELS, CHANNELS), strict=True))
    blocks = known[: pixels * PIXELS, : channels * CHANNELS].reshape(pixels, PIXELS, channels, CHANNELS)
    return float(blocks.all(axis=(1, 3)).mean()) if blocks.size else 0.0


def work(model: Path) -> Work:
    """What the convolutions of a model could leave out, over its vectors."""
    module = compile_model(model, M0, BuildOptions(validate=Validate.OFF)).module
    signature, total = module.signatures[0], Work()
    with np.load(model.with_suffix(".npz")) as vectors, mock.patch.dict(EVALUATIONS, {"CONV_2D": total.observe}):
        for number in range(int(vectors["n_sets"])):
            inputs = [vectors[f"s{number}_in_{index}"] for index in range(len(signature.inputs))]
            ModuleInterpreter(module).invoke(signature, inputs)
        total.columns //= number + 1
        total.zero_columns //= number + 1
    return total


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| Model | clamped | avoidable | in blocks | zeros | inputs |"
    yield "|---|--:|--:|--:|--:|--:|"
    for entry in corpus_manifest():
        if entry["category"] == "real" and "CONV_2D|int8,int8>int8" in entry.get("ops_typed", {}):
            total = work(CORPUS / entry["path"])
            if total.products:
                shares = [total.clamped, total.single, total.in_blocks]
                cells = [f"{100 * share / total.products:.1f} %" for share in shares]
                cells += [f"{100 * total.zeros / total.weights:.1f} %", f"{total.zero_columns} of {total.columns}"]
                yield f"| {entry['name']} | {' | '.join(cells)} |"


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
