"""A quantisation as JSON and as sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tflmgen.actions import quantization_warnings
from tflmgen.frontend.tflite import Model
from tflmgen.quantize import CORE, Evaluation, MeanNoise, QuantizedFile, TokenLoss, WebSummary, summarize_webs
from tflmgen.terminal import count


def quantization_lines(result: QuantizedFile) -> Iterator[str]:
    """Results of a quantisation, a sentence each."""
    forms, fused = result.quantized.assignment.forms, result.quantized.fused
    types = Counter(form.dtype.label for (graph, _), form in forms.items() if graph not in fused)
    if result.quantized.assignment.notes:
        types["float32"] = len(result.quantized.assignment.notes)
    listed = ", ".join(f"{number} in {label}" for label, number in sorted(types.items()))
    yield f"Operators on real numbers: {listed or 'none'}."
    yield f"Ranges by {result.method.value}, of all samples: test with others."
    if result.loss is not None:
        yield loss_line(result.loss)
    others = [trial.measure for trial in result.trials if trial.is_used and not trial.is_range_method]
    if others:
        yield f"Less noise on held-out sets by: {', '.join(others)}."
    if result.evaluation.decisions:
        differing = sum(decision.differing for decision in result.evaluation.decisions)
        total = sum(decision.total for decision in result.evaluation.decisions)
        invokes, sets = result.evaluation.invokes
        of_sets = f"{count(invokes)} of {count(sets)} samples"
        yield f"Branches and trip counts that differ from float: {count(differing)} of {count(total)}, in {of_sets}."
    for name, number in sorted(result.quantized.conversions.items()):
        kind = "to float" if name.startswith("D") else "to integers"
        yield f"Conversions {kind} in branches, loops and calls: {number} {name}."
    for body, reason in sorted(result.lstm.items()):
        yield f"The loop of subgraph {body} has an LSTM cell{_lstm_line(result, body, reason)}"
    for cost in result.costs:
        cycles = f"{count(cost.cycles)} cycles on {CORE}"
        if cost.not_counted:
            cycles += f" beside {cost.not_counted} operators without an estimate"
        yield f"Estimated, {cost.types}: {cycles}, {count(cost.bytes)} bytes."


def loss_line(loss: TokenLoss) -> str:
    """The loss before and after, in a sentence."""
    own, other = loss.perplexities
    return (
        f"Loss of the next token over {count(loss.tokens)} tokens: {loss.before:.4f} in float32, "
        f"{loss.after:.4f} quantised ({loss.growth:+.2%}); perplexity {own:.4g}, {other:.4g}."
    )


def _lstm_line(result: QuantizedFile, body: int, reason: str) -> str:
    if body in result.quantized.stateful:
        return ": it is UNIDIRECTIONAL_SEQUENCE_LSTM now, whose state persists as the layer's does."
    if body in result.quantized.fused:
        if not result.keeps_state:
            return ": it is one operator now, whose state is zero at the start of each invoke."
        return ": it is UNIDIRECTIONAL_SEQUENCE_LSTM now. Its state persists: reset it before each invoke."
    if reason:
        return f" but stays a loop: {reason}."
    return " and stays a loop. --fuse-lstm makes one operator of it, with a state to reset before each invoke."


def quantization_json(result: QuantizedFile) -> dict[str, Any]:
    """JSON as schema/quantize.json describes it, without names and sizes of files and costs on a board."""
    assignment = result.quantized.assignment
    return {
        "samples": result.calibration.samples,
        "held_out": len(result.data.held_out.sets),
        "ranges": result.method.value,
        "measures": [
            {"measure": trial.measure, "sqnr_db": _finite(trial.evaluation.sqnr_db), "used": trial.is_used}
            for trial in result.trials
        ],
        "evaluation": evaluation_json(result.evaluation, result.quantized.source),
        "weights": [],
        "webs": [_web(web) for web in summarize_webs(result.quantized, result.calibration, result.held_out)],
        "operators": [
            {"subgraph": key[0], "operator": key[1], "type": form.dtype.label}
            for key, form in sorted(assignment.forms.items())
        ],
        "in_float": [
            {"subgraph": note.subgraph, "operator": note.operator, "name": note.name, "reason": note.reason}
            for note in assignment.notes
        ],
        "conversions": [
            {"name": name, "count": number} for name, number in sorted(result.quantized.conversions.items())
        ],
        "lstm_loops": [
            {"body": body, "fused": body in result.quantized.fused, "reason": reason}
            for body, reason in sorted(result.lstm.items())
        ],
        "wider_webs": [
            {"subgraph": key[0], "tensor": key[1], "type": dtype.label} for key, dtype in sorted(result.wanted.items())
        ],
        "estimates": [asdict(cost) for cost in result.costs],
        "loss": None if result.loss is None else asdict(result.loss),
        "warnings": list(quantization_warnings(result)),
    }


def _web(web: WebSummary) -> dict[str, Any]:
    return {
        "subgraph": web.root[0],
        "tensor": web.root[1],
        "name": web.name,
        "tensors": web.tensors,
        "type": web.dtype.label,
        "minimum": web.minimum,
        "maximum": web.maximum,
        "scale": web.scale,
        "zero_point": web.zero_point,
        "low": web.low,
        "high": web.high,
        "sqnr_db": web.sqnr_db,
        "clipped": web.clipped,
        "held_out_reach": None if web.held_out_reach is None else _finite(web.held_out_reach),
        "histogram": list(web.histogram),
    }


def evaluation_json(evaluation: Evaluation, source: Model) -> dict[str, Any]:
    """Errors as JSON; `source` is the float Model."""
    names = {(graph.index, op.index): op.name for graph in source.subgraphs for op in graph.operators}
    return {
        "branch_agreement": evaluation.branch_agreement,
        "differing_invokes": evaluation.invokes[0],
        "decisions": [
            {
                "subgraph": decision.operator[0],
                "operator": decision.operator[1],
                "name": names[decision.operator],
                "differing": decision.differing,
                "total": decision.total,
            }
            for decision in evaluation.decisions
        ],
        "outputs": [
            {
                "signature": error.signature,
                "output": error.output,
                "max_error": _finite(error.max_abs),
                "sqnr_db": _finite(error.sqnr_db),
                "agreement": error.agreement,
                "noise": error.noise and _noise(error.noise),
            }
            for error in evaluation.outputs
        ],
    }


def _noise(noise: MeanNoise) -> dict[str, Any]:
    return {
        "about_mean_db": _finite(noise.whole_db),
        "worst_db": _finite(noise.worst_db),
        "worst_element": noise.worst,
        "channels_db": [_finite(value) for value in noise.channels_db],
        "deviation": noise.deviation,
        "rms_error": noise.error,
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
