"""Prints the table of docs/understand/memory.md about packing alone: MiniMalloc's instances.

    python tests/packing_figures.py > table.md

Seconds are those of the process (one core), which does nothing else.
"""

from __future__ import annotations

import time

from support.planner_instances import THOROUGH, Problem, published
from tflmgen.memory.placement import place


def main() -> None:
    """One row per instance; quotients are those of arena and capacity."""
    print("| | buffers | capacity | bound | in a build | by itself | seconds |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for problem in published("ABCDEFGHIJK"):
        begin = time.process_time()
        cells = row(problem)
        print(f"{cells} {time.process_time() - begin:.2f} |", flush=True)


def row(problem: Problem) -> str:
    """An instance's line in the table, but for its last cell."""
    blocks, steps = problem.blocks()
    hasty = place(blocks, steps)
    plan = place(blocks, steps, effort=THOROUGH)
    quotients = [f"{size / problem.capacity:.3f}" for size in (plan.lower_bound, hasty.bytes, plan.bytes)]
    return f"| {problem.name} | {len(blocks)} | {problem.capacity:,} | {' | '.join(quotients)} |"


if __name__ == "__main__":
    main()
