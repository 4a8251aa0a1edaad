"""What the report says of layers: windows and quantisation, dead channels, operators inside streams, sets of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.report.dead_channels import dead_channels
from tflmgen.report.palette import Palette
from tflmgen.report.steps import TIMES, Json, Plan, Steps, shapes
from tflmgen.terminal import count, share


def window_text(step: Json) -> str:
    """3 by 3, stride 2, SAME: of a convolution or a pool."""
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
    """Scales and zero points of input, weights and output: 0.025 (-128), 64 scales, 0.08 (3)."""
    found = step.get("quantization", {})
    words = [f"{_role(name)} {_quantized(found[name])}" for name in ("input", "weights", "output") if name in found]
    return ", ".join(words)


def _role(name: str) -> str:
    return {"input": "in", "weights": "weights", "output": "out"}[name]


def _quantized(one: Json) -> str:
    if one["scale"] is None:
        return f"{count(one['scales'])} scales"
    return f"{one['scale']:.4g}" + (f" ({one['zero_point']})" if one["zero_point"] else "")


@dataclass(frozen=True, slots=True)
class DeadRow:
    """A layer with dead channels, and what became of them."""

    step: int | None
    place: str
    name: str
    dead: str
    in_biases: int
    unread: int
    macs: str


def dead_rows(steps: Steps) -> Iterator[DeadRow]:
    """One row for each layer that has lost channels."""
    parts = {f"{part['subgraph']}.{part['operator']}": (step, part) for step, part in _operators(steps)}
    for layer in dead_channels(steps.plan):
        step, part = parts.get(layer.place, (None, None))
        text = "" if part is None else f"{count(part['macs'])} of {count(part['file_macs'])}"
        dead = f"{count(layer.channels)} of {count(layer.of)} ({share(layer.channels, layer.of)} %)"
        name = "not computed at all" if part is None else part["name"]
        yield DeadRow(step, layer.place, name, dead, layer.known, layer.channels - layer.known, text)


def _operators(steps: Steps) -> Iterator[tuple[int, Json]]:
    """Operators of the file with the step in which they run, those of streams too."""
    for index, step in steps.by_index.items():
        if step["kind"] == "operator":
            yield from ((index, part) for part in step.get("stages", (step,)))


OTHERS = {
    "constant": "tensors are the same for every input: they are constants",
    "clamp": "activations leave every element as it is that can come: they are not computed",
    "branch": "branches are never taken: their code is not generated",
    "loop": "loops are never entered: their code is not generated",
}


def others_left_out(plan: Plan) -> list[str]:
    """What else value-range analysis has found, in sentences."""
    kinds = [one["what"] for one in plan["removed"]]
    return [f"{count(kinds.count(kind))} {words}." for kind, words in OTHERS.items() if kind in kinds]


@dataclass(frozen=True, slots=True)
class StreamTable:
    """The operators of a stream; rows of texts."""

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
"""Titles; one that ends in '>' has numbers."""


def stream_tables(steps: Steps, palette: Palette) -> Iterator[StreamTable]:
    for index, step in steps.by_index.items():
        if "stages" in step:
            rows = tuple(_stage(stage) for stage in step["stages"])
            yield StreamTable(index, steps.title(index), palette.of_step(step), rows)


def _stage(stage: Json) -> tuple[str, ...]:
    numbers = (count(stage[key]) if stage[key] else "" for key in ("calls", "macs", "weights_bytes", "line_bytes"))
    place = f"{stage['subgraph']}.{stage['operator']}"
    return place, stage["name"], shapes(stage["outputs"]), window_text(stage), *numbers, quantization_text(stage)


def set_rows(bench: Mapping[str, Any] | None) -> list[tuple[str, ...]]:
    """Number, label, instructions, cycles and stack of each set of inputs that bench ran."""
    return [
        (str(number), one["label"], *(_known(one[key]) for key in ("instructions", "cycles_estimated", "stack_bytes")))
        for number, one in enumerate(bench["sets"] if bench else ())
    ]


def _known(value: int | None) -> str:
    return "" if value is None else count(value)
