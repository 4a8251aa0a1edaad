"""Warnings of a quantisation: what the model loses, what it may lose beyond its samples, and what helps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from tflmgen.frontend.model_graph import TensorUses, bindings
from tflmgen.kernels import reference_runtimes, traits_of
from tflmgen.options import Activations, QuantizedIo
from tflmgen.quantize import (
    CORE,
    MeanNoise,
    OutputError,
    QuantizedFile,
    certain_agreement,
    operator_work,
    summarize_webs,
)
from tflmgen.terminal import count

LOW_DB = 15.0
"""Ratio of an output's variance to its noise, in decibels, below which the worst element is a warning: noise is a sixth
of the standard deviation then."""

AIM_DB = 20.0
"""Ratio from which on what values beyond the ranges lose is of no account."""

_SATURATED_DB = 3.0
"""Loss by values beyond the ranges from which on they make as much noise as all else."""

_MOST_DIFFERENT = 0.01
"""Share of classes, branches and trip counts from which on it is a warning that they differ."""

_ROUNDING = 1e-9
"""Error of a share as a number: one of a hundred is no more than 1 %."""

_MOST_FLOAT = 0.5
"""Share of the work in float32 from which on quantisation has done little."""

_UNEVEN_DB = 12.0
"""Difference between elements of one output from which on its one scale is to blame: two bits."""

_NAME_LENGTH = 32
"""Characters of a tensor's name in a warning: converters join the names of what they fused."""

_NAMED = 3
"""Webs, or reasons, that a warning names."""


def quantization_warnings(result: QuantizedFile) -> Iterator[str]:
    """Sentences without a stop at the end."""
    yield from result.data.warnings
    if count_of := len(result.calibration.not_finite):
        yield f"{count_of} tensors have infinite or undefined values, which ranges leave out"
    yield from _classes(result)
    yield from _outputs(result)
    yield from _decisions(result)
    yield from _beyond_ranges(result)
    yield from _unreached(result)
    yield from _missing_operators(result)
    yield from _mostly_float(result)
    if result.types is not None and not result.types.is_within:
        yield f"no types reach what {result.settings.activations.value} aims at: {result.types.reason}"


def operators_in_float(result: QuantizedFile) -> Iterator[str]:
    """Operators that have no form in integers, which --strict refuses, too."""
    for note in result.quantized.assignment.notes:
        if not note.is_choice:
            yield f"operator {note.operator} ({note.name}) of subgraph {note.subgraph} stays in float32: {note.reason}"


def _classes(result: QuantizedFile) -> Iterator[str]:
    """Integers, and rows with another largest element, counted on all samples: few of the held-out ones say little."""
    for error in result.on_all.outputs:
        if error.agreement is None:
            continue
        sets, differing = len(result.data.everything.sets), 1 - error.agreement
        if error.is_integer and 1 - certain_agreement(differing * sets, sets) > _MOST_DIFFERENT + _ROUNDING:
            share = f"{differing:.1%} of its elements"
            yield f"{error.output} differs from float in {share} on all samples. {_remedy(result)}"
        elif not error.is_integer and differing > _MOST_DIFFERENT + _ROUNDING and _may_have_classes(result, error):
            share = f"{differing:.1%} of the rows"
            yield f"the largest element of {error.output} is another in {share} of all samples. {_remedy(result)}"


def _may_have_classes(result: QuantizedFile, error: OutputError) -> bool:
    """Whether the largest element of a row may be its class: not of a state, nor of heads that are joined in a row."""
    model = result.quantized.source
    graph = model.subgraphs[next((s.subgraph for s in model.signatures if s.key == error.signature), 0)]
    tensor, producers = graph.outputs[error.place], TensorUses.of(graph).producers
    if (graph.index, tensor) in result.states:
        return False
    op, is_moved = producers.get(tensor), False
    while op is not None and (traits_of(op.name).view or traits_of(op.name).moves) and not traits_of(op.name).joins:
        is_moved |= traits_of(op.name).moves
        op = producers.get(op.inputs[0])
    if op is None or not traits_of(op.name).joins:
        return True
    last = len(graph.tensors[op.outputs[0]].shape) - 1
    return not is_moved and (op.options or {}).get("axis", 0) not in (-1, last)


def _outputs(result: QuantizedFile) -> Iterator[str]:
    for error in result.on_all.outputs:
        if error.is_integer:
            continue
        if error.noise is not None and error.noise.worst_db - error.noise.uncertainty_db < LOW_DB:
            noise = error.noise
            element = "" if noise.worst_db == noise.whole_db else f"element {noise.worst} of "
            text = f"{element}{error.output} is {_decibels(noise.worst_db)} dB about its mean"
            yield f"{text} on calibration samples: its error is large. {_remedy(result)}{_one_scale(result, noise)}"
        elif error.noise is None and (error.sqnr_db < LOW_DB or not math.isfinite(error.max_abs)):
            yield f"{error.output} has an SQNR of {error.sqnr_db:.1f} dB: its error is large. {_remedy(result)}"


