"""Declarations of kernel variants: all that tflmgen knows of a header of firmware/kernels/ stands beside its packer.

Selection, cost estimates, the tests of every C function and the pages read them. Each is the KERNEL of a module for an
instruction set, or of an operator.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any, Generic, Literal, TypeVar, get_args

from tflmgen.ir.kernel import Cost, Kernel, Reader
from tflmgen.kernels.costs.cost_model import CostModel
from tflmgen.kernels.numeric.channel_arrays import HEADERS, read_channel_arrays
from tflmgen.kernels.requests import KernelRequest

InstructionSet = Literal["mve", "dsp", "rv32m", "thumb", "portable"]
"""Instruction sets of Target.instructions, the fastest first; portable kernels run anywhere."""

Asked = TypeVar("Asked", bound=KernelRequest)


@dataclass(frozen=True, slots=True)
class Computes(Generic[Asked]):
    """A kind of request, and the kernels that give TFLite's results for one of it.

    kernels: their packed weights, parameters, scratch and overlaps, several where they differ in memory; none where
    they do not support the request, or are not exact for each of its inputs.
    """

    request: type[Asked]
    kernels: Callable[[Asked], Kernel | Sequence[Kernel] | None]


@dataclass(frozen=True, slots=True)
class Cases:
    """Layers to test C functions with, drawn until each function has some: names in tests/support/variant_cases.py.

    optimize, winograd: as in Target. in_turn: a module below tflmgen.kernels whose SHIFTS are tried in that order, so
    that layers rarely reach the last ones: the tests try each alone.
    """

    layers: str
    optimize: str = "speed"
    winograd: int = 0
    in_turn: str = ""


@dataclass(frozen=True, slots=True)
class KernelDeclaration:
    """A header of C kernels for one instruction set. The module that declares it has its name.

    beside: headers that hold other C functions of the same kernels. computes: what for. preference: among the kernels
    of an instruction set, the lowest first; of kernels with nearly the same estimate the first is taken. costs: the
    cost models of its kernels by family, whose figures are in costs/cycles.json; of several, each kernel names its own.
    pads_freely: packed weights may take much more flash than the weights, as the user asked for. cases: of each C
    function. read: reads packed weights back, for proof/.
    """

    header: str
    instructions: InstructionSet
    computes: tuple[Computes[Any], ...] = ()
    costs: Mapping[str, CostModel] = field(default_factory=dict)
    cases: tuple[Cases, ...] = ()
    beside: tuple[str, ...] = ()
    preference: int = 0
    pads_freely: bool = False
    read: Reader | None = None

    @property
    def headers(self) -> tuple[str, ...]:
        """Names of all headers of this kernel, its own first."""
        return (self.header, *self.beside)

    def kernels(self, request: KernelRequest) -> list[Kernel]:
        """The kernels that compute what is asked for; none where none does."""
        kernels: list[Kernel] = []
        for computes in self.computes:
            if type(request) is computes.request:
                answer = computes.kernels(request)
                kernels += [answer] if isinstance(answer, Kernel) else answer or ()
        return [self._described(kernel, request) for kernel in kernels]

    def _described(self, kernel: Kernel, request: KernelRequest) -> Kernel:
        """The kernel and its smaller variants, with the numbers of the request and the family, if there is only one."""
        family = next(iter(self.costs)) if len(self.costs) == 1 else kernel.cost.family
        cost = Cost(kernel.macs, family, (*request.numbers, *kernel.cost.numbers))
        smaller = tuple(self._described(other, request) for other in kernel.smaller)
        return replace(kernel, cost=cost, smaller=smaller)


PACKAGES = ("mve", "dsp", "rv32m", "thumb", "operators")


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
