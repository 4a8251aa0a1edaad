"""Help and names of the options of sweeps."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.commands.command_line.option_help import OptionHelp
from tflmgen.options import SweepOptions

SWEEP_GROUPS: Mapping[type, Mapping[str, OptionHelp]] = {
    SweepOptions: {
        "boards": OptionHelp("Boards, or all that come with tflmgen.", "A,B", shown_default="BOARDS of SPACE.py"),
        "options": OptionHelp(
            'A set of build options, words of tflmgen.compile: "optimize=ram max_dim=8". Repeatable.',
            "KEY=VALUE...",
            shown_default="OPTIONS of SPACE.py, or none",
        ),
        "measure": OptionHelp("What is measured beside estimates; flash and instructions compile."),
        "workers": OptionHelp("Processes of a cluster here.", "N", short="-j", shown_default="one per core", min=0),
        "scheduler": OptionHelp("Dask scheduler of a cluster elsewhere: tcp://host:8786.", "ADDRESS"),
        "cache": OptionHelp("Folder or URL of figures by content, which sweeps share.", "DIR"),
        "timeout": OptionHelp("Time limit of each row.", "SECONDS", min=0.001),
        "memory": OptionHelp("Address space of each row's process: 4G.", "BYTES"),
        "report": OptionHelp("Write a page with RAM, time and score of all rows, too.", "FILE.html"),
    },
}
