"""Families of processors: their cores, instruction sets, compilers, emulators and assembly, as data.

In: nothing of tflmgen. Out: an Architecture, by the name of a core.
Decided here: what the compiler, builds and emulators know of a processor; no other room asks which one it is.
"""

from tflmgen.architectures.all_architectures import ARCHITECTURES, architecture_of, core_named
from tflmgen.architectures.architecture import Architecture, AssemblySyntax

__all__ = ["ARCHITECTURES", "Architecture", "AssemblySyntax", "architecture_of", "core_named"]
