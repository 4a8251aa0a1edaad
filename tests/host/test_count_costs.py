"""The decoder and the cost models of the counting plugin, on instructions that binutils assemble."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.repository import ROOT
from support.tools import requires

COUNT = ROOT / "firmware" / "count"

HARNESS = r"""
#include <stdio.h>
#include <string.h>
#include "cost.h"
int main(int argc, char **argv) {
  const struct model *models[] = {&model_m0, &model_m0plus, &model_m3, &model_m4, &model_m7, &model_m55};
  for (int m = 0; m < 6; m++) {
    if (argc < 2 || strcmp(models[m]->core, argv[1])) continue;
    struct instruction previous, instruction;
    struct pipeline pipeline = {NULL, false};
    unsigned a, b;
    while (scanf("%x %x", &a, &b) == 2) {
      const uint8_t code[] = {a & 255, a >> 8 & 255, b & 255, b >> 8 & 255};
      instruction = models[m]->decoder->decode(code, models[m]->decoder->size_of(code));
      const struct cycles c = models[m]->cost(&instruction, &pipeline);
      printf("%u %u\n", c.low, c.high);
      previous = instruction;
      pipeline.previous = &previous;
    }
  }
}
"""

pytestmark = requires("arm-none-eabi-as")


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("costs")
    (folder / "main.c").write_text(HARNESS)
    sources = [str(path) for path in COUNT.glob("*.c") if path.name != "count.c"]
    command = ["cc", "-std=c99", f"-I{COUNT}", *sources, str(folder / "main.c"), "-o", str(folder / "costs")]
    subprocess.run(command, check=True)
    return folder / "costs"


def costs(harness: Path, tmp_path: Path, core: str, code: str) -> list[tuple[int, int]]:
    """The costs of instructions that are separated by semicolons."""
    source = tmp_path / "code.s"
    fpu = {"cortex-m4": ".fpu fpv4-sp-d16\n", "cortex-m7": ".fpu fpv5-sp-d16\n"}.get(core, "")
    source.write_text(f".syntax unified\n.thumb\n{fpu}" + code.replace(";", "\n") + "\n")
    processor = "-march=armv8.1-m.main+mve.fp" if core == "cortex-m55" else f"-mcpu={core}"
    subprocess.run(["arm-none-eabi-as", processor, str(source), "-o", f"{source}.o"], check=True)
    command = ["arm-none-eabi-objcopy", "-O", "binary", "-j", ".text", f"{source}.o", f"{source}.bin"]
    subprocess.run(command, check=True)
    data = Path(f"{source}.bin").read_bytes()
    words = [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)]
    pairs = []
    while words:
        first = words.pop(0)
        pairs.append(f"{first:x} {words.pop(0) if first >= 0xE800 else 0:x}")
    done = subprocess.run([str(harness), core], input="\n".join(pairs), capture_output=True, text=True, check=True)
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]  # type: ignore[misc]


SINGLE_INSTRUCTIONS = [
    ("cortex-m0", "adds r0, r1", 1, 1),
    ("cortex-m0", "muls r0, r1", 1, 32),
    ("cortex-m0", "ldrb r0, [r1, r2]", 2, 2),
    ("cortex-m0", "str r0, [sp, #4]", 2, 2),
    ("cortex-m0", "push {r4-r7, lr}", 6, 6),
    ("cortex-m0", "pop {r4-r7, pc}", 7, 7),  # and 2 for the branch: 4 + 5
    ("cortex-m0", "ldmia r0!, {r1-r3}", 4, 4),
    ("cortex-m0", "b .", 1, 1),
    ("cortex-m0", "bl .", 2, 2),
    ("cortex-m0", "dmb", 4, 4),
    ("cortex-m0plus", "pop {r4-r7, pc}", 7, 7),
    ("cortex-m0plus", "mrs r0, primask", 3, 3),
    ("cortex-m3", "mul r0, r1, r2", 1, 1),
    ("cortex-m3", "mla r0, r1, r2, r3", 2, 2),
    ("cortex-m3", "smull r0, r1, r2, r3", 3, 5),
    ("cortex-m3", "umlal r0, r1, r2, r3", 4, 7),
    ("cortex-m3", "sdiv r0, r1, r2", 2, 12),
    ("cortex-m3", "tbb [pc, r0]", 2, 2),
    ("cortex-m3", "ldrd r0, r1, [r2]", 3, 3),
    ("cortex-m4", "ldr r0, =0x12345678", 2, 2),
    ("cortex-m4", "ldrsh.w r0, [r1, r2, lsl #1]", 2, 2),
    ("cortex-m4", "strb.w r0, [r1], #1", 1, 1),
    ("cortex-m4", "ldmia.w r0!, {r1-r8}", 9, 9),
    ("cortex-m4", "stmdb sp!, {r4-r8, lr}", 7, 7),
    ("cortex-m4", "pop.w {r4-r8, pc}", 7, 7),
    ("cortex-m4", "strd r0, r1, [r2, #8]", 3, 3),
    ("cortex-m4", "smlad r0, r1, r2, r3", 1, 1),
    ("cortex-m4", "smlal r0, r1, r2, r3", 1, 1),
    ("cortex-m4", "sxtb16 r0, r1, ror #8", 1, 1),
    ("cortex-m4", "ssat r0, #8, r1", 1, 1),
    ("cortex-m4", "udiv r0, r1, r2", 7, 7),
    ("cortex-m4", "cbz r0, .+8", 1, 1),
    ("cortex-m4", "ldrex r0, [r1]", 2, 2),
    ("cortex-m4", "vldr s0, [r0]", 2, 2),
    ("cortex-m4", "vstr s0, [r0]", 2, 2),
    ("cortex-m4", "vldr d0, [r0]", 3, 3),
    ("cortex-m4", "vstr d0, [r0]", 3, 3),
    ("cortex-m4", "vldmia r0!, {s0-s3}", 5, 5),
    ("cortex-m4", "vpush {d8}", 3, 3),
    ("cortex-m4", "vadd.f32 s0, s1, s2", 1, 1),
    ("cortex-m4", "vmul.f32 s0, s1, s2", 1, 1),
    ("cortex-m4", "vfma.f32 s0, s1, s2", 3, 3),
    ("cortex-m4", "vmla.f32 s0, s1, s2", 3, 3),
    ("cortex-m4", "vdiv.f32 s0, s1, s2", 14, 14),
    ("cortex-m4", "vsqrt.f32 s0, s1", 14, 14),
    ("cortex-m4", "vcvt.f32.s32 s0, s1", 1, 1),
    ("cortex-m4", "vcmp.f32 s0, #0.0", 1, 1),
    ("cortex-m4", "vmrs APSR_nzcv, fpscr", 1, 1),
    ("cortex-m4", "vmov s0, r0", 1, 1),
    ("cortex-m7", "smull r0, r1, r2, r3", 1, 1),
    ("cortex-m7", "ldr r0, [r1]", 1, 1),
    ("cortex-m55", "vldrb.s16 q0, [r0], #8", 2, 2),
    ("cortex-m55", "vmladava.s8 r0, q0, q1", 2, 2),
    ("cortex-m55", "ldr r0, [r1]", 1, 2),
    ("cortex-m55", "le lr, .", 0, 0),
    ("cortex-m55", "dls lr, r0", 1, 1),
]


@pytest.mark.parametrize(
    ("core", "code", "low", "high"),
    SINGLE_INSTRUCTIONS,
    ids=[f"{core}: {code}" for core, code, *_ in SINGLE_INSTRUCTIONS],
)
def test_one_instruction(harness: Path, tmp_path: Path, core: str, code: str, low: int, high: int) -> None:
    # A literal pool, where there is one, comes behind the instruction.
    assert costs(harness, tmp_path, core, code)[0] == (low, high)


def test_m4_pipelines_single_accesses(harness: Path, tmp_path: Path) -> None:
    code = "ldr r0, [r1]; ldr r2, [r3]; str r4, [r5]; ldrb r0, [r1]; adds r0, #1; ldr r2, [r3]"
    assert [low for low, _ in costs(harness, tmp_path, "cortex-m4", code)] == [2, 1, 1, 1, 1, 2]


def test_m7_issues_pairs(harness: Path, tmp_path: Path) -> None:
    code = "adds r0, #1; adds r1, #1; ldr r2, [r3]; ldr r4, [r5]; str r6, [r7]; str r6, [r7]; muls r0, r1; muls r2, r1"
    issued = costs(harness, tmp_path, "cortex-m7", code)
    assert [low for low, _ in issued] == [1, 0, 1, 0, 1, 1, 0, 1]
    assert {high for _, high in issued} == {1}


def test_m55_overlaps_units(harness: Path, tmp_path: Path) -> None:
    code = "; ".join(
        [
            "vldrw.u32 q0, [r0]",  # memory
            "vmladava.s8 r2, q0, q1",  # multiplier
            "vldrw.u32 q2, [r0]",
            "vldrw.u32 q3, [r1]",
            "vadd.i32 q0, q0, q1",  # the rest
            "vqrdmulh.s32 q0, q0, q1",
            "vmul.i32 q1, q1, q2",
            "vfma.f32 q0, q1, q2",
            "vmax.s8 q0, q1",
            "vqmovnb.s32 q0, q1",
        ]
    )
    assert [low for low, _ in costs(harness, tmp_path, "cortex-m55", code)] == [2, 1, 1, 2, 1, 1, 2, 2, 1, 2]
