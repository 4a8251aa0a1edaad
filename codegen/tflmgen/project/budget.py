"""A model's memory beside what its board has, and what to do where that isn't enough."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tflmgen.errors import TflmgenError
from tflmgen.kernels import WINOGRAD
from tflmgen.project.board import PLACED, Board, list_boards
from tflmgen.project.platformio import BuildError
from tflmgen.terminal import count

Plan = Mapping[str, Any]


class BudgetError(TflmgenError):
    """The model needs more memory than the board has."""


CODE = 48 << 10
"""Flash that is kept for code where weights may become larger than they must."""


def room_for_weights(board: Board) -> int:
    """Bytes that weights may take at most, if there is a choice: 1 where that is none, 0 on the host."""
    if board.is_host:
        return 0
    places = dict(board.placement)
    return max(1, board.bytes_for("weights") - (CODE if places["code"] == places["weights"] else 0))


def check_plan(plan: Plan, board: Board) -> None:
    """Raises BudgetError where arena and state, or the weights, are more than their memories hold."""
    if board.is_host:
        return
    sizes = {m.name: m.size for m in board.memories}
    for memory, size in _needed(plan, board).items():
        if size > sizes[memory]:
            over = f"{count(size)} bytes of {memory} are needed, and board {board.id} has {count(sizes[memory])}"
            raise BudgetError(_explained(over, plan, board, memory == dict(board.placement)["weights"]))


def _needed(plan: Plan, board: Board) -> dict[str, int]:
    """Bytes of each memory that the plan takes, without code, stack and other data."""
    needed: dict[str, int] = {}
    for what, size in (("arena", _arena(plan)), ("state", _state(plan)), ("weights", _weights(plan))):
        memory = dict(board.placement)[what]
        needed[memory] = needed.get(memory, 0) + size
    return needed


def explain_overflow(error: BuildError, plan: Plan, board: Board) -> TflmgenError:
    """The linker's "region overflowed" in the user's words; another build error as it is."""
    text = str(error)
    found = re.search(r"region `(\w+)' overflowed by (\d+) bytes", text)
    if found:
        memory = dict(board.placement).get(found[1].lower(), found[1])
        over = f"the firmware is {count(int(found[2]))} bytes too large for {memory} of board {board.id}"
        return BudgetError(_explained(over, plan, board, memory == dict(board.placement)["weights"]))
    if "RAM is full" in text:
        over = f"the RAM of board {board.id} leaves less than {count(board.stack)} bytes for the stack"
        return BudgetError(_explained(over, plan, board, False))
    return error


def peak_operator(plan: Plan) -> str:
    """An operator at which the arena is fullest, in words; empty where nothing is placed, a boundary if no operator."""
    if plan["arena"]["bytes"] == 0:
        return ""
    peak = plan["arena"]["peak_step"]
    most = _live(plan, peak)
    fullest = [step for step in plan["steps"] if step["index"] == peak or _live(plan, step["index"]) >= most]
    step = next((step for step in fullest if step["kind"] == "operator"), fullest[0])
    if step.get("operator") is None:
        return f"step {step['index']}, {step['kind']} of {step['function']}"
    outputs = f" -> {', '.join(step['outputs'])}" if step.get("outputs") else ""
    return f"subgraph {step['subgraph']}, operator {step['operator']} ({step.get('name', step['kind'])}{outputs})"


def _live(plan: Plan, step: int) -> int:
    """Bytes of the arena's buffers that hold something at a step."""
    buffers = [b for b in plan["buffers"] if b["memory"] == "arena"]
    return sum(b["bytes"] for b in buffers if any(first <= step <= last for first, last in b["ranges"]))


def _explained(over: str, plan: Plan, board: Board, flash: bool) -> str:
    lines = [f"{plan['model']['path']}: over budget: {over}"]
    lines.append(f"  arena {count(_arena(plan))}, state {count(_state(plan))}, weights {count(_weights(plan))} bytes")
    peak = peak_operator(plan)
    if peak and not flash:
        lines.append(f"  the arena is fullest at {peak}")
    fitting = [b.id for b in list_boards() if b.id != board.id and _fits(plan, b)]
    larger = f"a board with more memory ({', '.join(fitting)})" if fitting else "a smaller model"
    floats = any("float32" in output for step in plan["steps"] for output in step.get("outputs", ()))
    narrower = "int8 instead of float32, " if floats else ""
    change = "fewer or smaller layers, --optimize size" if flash else "a smaller input or fewer channels there"
    plainer = "no --winograd, " if any(step.get("variant") == WINOGRAD for step in plan["steps"]) else ""
    what, size = ("weights", _weights(plan)) if flash else ("arena", _arena(plan))
    elsewhere = "".join(f"--place {what}={name.lower()}, " for name in _room(board, what, size))
    advice = f"{plainer}{change}, {elsewhere}{narrower}or {larger}"
    return "\n".join([*lines, f"  what would help: {advice}"])


def _fits(plan: Plan, board: Board) -> bool:
    sizes = {m.name: m.size for m in board.memories}
    data = dict(board.placement)["data"]
    return all(
        size + (board.stack if name == data else 0) <= sizes[name] for name, size in _needed(plan, board).items()
    )


def _room(board: Board, what: str, size: int) -> list[str]:
    """Other memories of the board, of the right kind, that hold `size` bytes by themselves."""
    taken = dict(board.placement)[what]
    return [m.name for m in board.memories if m.kind == PLACED[what] and m.name != taken and m.size >= size]


def _arena(plan: Plan) -> int:
    return int(plan["arena"]["bytes"])


def _state(plan: Plan) -> int:
    return sum(int(part["bytes"]) for part in plan["state"])


def _weights(plan: Plan) -> int:
    return int(plan["weights"]["bytes"])
