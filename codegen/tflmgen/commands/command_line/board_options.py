"""Help and names of the options of commands about boards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from tflmgen.options import MonitorOptions, NewBoardOptions

BOARD_GROUPS: Mapping[type, Mapping[str, Any]] = {
    NewBoardOptions: {
        "like": typer.Option("--like", metavar="BOARD", help="Board to copy what other options leave out."),
        "title": typer.Option("--title", metavar="TEXT", help="One-line description."),
        "core": typer.Option("--core", metavar="CORE", help="Its processor, cortex-m4 for example."),
        "fpu": typer.Option("--fpu", metavar="NAME", help="GCC's -mfpu name where it isn't the usual one, or none."),
        "memory": typer.Option(
            "--memory",
            metavar="NAME=ORIGIN:SIZE:KIND",
            help="A memory, KIND flash or ram: RAM=0x20000000:128K:ram. Repeatable.",
        ),
        "uart": typer.Option(
            "--uart", metavar="DRIVER@BASE:CLOCK", help="Its serial port: stm32v2@0x40004800:16000000[:BAUD]."
        ),
        "stack": typer.Option("--stack", metavar="BYTES", help="RAM reserved for the stack."),
        "place": typer.Option("--place", metavar="WHAT=MEMORY", help="Memory of a section: arena=dtcm. Repeatable."),
        "qemu": typer.Option("--qemu", metavar="MACHINE[:SERIAL]", help="QEMU machine that runs its firmware."),
    },
    MonitorOptions: {
        "port": typer.Option(
            "--port", metavar="PORT", show_default="the only USB one", help="The board's serial port."
        ),
        "board": typer.Option("--board", "-b", metavar="BOARD", help="The board, for its baud rate."),
        "baud": typer.Option("--baud", metavar="N", min=300, show_default="115200", help="The baud rate."),
        "seconds": typer.Option(
            "--seconds", metavar="N", min=0.0, show_default="until Ctrl-C", help="Stop after N seconds."
        ),
    },
}
