"""Quantises a float Model with calibration data: ranges and types that lower the error on held-out sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tflmgen.frontend import Model, TensorKey
from tflmgen.ir import DType
from tflmgen.kernels import OPERATORS, Operators
from tflmgen.quantize.calibration import measure
from tflmgen.quantize.calibration_data import CalibrationData
from tflmgen.quantize.evaluation import Evaluation, Run, run_sets
from tflmgen.quantize.observed_build import ObservedBuild, observed_build
from tflmgen.quantize.quantize_model import QuantizationChoice, QuantizedModel, quantize_model
from tflmgen.quantize.range_choice import RangeMethod, affine_of, choose_range
from tflmgen.quantize.sensitivity import (
    Sensitivity,
    WebValues,
    best_methods,
    measure_sensitivity,
    merged_statistics,
    web_values,
)
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.type_search import Limits, TypeChoice, choose_types, evaluate
from tflmgen.quantize.web_constraints import find_webs
from tflmgen.quantize.web_types import Range, RangeChoice

Methods = Mapping[TensorKey, RangeMethod]

_SENSITIVITY_SETS = 16
"""Held-out sets on which each web is measured alone: enough for the order of the webs."""


@dataclass(frozen=True, slots=True)
class CalibratedModel:
    """A quantised model with everything that was measured on the way.

    methods        range method by web root; absent: least and greatest value
    sensitivities  errors where one web alone is quantised, by method of its range; empty if not measured
    search         how the types were found; None if they were given
    """

    quantized: QuantizedModel
    data: CalibrationData
    calibration: Calibration
    evaluation: Evaluation
    webs: Mapping[TensorKey, WebValues]
    methods: Methods
    sensitivities: tuple[Sensitivity, ...] = ()
    search: TypeChoice | None = None


def quantize_with_data(
    source: Model,
    read_data: Callable[[ObservedBuild], CalibrationData],
    choice: QuantizationChoice,
    limits: Limits | None = None,
    progress: Callable[[str], None] = lambda _: None,
    operators: Operators = OPERATORS,
) -> CalibratedModel:
    """The quantised Model of one that `prepare_float` made.

    read_data  reads the calibration data for the signatures of a build
    limits     of errors that wider types are to meet (`--activations auto`); None: the types of `choice` as they are

    Ranges other than from the least to the greatest value are used only where they lower the error on held-out sets.
    """
    with observed_build(source, operators=operators) as build:
        data = read_data(build)
        calibration = measure(build, data.fit, lambda done, of: progress(f"Calibrating, sample {done + 1} of {of}"))
        reference = run_sets(build, data.held_out)
        webs = _webs(source, calibration)
        session = _Session(build, data, calibration, reference, choice)
        sensitivities: list[Sensitivity] = []
        if choice.activations is DType.INT8:
            sensitivities = measure_sensitivity(
                build,
                replace(data.held_out, sets=data.held_out.sets[:_SENSITIVITY_SETS]),
                list(webs.values()),
                methods=tuple(RangeMethod),
                progress=lambda done, of: progress(f"Measuring sensitivity, {done + 1} of {of}"),
            )
        methods = session.best_ranges(best_methods(sensitivities), progress)
        search = None
        if limits is not None:
            by_method = [s for s in sensitivities if s.method is methods.get(s.root, RangeMethod.MIN_MAX)]
            quantize = session.quantizer(methods)
            search = choose_types(
                build, data.everything, webs, by_method, lambda wanted: quantize(wanted).model, limits, progress
            )
        quantized = session.quantizer(methods)(search.wanted if search else choice.wanted)
        progress("Measuring the error")
        evaluation = evaluate(build, reference, quantized.model, data.held_out)
    return CalibratedModel(quantized, data, calibration, evaluation, webs, methods, tuple(sensitivities), search)


def range_choice(calibration: Calibration, methods: Methods, root: Callable[[TensorKey], TensorKey]) -> RangeChoice:
    """Ranges of groups of tensors by the method of their webs; where those differ: the least error."""

    def choose(keys: Iterable[TensorKey], dtype: DType, bounds: Range) -> Range:
        own = list(keys)
        chosen = {methods.get(root(key), RangeMethod.MIN_MAX) for key in own}
        statistics = merged_statistics(calibration, own)
        if statistics is None or chosen == {RangeMethod.MIN_MAX} or not chosen:
            return bounds
        method = chosen.pop() if len(chosen) == 1 else RangeMethod.MSE
        low, high = affine_of(*choose_range(statistics, dtype, method), dtype).bounds
        return max(low, bounds[0]), min(high, bounds[1])

    return choose


@dataclass(frozen=True, slots=True)
class _Session:
    """What candidates of one model have in common."""

    build: ObservedBuild
    data: CalibrationData
    calibration: Calibration
    reference: Run
    choice: QuantizationChoice

    def quantizer(self, methods: Methods) -> Callable[[Mapping[TensorKey, DType]], QuantizedModel]:
        root = find_webs(self.build.model).root
        choose = range_choice(self.calibration, methods, root)

        def quantize(wanted: Mapping[TensorKey, DType]) -> QuantizedModel:
            choice = replace(self.choice, wanted={**self.choice.wanted, **wanted}, choose_range=choose)
            return quantize_model(self.build.model, self.calibration, choice)

        return quantize

    def best_ranges(self, by_web: Methods, progress: Callable[[str], None]) -> Methods:
        """The methods of the model with the least error: least and greatest values, or what is best for each web."""
        clipping = {root: method for root, method in by_web.items() if method is not RangeMethod.MIN_MAX}
        if not clipping:
            return {}
        errors: list[tuple[float, float, int, Methods]] = []
        candidates: tuple[Methods, Methods] = ({}, clipping)
        for number, methods in enumerate(candidates):
            progress(f"Comparing ranges, {number + 1} of 2")
            model = self.quantizer(methods)(self.choice.wanted).model
            evaluation = evaluate(self.build, self.reference, model, self.data.held_out)
            errors.append((1 - evaluation.branch_agreement, -evaluation.sqnr_db, number, methods))
        return min(errors, key=lambda error: error[:3])[-1]


def _webs(model: Model, calibration: Calibration) -> dict[TensorKey, WebValues]:
    """Webs of float values by their roots."""
    sets = find_webs(model)
    members: dict[TensorKey, list[TensorKey]] = {}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            if tensor.dtype is DType.FLOAT32 and tensor.data is None:
                key = (graph.index, tensor.index)
                members.setdefault(sets.root(key), []).append(key)
    return web_values(calibration, members)
