"""A stand-in for Renode (stand_ins/renode), and the processes that it has left behind."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from support.processes import survivors

FOLDER = Path(__file__).parent / "stand_ins" / "renode"

LAUNCHER = """\
#!/bin/sh
# Like the launcher of Renode's portable package: a script whose child is the emulator.
'{python}' '{program}' '{settings}' "$@"
exit $?
"""


@dataclass(frozen=True, slots=True)
class StandIn:
    """Behaviour of the stand-in for Renode.

    program   the model's server on this computer; it compiles the one of the firmware's project by itself if empty
    seconds   from its start until it runs its script
    says      what it logs first
    ends      the exit code with which it then ends, if it does
    listens   whether it ever comes to its script
    aborts    whether the first invoke kills it
    uart      what the firmware sends where the UART is shown in the log
    """

    program: str = ""
    seconds: float = 0.0
    says: Sequence[str] = ()
    ends: int | None = None
    listens: bool = True
    aborts: bool = False
    uart: Sequence[str] = ()

    def install(self, folder: Path) -> Path:
        """The launcher, in `folder`."""
        settings, launcher = folder / "renode.json", folder / "renode"
        processes = folder / "processes"
        processes.touch()
        settings.write_text(json.dumps({**asdict(self), "processes": str(processes)}), encoding="utf-8")
        text = LAUNCHER.format(python=sys.executable, program=FOLDER / "renode.py", settings=settings)
        launcher.write_text(text, encoding="utf-8")
        launcher.chmod(0o755)
        return launcher


def outliving(launcher: Path) -> list[int]:
    """Processes of the stand-in that still run after five seconds."""
    numbers = (launcher.parent / "processes").read_text(encoding="ascii").split()
    assert numbers, "the stand-in was not started"
    return survivors([int(number) for number in numbers])
