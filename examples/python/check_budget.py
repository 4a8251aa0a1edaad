"""Fails if a model needs more memory or time than its product allows: python check_budget.py MODEL BOARD."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import tflmgen


@dataclass(frozen=True)
class Budget:
    """Bytes of arena and flash, and instructions of one invoke."""

    arena: int = 16_000
    flash: int = 64_000
    instructions: int = 1_000_000


def problems_of(model: tflmgen.CompiledModel, budget: Budget) -> list[str]:
    """A sentence per limit that is exceeded."""
    (signature,) = model.plan.signatures
    zeros = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in signature.inputs}
    bench: tflmgen.Bench = model.bench(zeros, emulator="qemu")
    needed = {"arena": model.arena_bytes, "flash": model.flash_bytes, "instructions": bench.instructions}
    return [
        f"{name}: {value:,}, and {limit:,} are allowed"
        for name, value in needed.items()
        if value > (limit := getattr(budget, name))
    ]


def largest_operator(model: tflmgen.CompiledModel) -> str:
    """The operator with the most multiply-accumulates, for the message."""
    operators: tflmgen.Records[tflmgen.Operator] = model.operators
    return max(operators, key=lambda operator: operator.macs).name


def main() -> int:
    try:
        model = tflmgen.compile(sys.argv[1], board=sys.argv[2], optimize="balanced", validate="off")
    except tflmgen.ModelError as error:
        for problem in error.problems:
            print(f"{problem.where}: {problem.rule}")
        return 1
    problems = problems_of(model, Budget())
    print("\n".join(problems) or f"{model.name} keeps to its budget; {largest_operator(model)} has most to compute")
    return len(problems)


if __name__ == "__main__":
    sys.exit(main())
