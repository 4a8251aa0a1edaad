"""Checks a model's memory against its board's, and explains how to reduce it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from tflmgen.errors import BudgetError, TflmgenError
from tflmgen.hardware import PLACED, Board, list_boards
from tflmgen.kernels.costs import WINOGRAD
from tflmgen.project.platformio import BuildError
from tflmgen.terminal import count

Plan = Mapping[str, Any]


CODE = 48 << 10
"""Bytes reserved for code: of flash when kernels may use larger weights for speed, of a RAM for --place code=auto."""


def room_for_weights(board: Board) -> int:
    """Upper bound of the weights in bytes if kernels have a choice; at least 1; 0 on the host: none."""
    if board.is_host:
        return 0
    places = dict(board.placement)
    return max(1, board.bytes_for("weights") - (CODE if places["code"] == places["weights"] else 0))


def check_plan(plan: Plan, board: Board) -> None:
    """Raises BudgetError if arena and state, or the weights, exceed their memories."""
    if board.is_host:
        return
    sizes = {m.name: m.size for m in board.memories}
    for memory, size in _bytes_by_memory(plan, board).items():
        if size > sizes[memory]:
            excess = f"{count(size)} bytes of {memory} are needed, and board {board.id} has {count(sizes[memory])}"
            raise BudgetError(_explained(excess, plan, board, memory == dict(board.placement)["weights"]))


def check_weights(board: Board, path: str, least: int) -> None:
    """Raises BudgetError if the weights alone, as the file has them, exceed their memory."""
    if board.is_host or least <= board.bytes_for("weights"):
        return
    memory = dict(board.placement)["weights"]
    size = board.bytes_for("weights")
    fitting = [b.id for b in list_boards() if least <= b.bytes_for("weights")]
    larger = f"a board with more memory ({', '.join(fitting)})" if fitting else "a smaller model"
    others = "".join(f"--place weights={name.lower()}, " for name in _room(board, "weights", least))
    raise BudgetError(
        f"{path}: over budget: {count(least)} bytes of weights are needed at least, and {memory} of board {board.id} "
        f"has {count(size)}\n  what would help: fewer or smaller layers, {others}int8 instead of float32, or {larger}"
    )


def _bytes_by_memory(plan: Plan, board: Board) -> dict[str, int]:
    """Memory -> bytes used by arena, state and weights."""
    places = dict(board.placement)
    used: Counter[str] = Counter({places["state"]: state_bytes(plan)})
    used[places["weights"]] += _weights(plan)
    for memory, size in arena_parts(plan, board):
        used[memory] += size
    return used


def arena_parts(plan: Plan, board: Board) -> list[tuple[str, int]]:
    """(memory, bytes) of each part of the arena; of one that its first memory holds, that alone."""
    return list(zip(board.arena_memories, plan["arena"].get("parts", [_arena(plan)]), strict=False))


def explain_overflow(error: BuildError, plan: Plan, board: Board) -> TflmgenError:
    """BudgetError for the linker's "region overflowed"; any other build error unchanged."""
    text = str(error)
    match = re.search(r"region `(\w+)' overflowed by (\d+) bytes", text)
    if match:
        memory = dict(board.placement).get(match[1].lower(), match[1])
        excess = f"the firmware is {count(int(match[2]))} bytes too large for {memory} of board {board.id}"
        return BudgetError(_explained(excess, plan, board, memory == dict(board.placement)["weights"]))
    if "RAM is full" in text:
        excess = f"the RAM of board {board.id} leaves less than {count(board.stack)} bytes for the stack"
        return BudgetError(_explained(excess, plan, board, False))
    return error


def peak_operator(plan: Plan) -> str:
    """Description of an operator (or else a boundary) at the arena's peak; empty if the arena is empty."""
    if plan["arena"]["bytes"] == 0:
        return ""
    peak, live = plan["arena"]["peak_step"], _live_bytes(plan)
    fullest = [step for step in plan["steps"] if step["index"] == peak or live[step["index"]] >= live[peak]]
    step = next((step for step in fullest if step["kind"] == "operator"), fullest[0])
    if step.get("operator") is None:
        return f"step {step['index']}, {step['kind']} of {step['function']}"
    outputs = f" -> {', '.join(step['outputs'])}" if step.get("outputs") else ""
    return f"subgraph {step['subgraph']}, operator {step['operator']} ({step.get('name', step['kind'])}{outputs})"


def _live_bytes(plan: Plan) -> Mapping[int, int]:
    """Step -> live bytes of the arena."""
    changes: Counter[int] = Counter()
    for buffer in plan["buffers"]:
        end = -1
        for first, last in sorted(buffer["ranges"]) if buffer["memory"] == "arena" else ():
            if last > end:
                changes[max(first, end + 1)] += buffer["bytes"]
                changes[last + 1] -= buffer["bytes"]
                end = last
    steps = sorted({*changes, *(step["index"] for step in plan["steps"]), plan["arena"]["peak_step"]})
    return dict(zip(steps, accumulate(changes[step] for step in steps), strict=True))


def _explained(excess: str, plan: Plan, board: Board, flash: bool) -> str:
    lines = [f"{plan['model']['path']}: over budget: {excess}"]
    lines.append(
        f"  arena {count(_arena(plan))}, state {count(state_bytes(plan))}, weights {count(_weights(plan))} bytes"
    )
    peak = peak_operator(plan)
    if peak and not flash:
        lines.append(f"  the arena is fullest at {peak}")
    fitting = [b.id for b in list_boards() if b.id != board.id and has_room(plan, b)]
    larger = f"a board with more memory ({', '.join(fitting)})" if fitting else "a smaller model"
    floats = any("float32" in output for step in plan["steps"] for output in step.get("outputs", ()))
    narrower = "int8 instead of float32, " if floats else ""
    change = "fewer or smaller layers, --optimize size" if flash else "a smaller input or fewer channels there"
    plainer = "no --winograd, " if any(step.get("variant") == WINOGRAD for step in plan["steps"]) else ""
    section, size = ("weights", _weights(plan)) if flash else ("arena", _arena(plan))
    other_memories = "".join(f"--place {section}={name.lower()}, " for name in _room(board, section, size))
    advice = f"{plainer}{change}, {other_memories}{narrower}or {larger}"
    return "\n".join([*lines, f"  what would help: {advice}"])


def has_room(plan: Plan, board: Board) -> bool:
    """Whether arena, state and weights fit the board's memories, with the stack and the code that is in RAM; always on
    the host."""
    if board.is_host:
        return True
    sizes = {m.name: m.size for m in board.memories}
    data = dict(board.placement)["data"]
    beside = {data: board.stack, board.code_in: CODE + (board.stack if board.code_in == data else 0)}
    return all(size + beside.get(name, 0) <= sizes[name] for name, size in _bytes_by_memory(plan, board).items())


def _room(board: Board, section: str, size: int) -> list[str]:
    """Names of the board's further memories of the same kind with at least `size` bytes."""
    current = dict(board.placement)[section]
    return [m.name for m in board.memories if m.kind == PLACED[section] and m.name != current and m.size >= size]


def _arena(plan: Plan) -> int:
    return int(plan["arena"]["bytes"])


def state_bytes(plan: Plan) -> int:
    """Bytes of all that the model keeps from invoke to invoke."""
    return sum(int(part["bytes"]) for part in plan["state"])


def _weights(plan: Plan) -> int:
    return int(plan["weights"]["bytes"])
