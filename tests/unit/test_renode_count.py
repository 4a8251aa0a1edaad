from __future__ import annotations

from pathlib import Path

import pytest
from tflmgen.architectures.arm import ASSEMBLY
from tflmgen.emulators.invoke_cost import CountError, Tally
from tflmgen.emulators.renode import RenodeCounting
from tflmgen.toolchain.code_flow import entries_in

LISTING = """
00000010 g     F .text 0000000a step_of_model
00000020 l     F .text 00000006 helper
00000030 l     F .text 00000004 leaf
  10:\tpush\t{r3, lr}
  12:\tbl\t30 <leaf>
  16:\tcmp\tr0, #0
  18:\tbeq.n\t1c <step_of_model+0xc>
  1a:\tb.n\t12 <step_of_model+0x2>
  1c:\tbl\t20 <helper>
  20:\tmovs\tr0, #1
  22:\tb.n\t24 <helper+0x4>
  24:\tbx\tlr
  30:\tadds\tr0, #1
  32:\tbx\tlr
"""
"""A model's function, another function of the model, and a kernel that belongs to whoever calls it."""


def test_steps_of_invokes_for_single_rows_count_together(tmp_path: Path) -> None:
    output = tmp_path / "executed"
    counting = RenodeCounting((), output)
    output.write_text("7 3 begin 100 7 110 8 150 7 160 end 350 ")
    assert counting.read() == {-1: Tally(10), 7: Tally(40 + 190), 8: Tally(10)}
    with output.open("a") as file:
        file.write("7 400 begin 1000 7 1001 end 1600 begin 2000 end 2001 ")
    assert counting.read() == {-1: Tally(2), 7: Tally(599)}
    with pytest.raises(CountError, match="Renode has recorded no invoke"):
        counting.read()


def test_regions_are_entered_where_control_comes_from_another() -> None:
    same = dict.fromkeys((0x10, 0x12, 0x16, 0x18, 0x1A, 0x1C), 5)
    assert entries_in(LISTING, ASSEMBLY, same) == {0x10}
    two = {**same, 0x12: 6, 0x16: 6}
    # 12 is come to from before it and by a branch, 18 from before it, 16 behind a call that stays in the region.
    assert entries_in(LISTING, ASSEMBLY, two) == {0x10, 0x12, 0x18}
    called = {**dict.fromkeys((0x10, 0x12, 0x16), 5), 0x30: 9, 0x32: 9}  # 12 from the branch at 1a, which is in none
    assert entries_in(LISTING, ASSEMBLY, called) == {
        0x10,
        0x12,
        0x16,
        0x30,
    }  # 12 from the branch at 1a, which is in none


def test_regions_behind_a_computed_jump() -> None:
    table = LISTING.replace("1a:\tb.n\t12 <step_of_model+0x2>", "1a:\ttbb\t[pc, r0]")
    assert entries_in(table, ASSEMBLY, dict.fromkeys((0x10, 0x12, 0x1C), 5)) == {0x10, 0x1C}
