"""Prints the table of docs/use/applications.md: memory of applications beside the sum of separate builds.

PYTHONPATH=tests python tests/application_figures.py
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import tflmgen
from support.repository import ROOT
from tflmgen.applications import Application, read_application
from tflmgen.compiler import compile_model
from tflmgen.hardware import board_for
from tflmgen.options import BuildOptions

BOARD = "mps2_an386"
EXAMPLES = ("gate", "gesture", "wake_word")
DECISIONS = ("argmax", "smooth", "debounce")
"""Built-ins that the program around separate builds would do in a line of C."""
HEAD = "| Bytes | Arena | State | Weights | Flash |"
RULE = "|---|--:|--:|--:|--:|"


def parts(app: Application, folder: Path) -> Iterator[Path]:
    """What separate builds of an application would be: its models and its front ends, each with its window."""
    for stage in app.stages:
        if stage.model is not None:
            yield stage.model
        elif stage.builtin not in DECISIONS:
            port = next(port for port in app.inputs if port.name in stage.inputs)
            assert port.dtype is not None
            assert port.shape is not None
            lines = [f"[input.{port.name}]", f'type = "{port.dtype.label}"', f"shape = {list(port.shape)}"]
            if port.quantization is not None:
                lines += [f"scale = {port.quantization.scale}", f"zero_point = {port.quantization.zero_point}"]
            lines += [f"[stage.{stage.name}]", f'builtin = "{stage.builtin}"', f'input = "{port.name}"']
            lines += [f"slide = {list(stage.slide)}"] if stage.slide is not None else []
            lines += [f"{key} = {json.dumps(value)}" for key, value in stage.settings.items()]
            path = folder / f"{app.file.path.parent.name}_{stage.name}.toml"
            path.write_text("\n".join(lines) + "\n")
            yield path


def memory_of(path: Path) -> tuple[int, int, int]:
    """Bytes of arena, state and weights."""
    plan = compile_model(path, board_for(BOARD, BuildOptions()).target, BuildOptions()).plan
    return plan["arena"]["bytes"], sum(variable["bytes"] for variable in plan["state"]), plan["weights"]["bytes"]


def memory_table(folder: Path) -> Iterator[tuple[str, tuple[int, int, int], tuple[Path, ...]]]:
    """Of each application: (caption, bytes, what is built) of the sum of separate builds and of the whole."""
    for name in EXAMPLES:
        path = ROOT / "examples" / name / "app.toml"
        builds = list(parts(read_application(path), folder))
        sizes = [memory_of(part) for part in builds]
        arena, state, weights = (sum(size[i] for size in sizes) for i in range(3))
        yield f"`{name}`: {len(builds)} separate builds", (arena, state, weights), tuple(builds)
        yield f"`{name}`: application", memory_of(path), (path,)


def flash_of(builds: Iterable[Path]) -> int:
    """Bytes of the firmwares together."""
    return sum(tflmgen.compile(path, BOARD).flash_bytes for path in builds)


def main() -> None:
    print(HEAD, RULE, sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        for caption, sizes, builds in memory_table(Path(folder)):
            print(f"| {caption} | {' | '.join(f'{size:,}' for size in (*sizes, flash_of(builds)))} |")


if __name__ == "__main__":
    main()
