"""Sentences about a plan for a terminal: warnings, notes, and channels left out by value-range analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.terminal import count, share

NAMED = 4
"""Number of layers that `build` names, by dead channels; `inspect` and the report list all."""


@dataclass(frozen=True, slots=True)
class DeadChannels:
    """Dead channels of one layer (an operator with weights), over all rounds of the analysis.

    place     SUBGRAPH.OPERATOR
    channels  number of dead channels
    of        number of channels in the file
    known     dead channels of constant value, which biases take in; the others have no readers
    """

    place: str
    channels: int
    of: int
    known: int

    @property
    def text(self) -> str:
        """Place of the layer, with how many of its channels are dead."""
        return f"{self.place} ({count(self.channels)} of {count(self.of)})"


def dead_channels(plan: Mapping[str, Any]) -> list[DeadChannels]:
    """Layers whose outputs have dead channels, in the file's order."""
    layers: dict[tuple[int, int, str], DeadChannels] = {}
    for removed in plan["removed"]:
        if removed["what"] != "channels" or not removed["channels"] or not removed["macs"]:
            continue
        location, key = (
            f"{removed['subgraph']}.{removed['operator']}",
            (removed["subgraph"], removed["operator"], removed["name"]),
        )
        earlier = layers.get(key, DeadChannels(location, 0, 0, 0))
        channels = min(earlier.channels + removed["channels"], removed["of_channels"])
        layers[key] = DeadChannels(
            location, channels, removed["of_channels"], min(channels, earlier.known + removed["known_channels"])
        )
    return [layers[key] for key in sorted(layers)]


def dead_channel_lines(plan: Mapping[str, Any]) -> list[str]:
    """Lines for `build`: the layers with most dead channels, and the remaining MACs."""
    computed, file = plan["macs"]["computed"], plan["macs"]["file"]
    layers = sorted(dead_channels(plan), key=lambda layer: -layer.channels)
    lines = []
    if layers:
        total, named = count(sum(layer.channels for layer in layers)), ", ".join(layer.text for layer in layers[:NAMED])
        further = f" and {count(len(layers) - NAMED)} more" if len(layers) > NAMED else ""
        layer_count = "1 layer" if len(layers) == 1 else f"{count(len(layers))} layers"
        lines.append(
            f"Value-range analysis: {total} dead channels in {layer_count} are not computed: {named}{further}."
        )
    if computed < file:
        lines.append(
            f"MACs: {count(computed)} of the file's {count(file)} ({share(computed, file)} %); "
            "`tflmgen inspect` lists what is left out, --no-range-analysis computes all."
        )
    return lines


def note_lines(plan: Mapping[str, Any]) -> list[str]:
    """Lines for a terminal: warnings of the proof first, then notes."""
    warnings = [f"warning: {part['warning']}" for part in plan["proof"] if part.get("warning")]
    return [*warnings, *(f"note: {note}" for note in plan["notes"])]
