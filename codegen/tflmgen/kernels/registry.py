"""Finds the declarations of kernels: every KERNEL of a module for an instruction set, or of an operator."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import get_args

from tflmgen.ir import Reader
from tflmgen.kernels.costs.cost_model import CostModel
from tflmgen.kernels.declaration import InstructionSet, KernelDeclaration
from tflmgen.kernels.numeric.channel_arrays import HEADERS, read_channel_arrays

PACKAGES = ("mve", "dsp", "thumb", "operators")


@cache
def declarations() -> tuple[KernelDeclaration, ...]:
    """All of them: the fastest instruction set first, in order of preference.

    Found on first use, since operators, which have some, ask for those of others.
    """
    declared: list[KernelDeclaration] = []
    for name in PACKAGES:
        package = import_module(f"tflmgen.kernels.{name}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            declaration = getattr(import_module(module.name), "KERNEL", None)
            declared += [declaration] if declaration else []
    order = get_args(InstructionSet)
    return tuple(sorted(declared, key=lambda d: (order.index(d.instructions), d.preference, d.header)))


@cache
def _readers() -> Mapping[str, Reader]:
    packed = {header: d.read for d in declarations() if d.read is not None for header in d.headers}
    return {**dict.fromkeys(HEADERS, read_channel_arrays), **packed}


def reader_of(header: str) -> Reader | None:
    """Reads back what the kernels of a header have packed; None where they pack nothing."""
    return _readers().get(header)


@cache
def cost_models() -> Mapping[str, CostModel]:
    """The cost model of each family."""
    return {name: model for declaration in declarations() for name, model in declaration.costs.items()}
