"""Numbers, arrays and comments in generated C."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.native import WARNINGS
from tflmgen.backend.c_text import array_lines, comment, float_literal, integer_literal, literal, wrapped
from tflmgen.ir.kernel.call import ConstantArray
from tflmgen.ir.types import DType


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_literals_read_back(value: float) -> None:
    text = float_literal(value)
    assert text.endswith("f")
    value_read = np.float32(text[:-1])
    assert value_read == np.float32(value)
    assert math.copysign(1, value_read) == math.copysign(1, value)


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1f"), (1, "1.0f"), (1e30, "1e+30f"), (math.inf, "INFINITY"), (-math.inf, "-INFINITY")]
)
def test_float_literal(value: float, text: str) -> None:
    assert float_literal(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-(2**31), "INT32_MIN"),
        (-(2**31) + 1, "-2147483647"),
        (2**31 - 1, "2147483647"),
        (2**31, "UINT32_C(2147483648)"),
        (2**32, "INT64_C(4294967296)"),
        (-(2**31) - 1, "INT64_C(-2147483649)"),
        (-(2**63), "INT64_MIN"),
        (2**64 - 1, "UINT64_C(18446744073709551615)"),
    ],
)
def test_integer_literal(value: int, text: str) -> None:
    assert integer_literal(value) == text


def test_params() -> None:
    assert literal((1, 2)) == "{1, 2}"
    assert literal(()) == "{0}"
    assert literal(True) == "true"
    assert literal(float(np.float32(0.1))) == "0.1f"


@pytest.mark.parametrize("text", ["*/ int x; /*", "a\nb", "\\", "/*/", "é", "a//b"])
def test_comments_stay_closed(text: str) -> None:
    safe = comment(text)
    assert "*/" not in safe
    assert "/*" not in safe
    assert safe.isascii()
    assert safe.isprintable()
    assert not safe.endswith("\\")


def extremes(dtype: DType) -> NDArray[Any]:
    if dtype is DType.BOOL:
        return np.array([False, True])
    if dtype is DType.FLOAT16:
        return np.array([0.1, -0.0, 65504, np.inf, 6e-8], np.float16)
    if dtype is DType.FLOAT32:
        return np.array([0.1, -0.0, 3.4028235e38, np.inf, -np.inf, 1e-45], np.float32)
    if dtype is DType.INT4:
        return np.array([0x78, 0x0F], np.uint8)
    least, greatest = dtype.limits
    return np.array([least, greatest, 0, greatest // 2 + 1], dtype.numpy)


def test_arrays_have_the_same_bytes_in_c(tmp_path: Path) -> None:
    arrays = {t: ConstantArray(t.label, t, extremes(t).shape, extremes(t).tobytes()) for t in DType}
    lines = ["#include <math.h>", "#include <stdbool.h>", "#include <stdint.h>", "#include <stdio.h>"]
    for dtype, array in arrays.items():
        lines.append(f"static const {dtype.c_type} a_{dtype.label}[] = {{{' '.join(array_lines(array))}}};")
    writes = [f"fwrite(a_{t.label}, 1, sizeof a_{t.label}, stdout);" for t in arrays]
    source = tmp_path / "arrays.c"
    source.write_text("\n".join([*lines, "int main(void) {", *writes, "return 0; }"]))
    subprocess.run(["gcc", *WARNINGS, source, "-o", tmp_path / "arrays"], check=True)
    written = subprocess.run([tmp_path / "arrays"], check=True, capture_output=True).stdout
    assert written == b"".join(array.data for array in arrays.values())


def test_lines_are_short() -> None:
    array = ConstantArray.of("a", np.arange(1000) - 500, DType.INT16)
    assert max(map(len, array_lines(array))) <= 118


@pytest.mark.parametrize("start", ["    f(", "        if (!f(", "    .field = {", f"    {'f' * 100}("])
def test_long_lines_are_wrapped_and_keep_their_tokens(start: str) -> None:
    end = {"{": "},", "(": ");"}[start[-1]] if "if" not in start else ")) {"
    line = start + ", ".join(f"AT(argument_{i})" for i in range(20)) + end
    lines = wrapped(line)
    assert max(map(len, lines)) <= 120
    assert " ".join(part.strip() for part in lines).replace("( ", "(") == line.strip()
    assert wrapped(start + end) == [start + end]
