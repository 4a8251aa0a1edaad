"""The form of an architecture's declaration: frozen data, and what is read from an assembly listing by patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Core:
    """A core that boards may name.

    fpu       a board's `fpu` where it says nothing else; None: the core has no floating-point unit
    features  all that it can have of what kernels use
    costs     core whose measured cycles of kernels hold for it: itself, or its nearest relative; empty: none
    cycles    cycle model of the counting plug-in (firmware/count/cost_*.c); empty: none
    flags     of compiler and linker, where they do not follow from its name
    """

    fpu: str | None = None
    features: tuple[str, ...] = ()
    costs: str = ""
    cycles: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A cross compiler of GCC's, and the C library that is linked with it.

    prefix           of its programs' names
    packages         Debian's, of compiler and library
    binutils         Debian's package of the other programs
    library          name of the C library
    specs            GCC's spec file that chooses the library
    has_own_headers  whether the compiler finds the library's headers by that file, too
    """

    prefix: str
    packages: str
    binutils: str
    library: str
    specs: str
    has_own_headers: bool = False

    @property
    def compiler(self) -> str:
        """Name of the C compiler."""
        return f"{self.prefix}gcc"


@dataclass(frozen=True, slots=True)
class AssemblySyntax:
    """Patterns for the listing of `objdump -d --no-show-raw-insn`.

    jump            operations that go to an address: branches, jumps and calls
    call            those among them that come back
    loop            operations that go back to an address and are no branches
    leaves          operations behind which the next instruction is reached by jumps only
    returns         instructions ("operation<tab>operands") that return from a function
    computed        instructions that jump to a number that code computes, returns and calls excepted
    tail_by_pointer instructions that jump to a function by its pointer, returns excepted
    table_call      part of the name of functions that jump by the table behind their call; empty: none
    function_bit    what is added to a function's address in a pointer
    constants       makes a collector of constants: (operation, operands) -> the one that an instruction completes
    pushed          (operation, operands) -> bytes by which the stack pointer is lowered; None: unknown
    """

    jump: re.Pattern[str]
    call: re.Pattern[str]
    loop: re.Pattern[str]
    leaves: re.Pattern[str]
    returns: re.Pattern[str]
    computed: re.Pattern[str]
    tail_by_pointer: re.Pattern[str]
    table_call: str
    function_bit: int
    constants: Callable[[], Callable[[str, str], int | None]]
    pushed: Callable[[str, str], int | None]


@dataclass(frozen=True, slots=True)
class Architecture:
    """A family of processors.

    name            part of its firmware files' names (firmware/platform/runtime/startup_NAME.c)
    title           for people
    core_pattern    names of its cores: known ones, and others that its compiler may know
    cores           by GCC's name, or by the chip's where GCC has none
    instructions    instruction sets for which kernels are written and which every core runs
    soft_float      whether float32 is computed by the compiler's library on cores without the feature fpu
    flags           (core, fpu of the board) -> flags of compiler and linker that choose the processor
    toolchain       None: the computer's own compiler
    qemu            program of QEMU
    qemu_package    Debian's package of it
    qemu_arguments  of each of its machines
    renode          (core, clock in Hz) -> the processor in Renode's description of a platform; none: no description
    exceptions      number in a fault's report -> name
    causes          bit of the status word in a fault's report -> cause
    assembly        None: listings are not read
    """

    name: str
    title: str
    core_pattern: str
    flags: Callable[[str, str | None], tuple[str, ...]]
    cores: Mapping[str, Core] = field(default_factory=dict)
    instructions: frozenset[str] = frozenset()
    soft_float: bool = False
    toolchain: Toolchain | None = None
    qemu: str = ""
    qemu_package: str = ""
    qemu_arguments: tuple[str, ...] = ()
    renode: Callable[[str, int], tuple[str, ...]] = lambda core, clock: ()  # noqa: ARG005
    exceptions: Mapping[int, str] = field(default_factory=dict)
    causes: Mapping[int, str] = field(default_factory=dict)
    assembly: AssemblySyntax | None = None
