"""The Cortex-M cores that boards of the user's may have, and what each can have of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

CORES: Mapping[str, tuple[str | None, tuple[str, ...]]] = {
    "cortex-m0": (None, ()),
    "cortex-m0plus": (None, ()),
    "cortex-m1": (None, ()),
    "cortex-m3": (None, ()),
    "cortex-m4": ("fpv4-sp-d16", ("dsp", "fpu")),
    "cortex-m7": ("fpv5-d16", ("dsp", "fpu")),
    "cortex-m23": (None, ()),
    "cortex-m33": ("fpv5-sp-d16", ("dsp", "fpu")),
    "cortex-m55": ("auto", ("dsp", "fpu", "mve")),
    "cortex-m85": ("auto", ("dsp", "fpu", "mve")),
}
"""GCC's -mcpu name -> default -mfpu, and instruction-set features for kernels."""


def core_problems(core: str, fpu: str | None, features: Collection[str]) -> list[str]:
    """Contradictions of a board's core, its FPU and its features. Of cores that are not in CORES nothing is known."""
    name = core.partition("+")[0].removesuffix(".small-multiply")
    if name not in CORES:
        return []
    problems = []
    known_fpu, known = CORES[name]
    if known_fpu is None and fpu is not None:
        problems.append(f"$.fpu: '{fpu}', but {core} has none")
    problems += [f"$.features: '{f}', which {core} does not have" for f in sorted({*features} - {*known})]
    return problems
