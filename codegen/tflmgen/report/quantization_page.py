"""Page on a quantisation: what `tflmgen quantize --json` prints, with a picture of each web's values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tflmgen.backend import render
from tflmgen.terminal import count, readable, share
from tflmgen.version import VERSION

WIDTH, HEIGHT = 192, 30
"""Size of a histogram in pixels."""


def quantization_html(contents: Mapping[str, Any]) -> str:
    """HTML text of the report on a quantisation (schema/quantize.json); it needs no network."""
    return render(
        "report/quantize.html.j2",
        contents=contents,
        version=VERSION,
        tiles=_tiles(contents),
        webs=[{**web, **_picture(web)} for web in contents["webs"]],
        width=WIDTH,
        height=HEIGHT,
        costs=_costs(contents["board"]) if contents["board"] else [],
    )


def _tiles(contents: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(title, figure, note)"""
    before, after = contents["bytes"]
    evaluation = contents["evaluation"]
    noises = [o["noise"]["worst_db"] for o in evaluation["outputs"] if o["noise"]]
    worst = min((worst for worst in noises if worst is not None), default=None)
    same = min((o["agreement"] for o in evaluation["outputs"] if o["agreement"] is not None), default=None)
    webs = contents["webs"]
    kinds = {kind: sum(web["type"] == kind for web in webs) for kind in ("int8", "int16", "float32")}
    listed = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
    differing = sum(decision["differing"] for decision in evaluation["decisions"])
    total = sum(decision["total"] for decision in evaluation["decisions"])
    return [
        ("File", readable(after), f"{share(after, before)} % of {readable(before)}"),
        ("Webs", count(len(webs)), listed or "none"),
        (
            "Noise",
            "none" if worst is None else f"{worst:.1f} dB",
            "about the mean, of the worst element, held-out sets",
        ),
        (
            "Same result",
            "none" if same is None else f"{same:.1%}",
            "share of rows whose largest element is at the same place",
        ),
        ("Branches", count(differing), f"of {count(total)} decisions differ" if total else "nothing decides"),
    ]


def _picture(web: Mapping[str, Any]) -> dict[str, Any]:
    """Bars of the histogram, on a logarithmic scale, and the ends of the integers' range where they are inside."""
    highest = max(web["histogram"])
    step = WIDTH / len(web["histogram"])
    bars = []
    for place, number in enumerate(web["histogram"]):
        if number:
            tall = HEIGHT * max(0.06, math.log1p(number) / math.log1p(highest))
            bars.append({"x": round(place * step, 2), "y": round(HEIGHT - tall, 2), "h": round(tall, 2), "n": number})
    span = web["maximum"] - web["minimum"]
    ends = [web["low"], web["high"]] if span and web["low"] is not None else []
    marks = [round((end - web["minimum"]) / span * WIDTH, 2) for end in ends]
    return {"bars": bars, "bar_width": round(step - 0.5, 2), "marks": [x for x in marks if 0 <= x <= WIDTH]}


def _costs(board: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """(what, before, after, share) of flash, RAM and instructions."""
    rows = []
    for key, title in (("flash", "Flash, bytes"), ("ram", "RAM, bytes"), ("instructions", "Instructions")):
        before, after = board["before"][key], board["after"][key]
        if before is not None and after is not None:
            rows.append((title, count(before), count(after), f"{share(after, before)} %"))
    return rows
