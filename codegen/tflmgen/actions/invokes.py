"""Invokes of a planned model with sets of inputs: their outputs, or the instructions that they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.actions.application_figures import application_json
from tflmgen.actions.bench_figures import MeasuredInvoke, bench_json, milliseconds
from tflmgen.actions.planned_model import Json, PlannedModel
from tflmgen.emulators import CycleModel, Result, Session, Waits, cycle_model_of, run_set, run_sets, running
from tflmgen.errors import UsageError
from tflmgen.hardware import Board, FlashTiming
from tflmgen.input_sets import Vectors, VectorSet, choose_signature, generator_inputs, has_inputs_only, read_input_sets
from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.options import SessionOptions
from tflmgen.project import Firmware, code_bytes
from tflmgen.terminal import Console, Progress, count
from tflmgen.version import VERSION


def with_flash(figures: Json, measured: Sequence[MeasuredInvoke], flash: FlashTiming | None) -> Json:
    """The figures of bench_json() with `flash` in the whole, in `total`, and in each set and its operators.

    Unchanged where the board's wait states are not known, or the emulator does not count them.
    """
    waits = [measured_set.invocation.waits for measured_set in measured]
    estimated = [each for each in waits if each is not None]
    if flash is None or len(estimated) < len(waits) or figures["total"]["cycles_estimated"] is None:
        return figures
    sets = [
        {**entry, "flash": _estimate(entry, each, flash), "operators": _operators(entry, measured_set)}
        for entry, each, measured_set in zip(figures["sets"], estimated, measured, strict=True)
    ]
    total = {**figures["total"], "flash": _estimate(figures["total"], sum(estimated, Waits()), flash)}
    return {**figures, "flash": _described(flash), "total": total, "sets": sets}


def _described(flash: FlashTiming) -> Json:
    return {
        "board": flash.board,
        "clock_hz": flash.clock,
        "wait_states": flash.wait_states,
        "wait_cycles": flash.wait_cycles,
        "source": flash.source,
    }


def _estimate(figures: Mapping[str, Any], waits: Waits, flash: FlashTiming) -> Json:
    cycles = figures["cycles_estimated"] + waits.cycles
    return {**_waits(figures, waits), "milliseconds_estimated": milliseconds(cycles, flash.clock)}


def _waits(figures: Mapping[str, Any], waits: Waits) -> Json:
    return {
        "cycles_estimated": figures["cycles_estimated"] + waits.cycles,
        "code_wait_cycles": waits.code,
        "constant_wait_cycles": waits.constants,
    }


def _operators(entry: Mapping[str, Any], measured: MeasuredInvoke) -> list[Json]:
    waits = {counted.step: counted.waits for counted in measured.invocation.operators or ()}
    return [{**operator, "flash": _waits(operator, waits[operator["step"]])} for operator in entry["operators"]]


GENERATED = "generated"
"""Label of inputs that the generator of TFLite Micro's benchmarks makes."""


@dataclass(frozen=True, slots=True)
class Invokes:
    """Results of running the firmware, one per input set.

    place  for messages: "in QEMU", "at PORT"
    notes  what the user should know of the run, a sentence each
    """

    results: tuple[Result, ...]
    emulator: str
    place: str
    notes: tuple[str, ...]


def invoke_sets(model: PlannedModel, vectors: Vectors, session: SessionOptions, console: Console) -> Invokes:
    """Builds the firmware and invokes it with each input set."""
    signatures = model.compilation.module.signatures
    with running(model.compilation, model.board, model.options, session, console) as run:
        with console.progress("Starting") as progress:
            results = run_sets(run.session, signatures, vectors.sets, vectors.stateful, progress)
        notes = (*model.frozen.notes, *vectors.notes, *run.session.notes)
        return Invokes(tuple(results), run.session.emulator, run.session.place, notes)


def check_countable(board: Board) -> None:
    """Raises UsageError for the host, whose instructions nothing counts."""
    if board.is_host:
        raise UsageError("bench counts a microcontroller's instructions: choose a board that `tflmgen boards` lists")


def bench_inputs(model: PlannedModel, path: Path | None, session: SessionOptions) -> Vectors:
    """Input sets of the file `path`; without one, a generated set for the session's signature."""
    signatures = model.compilation.module.signatures
    if path is not None:
        key, places = session.signature, model.frozen.places
        vectors = read_input_sets(path, signatures, key, False, places, session.real)
        return in_sequence(model, path, vectors)
    number = choose_signature(signatures, session.signature, str(model.path))
    return Vectors((VectorSet(GENERATED, number, generator_inputs(signatures[number])),))


def in_sequence(model: PlannedModel, path: Path | None, vectors: Vectors) -> Vectors:
    """Sets of a file of samples, of which an application takes one after the other, each in the state of the last."""
    is_series = path is not None and has_inputs_only(path) and model.application is not None
    return replace(vectors, stateful=True) if is_series else vectors


