"""The model that `tflmgen.compile` returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from tflmgen.actions import (
    GENERATED,
    PlannedModel,
    bench_inputs,
    bench_sets,
    check_countable,
    export_library,
    measure_firmware,
    save_project,
)
from tflmgen.api.build_choices import PathLike, choice, path_of
from tflmgen.api.measurements import Bench, FirmwareSizes, bench_of, sizes_of
from tflmgen.api.model_session import LABEL, ModelSession, SessionContext, arrays_for
from tflmgen.api.plan_records import Operator, Plan, plan_of
from tflmgen.api.records import Records
from tflmgen.emulators import check_session_options, running
from tflmgen.errors import UsageError, os_errors_for_users
from tflmgen.hardware import with_flash_of
from tflmgen.input_sets import Vectors
from tflmgen.options import Emulator, Format, FormatName, OutputOptions, SessionOptions
from tflmgen.project import check_plan, has_room
from tflmgen.terminal import Console
from tflmgen.user_files import check_writable, write_whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

EmulatorName = Literal["auto", "renode", "qemu"]

SILENT = Console(OutputOptions(quiet=True))
"""Prints nothing: what Python's callers get are values and exceptions."""


class CompiledModel:
    """A model as C for a board, with its plan. `tflmgen.compile` makes it; it never changes.

    Methods may be called from several threads. Each run has a firmware and an emulator of its own.
    """

    def __init__(self, planned: PlannedModel) -> None:
        self._planned = planned

    @property
    def name(self) -> str:
        """Prefix of all generated names, and the library's name."""
        return self._planned.compilation.name

    @property
    def board(self) -> str:
        """Id of the board."""
        return self._planned.board.id

    @cached_property
    def plan(self) -> Plan:
        """The static plan: operators, buffers, signatures, sizes."""
        return plan_of(self._planned.plan)

    @property
    def operators(self) -> Records[Operator]:
        """The operators that are computed, in the order of the schedule."""
        return self.plan.operators

    @property
    def arena_bytes(self) -> int:
        """RAM of activations and scratch memory, in bytes."""
        return self.plan.arena_bytes

    @property
    def state_bytes(self) -> int:
        """RAM that is kept between invokes, in bytes."""
        return self.plan.state_bytes

    @property
    def weights_bytes(self) -> int:
        """Constants in flash, in bytes."""
        return self.plan.weights_bytes

    @cached_property
    def firmware(self) -> FirmwareSizes:
        """Sizes of the compiled firmware. Compiles it at the first use, which takes seconds and a C compiler."""
        check_plan(self._planned.plan, self._planned.board)
        with os_errors_for_users():
            return sizes_of(measure_firmware(self._planned, SILENT))

    @property
    def flash_bytes(self) -> int:
        """Flash of the whole firmware, in bytes, as `tflmgen bench` has it. Compiles it, as `firmware` does."""
        return self.firmware.flash_bytes

    @property
    def fits(self) -> bool:
        """Whether arena, state and weights fit the board's memories, with room for the stack."""
        return has_room(self._planned.plan, self._planned.board)

    @property
    def sources(self) -> Mapping[str, str]:
        """The generated library: path of each C file and header -> its text."""
        return dict(self._planned.compilation.sources.files)

    def session(
        self,
        *,
        emulator: EmulatorName = "auto",
        timeout: float = 60.0,
        renode: PathLike | None = None,
        port: str | None = None,
    ) -> AbstractContextManager[ModelSession]:
        """Runs the firmware while the context lasts: for several runs, and for models with state.

        Args:
            emulator: `auto` is Renode if it is installed, else QEMU; host models run on this computer.
            timeout: Seconds to wait for each reply.
            renode: Renode's program, if it is not on the PATH.
            port: Serial port of an attached board that already runs this model.
        """
        return SessionContext(self._session(_session_options(emulator, timeout, renode, port)))

    @contextmanager
    def _session(self, options: SessionOptions) -> Iterator[ModelSession]:
        planned = self._planned
        check_session_options(planned.board, options)
        check_plan(planned.plan, planned.board)
        with ExitStack() as stack:
            with os_errors_for_users():
                firmware = running(planned.compilation, planned.board, planned.options, options, SILENT)
                run = stack.enter_context(firmware)
                run.session.reset()
            session = ModelSession(run.session, planned.compilation.module.signatures)
            try:
                yield session
            finally:
                session.end()

    def run(
        self,
        inputs: Mapping[str, ArrayLike] | ArrayLike,
        *,
        signature: str | None = None,
        emulator: EmulatorName = "auto",
        timeout: float = 60.0,
        renode: PathLike | None = None,
        port: str | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Runs the model once, from its initial state, in an emulator or on this computer.

        Args:
            inputs: An array per input name, of the shape and type that `plan.signatures` has; a model with one input
                takes the array alone.
            signature: Key of the signature to run; None: the only one.
            emulator: See `session`, which is faster for several runs; so are `timeout`, `renode` and `port`.

        Returns:
            An array per output name, of the output's shape and type.
        """
        arrays_for(self._planned.compilation.module.signatures, inputs, signature)
        with self.session(emulator=emulator, timeout=timeout, renode=renode, port=port) as session:
            return session.run(inputs, signature)

    def bench(
        self,
        inputs: Mapping[str, ArrayLike] | ArrayLike | None = None,
        *,
        signature: str | None = None,
        emulator: EmulatorName = "auto",
        timeout: float = 60.0,
        renode: PathLike | None = None,
        flash_of: str | None = None,
    ) -> Bench:
        """Counts the instructions of one invoke in an emulator.

        Args:
            inputs: As of `run`; None: generated ones, those of TFLite Micro's benchmarks.
            flash_of: Board whose flash the estimate `flash` is for; None: the model's own board.

        Raises:
            UsageError: The board is `host`, whose instructions nothing counts.
        """
        planned = replace(self._planned, board=with_flash_of(self._planned.board, flash_of))
        options = _session_options(emulator, timeout, renode, None, signature)
        check_countable(planned.board)
        check_session_options(planned.board, options)
        check_plan(planned.plan, planned.board)
        if inputs is None:
            vectors = bench_inputs(planned, None, SessionOptions(signature=signature))
        else:
            vectors = Vectors((arrays_for(planned.compilation.module.signatures, inputs, signature),))
        with os_errors_for_users():
            figures, *_ = bench_sets(planned, vectors, GENERATED if inputs is None else LABEL, options, SILENT)
        return bench_of(figures)

    def save(self, directory: PathLike, *, compile: bool = True) -> Path:
        """Writes a PlatformIO project with the model, as `tflmgen build` does, and returns its folder.

        Args:
            directory: A new folder, an empty one, or one with an earlier project of tflmgen's.
            compile: Whether to compile the firmware, too.
        """
        check_plan(self._planned.plan, self._planned.board)
        folder = path_of("directory", directory)
        with os_errors_for_users():
            save_project(self._planned, folder, compile, SILENT)
        return folder

    def export(self, format: FormatName | Format, directory: PathLike) -> Path:
        """Writes the model as a C library for a build system, as `tflmgen export` does, and returns its folder.

        Args:
            format: A build system, such as `cmake`; `tflmgen export --help` has their names.
            directory: A new folder, an empty one, or one with an earlier export in this format.
        """
        kind, folder = choice("format", format, Format), path_of("directory", directory)
        with os_errors_for_users():
            export_library(self._planned, kind, folder)
        return folder

    def report(self, path: PathLike, bench: Bench | None = None) -> Path:
        """Writes the plan as an HTML page with pictures, and returns its path.

        Args:
            bench: Figures of `bench`, which the page then shows, too.
        """
        from tflmgen.report import report_html

        if not isinstance(bench, (Bench, NoneType)):
            raise UsageError(f"bench must be the result of bench(), not {type(bench).__name__}")
        target, figures = path_of("path", path), bench.to_json() if bench is not None else None
        with os_errors_for_users():
            check_writable(target, self._planned.path)
            write_whole(target, report_html(self._planned.plan, self._planned.board, bench=figures).encode())
        return target

    def _repr_html_(self) -> str:
        """The plan and the map of the arena, for notebooks."""
        from tflmgen.report import notebook_html

        return notebook_html(self._planned.plan, self._planned.board)

    def __repr__(self) -> str:
        plan = self.plan
        sizes = f"arena {plan.arena_bytes:,} bytes, weights {plan.weights_bytes:,} bytes"
        return f"<CompiledModel {self.name} for {self.board}: {len(plan.operators)} operators, {sizes}>"


def _session_options(
    emulator: EmulatorName, timeout: float, renode: PathLike | None, port: str | None, signature: str | None = None
) -> SessionOptions:
    kind = choice("emulator", emulator, Emulator)
    if not isinstance(timeout, (int, float)) or not timeout > 0:
        raise UsageError(f"timeout={timeout!r} must be a number of seconds above 0")
    return SessionOptions(kind, signature, timeout, None if renode is None else str(renode), port)
