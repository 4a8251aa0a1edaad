"""C programs that call kernels: one function per case, compiled once for equal text, headers and flags."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tflmgen.ir import DType
from tflmgen.ir.kernel.call import Input, Kernel, Null, Output, Scratch

from support.build_cache import cached, digest, version
from support.kernel_main import MAIN

if TYPE_CHECKING:
    from support.kernel_harness import Case

KERNELS = Path(__file__).parents[2] / "firmware" / "kernels"
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror")
CHECKED = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DTFLMGEN_OPTIMIZE_SIZE")
UNCHECKED = ("-O1", "-DTFLMGEN_OPTIMIZE_SIZE", "-Wno-maybe-uninitialized")
"""Compiles in a third of the time."""
INLINED = ("-O2",)
"""Kernels specialised for the literals of their calls, as firmware has them by default."""


def source(cases: Sequence[Case], kernels: Sequence[Kernel]) -> str:
    """The C program: one function per call, each with the pointer table `s` for its operands."""
    headers = sorted({kernel.header for kernel in kernels})
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
    lines += [f'#include "{header}"' for header in headers]
    for i, (kernel, case) in enumerate(zip(kernels, cases, strict=True)):
        arguments = [c_argument(operand, n, case) for n, operand in enumerate(kernel.operands)]
        lines.append(f"static void call_{i}(void **s)\n{{")
        if kernel.params:
            fields = ", ".join(f".{name} = {c_value(value)}" for name, value in kernel.params.fields)
            lines.append(f"    static const struct {kernel.params.struct} params = {{{fields}}};")
            arguments.append("&params")
        lines.append(f"    {kernel.function}({', '.join(arguments)});\n}}")
    calls = ", ".join(f"call_{i}" for i in range(len(kernels)))
    lines.append(f"static void (*const calls[])(void **) = {{{calls}}};")
    return "\n".join([*lines, MAIN])


def c_value(value: Any) -> str:
    """A parameter as a C literal."""
    if isinstance(value, tuple):
        return "{" + ", ".join(map(c_value, value)) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        assert np.isfinite(value)
        return f"{value!r}f"
    return str(int(value))


def c_argument(operand: Any, slot: int, case: Case) -> str:
    """An operand of a call: an entry of the pointer table, cast to the element type."""
    if isinstance(operand, Null):
        return "NULL"
    if isinstance(operand, Scratch):
        return f"s[{slot}]"
    item = case.inputs[operand.index] if isinstance(operand, Input) else None
    kind = case.outputs[operand.index] if isinstance(operand, Output) else operand if item is None else item.type
    # To GCC, a bool that may alias is no bool, whereas other types that may alias are what they are.
    element = "tflmgen_bool" if kind.dtype is DType.BOOL else kind.dtype.c_type
    return f"({'' if isinstance(operand, Output) else 'const '}{element} *)s[{slot}]"


def compile_program(text: str, compiler: str, flags: Sequence[str]) -> Path:
    """The program's path; compiled once for the same source, headers and flags."""
    command = [compiler, *WARNINGS, *flags, "-x", "c", "-"]

    def make(folder: Path) -> None:
        words = [*command, f"-I{KERNELS}", "-o", str(folder / "program"), "-lm"]
        built = subprocess.run(words, input=text.encode(), capture_output=True, check=False)
        assert built.returncode == 0, built.stderr.decode(errors="replace")[:4000]

    return cached((command, version(compiler), text, digest([KERNELS], ".h")), make) / "program"
