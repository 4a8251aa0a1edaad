"""The common beginning of commands with a model: its file, converted and quantised where asked for, on its board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tflmgen.actions import PlannedModel, plan_file
from tflmgen.conversion import TensorFlowSource, tensorflow_source
from tflmgen.emulators import check_session_options
from tflmgen.errors import UsageError
from tflmgen.hardware import Board, board_for, load_board
from tflmgen.options import BuildOptions, ConvertOptions, OutputOptions, SessionOptions, SourceOptions
from tflmgen.project import require_compiler
from tflmgen.terminal import Console


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A model that a command goes on with.

    path     the model's file, after conversion and quantisation
    options  those that remain for the file
    board    with the placement of --place; a session as the options have it is possible on it
    session  of a command that runs the firmware
    """

    path: Path
    options: BuildOptions
    board: Board
    console: Console
    session: SessionOptions

    def planned(self, *, must_fit: bool = True) -> PlannedModel:
        """The model planned for the board."""
        return plan_file(self.path, self.board, self.options, self.console, must_fit=must_fit)

    def planned_to_run(self, inputs: Path | None = None) -> PlannedModel:
        """The model planned for a session, with a compiler at hand unless its firmware is on the board already.

        inputs  file whose arrays give dynamic dimensions their size
        """
        is_attached = self.session.port is not None
        planned = plan_file(
            self.path,
            self.board,
            self.options,
            self.console,
            inputs=inputs,
            signature=self.session.signature,
            is_attached=is_attached,
        )
        if not is_attached:
            require_compiler(self.board)
        return planned


def prepared_model(
    models: Sequence[Path],
    board_name: str,
    options: BuildOptions,
    output: OutputOptions,
    session: SessionOptions | None = None,
) -> PreparedModel:
    """The first steps of a command with a model. Models after the first become the option --also.

    A board that does not exist is an error before any conversion.
    """
    load_board(board_name)
    path, options = prepared_file(models, options, output)
    board = board_for(board_name, options)
    if session is not None:
        check_session_options(board, session)
    return PreparedModel(path, options, board, Console(output), session or SessionOptions())


def prepared_file(models: Sequence[Path], options: BuildOptions, output: OutputOptions) -> tuple[Path, BuildOptions]:
    """The file to go on with, converted and quantised where that is asked for, and the options that remain."""
    path, *also = (converted_first(m, options, output, options.plugin) for m in (*models, *(options.also or ())))
    options = replace(options if path == models[0] else options.without_source, also=also or None)
    if options.quantize is None:
        return path, options
    if also:
        raise UsageError("--quantize is for one model: quantise each of several by tflmgen quantize")
    from tflmgen.commands.quantize import quantize_first

    return quantize_first(path, options, output)


def converted_first(
    model: Path, options: SourceOptions, output: OutputOptions, plugins: list[Path] | None = None, batch: int = 1
) -> Path:
    """The .tflite file that a source of TensorFlow's becomes; the path of any other file.

    batch  size of the inputs' first dimension where that alone is open

    Raises UsageError where the file's place is taken by one that was not converted, and for --keras-objects of another
    source than a Keras file.
    """
    source = tensorflow_source(model)
    if options.keras_objects is not None and (source is None or source.kind != "keras"):
        raise UsageError(f"--keras-objects is for Keras files; {model} is of another format")
    if options.keras_objects is not None and not options.keras_objects.is_file():
        raise UsageError(f"--keras-objects {options.keras_objects}: there is no such file")
    if source is None:
        return model
    _convert(source, path := Path(f"{source.stem}.tflite"), options, output, plugins, batch)
    return path


def _convert(
    source: TensorFlowSource,
    path: Path,
    options: SourceOptions,
    output: OutputOptions,
    plugins: list[Path] | None,
    batch: int,
) -> None:
    from tflmgen.actions import converted, digest_of, is_conversion
    from tflmgen.commands.conversion_results import proof_lines

    console, choices = Console(output), ConvertOptions(plugin=plugins)
    if path.exists():
        known = is_conversion(path, digest_of(source, options, plugins, batch))
        if known is None:
            raise UsageError(
                f"{path} is in the way of what {source.path.name} becomes. Name another: "
                f"tflmgen convert {source.path} -o OTHER.tflite"
            )
        if known:
            console.line(f"{path} is {source.path.name}, converted before.")
            return
    result = converted(source, path, choices, options, console, batch)
    for line in proof_lines(result, choices.tolerance):
        console.line(line)
    console.line(f"Wrote {path}.")
