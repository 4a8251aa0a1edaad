"""The stack's worst case from listings of objdump and reports of GCC."""

from __future__ import annotations

from tflmgen.architectures.arm import ASSEMBLY
from tflmgen.toolchain.stack import deepest, parse_disassembly, reported_frames

LISTING = """
SYMBOL TABLE:
00000100 g     F .text\t00000010 run
00000110 l     F .text\t00000010 helper.constprop.0
00000120 g     F .text\t00000008 .hidden leaf
00000128 g     F .text\t00000008 recursive
00000130 g     F .text\t00000008 anybody
00000138 g     F .text\t00000008 dynamic
00000140 l     F .text\t00000010 tail
00000150 g     F .text\t00000008 long
00000104 g       *ABS*\t00000000 __not_code

Disassembly of section .text:

00000100 <run>:
     100:\tpush\t{r4, r5, lr}
     102:\tsub\tsp, #20
     104:\tvpush\t{d8-d9}
     106:\tbl\t120 <leaf>
     10a:\tbic.w\tr3, r0, #2147483648\t@ 0x80000000
     10c:\tbls.n\t106 <__not_code+0x2>
     10e:\tbl\t110 <helper.constprop.0>

00000110 <helper.constprop.0>:
     110:\tstr.w\tlr, [sp, #-4]!
     112:\tstmdb\tsp!, {r4, r5}
     114:\tbx\tlr

00000120 <leaf>:
     120:\tbx\tlr

00000128 <recursive>:
     128:\tbl\t128 <recursive>

00000130 <anybody>:
     130:\tblx\tr3

00000138 <dynamic>:
     138:\tsub.w\tsp, sp, r3

00000140 <tail>:
     140:\tstrd\tr4, r5, [sp, #-16]!
     142:\tcbz\tr0, 146 <tail+0x6>
     144:\tb.w\t110 <helper.constprop.0>

00000150 <long>:
     150:\tpush\t{r4, lr}
     152:\tbl\t156 <long+0x6>
"""


def test_frames_and_calls_of_a_listing() -> None:
    code = parse_disassembly(LISTING, ASSEMBLY)
    assert {name: f.frame for name, f in code.items()} == {
        "run": 12 + 20 + 16,
        "helper.constprop.0": 4 + 8,
        "leaf": 0,
        "recursive": 0,
        "long": 8,
        "anybody": 0,
        "dynamic": None,
        "tail": 16,
    }
    assert code["run"].callees == {"leaf", "helper.constprop.0"}
    assert code["tail"].callees == {"helper.constprop.0"}


def test_the_deepest_chain() -> None:
    depth = deepest(parse_disassembly(LISTING, ASSEMBLY), {})
    assert (depth("run"), depth("tail"), depth("leaf")) == (60, 28, 0)
    assert depth("long") == 8
    assert [depth(name) for name in ("recursive", "anybody", "dynamic", "absent")] == [None] * 4


def test_reports_count_before_the_disassembly() -> None:
    reports = [
        "a.c:3:5:helper.constprop\t40\tstatic\nb.c:9:1:dynamic\t24\tdynamic,bounded\n",
        "c.c:1:1:leaf\t8\tdynamic\n",
    ]
    frames = dict(reported_frames(reports))
    assert frames == {"helper.constprop": 40, "dynamic": 24, "leaf": None}
    depth = deepest(parse_disassembly(LISTING, ASSEMBLY), frames)
    assert (depth("tail"), depth("dynamic"), depth("run")) == (56, 24, None)


POINTERS = """
SYMBOL TABLE:
00000200 g     F .text\t00000010 outer
00000210 g     F .text\t00000010 by_pointer
00000220 l     F .text\t00000010 deep
00000230 l     F .text\t00000010 deeper
00000240 l     F .text\t00000010 elsewhere

Disassembly of section .text:

00000200 <outer>:
     200:\tpush\t{r4, lr}
     202:\tldr\tr0, [pc, #4]\t@ (208 <outer+0x8>)
     204:\tmovw\tr1, #561\t@ 0x231
     206:\tmovt\tr1, #0
     208:\tb.w\t210 <by_pointer>
     20c:\t.word\t0x00000221

00000210 <by_pointer>:
     210:\tpush\t{r4, lr}
     212:\tblx\tr0
     214:\tpop\t{r4, pc}

00000220 <deep>:
     220:\tsub\tsp, #24

00000230 <deeper>:
     230:\tsub\tsp, #40

00000240 <elsewhere>:
     240:\tsub\tsp, #400
"""


def test_calls_by_pointer_reach_the_functions_whose_addresses_are_known() -> None:
    depth = deepest(parse_disassembly(POINTERS, ASSEMBLY), {"outer": 4})
    assert depth("outer") == 8 + 8 + 40
    assert depth("by_pointer") is None


TABLE = (
    POINTERS.replace("20c:\t.word\t0x00000221", "20c:\t.word\t0x00000300")
    + """
00000300 l     O .text\t00000008 kernels

Contents of section .text:
 0300 03000000 21020000 00000000 00000000  ....!...........
"""
)


def test_calls_by_a_pointer_of_a_table() -> None:
    assert parse_disassembly(TABLE, ASSEMBLY)["outer"].pointers == {"deep", "deeper"}
    without = TABLE.replace("21020000", "00000000")
    assert parse_disassembly(without, ASSEMBLY)["outer"].pointers == {"deeper"}


KERNELS = """
SYMBOL TABLE:
00000400 g     F .text\t00000010 root
00000410 l     F .text\t00000010 tflmgen_blocks
00000420 l     F .text\t00000010 tflmgen_fill
00000430 l     F .text\t00000010 tflmgen_other
00000440 l     F .text\t00000010 tflmgen_large

Disassembly of section .text:

00000400 <root>:
     400:\tpush\t{r4, lr}
     402:\tbl\t410 <tflmgen_blocks>
     406:\tbl\t430 <tflmgen_other>
     408:\t.word\t0x00000411
     40c:\t.word\t0x00000421

00000410 <tflmgen_blocks>:
     410:\tpush\t{r4-r7, lr}
     412:\tblx\tlr
     414:\tpop\t{r4-r7, pc}

00000420 <tflmgen_fill>:
     420:\tsub\tsp, #24

00000430 <tflmgen_other>:
     430:\tpush\t{r4, lr}
     432:\t.word\t0x00000441

00000440 <tflmgen_large>:
     440:\tsub\tsp, #400
"""


def test_kernels_do_not_recurse_and_get_pointers_from_callers() -> None:
    """A caller's pointers hold the kernel itself, too; another kernel's ones are not passed to it."""
    assert deepest(parse_disassembly(KERNELS, ASSEMBLY), {})("root") == 8 + 20 + 24
    assert deepest(parse_disassembly(KERNELS.replace("tflmgen_blocks", "recursive"), ASSEMBLY), {})("root") is None
