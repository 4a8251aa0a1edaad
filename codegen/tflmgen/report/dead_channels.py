"""What value-range analysis left out of a plan, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.terminal import count, share

NAMED = 4
"""Layers that `build` names, those with most dead channels; `inspect` and the report have all."""


@dataclass(frozen=True, slots=True)
class DeadChannels:
    """The dead channels of one layer (an operator with weights), over all rounds of the analysis.

    place: subgraph and operator, as 0.12. known: those that biases stand for, the others are read by nothing.
    """

    place: str
    channels: int
    of: int
    known: int

    @property
    def text(self) -> str:
        return f"{self.place} ({count(self.channels)} of {count(self.of)})"


def dead_channels(plan: Mapping[str, Any]) -> list[DeadChannels]:
    """The layers whose outputs have dead channels, in the file's order."""
    found: dict[tuple[int, int, str], DeadChannels] = {}
    for one in plan["removed"]:
        if one["what"] != "channels" or not one["channels"] or not one["macs"]:
            continue
        place, key = f"{one['subgraph']}.{one['operator']}", (one["subgraph"], one["operator"], one["name"])
        before = found.get(key, DeadChannels(place, 0, 0, 0))
        channels = min(before.channels + one["channels"], one["of_channels"])
        found[key] = DeadChannels(
            place, channels, one["of_channels"], min(channels, before.known + one["known_channels"])
        )
    return [found[key] for key in sorted(found)]


def dead_channel_lines(plan: Mapping[str, Any]) -> list[str]:
    """What `build` says of them: which layers have most, and how many MACs are left."""
    computed, file = plan["macs"]["computed"], plan["macs"]["file"]
    layers = sorted(dead_channels(plan), key=lambda layer: -layer.channels)
    lines = []
    if layers:
        total, where = count(sum(layer.channels for layer in layers)), ", ".join(one.text for one in layers[:NAMED])
        more = f" and {count(len(layers) - NAMED)} more" if len(layers) > NAMED else ""
        inside = "1 layer" if len(layers) == 1 else f"{count(len(layers))} layers"
        lines.append(f"Value-range analysis: {total} dead channels in {inside} are not computed: {where}{more}.")
    if computed < file:
        lines.append(
            f"MACs: {count(computed)} of the file's {count(file)} ({share(computed, file)} %); "
            "`tflmgen inspect` lists what is left out, --no-range-analysis computes all."
        )
    return lines
