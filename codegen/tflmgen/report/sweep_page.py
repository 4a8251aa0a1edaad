"""Page on a sweep: RAM, time and score of all rows, with filters, and links to builds' reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tflmgen.backend import render
from tflmgen.version import VERSION

SHOWN = (
    "task", "model", "board", "options", "status", "fits", "ram_bytes", "weights_bytes", "flash_bytes",
    "milliseconds_estimated", "instructions", "error", "score",
)  # fmt: skip
"""Columns of a sweep's rows that the page has."""


def sweep_html(rows: Sequence[Mapping[str, Any]], front: Sequence[str], links: Mapping[str, str]) -> str:
    """HTML text of the page; it needs no network.

    front  tasks on the Pareto front
    links  task -> its report, relative to the page
    """
    data = {
        "columns": SHOWN,
        "rows": [[row[name] for name in SHOWN] for row in rows],
        "front": list(front),
        "links": dict(links),
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    statuses = {name: sum(row["status"] == name for row in rows) for name in sorted({r["status"] for r in rows})}
    return render(
        "report/sweep.html.j2",
        version=VERSION,
        data=text,
        total=len(rows),
        statuses=statuses,
        front=len(front),
        boards=sorted({row["board"] for row in rows}),
        options=sorted({row["options"] for row in rows}),
        scored=any(row["score"] is not None for row in rows),
    )
