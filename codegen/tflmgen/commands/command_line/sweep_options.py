"""Help and names of the options of sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from tflmgen.options import SweepOptions

SWEEP_GROUPS: Mapping[type, Mapping[str, Any]] = {
    SweepOptions: {
        "boards": typer.Option(
            "--boards", metavar="A,B", show_default="BOARDS of SPACE.py", help="Boards, or all that come with tflmgen."
        ),
        "options": typer.Option(
            "--options",
            metavar="KEY=VALUE...",
            show_default="OPTIONS of SPACE.py, or none",
            help='A set of build options, words of tflmgen.compile: "optimize=ram max_dim=8". Repeatable.',
        ),
        "measure": typer.Option("--measure", help="What is measured beside estimates; flash and instructions compile."),
        "workers": typer.Option(
            "--workers",
            "-j",
            metavar="N",
            min=0,
            show_default="one per core",
            help="Processes of a cluster here.",
        ),
        "scheduler": typer.Option(
            "--scheduler", metavar="ADDRESS", help="Dask scheduler of a cluster elsewhere: tcp://host:8786."
        ),
        "cache": typer.Option(
            "--cache", metavar="DIR", help="Folder or URL of figures by content, which sweeps share."
        ),
        "timeout": typer.Option("--timeout", metavar="SECONDS", min=0.001, help="Time limit of each row."),
        "memory": typer.Option("--memory", metavar="BYTES", help="Address space of each row's process: 4G."),
        "report": typer.Option(
            "--report", metavar="FILE.html", help="Write a page with RAM, time and score of all rows, too."
        ),
    },
}
