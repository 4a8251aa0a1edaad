"""Counts what each invoke executes in QEMU, by a plugin (firmware/count) that is compiled when it is first used."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from tflmgen.elf import read_elf
from tflmgen.emulator.attribution import NO_STEP, Sites, attribute
from tflmgen.emulator.cycle_models import CYCLE_MODELS
from tflmgen.emulator.executed import Counts, Cycles, Executed, Tally, executed
from tflmgen.emulator.executions import Plan, Traces
from tflmgen.emulator.link import Invoked
from tflmgen.errors import TflmgenError
from tflmgen.toolchain import find_host_compiler, find_program

FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
FROM, TO = "tflmgen_count_from", "tflmgen_count_to"


class CountError(TflmgenError):
    """Instructions cannot be counted."""


class QemuCounter:
    """The plugin in one run of QEMU, which `arguments` start; each read() gives the counts of one more invoke."""

    def __init__(
        self,
        plan: Plan,
        arguments: Sequence[str],
        output: Path,
        marks: Sequence[tuple[int, int]],
        coded: frozenset[int],
    ) -> None:
        self.arguments = tuple(arguments)
        self._plan = plan
        self._output = output
        self._marks = marks
        self._coded = coded
        self._position = 0

    def measure(self, signature: int, invoked: Invoked) -> Executed:  # noqa: ARG002
        """What the invoke after the last one read has cost, of signature number `signature`."""
        return executed(self._plan, signature, self.read())

    def read(self) -> Counts:
        """What the invoke after the last one read has cost. It must have ended."""
        with self._output.open(encoding="ascii") as file:
            file.seek(self._position)
            line = file.readline()
            self._position = file.tell()
        if not line.endswith("\n"):
            raise CountError("the counting plugin has recorded no invoke")
        record = json.loads(line)
        steps = {step: Tally(count, Cycles(low, high)) for step, count, low, high in record["steps"]}
        marks: dict[int, int] = {}
        for step, number in self._marks:
            marks[step] = marks.get(step, 0) + record["marks"][number]
        moves = {(step, following): count for step, following, count in record["moves"]}
        return Counts(steps, Traces(marks, moves, self._coded))


@contextmanager
def qemu_counter(core: str, elf: Path, source: str, plan: Plan) -> Iterator[QemuCounter]:
    """The plugin for a firmware whose model's C is file `source` (its name), made by `plan`.

    Needs a C compiler for the host.
    """
    symbols = read_elf(elf).symbols
    if not {FROM, TO} <= symbols.keys():
        raise CountError(f"{elf}: the firmware has no symbols {FROM} and {TO}")
    if core not in CYCLE_MODELS:
        raise CountError(f"no cost model for {core}")
    plugin = build_plugin()
    lines = {step["index"]: step["line"] for step in plan["steps"] if step.get("line")}
    sites = attribute(elf, source, lines)
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        listed, output = Path(folder) / "sites", Path(folder) / "counts"
        numbers = {address: i for i, address in enumerate(sorted({a for of in sites.marks.values() for a in of}))}
        listed.write_text("".join(_lines(sites, numbers)), encoding="ascii")
        output.touch()
        options = {"from": symbols[FROM] & ~1, "to": symbols[TO] & ~1, "core": CYCLE_MODELS[core].name}
        words = [str(plugin), *(f"{k}={v}" for k, v in options.items()), f"sites={listed}", f"out={output}"]
        marks = [(step, numbers[address]) for step, of in sites.marks.items() for address in sorted(of)]
        yield QemuCounter(plan, ("-plugin", ",".join(words)), output, marks, frozenset(sites.steps.values()))


def _lines(sites: Sites, marks: Mapping[int, int]) -> Iterator[str]:
    for address in sorted({*sites.steps, *marks}):
        yield f"{address:x} {sites.steps.get(address, NO_STEP)} {marks.get(address, -1)}\n"


def build_plugin() -> Path:
    """The compiled plugin, from the user's cache if it is there."""
    root = files("tflmgen.firmware").joinpath("count")
    sources = {entry.name: entry.read_bytes() for entry in root.iterdir() if entry.name.endswith((".c", ".h"))}
    interface = _interface()
    digest = hashlib.sha256(repr((sorted(sources.items()), interface, FLAGS)).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tflmgen" / "count"
    plugin = cache / f"count-{digest}.so"
    if plugin.is_file():
        return plugin
    cache.mkdir(parents=True, exist_ok=True)
    compiler = find_host_compiler()
    with tempfile.TemporaryDirectory(dir=cache) as folder, as_file(root) as source_folder:
        made = Path(folder) / plugin.name
        names = [str(source_folder / name) for name in sorted(sources) if name.endswith(".c")]
        command = [str(compiler), *FLAGS, f"-DTFLMGEN_PLUGIN_API={interface}", *names, "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CountError(f"{compiler} cannot compile the counting plugin\n{done.stderr}")
        made.replace(plugin)
    return plugin


def _interface() -> int:
    """The version of the plugin interface that the installed QEMU has; see firmware/count/qemu_plugin.h."""
    command = [str(find_program("qemu-system-arm")), "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d+)\.(\d+)", text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return 1 if version < (8, 2) else 2 if version < (9, 1) else 3
