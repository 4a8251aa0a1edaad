"""tflmgen export."""

from __future__ import annotations

from pathlib import Path

from tflmgen.api import check_export, export_library, plan_file
from tflmgen.applications import library_stem
from tflmgen.options import BuildOptions, Format, OutputOptions
from tflmgen.project import board_for, next_step, print_kept, state_bytes
from tflmgen.report import note_lines
from tflmgen.terminal import Console, readable


def export_command(
    model: Path, board_name: str, form: Format, directory: Path | None, options: BuildOptions, output: OutputOptions
) -> None:
    """Writes the model's library to `directory`, by default ./MODEL-FORMAT."""
    console = Console(output)
    board = board_for(board_name, options)
    target = directory or Path(f"{library_stem(model, options)}-{form.value}")
    check_export(board, form, options, target)
    planned = plan_file(model, board, options, console, must_fit=False)
    files, kept_files = export_library(planned, form, target)
    plan = planned.plan
    state = state_bytes(plan)
    console.json({**plan, "export": {"format": form.value, "files": list(files)}})
    kernels = "portable C" if board.is_host else f"C for {board.core}"
    ram, weights = readable(plan["arena"]["bytes"] + state), readable(plan["weights"]["bytes"])
    console.line(f"Wrote {target}: {planned.compilation.name} as {kernels}, {ram} of RAM, {weights} of weights.")
    for line in note_lines(plan):
        console.line(line)
    print_kept(console, target, kept_files)
    console.line(f"{next_step(form)} {target / 'README.md'} says how, and how to run the example.")
