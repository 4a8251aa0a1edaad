"""Pages that show commands and what they print: each ```console block is run, in the page's order, in one folder.

A command begins with "$ "; what it prints follows, with trailing spaces gone. [...] stands for whatever, within a line
or for any number of lines. A block of another language below a line that ends with a path in backquotes and a colon,
`path/to/file`:, is that file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support.repository import ROOT

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"`([\w./-]+)`:\n\n$")
ELISION = "[...]"
PROGRESS = re.compile(r"[A-Z].*, \d+ s")
"""A line that long work has on a machine that is busy with something else."""
PLAIN_80_COLUMNS = {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
"""Variables with which pages show what a terminal of 80 columns does."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A command of a page, and what the page says that it prints, from `begin` to `end` of its text."""

    command: str
    output: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file that the page shows."""

    path: str
    text: str


def parts_of(page: str) -> list[Shown | Sheet]:
    """The commands and files of a page, in order."""
    parts: list[Shown | Sheet] = []
    for block in BLOCK.finditer(page):
        named = FILE.search(page[: block.start()])
        if block[1] == "console":
            starts = [match.start() for match in re.finditer(r"^\$ ", block[2], re.MULTILINE)]
            for begin, end in zip(starts, [*starts[1:], len(block[2])], strict=True):
                line, _, output = block[2][begin:end].partition("\n")
                at = block.start(2) + begin + len(line) + 1
                parts.append(Shown(line.removeprefix("$ "), output, at, block.start(2) + end))
        elif named:
            parts.append(Sheet(named[1], block[2]))
    return parts


def run_page(page: str, folder: Path) -> list[tuple[Shown, str]]:
    """Runs a page's commands in `folder`, which has the repository's examples and environment; what each prints."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / ".venv").symlink_to(sys.prefix)
    tools = folder / ".tools"
    tools.mkdir()
    for name, module in (("tflmgen", "tflmgen"), ("pio", "platformio")):
        (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    environment = {
        **os.environ,
        **PLAIN_80_COLUMNS,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
    }
    results = []
    for part in parts_of(page):
        if isinstance(part, Sheet):
            (folder / part.path).parent.mkdir(parents=True, exist_ok=True)
            (folder / part.path).write_text(part.text, encoding="utf-8")
            continue
        done = subprocess.run(
            ["bash", "-c", part.command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines = [line.rstrip() for line in done.stdout.splitlines() if not PROGRESS.fullmatch(line)]
        text = "\n".join(lines).strip("\n")
        results.append((part, f"{text}\n" if text else ""))
    return results


def agrees(shown: str, printed: str) -> bool:
    """Whether a command printed what the page shows."""
    lines = (
        "(?:.*\n)*?" if line == f"{ELISION}\n" else re.escape(line).replace(re.escape(ELISION), ".*")
        for line in shown.splitlines(keepends=True)
    )
    return re.fullmatch("".join(lines), printed) is not None


def updated(page: str, ran: list[tuple[Shown, str]]) -> str:
    """The page with what is printed now, where it shows something else and leaves nothing out."""
    for shown, printed in sorted(ran, key=lambda pair: -pair[0].begin):
        if not agrees(shown.output, printed) and ELISION not in shown.output:
            page = page[: shown.begin] + printed + page[shown.end :]
    return page
