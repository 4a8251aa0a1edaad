"""What the stand-in's launcher runs: a Renode whose machine is the model on this computer.

    renode.py SETTINGS [--console] [--hide-monitor] [--pid-file FILE] [-e COMMAND] [SCRIPT]

Settings (see support.renode_stand_in.StandIn) say how long it takes to start, and what goes wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from monitor import Machine, Monitor, MonitorError
from tflmgen.emulators.host import compile_host
from tflmgen.emulators.link import REPLY, Decoder, Request

PER_INVOKE = 250
"""Instructions of the first invoke; the second takes twice as many, and so on."""


class Renode:
    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._program = settings["program"]
        self._invokes = 0
        base = Path(tempfile.gettempdir())
        for left in base.glob("renode-*"):
            if not _is_alive(left.name.removeprefix("renode-").removesuffix("-crash")):
                shutil.rmtree(left, ignore_errors=True)
        self._folders = [base / f"renode-{os.getpid()}{suffix}" for suffix in ("", "-crash")]
        for folder in self._folders:
            folder.mkdir()

    def leave(self, code: int) -> None:
        for folder in self._folders:
            shutil.rmtree(folder)
        os._exit(code)

    def read_commands(self) -> None:
        """Reads standard input, for --console, and quits at its end as Renode does."""
        while os.read(0, 4096):
            pass
        self.leave(0)

    def load(self, elf: Path) -> None:
        """A monitor.Host's: the firmware's model for this computer, from the project that the firmware is of."""
        project = next((folder for folder in elf.parents if (folder / "lib" / "tflmgen").is_dir()), None)
        if not self._program and project is not None:
            self._program = str(self._folders[0] / "firmware")
            compile_host(project, Path(self._program))

    def start(self, machine: Machine) -> None:
        if machine.connected:
            threading.Thread(target=self._serve, args=(machine,), daemon=True).start()
        for _ in machine.analyzers:
            for line in self._settings["uart"]:
                say(f"12:00:00.0000 [INFO] uart: [host: 5.0s (+5.0s)|virt: 0.1s (+0.1s)] {line}")

    def _serve(self, machine: Machine) -> None:
        assert machine.server is not None
        pipe = subprocess.PIPE
        with (
            machine.server.accept()[0] as connection,
            subprocess.Popen([self._program], stdin=pipe, stdout=pipe, bufsize=0) as firmware,
        ):
            assert firmware.stdin is not None
            threading.Thread(target=self._answer, args=(machine, firmware, connection), daemon=True).start()
            with suppress(OSError):
                while data := connection.recv(65536):
                    firmware.stdin.write(data)
            firmware.stdin.close()

    def _answer(self, machine: Machine, firmware: subprocess.Popen[bytes], connection: Any) -> None:
        assert firmware.stdout is not None
        decoder = Decoder()
        while data := os.read(firmware.stdout.fileno(), 65536):
            for frame in decoder.feed(data):
                if frame.type == Request.INVOKE | REPLY:
                    self._invoked(machine)
            with suppress(OSError):
                connection.sendall(data)

    def _invoked(self, machine: Machine) -> None:
        self._invokes += 1
        if self._settings["aborts"]:
            say("cpu: abort in translation of wlstp")
            os._exit(134)
        before, after = machine.executed, machine.executed + PER_INVOKE * self._invokes
        for (_, script), executed in zip(machine.hooks, (before, after), strict=False):
            exec(script, {"self": SimpleNamespace(ExecutedInstructions=executed)})
        machine.executed = after


def say(text: str) -> None:
    print(text, flush=True)


def _is_alive(number: str) -> bool:
    return number.isdigit() and Path(f"/proc/{number}").exists()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--disable-gui", action="store_true", required=True)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--pid-file", type=Path)
    parser.add_argument("-e", dest="execute", default="")
    parser.add_argument("script", nargs="?", default="")
    shell = parser.add_mutually_exclusive_group(required=True)
    shell.add_argument("--console", action="store_true")
    shell.add_argument("--hide-monitor", action="store_true")
    options = parser.parse_args(sys.argv[2:])
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with Path(settings["processes"]).open("a", encoding="ascii") as file:
        file.write(f"{os.getppid()} {os.getpid()} ")
    if options.pid_file:
        options.pid_file.write_text(str(os.getpid()), encoding="ascii")
    renode = Renode(settings)
    if options.console:
        threading.Thread(target=renode.read_commands, daemon=True).start()
    for line in settings["says"]:
        say(line)
    if settings["ends"] is not None:
        renode.leave(settings["ends"])
    time.sleep(settings["seconds"])
    if settings["listens"]:
        monitor = Monitor(Path.cwd(), renode, say)
        at = "@" if options.script.startswith("/") else "$CWD/"
        try:
            monitor.command(f"i {at}{options.script}" if options.script else "")
            monitor.command(options.execute)
        except MonitorError as error:
            say(str(error))  # and stays at its prompt
    threading.Event().wait()


if __name__ == "__main__":
    main()