def _one_scale(result: QuantizedFile, noise: MeanNoise) -> str:
    """Warning and advice where an integer output's single scale is coarse for elements of small range."""
    known = [value for value in noise.channels_db if math.isfinite(value)]
    lost = max(known, default=0.0) - min(known, default=0.0)
    if result.settings.io is QuantizedIo.FLOAT or lost < _UNEVEN_DB:
        return ""
    return (
        f". One scale for all elements costs some of them {lost:.0f} dB: --split-outputs, or --io float, at no cycles"
    )


def _decibels(value: float) -> str:
    return "-infinity" if value == -math.inf else f"{value:.1f}"


def _remedy(result: QuantizedFile) -> str:
    if result.settings.activations is Activations.INT8 and result.remedy != (0, 0):
        wider = "Try --activations auto or int16"
        if result.remedy is None:
            return wider
        cycles, size = result.remedy
        return f"{wider}, which costs up to about {cycles:+,} cycles on {CORE} and {size:+,} bytes"
    return "Add samples, or keep the model in float32"


def _decisions(result: QuantizedFile) -> Iterator[str]:
    differing, invokes = result.on_all.invokes
    if 1 - result.on_all.certain_branch_agreement > _MOST_DIFFERENT + _ROUNDING:
        share = f"{count(differing)} of {count(invokes)} samples ({differing / invokes:.0%})"
        yield f"branches or trip counts differ from float in {share}. {_remedy(result)}"


def _beyond_ranges(result: QuantizedFile) -> Iterator[str]:
    """Outputs that lose by values beyond the ranges, which held-out samples show where the others alone give ranges."""
    if result.saturated is None:
        return
    webs = summarize_webs(result.quantized, result.calibration, result.held_out)
    left = sorted((web for web in webs if web.leaves_range), key=lambda web: -(web.held_out_reach or 0.0))
    names = ", ".join(f"{_shortened(web.name)} (by {(web.held_out_reach or 0) - 1:.0%})" for web in left[:_NAMED])
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    advice = "Add samples, or widen ranges by --margin, which costs no cycles and no bytes but resolution"
    for own, beyond in zip(result.evaluation.outputs, result.saturated.outputs, strict=True):
        if own.noise is None or beyond.noise is None or beyond.noise.worst_db >= AIM_DB:
            continue
        if own.noise.worst_db - beyond.noise.worst_db > _SATURATED_DB:
            loss = f"{_decibels(beyond.noise.worst_db)} instead of {_decibels(own.noise.worst_db)} dB about its mean"
            where = f"held-out samples leave the range of the others, in {names}{more}"
            yield f"{own.output} is {loss} where {where}. {advice}"


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 1]}…"


def _unreached(result: QuantizedFile) -> Iterator[str]:
    for unreached in result.calibration.unreached:
        floats = [n.name for n in result.quantized.assignment.notes if n.subgraph == unreached.subgraph]
        operators = f"but {', '.join(sorted(set(floats)))} in float" if floats else "none in float"
        analysed = any(graph == unreached.subgraph for graph, _ in result.quantized.assignment.forms)
        consequence = (
            f"its ranges follow from those of its inputs ({operators})" if analysed else "its operators stay in float"
        )
        yield f"{unreached}, so that {consequence}. Add samples that reach it"


def _missing_operators(result: QuantizedFile) -> Iterator[str]:
    kinds: set[str] = set()
    for graph in result.quantized.model.subgraphs:
        for op in graph.operators:
            dtypes = [graph.tensors[i].dtype for i in (*op.inputs[:1], *op.outputs[:1]) if i >= 0]
            label = next((dtype.label for dtype in dtypes if dtype is not None), None)
            if label is not None and not bindings(op) and reference_runtimes(op.name, label) in ("", "LiteRT"):
                kinds.add(f"{op.name} ({label})")
    if kinds:
        advice = "tflmgen compiles them; for an interpreter, replace them before quantisation"
        yield f"TFLite Micro has no kernel of {', '.join(sorted(kinds))}: {advice}"


def _mostly_float(result: QuantizedFile) -> Iterator[str]:
    work = operator_work(result.quantized.source, result.calibration)
    notes = {(note.subgraph, note.operator): note for note in result.quantized.assignment.notes}
    total, in_float = sum(work.values()), sum(work.get(key, 0) for key in notes)
    if not total or in_float <= _MOST_FLOAT * total:
        return
    reasons = Counter[str]()
    for key, note in notes.items():
        reasons[note.reason] += work.get(key, 0)
    listed = "; ".join(reason for reason, _ in reasons.most_common(_NAMED))
    yield f"{in_float / total:.0%} of the work stays in float32: {listed}. Compile the float model if it is fast enough"
