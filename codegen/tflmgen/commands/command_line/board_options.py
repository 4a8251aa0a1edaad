"""Help and names of the options of commands about boards."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.commands.command_line.option_help import OptionHelp
from tflmgen.options import MonitorOptions, NewBoardOptions

BOARD_GROUPS: Mapping[type, Mapping[str, OptionHelp]] = {
    NewBoardOptions: {
        "like": OptionHelp("Board to copy what other options leave out.", "BOARD"),
        "title": OptionHelp("One-line description.", "TEXT"),
        "core": OptionHelp("Its processor, cortex-m4 for example.", "CORE"),
        "fpu": OptionHelp("GCC's -mfpu name where it isn't the usual one, or none.", "NAME"),
        "memory": OptionHelp(
            "A memory, KIND flash or ram: RAM=0x20000000:128K:ram. Repeatable.", "NAME=ORIGIN:SIZE:KIND"
        ),
        "uart": OptionHelp("Its serial port: stm32v2@0x40004800:16000000[:BAUD].", "DRIVER@BASE:CLOCK"),
        "stack": OptionHelp("RAM reserved for the stack.", "BYTES"),
        "place": OptionHelp("Memory of a section: arena=dtcm. Repeatable.", "WHAT=MEMORY"),
        "qemu": OptionHelp("QEMU machine that runs its firmware.", "MACHINE[:SERIAL]"),
    },
    MonitorOptions: {
        "port": OptionHelp("The board's serial port.", "PORT", shown_default="the only USB one"),
        "board": OptionHelp("The board, for its baud rate.", "BOARD", short="-b"),
        "baud": OptionHelp("The baud rate.", "N", shown_default="115200", min=300),
        "seconds": OptionHelp("Stop after N seconds.", "N", shown_default="until Ctrl-C", min=0.0),
    },
}