def bench_sets(
    model: PlannedModel, vectors: Vectors, inputs: str, session: SessionOptions, console: Console
) -> tuple[Json, CycleModel, Invokes]:
    """Counts the instructions of an invoke per input set: figures (schema/bench.json), how cycles are estimated, and
    the invokes themselves.

    inputs  GENERATED, or the name of the file with the sets
    """
    board, compilation = model.board, model.compilation
    with running(compilation, board, model.options, session, console, count=True) as run:
        assert run.firmware is not None
        with console.progress("Starting") as progress:
            signatures = compilation.module.signatures
            measured = measure_sets(run.session, signatures, vectors, inputs == GENERATED, progress)
        ran = {"emulator": run.session.emulator, "notes": _notes(model, run.session)}
        results = tuple(Result(invoke.outputs, invoke.invocation) for invoke in measured)
        invokes = Invokes(results, run.session.emulator, run.session.place, tuple(ran["notes"]))
        sizes = _sizes(run.firmware, model, console)
    cycle_model = cycle_model_of(board.core) or CycleModel("")
    counts = with_flash(bench_json(model.plan, measured, cycle_model, board.clock), measured, board.flash)
    figures = {
        "tflmgen": VERSION,
        "model": model.plan["model"],
        "options": model.plan["options"],
        "board": board.id,
        "slide": model.plan["slide"],
        **ran,
        "inputs": inputs,
        **counts,
        "memory": sizes,
        "application": application_json(model, measured, counts),
    }
    return figures, cycle_model, invokes


def measure_sets(
    session: Session,
    signatures: Sequence[EntryPoint],
    vectors: Vectors,
    is_generated: bool,
    progress: Progress,
) -> list[MeasuredInvoke]:
    """Costs of an invoke per input set. For generated inputs it is the second invoke, after variables are set.

    With sliding windows it is the invoke of one hop after a complete window.
    """
    results = run_sets(session, signatures, vectors.sets, vectors.stateful, progress)
    if any(signature.counter for signature in signatures):
        results = [_next_hop(session, signatures, vector_set) for vector_set in vectors.sets]
    elif is_generated:
        results = [run_set(session, signatures, vectors.sets[0], "second invoke")]
    return [
        MeasuredInvoke(s.label, s.signature, r.invocation, r.outputs)
        for s, r in zip(vectors.sets, results, strict=True)
    ]


def _next_hop(session: Session, signatures: Sequence[EntryPoint], vector_set: VectorSet) -> Result:
    """One hop after a complete window: the newest rows of the set come once more."""
    run_set(session, signatures, vector_set, "whole window")
    ports = signatures[vector_set.signature].inputs
    newest = tuple(_newest_rows(array, port) for array, port in zip(vector_set.inputs, ports, strict=True))
    return run_set(session, signatures, replace(vector_set, inputs=newest), "next hop")


def _newest_rows(array: NDArray[Any], port: Port) -> NDArray[Any]:
    if port.slide is None:
        return array
    return np.take(array, range(-port.slide.hop, 0), port.slide.axis)


def bench_attached(
    model: PlannedModel, vectors: Vectors, is_generated: bool, session: SessionOptions, console: Console
) -> tuple[Json, str]:
    """Counts the DWT cycles of an invoke per input set on the board at a port.

    Returns the figures (schema/bench_port.json), and the place for messages.
    """
    plan, board, signatures = model.plan, model.board, model.compilation.module.signatures
    with (
        running(model.compilation, board, model.options, session, console) as run,
        console.progress("Starting") as progress,
    ):
        measured = measure_sets(run.session, signatures, vectors, is_generated, progress)
        place, notes = run.session.place, run.session.notes
    figures = {
        "tflmgen": VERSION,
        "model": plan["model"],
        "options": plan["options"],
        "board": board.id,
        "port": session.port,
        "notes": list(notes),
        "clock_hz": board.clock,
        "sets": [_attached_set(entry, model) for entry in measured],
        "arena_bytes": plan["arena"]["bytes"],
        "weights_bytes": plan["weights"]["bytes"],
    }
    return figures, place


def _attached_set(measured: MeasuredInvoke, model: PlannedModel) -> Json:
    cycles = measured.invocation.cycles or None
    return {
        "label": measured.label,
        "signature": model.compilation.module.signatures[measured.signature].key,
        "cycles": cycles,
        "milliseconds": milliseconds(cycles, model.board.clock),
        "stack_bytes": measured.invocation.stack_bytes,
    }


def _notes(model: PlannedModel, session: Session) -> list[str]:
    """Notes on the figures, a sentence each."""
    macs = sum(removed["macs"] for removed in model.plan["removed"])
    removed = f"range analysis removed {count(macs)} multiply-accumulates; they are not in the table"
    return [*model.frozen.notes, *session.notes, *([removed] if macs else [])]


def _sizes(firmware: Firmware, model: PlannedModel, console: Console) -> dict[str, int]:
    return {
        "arena_bytes": int(model.plan["arena"]["bytes"]),
        "weights_bytes": int(model.plan["weights"]["bytes"]),
        "code_bytes": code_bytes(firmware, model.compilation, model.board, model.options, console),
        "flash_bytes": firmware.text + firmware.data,
        "ram_bytes": firmware.data + firmware.bss,
    }
