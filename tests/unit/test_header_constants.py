"""Constants are read from the kernels' headers as a C compiler reads them, or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.native import FIRMWARE
from tflmgen.ir import GUARD_BYTES
from tflmgen.kernels.numeric.header_constants import constant_in, definitions_in, header_constant

KERNELS = FIRMWARE / "kernels"

SOURCE = r"""
#define PLAIN 12
  #  define HEX 0x80u /* a comment
     of two lines */
#define SUM (2 * (PLAIN + 1) - 0x10) // another one
#define LONG \
    (1 << 4) / 3
#define NEGATIVE -5L
#define TEXT "12"
#define CALL(x) x
#define FUNCTION CALL(3)
#define UNKNOWN (PLAIN + MISSING)
#if A
#define TWICE 1
#else
#define TWICE 2
#endif
#define OF_TWICE (2 * TWICE)
/* #define COMMENT 3 */
#define GUARD
"""


@pytest.mark.parametrize(("name", "value"), [("PLAIN", 12), ("HEX", 128), ("SUM", 10), ("LONG", 5), ("NEGATIVE", -5)])
def test_expressions_of_integers_have_their_value(name: str, value: int) -> None:
    assert constant_in(definitions_in(SOURCE), name) == value


def test_the_guards_of_a_plan_are_those_of_the_runtime() -> None:
    assert header_constant("checks.h", "TFLMGEN_GUARD") == GUARD_BYTES


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("TEXT", 'TEXT is not a number but "12"'),
        ("FUNCTION", "FUNCTION is not a number"),
        ("CALL", "CALL is not defined"),
        ("COMMENT", "COMMENT is not defined"),
        ("GUARD", "GUARD is not defined"),
        ("UNKNOWN", "MISSING is not defined"),
        ("TWICE", "TWICE has 2 definitions"),
        ("OF_TWICE", "TWICE has 2 definitions"),
    ],
)
def test_whatever_is_no_single_number_is_an_error_with_its_name(name: str, message: str) -> None:
    with pytest.raises(LookupError, match=message):
        constant_in(definitions_in(SOURCE), name)


@pytest.mark.parametrize(
    ("header", "name", "message"),
    [
        ("nest.h", "TFLMGEN_MIN_RANK", r"nest\.h: TFLMGEN_MIN_RANK is not defined"),
        ("nets.h", "TFLMGEN_MAX_RANK", r"nets\.h, which should define TFLMGEN_MAX_RANK, is not among"),
    ],
)
def test_an_error_names_header_and_constant(header: str, name: str, message: str) -> None:
    with pytest.raises(LookupError, match=message):
        header_constant(header, name)


def constants(header: Path) -> dict[str, int]:
    """What is read of a header's constants."""
    values = {}
    for name in definitions_in(header.read_text(encoding="utf-8")):
        try:
            values[name] = header_constant(header.name, name)
        except LookupError:
            continue
    return values


def test_the_preprocessor_has_the_same_values(tmp_path: Path) -> None:
    """Of every constant of every header that can be read, for a core with all instruction sets."""
    (tmp_path / "arm_mve.h").touch()
    flags = ["-D__thumb__", "-D__ARM_FEATURE_DSP=1", "-D__ARM_FEATURE_MVE=3", f"-I{KERNELS}", f"-I{tmp_path}"]
    claims = []
    for header in sorted(KERNELS.glob("*.h")):
        values = constants(header)
        if not values:
            continue
        text = f'#include "{header.name}"\n' + "".join(f"claim ({name}) == {values[name]}\n" for name in values)
        expanded = subprocess.run(
            ["gcc", "-E", "-P", *flags, "-x", "c", "-"], input=text, capture_output=True, text=True, check=True
        )
        claims += [line for line in expanded.stdout.splitlines() if line.startswith("claim ")]
    assert len(claims) > 40
    asserted = "".join(f'_Static_assert({claim.removeprefix("claim ")}, "{n}");\n' for n, claim in enumerate(claims))
    subprocess.run(["gcc", "-fsyntax-only", "-x", "c", "-"], input=asserted, text=True, check=True)
