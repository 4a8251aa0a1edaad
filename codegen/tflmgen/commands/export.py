"""tflmgen export."""

from __future__ import annotations

from pathlib import Path

from tflmgen.errors import UsageError
from tflmgen.options import BuildOptions, Format, OutputOptions
from tflmgen.project import board_for, check_folder, export, plan_for, print_kept, project_of, write_export
from tflmgen.terminal import Console, readable

NEXT = {
    Format.PLATFORMIO: "Copy it into your project's lib/.",
    Format.ARDUINO: "Copy it into your sketchbook's libraries/.",
    Format.CMAKE: "Add it with add_subdirectory().",
    Format.ZEPHYR: "Name it in EXTRA_ZEPHYR_MODULES.",
    Format.ESP_IDF: "Copy it into your project's components/.",
    Format.PLAIN: "Add its sources to your build.",
}


def export_command(
    model: Path, board_name: str, form: Format, directory: Path | None, options: BuildOptions, output: OutputOptions
) -> None:
    """Writes the model's library to `directory`, by default ./MODEL-FORMAT."""
    console = Console(output)
    board = board_for(board_name, options)
    if form is Format.ESP_IDF and not board.is_host:
        raise UsageError("--format esp-idf is for processors that take portable C: leave --board out")
    if options.place:
        raise UsageError(
            "--place is for the linker script of a project: an exported library has macros for its sections"
        )
    target = directory or Path(f"{model.stem}-{form.value}")
    check_folder(target, form.value)
    with console.progress(f"Planning {model.name}"):
        compilation = plan_for(model, board, options)
    exported = export(compilation, project_of(compilation, board, options), board, form)
    kept_files = write_export(exported, target)
    plan = compilation.plan
    state = sum(part["bytes"] for part in plan["state"])
    console.json({**plan, "export": {"format": form.value, "files": sorted({*exported.files, *exported.examples})}})
    kernels = "portable C" if board.is_host else f"C for {board.core}"
    ram, weights = readable(plan["arena"]["bytes"] + state), readable(plan["weights"]["bytes"])
    console.line(f"Wrote {target}: {compilation.name} as {kernels}, {ram} of RAM, {weights} of weights.")
    for note in plan["notes"]:
        console.line(f"note: {note}")
    print_kept(console, target, kept_files)
    console.line(f"{NEXT[form]} {target / 'README.md'} says how, and how to run the example.")
