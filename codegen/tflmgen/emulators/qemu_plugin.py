"""QEMU plugin that counts the instructions of invokes (firmware/count), compiled on first use."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from tflmgen.architectures import Architecture
from tflmgen.emulators.cycle_models import cycle_model_of
from tflmgen.emulators.invoke_cost import CountError, Counts, Cycles, Tally, Waits
from tflmgen.hardware import Board
from tflmgen.toolchain import find_host_compiler, find_program, read_elf, run_tool
from tflmgen.user_cache import cache_folder

FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
FROM, TO = "tflmgen_count_from", "tflmgen_count_to"


class Plugin:
    """The plugin in one run of QEMU; `arguments` are those of QEMU that load it."""

    estimates_cycles = True

    def __init__(self, arguments: Sequence[str], output: Path) -> None:
        self.arguments = tuple(arguments)
        self._output = output
        self._position = 0

    def read(self) -> Counts:
        """Summed counts of the invokes since the last read (one, or one per row). All must have ended."""
        with self._output.open(encoding="ascii") as file:
            file.seek(self._position)
            lines = file.readlines()
            self._position = file.tell()
        if not lines or not lines[-1].endswith("\n"):
            raise CountError("the counting plugin has recorded no invoke")
        counts: dict[int, Tally] = {}
        for line in lines:
            for step, count, low, high, *waits in json.loads(line):
                counts[step] = counts.get(step, Tally()) + Tally(count, Cycles(low, high), Waits(*waits))
        return counts


@contextmanager
def plugin(board: Board, elf: Path, steps: Mapping[int, int], flash: str = "") -> Iterator[Plugin]:
    """Plugin for a firmware.

    steps  address -> step that this instruction, and all up to the next address in `steps`, count for
    flash  describe_flash(): whose wait states to estimate; empty: none, which is several times faster
    """
    marks = count_marks(elf)
    model = cycle_model_of(board.core)
    if model is None:
        raise CountError(f"no cost model for {board.core}")
    compiled = build_plugin(board.architecture)
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        sites, output = Path(folder) / "sites", Path(folder) / "counts"
        sites.write_text("".join(f"{address:x} {steps[address]}\n" for address in sorted(steps)), encoding="ascii")
        output.touch()
        options: dict[str, object] = {"from": marks[0], "to": marks[1], "core": model.name}
        options |= {"sites": sites, "out": output}
        if flash:
            description = Path(folder) / "flash"
            description.write_text(flash, encoding="ascii")
            options["flash"] = description
        words = [str(compiled), *(f"{name}={value}" for name, value in options.items())]
        # QEMU splits at commas; two of them stand for one.
        yield Plugin(("-plugin", ",".join(word.replace(",", ",,") for word in words)), output)


def count_marks(elf: Path) -> tuple[int, int]:
    """Address of the call of the invoke function, and of the instruction after it."""
    symbols = read_elf(elf).symbols
    if not {FROM, TO} <= symbols.keys():
        raise CountError(f"{elf}: the firmware has no symbols {FROM} and {TO}")
    return symbols[FROM] & ~1, symbols[TO] & ~1


def build_plugin(architecture: Architecture) -> Path:
    """Path of the compiled plugin for the QEMU of an architecture, in the user's cache, compiled if missing.

    Needs a C compiler for the host.
    """
    root = files("tflmgen.firmware").joinpath("count")
    sources = {entry.name: entry.read_bytes() for entry in root.iterdir() if entry.name.endswith((".c", ".h"))}
    interface = _interface(architecture.qemu)
    digest = hashlib.sha256(repr((sorted(sources.items()), interface, FLAGS)).encode()).hexdigest()[:16]
    cache = cache_folder("count")
    compiled = cache / f"count-{digest}.so"
    if compiled.is_file():
        return compiled
    cache.mkdir(parents=True, exist_ok=True)
    compiler = find_host_compiler()
    with tempfile.TemporaryDirectory(dir=cache) as folder, as_file(root) as source_folder:
        built = Path(folder) / compiled.name
        names = [str(source_folder / name) for name in sorted(sources) if name.endswith(".c")]
        command = [str(compiler), *FLAGS, f"-DTFLMGEN_PLUGIN_API={interface}", *names, "-o", str(built)]
        process = run_tool(command)
        if process.returncode != 0:
            raise CountError(f"{compiler} cannot compile the counting plugin\n{process.stderr}")
        built.replace(compiled)
    return compiled


def _interface(program: str) -> int:
    """Version of the plugin interface of the installed QEMU; see firmware/count/qemu_plugin.h."""
    command = [str(find_program(program)), "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    match = re.search(r"version (\d+)\.(\d+)", text)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    return 1 if version < (8, 2) else 2 if version < (9, 1) else 3
