"""tflmgen_move and tflmgen_fill on cores with and without words at any address and MVE: every length and address."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.emulated_kernels import M0, M3, M4, M55, Machine, lines_of
from support.emulated_start import START
from support.tools import requires_compiler, requires_qemu

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

MAIN = """
static uint8_t expected[256];
static __attribute__((noinline)) void move(void *to, const void *from, int32_t bytes)
{
    tflmgen_move(to, from, bytes);
}
static void compare(uint32_t number)
{
    for (uint32_t i = 0; i < 256; ++i) {
        if (ram[i] != expected[i]) {
            say("byte ", i);
            say(" of case ", number);
            call_host(4, "\\n");
            return;
        }
    }
}
int main(void)
{
    uint32_t cases = 0;
    for (uint32_t length = 0; length <= 90; ++length) {
        for (uint32_t from = 64; from < 68; ++from) {
            for (uint32_t to = from - 20; to < from + 112; ++to) {
                if (to < from + length && from < to + length) {
                    continue;
                }
                for (uint32_t i = 0; i < 256; ++i) {
                    ram[i] = expected[i] = (uint8_t)(i * 7 + 1);
                }
                for (uint32_t i = 0; i < length; ++i) {
                    expected[to + i] = (uint8_t)((from + i) * 7 + 1);
                }
                move(ram + to, ram + from, (int32_t)length);
                compare(++cases);
            }
        }
    }
    for (uint32_t length = 0; length <= 50; ++length) {
        for (uint32_t to = 64; to < 68; ++to) {
            for (uint32_t i = 0; i < 256; ++i) {
                ram[i] = expected[i] = (uint8_t)(i * 7 + 1);
            }
            for (uint32_t i = 0; i < length; ++i) {
                expected[to + i] = (uint8_t)(0x04030201u >> i % 4 * 8);
            }
            tflmgen_fill(ram + to, 0x04030201u, (int32_t)length);
            compare(++cases);
        }
    }
    say("done ", cases);
    call_host(4, "\\n");
    return 0;
}
"""


@pytest.mark.parametrize("machine", [M0, M3, M4, M55], ids=lambda machine: machine.target.core)
def test_every_length_and_distance(machine: Machine, tmp_path: Path) -> None:
    source = '#include "move.h"\n' + START + MAIN
    (line,) = lines_of(machine, source, tmp_path, "-O2")
    assert int(line.removeprefix("done ")) > 3_000
