"""Kernels as firmware compiles them: inlined, by each compiler, without a warning and with the same results."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import conv_cases
from support.conv_cases import Run
from support.kernel_harness import run_kernels
from support.kernel_program import INLINED, KERNELS, WARNINGS, source

COMPILERS = ["gcc", "clang", "arm-none-eabi-gcc"]
ARM = ["-mcpu=cortex-m4", "-mthumb"]


def _need(compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")


@pytest.mark.parametrize(
    ("compiler", "setting"),
    [("gcc", []), ("clang", []), ("gcc", ["-DTFLMGEN_OPTIMIZE_SIZE"])],
    ids=["gcc", "clang", "size"],
)
def test_every_header_stands_alone(compiler: str, setting: list[str]) -> None:
    """On the host; tests/test_c_lint.py has them on cores."""
    _need(compiler)
    for header in sorted(KERNELS.glob("*.h")):
        text = f'#include "{header.name}"\n#include "{header.name}"\nint used;\n'
        command = [compiler, *WARNINGS, *setting, "-O1", f"-I{KERNELS}", "-x", "c", "-c", "-o", "/dev/null", "-"]
        built = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr


@pytest.mark.parametrize(("flag", "compiles"), [("-Ofast", False), ("-ffast-math", False), ("-O3", True)])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_float_functions_are_not_for_fast_math(compiler: str, flag: str, compiles: bool) -> None:
    _need(compiler)
    command = [compiler, *WARNINGS, flag, f"-I{KERNELS}", "-x", "c", "-c", "-o", "/dev/null", "-"]
    text = '#include "elementary_f32.h"\n'
    built = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert (built.returncode == 0) == compiles, built.stderr
    assert compiles or "need their operations in order" in built.stderr


def _runs() -> list[Run]:
    rng = np.random.default_rng(7)
    runs = []
    for dtype in ("int8", "float32"):
        runs += [make(rng, dtype) for make in conv_cases.WEIGHTED for _ in range(4)]
        runs += [conv_cases.pool2d(rng, dtype, name) for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D") for _ in range(2)]
    return runs


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_inlined_kernels_compute_the_same(compiler: str) -> None:
    _need(compiler)
    runs = _runs()
    for inlined, checked in zip(run_kernels(runs, (), compiler, INLINED), run_kernels(runs), strict=True):
        for a, b in zip(inlined, checked, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5 if a.dtype.kind == "f" else 0, atol=1e-6)


def test_inlined_kernels_compile_for_arm(tmp_path: Path) -> None:
    _need("arm-none-eabi-gcc")
    cases = [case for case, _ in _runs()]
    text = source(cases, [case.kernel for case in cases])
    command: list[str | Path] = [
        "arm-none-eabi-gcc",
        *ARM,
        *WARNINGS,
        *INLINED,
        f"-I{KERNELS}",
        "-x",
        "c",
        "-c",
        "-o",
        tmp_path / "o",
        "-",
    ]
    built = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    assert built.returncode == 0, built.stderr.decode()


CONSTANTS_IN_A_BRANCH = """
#include "common.h"

extern void called(int32_t time);
void branch(const bool *condition, int32_t *numbers);

void branch(const bool *condition, int32_t *numbers)
{
    if (__builtin_expect(*condition, 1)) {
        CALLS
        STORES
    } else {
        called(-2);
    }
    called(-1);
}
"""


@pytest.mark.parametrize("calls", range(9, 14))
def test_branches_reach_over_what_would_be_constant_vectors(calls: int, tmp_path: Path) -> None:
    """GCC 12 for MVE, left to vectorise: "branch out of range" for some number of calls."""
    _need("arm-none-eabi-gcc")
    lines = "".join(f"called({n});" for n in range(calls))
    stores = "".join(f"numbers[{n}] = {n * n};" for n in range(16))
    text = CONSTANTS_IN_A_BRANCH.replace("CALLS", lines).replace("STORES", stores)
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-mfpu=auto", *WARNINGS]
    command += ["-O2", f"-I{KERNELS}", "-x", "c", "-c", "-o", str(tmp_path / "o"), "-"]
    built = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
