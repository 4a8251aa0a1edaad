"""The keywords that renode-test adds to each suite, by the stand-in: robot --listener keywords.py SUITE..."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from monitor import Monitor, MonitorError
from renode import Renode
from robot.libraries.BuiltIn import BuiltIn

ROBOT_LISTENER_API_VERSION = 3

__all__ = ("execute_command", "start_emulation")


class SuiteMonitor(Monitor):
    """Monitor of a suite, in which a command fails if its output reports an error."""

    def fail_download(self, address: str) -> None:
        raise MonitorError(f"There was an error executing command:\nFailed to download {address}, see log for details.")


_renode = Renode({"program": "", "aborts": False, "uart": ()})
_monitor = SuiteMonitor(Path.cwd(), _renode, print)


def execute_command(command: str) -> str:
    return _monitor.command(command)


def start_emulation() -> None:
    _monitor.command("start")


def start_suite(*_: Any) -> None:
    """A listener's: each suite gets this file as a library too."""
    BuiltIn().import_library(__file__)
