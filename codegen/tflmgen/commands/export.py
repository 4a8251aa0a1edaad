"""tflmgen export."""

from __future__ import annotations

from pathlib import Path

from tflmgen.actions import check_export, export_library
from tflmgen.applications import library_stem
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.options import Format
from tflmgen.project import next_step, print_kept, state_bytes
from tflmgen.report import note_lines
from tflmgen.terminal import readable


def export_command(prepared: PreparedModel, form: Format, directory: Path | None) -> None:
    """Writes the model's library to `directory`, by default ./MODEL-FORMAT."""
    console, board, options = prepared.console, prepared.board, prepared.options
    target = directory or Path(f"{library_stem(prepared.path, options)}-{form.value}")
    check_export(board, form, options, target)
    planned = prepared.planned(must_fit=False)
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
