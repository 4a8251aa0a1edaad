"""Fuses decomposed normalisations and softmaxes of rows into one operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.ir import DType, Module, Node, Op, TensorType, Value, resolve
from tflmgen.kernels import NormalizeAttributes, Reals, SoftmaxAttributes, traits_of
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fused_regions import Region, Regions
from tflmgen.passes.fusion import PatternRewriter
from tflmgen.passes.real_evaluation import evaluate, is_real, real_function

SAMPLES = 8
"""Number of sample inputs for comparing regions, each with its own mean and spread."""
TOLERANCE = 1e-6
"""Largest difference of a region and the operator that replaces it on a sample, relative to values beyond 1."""


def fuse_normalization(module: Module) -> Module:
    """Replaces groups of float operators that compute a normalisation or a softmax of contiguous rows.

    Layer, group and instance normalisation with gain and bias along a row, RMS and L2 normalisation, SOFTMAX and
    LOG_SOFTMAX. They are recognised by their values, independently of the order of operations and of views between.
    """
    return _Normalization(module).rewritten()


def _is_fusible(op: Op) -> bool:
    """Whether an operator may be part of a normalisation."""
    return (real_function(op.operator) is not None or traits_of(op.operator).view) and is_real(op)


class _Normalization(PatternRewriter):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        regions = Regions(module, self._flow, _is_fusible)
        self._fused: dict[int, Op] = {}
        covered: set[int] = set()
        # Last operators first, so that a region includes the gain and bias after a normalisation.
        for op in reversed(list(self._flow.producers.values())):
            if not traits_of(op.operator).is_arithmetic or op.id in covered:
                continue
            for region in reversed(list(regions.ending_with(op))):
                if region.source.type.elements == op.outputs[0].type.elements and (fused := self._match(region)):
                    self._fused[op.id] = fused
                    covered.update(covered_op.id for covered_op in region.ops)
                    break

    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Op):
            return (self.regions(node),)
        fused = self._fused.get(node.id, node)
        return (replace(fused, inputs=tuple(v and resolve(v, self.mapping) for v in fused.inputs)),)

    def _match(self, region: Region) -> Op | None:
        depths = {_depth(op) for op in region.ops if traits_of(op.operator).reduces}
        if len(depths) != 1 or (depth := depths.pop()) < 2:
            return None
        rows = region.source.type.elements // depth
        if rows * depth != region.source.type.elements:
            return None
        samples = _samples(rows, depth)
        results = np.stack([evaluate(region, x, self._flow).reshape(rows, depth) for x in samples])
        if not np.isfinite(results).all():
            return None
        if any(op.operator == "EXP" for op in region.ops):
            return self._softmax(region, depth, samples, results)
        return self._normalization(region, depth, samples, results)

    def _softmax(self, region: Region, depth: int, samples: Reals, results: Reals) -> Op | None:
        last = region.ops[-1]
        if depth != region.source.type.max_shape[-1] or region.source.type.shape != last.outputs[0].type.shape:
            return None
        exps = np.exp(samples - samples.max(axis=-1, keepdims=True))
        soft = exps / exps.sum(axis=-1, keepdims=True)
        for name, expected, attributes in (
            ("SOFTMAX", soft, SoftmaxAttributes(1.0)),
            ("LOG_SOFTMAX", np.log(soft), None),
        ):
            if _agree(results, expected):
                fused = replace(last, operator=name, inputs=(region.source,), attributes=attributes)
                return fused if is_legal(fused, self.pool.constants) else None
        return None

    def _normalization(self, region: Region, depth: int, samples: Reals, results: Reals) -> Op | None:
        for attributes in self._candidates(region, depth):
            normal = _normalized(samples, attributes)
            affine = _affine(normal, results)
            if affine is not None:
                return self._build(region, attributes, *affine)
        return None

    def _candidates(self, region: Region, depth: int) -> Iterator[NormalizeAttributes]:
        """Normalisations to try, with epsilons from the region's constants."""
        added = [v for op in region.ops if op.operator == "ADD" for v in op.inputs]
        epsilons = {number for v in added if (number := self._flow.number(v)) is not None and number >= 0}
        for epsilon in sorted({0.0, *epsilons}, reverse=True):
            for factor in (1.0 / depth, 1.0):
                for centred in (True, False):
                    yield NormalizeAttributes(depth, epsilon, float(np.float32(factor)), centred)

    def _build(self, region: Region, attributes: NormalizeAttributes, gain: Reals, bias: Reals) -> Op | None:
        last = region.ops[-1]
        kind = TensorType(DType.FLOAT32, (attributes.depth,))
        source = region.source
        gains = None if _agree(gain, 1.0) else self.pool.add(gain, Value(0, "gain", kind))
        biases = None if _agree(bias, 0.0) else self.pool.add(bias, Value(0, "bias", kind))
        fused = replace(last, operator="NORMALIZE", inputs=(source, gains, biases), attributes=attributes)
        return fused if is_legal(fused, self.pool.constants) else None


def _depth(op: Op) -> int:
    """Number of elements that a reduction combines into one."""
    source = op.inputs[0]
    return source.type.elements // max(1, op.outputs[0].type.elements) if source is not None else 0


def _samples(rows: int, depth: int) -> Reals:
    """Deterministic sample inputs [SAMPLES, rows, depth]: zeros, and spreads below and above typical epsilons."""
    rng = np.random.default_rng(1)
    spreads = np.geomspace(1e-4, 10, SAMPLES)[:, None, None] * rng.uniform(0.5, 2, (SAMPLES, rows, 1))
    spreads[0] = 0.0
    return (rng.normal(size=(SAMPLES, rows, depth)) + rng.normal(size=(SAMPLES, rows, 1))) * spreads


def _normalized(samples: Reals, attributes: NormalizeAttributes) -> Reals:
    centred = samples - samples.mean(axis=-1, keepdims=True) if attributes.centred else samples
    squares = np.square(centred).sum(axis=-1, keepdims=True) * attributes.factor + attributes.epsilon
    with np.errstate(all="ignore"):
        return np.asarray(centred / np.sqrt(squares))


def _affine(normal: Reals, results: Reals) -> tuple[Reals, Reals] | None:
    """(gain, bias) per element of a row with results = normal * gain + bias, by least squares; else None."""
    mean, right = normal.mean(axis=(0, 1)), results.mean(axis=(0, 1))
    spread = np.square(normal - mean).sum(axis=(0, 1))
    if not spread.all():
        return None
    gain = ((normal - mean) * (results - right)).sum(axis=(0, 1)) / spread
    bias = right - gain * mean
    return (gain, bias) if _agree(results, normal * gain + bias) else None


def _agree(first: Reals, second: Reals | float) -> bool:
    return bool(np.all(np.abs(first - second) <= TOLERANCE * np.maximum(1.0, np.abs(second))))
