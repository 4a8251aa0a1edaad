"""Texts and tables on layers: windows, quantisation, dead channels, row-streaming stages, input sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.report.palette import Palette
from tflmgen.report.removal_texts import dead_channels
from tflmgen.report.steps import TIMES, Json, Plan, PlanSteps, shapes
from tflmgen.terminal import count, share


def window_text(step: Json) -> str:
    """Window of a convolution or pool: `3 by 3, stride 2, SAME`."""
    window = step.get("window")
    if window is None:
        return ""
    words = [_pair(window["size"], always=True)]
    words += [f"stride {_pair(window['stride'])}"] if window["stride"] != [1, 1] else []
    words += [f"dilation {_pair(window['dilation'])}"] if window["dilation"] != [1, 1] else []
    words += [window["padding"].lower() if window["padding"] == "explicit" else window["padding"]]
    return ", ".join(words)


def _pair(numbers: list[int], always: bool = False) -> str:
    height, width = numbers
    return str(height) if height == width and not always else f"{height}{TIMES}{width}"


def quantization_text(step: Json) -> str:
    """Scales (and zero points) of input, weights and output: `0.025 (-128), 64 scales, 0.08 (3)`."""
    quantization = step.get("quantization", {})
    words = [
        f"{_role(name)} {_quantized(quantization[name])}"
        for name in ("input", "weights", "output")
        if name in quantization
    ]
    return ", ".join(words)


def _role(name: str) -> str:
    return {"input": "in", "weights": "weights", "output": "out"}[name]


def _quantized(quantization: Json) -> str:
    if quantization["scale"] is None:
        return f"{count(quantization['scales'])} scales"
    return f"{quantization['scale']:.4g}" + (f" ({quantization['zero_point']})" if quantization["zero_point"] else "")


@dataclass(frozen=True, slots=True)
class DeadRow:
    """Table row of a layer with dead channels."""

    step: int | None
    place: str
    name: str
    dead: str
    in_biases: int
    unread: int
    macs: str


def dead_rows(steps: PlanSteps) -> Iterator[DeadRow]:
    """One row per layer with dead channels."""
    parts = {f"{part['subgraph']}.{part['operator']}": (step, part) for step, part in _operators(steps)}
    for layer in dead_channels(steps.plan):
        step, part = parts.get(layer.place, (None, None))
        text = "" if part is None else f"{count(part['macs'])} of {count(part['file_macs'])}"
        dead = f"{count(layer.channels)} of {count(layer.of)} ({share(layer.channels, layer.of)} %)"
        name = "not computed at all" if part is None else part["name"]
        yield DeadRow(step, layer.place, name, dead, layer.known, layer.channels - layer.known, text)


def _operators(steps: PlanSteps) -> Iterator[tuple[int, Json]]:
    """(step, operator) for all operators, including stages of row streaming."""
    for index, step in steps.by_index.items():
        if step["kind"] == "operator":
            yield from ((index, part) for part in step.get("stages", (step,)))


OTHER_REMOVALS = {
    "constant": "tensors are the same for every input: they are constants",
    "clamp": "activations leave every element as it is that can come: they are not computed",
    "branch": "branches are never taken: their code is not generated",
    "loop": "loops are never entered: their code is not generated",
}


def other_removals(plan: Plan) -> list[str]:
    """Sentences on removals of value-range analysis other than dead channels."""
    kinds = [removed["what"] for removed in plan["removed"]]
    return [f"{count(kinds.count(kind))} {words}." for kind, words in OTHER_REMOVALS.items() if kind in kinds]


@dataclass(frozen=True, slots=True)
class StreamTable:
    """Table of the stages of a row-streamed operator."""

    step: int
    title: str
    style: str
    rows: tuple[tuple[str, ...], ...]


STREAM_COLUMNS = (
    "in file",
    "operator",
    "output",
    "window",
    "rows>",
    "MACs>",
    "weights>",
    "line buffer>",
    "quantisation",
)
"""Column titles; those of numeric columns end in '>'."""


def stream_tables(steps: PlanSteps, palette: Palette) -> Iterator[StreamTable]:
    """A table for each step that is a row stream, with its stages as rows."""
    for index, step in steps.by_index.items():
        if "stages" in step:
            rows = tuple(_stage(stage) for stage in step["stages"])
            yield StreamTable(index, steps.title(index), palette.of_step(step), rows)


def _stage(stage: Json) -> tuple[str, ...]:
    numbers = (count(stage[key]) if stage[key] else "" for key in ("calls", "macs", "weights_bytes", "line_bytes"))
    place = f"{stage['subgraph']}.{stage['operator']}"
    return place, stage["name"], shapes(stage["outputs"]), window_text(stage), *numbers, quantization_text(stage)


def set_rows(bench: Mapping[str, Any] | None) -> list[tuple[str, ...]]:
    """Number, label, instructions, cycles and stack of each input set of bench."""
    return [
        (
            str(number),
            figures["label"],
            *(_optional_count(figures[key]) for key in ("instructions", "cycles_estimated", "stack_bytes")),
        )
        for number, figures in enumerate(bench["sets"] if bench else ())
    ]


def _optional_count(value: int | None) -> str:
    return "" if value is None else count(value)
