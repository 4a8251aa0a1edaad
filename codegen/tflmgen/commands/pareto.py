"""tflmgen inspect --pareto."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.compiler import ram_curve
from tflmgen.explore import TradeOff
from tflmgen.hardware import Board
from tflmgen.ir.graph import Op, walk
from tflmgen.ir.streams import Called, LineMove, RowStream
from tflmgen.options import BuildOptions
from tflmgen.terminal import Column, Table, count


def pareto_command(prepared: PreparedModel) -> None:
    """Prints the Pareto front of RAM and estimated cycles per invoke."""
    console, board, path = prepared.console, prepared.board, prepared.path
    with console.progress(f"Planning {path.name}"):
        points = pareto_points(path, board, prepared.options)
    titles = ("RAM", "MACs", "extra cycles", "row calls", "bytes moved", "streamed operators")
    columns = tuple(Column(title, numeric=True) for title in titles)
    rows = [tuple(count(number) for number in point.values()) for point in points]
    console.table(Table(f"RAM of {path.name} and its estimated cost per invoke", columns, rows))
    console.line("Build one with --ram-budget and its RAM. None computes a value twice.")
    console.json({"model": path.name, "board": board.id, "points": points})


def pareto_points(path: Path, board: Board, options: BuildOptions) -> list[dict[str, int]]:
    """The `points` of schema/pareto.json, from the fastest plan to the smallest. Raises ModelError for a bad model."""
    target = replace(board.target, optimize=options.optimize.value)
    return [_point(trade_off) for trade_off in ram_curve(path, target, options)]


def _point(trade_off: TradeOff) -> dict[str, int]:
    plans = list(_plans(trade_off))
    called = [call for call in trade_off.best.selection.computations if isinstance(call, Called)]
    return {
        "ram_bytes": trade_off.bytes,
        "macs": sum(call.macs for call in called),
        "extra_cycles": trade_off.cost,
        "row_calls": sum(len(plan.order) for plan in plans),
        "bytes_moved": sum(move.bytes for plan in plans for move in _moves(plan)),
        "streamed_operators": sum(len(plan.stages) for plan in plans),
    }


def _plans(trade_off: TradeOff) -> Iterator[RowStream]:
    for function in trade_off.module.functions:
        for node in walk(function.body):
            kernel = trade_off.best.selection.of(node) if isinstance(node, Op) else None
            if isinstance(kernel, RowStream):
                yield kernel


def _moves(plan: RowStream) -> Iterator[LineMove]:
    for number in plan.order:
        yield from plan.calls[number].moves
