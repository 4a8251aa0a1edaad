"""Contradictions between a board's core and what the board says that it has."""

from __future__ import annotations

from collections.abc import Collection

from tflmgen.architectures import architecture_of


def core_problems(core: str, fpu: str | None, features: Collection[str]) -> list[str]:
    """Contradictions of a board's core, its FPU and its features. Of cores that are not listed nothing is known."""
    known = architecture_of(core).cores.get(core.partition("+")[0].removesuffix(".small-multiply"))
    if known is None:
        return []
    problems = []
    if known.fpu is None and fpu is not None:
        problems.append(f"$.fpu: '{fpu}', but {core} has none")
    problems += [f"$.features: '{f}', which {core} does not have" for f in sorted({*features} - {*known.features})]
    return problems
