"""What the kernel calls of a model take on a board, as `bench` counts them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tflmgen.compiler import Compilation
from tflmgen.ir.program.instructions import KernelCall, walk_instructions
from tflmgen.project import plan_for

from support.commands import tflmgen


class DoesNotFitError(AssertionError):
    """The board has less memory than the model takes."""


@dataclass(frozen=True, slots=True)
class CountedCall:
    """A call, the cycles of one execution, and those that the plan estimates, 0 where it has no estimate.

    beside: the program's other calls, of branches not taken, too.
    """

    call: KernelCall
    cycles: float
    expected: int
    beside: tuple[KernelCall, ...]


def counted_calls(path: Path, board: str, *options: str) -> list[CountedCall]:
    """The calls that an invoke of the model executes, with made inputs. Raises DoesNotFitError."""
    compilations = []

    def compile_noted(*arguments: Any, **named: Any) -> Compilation:
        compilations.append(plan_for(*arguments, **named))
        return compilations[-1]

    with mock.patch("tflmgen.actions.planned_model.plan_for", compile_noted):
        done = tflmgen("bench", path, "--board", board, "--json", "--timeout", "300", *options)
    if "over budget" in done.err:
        raise DoesNotFitError(done.err)
    assert done.code == 0, done.err
    calls = kernel_calls(compilations[-1])
    return [
        CountedCall(
            calls[row["step"]],
            row["cycles_estimated"] / row["executions"],
            (row["expected"] or {"cycles": 0})["cycles"],
            tuple(call for step, call in calls.items() if step != row["step"]),
        )
        for row in done.json["operators"]
        if row["executions"] and row["step"] in calls
    ]


def kernel_calls(compilation: Compilation) -> dict[int, KernelCall]:
    """The calls of a model's program, by step."""
    items = walk_instructions(item for function in compilation.program.functions for item in function.body)
    return {item.step: item for item in items if isinstance(item, KernelCall)}
