"""The subset of Renode's monitor that tflmgen's scripts and suites need, with the behaviour of Renode 1.16.1.

Tokens are those of Renode's own tokenizer: a path runs from @ to the next space that has no backslash before it. A
variable directly before what is no token is put in as text, which is how $ORIGIN/board.repl becomes a path.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

STOCK = (
    "platforms/boards/stm32f4_discovery-kit.repl",
    "platforms/cpus/stm32f4.repl",
    "platforms/cpus/stm32f103.repl",
    "platforms/boards/nucleo_h753zi.repl",
    "platforms/boards/nrf52840dk_nrf52840.repl",
    "platforms/boards/arduino_nano_33_ble.repl",
)
"""Platforms that come with Renode 1.16.1."""

WITH_SVD = tuple(name for name in STOCK if "h753zi" not in name)
"""Those that download the names of their registers. Offline that fails, and the platform is there all the same."""

TOKENS = (r"#.*", r'"[^"\\]*(?:\\.[^"\\]*)*"', r"@(?:(?!;)(?:\\ |\S))+", r"0x[0-9a-fA-F]+", r"\d+", r"[\w.?-]+", r"\s+")
COMMANDS = re.compile(r'; (?=(?:[^"]*"[^"]*")*[^"]*$)')
"""What parts commands on one line: outside of quotes."""

VARIABLE = re.compile(r"\$(\w+)")
ASSIGNMENT = re.compile(r"\$(\w+)(\?)?=(\S+)$")


class MonitorError(Exception):
    """What the monitor says to a command that fails. A script ends there."""


@dataclass
class Machine:
    """What a script has made: the platform, the firmware, hooks as (address, Python), the server, and what is shown."""

    loaded: bool = False
    elf: Path | None = None
    hooks: list[tuple[int, str]] = field(default_factory=list)
    server: socket.socket | None = None
    connected: bool = False
    analyzers: list[str] = field(default_factory=list)
    executed: int = 0


class Host(Protocol):
    """Runs the firmware of a machine, as this computer's own program."""

    def load(self, elf: Path) -> None: ...

    def start(self, machine: Machine) -> None: ...


class Monitor:
    """`host` gets the machine with its firmware, and again at its start; `say` what Renode logs; `folder` is where
    Renode was started.
    """

    def __init__(self, folder: Path, host: Host, say: Callable[[str], None]) -> None:
        self.machine = Machine()
        self._host, self._say = host, say
        self._folder = folder
        self._variables = {"CWD": f"@{folder}"}  # unescaped, unlike ORIGIN

    def script(self, path: Path) -> None:
        """Run a script's lines; MonitorError ends it, as does a word of the machine's platform that is missing."""
        self._variables["ORIGIN"] = "@" + str(path.parent).replace(" ", "\\ ")
        for line in path.read_text(encoding="utf-8").splitlines():
            self.command(line)

    def command(self, line: str) -> str:
        """What the command prints."""
        *before, line = [line] if line.startswith("#") else COMMANDS.split(line)
        for typed_line in before:
            self.command(typed_line)
        if assigned := ASSIGNMENT.match(line):
            name, is_default, value = assigned.groups()
            if not is_default or name not in self._variables:
                self._variables[name] = value
            return ""
        words = self._words(line)
        if not words:
            return ""
        match words:
            case ["i" | "include", path]:
                self.script(self._file(path))
            case ["mach", "create", _]:
                self.machine = Machine()
            case ["machine", "LoadPlatformDescription", path]:
                self._load_platform(path)
            case ["sysbus", "LoadELF", path] if self.machine.loaded:
                try:
                    self.machine.elf = self._file(path)
                except MonitorError as error:
                    raise MonitorError(f"There was an error executing command '{line}'\n{error}") from error
                self._host.load(self.machine.elf)
            case ["sysbus.cpu", "AddHook", address, script] if self.machine.elf:
                self.machine.hooks.append((int(address, 16), script[1:-1]))
            case ["sysbus.cpu", "ExecutedInstructions"]:
                return f"0x{self.machine.executed:016X}\n"
            case ["emulation", "CreateServerSocketTerminal", port, '"protocol"', "false"]:
                self.machine.server = socket.create_server(("127.0.0.1", int(port)))
            case ["connector", "Connect", uart, "protocol"] if self.machine.server and uart.startswith("sysbus."):
                self.machine.connected = True
            case ["showAnalyzer", uart] if self.machine.loaded:
                self.machine.analyzers.append(uart)
            case ["start"] if self.machine.elf:
                self._host.start(self.machine)
            case _:
                raise MonitorError(f"There was an error executing command '{line}'")
        return ""

    def _load_platform(self, path: str) -> None:
        if path.removeprefix("@") not in STOCK:
            text = self._file(path).read_text(encoding="utf-8")
            if "CPU.CortexM @ sysbus" not in text:
                raise MonitorError(f"{path}: no processor")
        self.machine.loaded = True
        if path.removeprefix("@") in WITH_SVD:
            self.fail_download("https://dl.antmicro.com/projects/renode/svd/board.svd.gz")

    def fail_download(self, address: str) -> None:
        """A script goes on, with lines in the log; a suite's command fails."""
        self._say(f"12:00:00.0000 [ERROR] Failed to download {address}, see log for details.")

    def _file(self, path: str) -> Path:
        name = path.removeprefix("@").replace("\\ ", " ")
        existing = next((path for path in (Path(name), self._folder / name) if path.is_file()), None)
        if existing is None or not path.startswith("@"):
            raise MonitorError(f"Could not find file '{name}'")
        return existing.resolve()

    def _words(self, line: str) -> list[str]:
        words, rest = [], line
        while rest:
            token = next((match for token in TOKENS if (match := re.match(token, rest))), None)
            variable = VARIABLE.match(rest)
            if variable and variable[1] in self._variables:
                rest = self._variables[variable[1]] + rest[variable.end() :]
            elif token is None:
                raise MonitorError(f"Could not tokenize here:\n{line}\n{'^'.rjust(len(line) - len(rest) + 1)}")
            else:
                rest = rest[token.end() :]
                words += [token[0]] if token[0].strip() and not token[0].startswith("#") else []
        return words
