"""The host's compiler keeps every call of a kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.repository import ROOT
from tflmgen.emulators import EXACT
from tflmgen.toolchain import find_host_compiler

PROGRAM = """
#include "select.h"
static uint8_t arena[4096] __attribute__((aligned(16)));
static const float zero[1] = {0.0f};
static const struct tflmgen_select params = {
    .rank = 1, .extent = {384}, .condition_stride = {1}, .stride1 = {1}, .stride2 = {0}};
__attribute__((noipa)) void fill(uint32_t *words, uint8_t *bytes)
{
    for (int i = 0; i < 384; ++i) {
        words[i] = (uint32_t)i + 1u;
        bytes[i] = 1;
    }
}
__attribute__((noipa)) uint32_t element(const void *words, int i) { return ((const uint32_t *)words)[i]; }
int main(void)
{
    fill((uint32_t *)(void *)arena, arena + 3648);
    tflmgen_select_32((const tflmgen_bool *)(arena + 3648), arena, zero, arena + 1536, &params);
    return element(arena + 1536, 5) != 6u;
}
"""


def test_elements_of_two_widths_in_one_arena(tmp_path: Path) -> None:
    """GCC 12 drops the call of SELECT without -fno-delete-null-pointer-checks, where it is not inlined."""
    (tmp_path / "main.c").write_text(PROGRAM)
    words = ["-std=c99", "-O2", "-fno-inline", "-w", *EXACT, f"-I{ROOT / 'firmware' / 'kernels'}", "main.c"]
    subprocess.run([str(find_host_compiler()), *words, "-o", "main", "-lm"], cwd=tmp_path, check=True)
    subprocess.run([str(tmp_path / "main")], check=True)
