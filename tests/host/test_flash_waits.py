"""The counting plugin's model of flash: sequences of fetches and loads whose waits are counted by hand."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from support.repository import ROOT
from support.tools import requires

COUNT = ROOT / "firmware" / "count"

HARNESS = r"""
#include <stdio.h>
#include "flash.h"
int main(int argc, char **argv) {
  struct flash flash;
  char kind;
  unsigned address, cycles;
  uint64_t now = 0;
  if (argc < 2 || !flash_read_description(&flash, argv[1])) return 1;
  while (scanf(" %c %x %u", &kind, &address, &cycles) == 3) {
    unsigned waits = kind == 'f' ? flash_fetch(&flash, address, now) : flash_load(&flash, address, now);
    now += waits + cycles;
    printf("%u\n", waits);
  }
}
"""

Step = tuple[str, int, int]
"""f (fetch) or l (load), address, and cycles that pass before the next step."""

Waits = Callable[[str, Iterable[Step]], list[int]]

pytestmark = requires("cc")


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flash")
    (folder / "main.c").write_text(HARNESS)
    sources = [str(COUNT / "flash.c"), str(folder / "main.c")]
    subprocess.run(["cc", "-std=c99", f"-I{COUNT}", *sources, "-o", str(folder / "flash")], check=True)
    return folder / "flash"


@pytest.fixture
def waits(harness: Path, tmp_path: Path) -> Waits:
    """Waits of each step, with a flash of reads of 16 bytes and 5 wait states and what else is described."""

    def run(description: str, steps: Iterable[Step]) -> list[int]:
        path = tmp_path / "flash"
        path.write_text("region 0 100000\nread 16\nwait 5\n" + description)
        text = "".join(f"{kind} {address:x} {cycles}\n" for kind, address, cycles in steps)
        done = subprocess.run([harness, path], input=text, capture_output=True, text=True, check=True)
        return [int(line) for line in done.stdout.split()]

    return run


def straight(lines: int, cycles: int, begin: int = 0) -> list[Step]:
    """Code of so many lines, each executed in `cycles`."""
    return [("f", begin + 16 * line, cycles) for line in range(lines)]


def test_straight_code_waits_once_per_line(waits: Waits) -> None:
    assert waits("", straight(4, 8)) == [5, 5, 5, 5]
    assert waits("", [("f", 0, 1), ("f", 4, 1), ("f", 14, 1), ("f", 16, 1)]) == [5, 0, 0, 5]


def test_prefetch_hides_what_a_line_takes(waits: Waits) -> None:
    # Eight cycles per line: the next line is there. Four: reads follow each other every six cycles.
    assert waits("prefetch\n", straight(4, 8)) == [5, 0, 0, 0]
    assert waits("prefetch\n", straight(5, 4)) == [5, 2, 2, 2, 2]


def test_a_serial_flash_needs_no_address_for_the_next_line(waits: Waits) -> None:
    assert waits("sequential 2\n", straight(4, 8)) == [5, 2, 2, 2]
    # What lies between two lines costs a new address, and so does going back.
    loads = [("l", 0, 8), ("l", 16, 8), ("l", 48, 8), ("l", 64, 8), ("l", 0, 8), ("l", 16, 8)]
    assert waits("sequential 2\n", loads) == [5, 2, 5, 2, 5, 2]
    # A cached line is no read.
    assert waits("sequential 2\nconstants 8 1 16\n", [*loads[:2], ("l", 0, 8), ("l", 32, 8)]) == [5, 2, 0, 2]


def test_a_branch_finds_the_flash_busy_with_a_prefetch(waits: Waits) -> None:
    # At 6 the flash begins to read line 1 and is free at 12; the line branched to comes 6 cycles later.
    assert waits("prefetch\n", [("f", 0, 2), ("f", 0x100, 1)]) == [5, 10]


def test_a_loop_that_fits_waits_in_its_first_iteration_only(waits: Waits) -> None:
    assert waits("code 1 4 16\n", straight(3, 8) * 3) == [5, 5, 5] + [0] * 6


def test_a_loop_larger_than_an_lru_cache_never_hits(waits: Waits) -> None:
    assert waits("code 1 4 16\n", straight(5, 8) * 3) == [5] * 15


def test_the_least_recently_used_line_goes(waits: Waits) -> None:
    order = [0, 1, 0, 2, 0, 1]  # 2 replaces 1, since 0 was used after it
    steps = [("f", 16 * line, 8) for line in order]
    assert waits("code 1 2 16\n", steps) == [5, 5, 0, 5, 0, 5]


def test_sets_hold_lines_of_their_own_addresses(waits: Waits) -> None:
    # Two sets of one line: lines 0 and 2 share a set, line 1 has the other.
    steps = [("f", 16 * line, 8) for line in (0, 1, 2, 1, 0, 1)]
    assert waits("code 2 1 16\n", steps) == [5, 5, 5, 0, 5, 0]


def test_prefetched_lines_in_time_are_not_cached(waits: Waits) -> None:
    # The loop's first line missed and is cached; the second comes by prefetch in each iteration.
    assert waits("prefetch\ncode 1 4 16\n", straight(2, 8) * 3) == [5, 0, 0, 0, 0, 0]
    # Prefetched lines that come late are cached: from the second iteration on nothing waits.
    assert waits("prefetch\ncode 1 4 16\n", straight(3, 4) * 3) == [5, 2, 2] + [0] * 6


def test_loads_without_a_cache_wait_each_time(waits: Waits) -> None:
    assert waits("", [("l", 0x100, 1), ("l", 0x104, 1), ("l", 0x100, 20)]) == [5, 5, 5]


def test_a_stream_of_loads_waits_once_per_cached_line(waits: Waits) -> None:
    stream = [("l", 4 * word, 2) for word in range(12)]
    assert waits("constants 1 8 16\n", stream) == [5, 0, 0, 0] * 3
    # More lines than the cache has: a second pass waits as often.
    long_stream = [("l", 16 * line, 2) for line in range(9)] * 2
    assert waits("constants 1 8 16\n", long_stream) == [5] * 18


def test_a_line_of_several_reads_is_filled_read_by_read(waits: Waits) -> None:
    steps = [("l", address, 8) for address in (0, 16, 32, 0, 48, 16)]
    assert waits("constants 1 1 64\n", steps) == [5, 5, 5, 0, 5, 0]


def test_one_cache_for_both(waits: Waits) -> None:
    steps: list[Step] = [("l", 0, 8), ("f", 0, 8), ("f", 16, 8), ("l", 16, 8)]
    assert waits("unified\ncode 1 4 16\n", steps) == [5, 0, 5, 0]
    assert waits("code 1 4 16\nconstants 1 4 16\n", steps) == [5, 5, 5, 5]


def test_a_load_waits_for_the_prefetch_that_is_under_way(waits: Waits) -> None:
    # The prefetch of line 1 lasts from 6 to 12; the load at 7 gets its word at 18, a cycle of its own included.
    assert waits("prefetch\n", [("f", 0, 2), ("l", 0x100, 1)]) == [5, 10]
