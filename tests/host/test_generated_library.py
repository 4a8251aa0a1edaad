"""What the contract of the generated library promises to an application that links it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.native import FIRMWARE, WARNINGS
from support.repository import ROOT
from support.tiny_graphs import branch_model, straight_model
from tflmgen.compiler import Compilation, compile_module
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model, read_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

M4 = Target("cortex-m4", frozenset({"dsp", "fpu"}))

BOTH = """
#include <stdio.h>
#include <string.h>
#include "one.h"
#include "two.h"

uint8_t tflmgen_shared_arena[ONE_ARENA_BYTES > TWO_ARENA_BYTES ? ONE_ARENA_BYTES : TWO_ARENA_BYTES]
    __attribute__((aligned(16)));

int main(void)
{
    const int32_t x[4] = {5, -6, 7, 8}, a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
    for (int round = 0; round < 2; ++round) {
        memcpy(one_input(), x, sizeof x);
        if (one_invoke() != TFLMGEN_OK) {
            return 1;
        }
        for (int i = 0; i < 4; ++i) {
            printf("%d ", (int)one_output()[i]);
        }
        *two_input_p() = round == 0;
        memcpy(two_input_a(), a, sizeof a);
        memcpy(two_input_b(), b, sizeof b);
        if (two_invoke() != TFLMGEN_OK) {
            return 1;
        }
        for (int i = 0; i < 3; ++i) {
            printf("%d ", (int)two_output()[i]);
        }
    }
    return 0;
}
"""


def compiled(data: bytes, name: str, target: Target = M4) -> Compilation:
    return compile_module(import_model(parse_model(data, f"{name}.tflite")), name, target, BuildOptions(name))


def written(folder: Path, *compilations: Compilation) -> list[Path]:
    """The sources of libraries in a folder, beside the headers that they include."""
    for compilation in compilations:
        for path, text in compilation.sources.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    (folder / "include" / "tflmgen").symlink_to(FIRMWARE / "kernels")
    return sorted((folder / "src").glob("*.c"))


def includes(folder: Path) -> list[str]:
    return [f"-I{folder / 'include'}", f"-I{FIRMWARE / 'runtime'}"]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_two_models_share_one_arena(tmp_path: Path, compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    files = written(tmp_path, compiled(straight_model(), "one"), compiled(branch_model(), "two"))
    (tmp_path / "main.c").write_text(BOTH)
    program = tmp_path / "both"
    command: list[str | Path]
    command = [compiler, *WARNINGS, "-O2", "-DTFLMGEN_SHARED_ARENA", *includes(tmp_path), tmp_path / "main.c", *files]
    subprocess.run([*command, "-o", program], check=True)
    symbols = subprocess.run(["nm", program], capture_output=True, check=True, text=True).stdout
    assert not re.search(r" [bBdD] arena$", symbols, re.MULTILINE)
    printed = subprocess.run([program], capture_output=True, check=True, text=True).stdout
    product = "30 24 70 96"
    assert printed.split() == f"{product} 11 22 33 {product} 1 2 3".split()


PUNNED = """#include "tflmgen/common.h"
tflmgen_s32 pun(tflmgen_s32 *as_int, tflmgen_f32 *as_float);
tflmgen_s32 pun(tflmgen_s32 *as_int, tflmgen_f32 *as_float)
{
    *as_int = 1;
    *as_float = 0.0f;
    return *as_int;
}

int main(void)
{
    int32_t value;
    return (int)pun(&value, (tflmgen_f32 *)(void *)&value);
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_elements_of_many_types_may_be_in_one_place(tmp_path: Path, compiler: str) -> None:
    """With plain int and float, both compilers take it that they never are, and return 1."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "pun.c").write_text(PUNNED)
    (tmp_path / "tflmgen").symlink_to(FIRMWARE / "kernels")
    command: list[str | Path]
    command = [compiler, "-O2", "-fno-inline", "-fstrict-aliasing", f"-I{tmp_path}", tmp_path / "pun.c"]
    subprocess.run([*command, "-o", tmp_path / "pun"], check=True)
    assert subprocess.run([tmp_path / "pun"], check=False).returncode == 0


def test_the_header_is_one_for_cpp_too(tmp_path: Path) -> None:
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    written(tmp_path, compiled(branch_model(), "two"))
    (tmp_path / "use.cpp").write_text(
        '#include "two.h"\n'
        "int main() { *two_input_p() = true; return two_invoke() == TFLMGEN_OK ? two_output()[0] : 1; }\n"
    )
    command = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *includes(tmp_path)]
    objects = []
    for source in sorted((tmp_path / "src").glob("*.c")):
        objects.append(source.with_suffix(".o"))
        subprocess.run(["gcc", "-std=c99", "-c", *includes(tmp_path), source, "-o", objects[-1]], check=True)
    subprocess.run([*command, tmp_path / "use.cpp", *objects, "-o", tmp_path / "use"], check=True)


ALLOWED = re.compile(r"mem(cpy|move|set)|__aeabi_\w+|(exp|log|tanh|sqrt|pow|fmod|floor|ceil|round|sin|cos|atan2)f?")
"""What a generated library may ask the C library for: memory moves, run-time arithmetic and libm."""


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_no_heap_and_nothing_but_arithmetic_is_linked(tmp_path: Path, optimize: str) -> None:
    if not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("arm-none-eabi-gcc is not installed")
    model = import_model(read_model(ROOT / "examples" / "gate.tflite"))
    files = written(tmp_path, compile_module(model, "gate", M4, BuildOptions("gate")))
    flags = ["-O2"] if optimize == "speed" else ["-Os", "-DTFLMGEN_OPTIMIZE_SIZE"]
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", *WARNINGS, *flags, *includes(tmp_path), "-c"]
    undefined = set()
    for source in files:
        subprocess.run([*command, source, "-o", source.with_suffix(".o")], check=True)
        listed = subprocess.run(
            ["arm-none-eabi-nm", "-u", source.with_suffix(".o")], capture_output=True, check=True, text=True
        )
        undefined |= {line.split()[-1] for line in listed.stdout.splitlines()}
    outside = {name for name in undefined if not name.startswith("gate_")}
    assert undefined
    assert not [name for name in outside if not ALLOWED.fullmatch(name)]


def test_the_same_model_gives_the_same_bytes() -> None:
    first, other = (compiled(branch_model(), "two") for _ in range(2))
    assert first.sources.files == other.sources.files
    assert first.plan == other.plan
