"""Fit of a model on boards: memory and estimated time on each, from plans alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tflmgen.actions.planned_model import Json
from tflmgen.actions.worst_case_path import PathCost, worst_case_path
from tflmgen.errors import ModelError, TflmgenError
from tflmgen.hardware import Board, FlashTiming, board_for, estimated_waits, list_boards
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions
from tflmgen.project import has_room, plan_for, state_bytes
from tflmgen.terminal import Progress, no_progress

ALL = "all"
"""Stands for every board that comes with tflmgen."""


@dataclass(frozen=True, slots=True)
class BoardFit:
    """A model on a board. Sizes are in bytes.

    fits         whether arena, state and weights fit their memories, with the stack
    ram_bytes    arena and state; None, as are the next figures, where the model cannot be planned for the board
    cycles       of an invoke's worst-case path by the cost model, of those operators that it knows
    milliseconds with the wait states of the board's flash, at `clock`
    clock        rated, in Hz, where the board's flash is described; else the one after reset; None for this computer
    wait_states  of the flash at that clock; None where they are not known
    unknown      operators that the model does not know, which cycles and milliseconds lack
    problem      why the model cannot be planned; empty otherwise
    """

    board: str
    core: str
    fits: bool
    arena_bytes: int | None
    ram_bytes: int | None
    ram_of: int
    weights_bytes: int | None
    flash_of: int
    cycles: int | None
    milliseconds: float | None
    clock: int | None
    wait_states: int | None
    unknown: int
    problem: str


def named_boards(text: str, options: BuildOptions) -> tuple[Board, ...]:
    """The boards that `all` or names with commas between stand for. Raises BoardError for an unknown one."""
    if text == ALL:
        return tuple(board_for(board.id, replace(options, place=None)) for board in list_boards())
    return tuple(board_for(name.strip(), options) for name in text.split(",") if name.strip())


def fit_boards(
    path: Path, boards: Sequence[Board], options: BuildOptions, progress: Progress = no_progress
) -> tuple[BoardFit, ...]:
    """The model on each board. It is planned once per processor. Raises ModelError if it can be planned for none."""
    plans: dict[tuple[Target, str], Json | TflmgenError] = {}
    fits = []
    # Winograd's weights take what the board's flash has room for: such plans are of one board.
    keys = [(board.target, board.id if options.winograd else "") for board in boards]
    for board, key in zip(boards, keys, strict=True):
        if key not in plans:
            progress(f"Planning {path.name} for {board.core}", len(plans), len(set(keys)))
            try:
                plans[key] = plan_for(path, board, options).plan
            except ModelError as error:
                plans[key] = error
        planned = plans[key]
        fits.append(_failed(board, planned) if isinstance(planned, TflmgenError) else fit_of(board, planned))
    errors = [planned for planned in plans.values() if isinstance(planned, TflmgenError)]
    if errors and len(errors) == len(plans):
        raise errors[0]
    return tuple(fits)


def fit_of(board: Board, plan: Json) -> BoardFit:
    """Memory and estimated time of a plan on a board, and whether the plan has room there."""
    arena, weights = plan["arena"]["bytes"], plan["weights"]["bytes"]
    (cycles, unknown), (cycles_with_waits, _) = _estimated(plan), _estimated(plan, board.flash)
    clock = board.flash.clock if board.flash else board.clock
    return BoardFit(
        board.id,
        board.core,
        has_room(plan, board),
        arena,
        arena + state_bytes(plan),
        board.ram_bytes,
        weights,
        board.flash_bytes,
        cycles,
        None if cycles_with_waits is None or board.is_host else round(1000 * cycles_with_waits / clock, 3),
        None if board.is_host else clock,
        board.flash.wait_states if board.flash else None,
        unknown,
        "",
    )


def time_of(board: Board, plan: Json) -> Json:
    """plan.json's `time`: estimated time of an invoke on a board."""
    fit = fit_of(board, plan)
    return {
        "cycles_estimated": fit.cycles,
        "milliseconds_estimated": fit.milliseconds,
        "clock": fit.clock,
        "wait_states": fit.wait_states,
        "operators_without_estimate": fit.unknown,
    }


def _failed(board: Board, error: TflmgenError) -> BoardFit:
    sizes = board.ram_bytes, None, board.flash_bytes
    return BoardFit(board.id, board.core, False, None, None, *sizes, None, None, None, None, 0, str(error))


def _estimated(plan: Json, flash: FlashTiming | None = None) -> tuple[int | None, int]:
    """Cycles of the most expensive signature's worst-case path, with waits for `flash`; operators without an estimate.

    None where no operator has one, or a loop has no limit.
    """
    computed = [step for step in plan["steps"] if step["kind"] == "operator" and step["kernel"] is not None]
    known = {
        step["index"]: PathCost(None, step["expected"]["cycles"] + (estimated_waits(flash, step) if flash else 0))
        for step in computed
        if step.get("expected")
    }
    if not known:
        return None, len(computed)
    costs = {step["index"]: known.get(step["index"], PathCost()) for step in computed}
    totals = []
    for signature in plan["signatures"]:
        path = worst_case_path(plan, signature["function"], costs)
        if path is None:
            function = signature["function"]
            totals.append(sum(costs[step["index"]].cycles for step in computed if step["function"] == function))
        elif path.cost is None:
            return None, len(computed) - len(known)
        else:
            totals.append(path.cost.cycles)
    return max(totals, default=0), len(computed) - len(known)
