"""tflmgen_values.h: quantised values as TFLite computes them, status texts, and macros of models that use them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.exported import exported
from support.repository import ROOT
from support.tools import requires_compiler
from tflmgen.errors import InternalError
from tflmgen.hardware.board import HOST
from tflmgen.options import BuildOptions
from tflmgen.project.firmware_build import plan_for
from tflmgen.proof.c_text_check import check_text
from tflmgen.proof.signature_functions import Entry

RUNTIME = ROOT / "firmware" / "runtime"
GATE = ROOT / "examples" / "gate.tflite"
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-ffp-contract=off")
SANITIZERS = ("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all")

QUANTIZER = """
#include <stdio.h>
#include "tflmgen_values.h"
int main(void)
{
    float real, scale;
    int zero_point, lowest, highest;
    while (scanf("%f %f %d %d %d", &real, &scale, &zero_point, &lowest, &highest) == 5) {
        const int32_t quantized = tflmgen_quantize(real, scale, zero_point, lowest, highest);
        printf("%d %.9g\\n", (int)quantized, (double)tflmgen_dequantize(quantized, scale, zero_point));
    }
    return 0;
}
"""

STATUSES = """
#include <stdio.h>
#include "tflmgen_values.h"
int main(void)
{
    for (int i = 0; i <= 8; ++i) {
        printf("%s\\n", tflmgen_status_text((tflmgen_status)i));
    }
    return 0;
}
"""

USER = """
#include <stdio.h>
#include "gate.h"
#include "tflmgen_values.h"
int main(void)
{
    for (int i = 0; i < GATE_INPUT_ELEMENTS; ++i) {
        gate_input()[i] = GATE_INPUT_QUANTIZE(0.25f * (float)i);
    }
    puts(tflmgen_status_text(gate_invoke()));
    printf("%.9g %d\\n", (double)GATE_OUTPUT_DEQUANTIZE(gate_output()[0]), gate_output()[0]);
    printf("%.9g %d\\n", (double)GATE_OUTPUT_SCALE, GATE_OUTPUT_ZERO_POINT);
    return 0;
}
"""


def run(source: str, folder: Path, *arguments: str, lines: str = "") -> list[str]:
    """Lines that a program prints, built under sanitizers."""
    (folder / "main.c").write_text(source, encoding="utf-8")
    subprocess.run(["gcc", *FLAGS, *SANITIZERS, "main.c", *arguments, "-lm", "-o", "main"], cwd=folder, check=True)
    finished = subprocess.run([folder / "main"], input=lines, capture_output=True, text=True, check=True)
    return finished.stdout.splitlines()


@requires_compiler
def test_quantised_values_are_those_of_the_formula(tmp_path: Path) -> None:
    """round(real / scale) + zero point in float32, half away from zero, for limits, halves, their neighbours, NaN."""
    random = np.random.default_rng(3)
    cases: list[tuple[np.float32, np.float32, int, int, int]] = []
    for low, high in ((-128, 127), (0, 255), (-32768, 32767)):
        for _ in range(200):
            scale = np.float32(10 ** random.uniform(-6, 3))
            point = int(random.integers(low, high + 1))
            step = random.integers(low - point - 3, high - point + 4) + random.choice([0, 0.5, -0.5, random.uniform()])
            exact = np.float32(step) * scale
            reals = (exact, np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf)))
            cases += [(real, scale, point, low, high) for real in reals]
        special = map(np.float32, (np.nan, np.inf, -np.inf, 0.49999997, -0.49999997, 3e38, -3e38, -0.0))
        cases += [(real, np.float32(1), 0, low, high) for real in special]
    text = "".join(f"{real:.9g} {scale:.9g} {point} {low} {high}\n" for real, scale, point, low, high in cases)
    printed = run(QUANTIZER, tmp_path, f"-I{RUNTIME}", lines=text)
    assert len(printed) == len(cases)
    for (real, scale, point, low, high), line in zip(cases, printed, strict=True):
        with np.errstate(over="ignore"):
            steps = float(np.float32(real) / scale)
        if np.isnan(steps):
            wanted = low
        else:
            away = np.copysign(np.floor(abs(steps) + 0.5), steps) if abs(steps) < 1e9 else np.copysign(1e9, steps)
            wanted = int(np.clip(away + point, low, high))
        quantized, real_text = line.split()
        assert int(quantized) == wanted, (real, scale, point)
        assert np.float32(real_text) == np.float32(wanted - point) * scale


@requires_compiler
def test_every_status_has_a_text_of_its_own(tmp_path: Path) -> None:
    *texts, unknown = run(STATUSES, tmp_path, f"-I{RUNTIME}")
    header = (RUNTIME / "tflmgen.h").read_text(encoding="utf-8")
    assert len(re.findall(r"^    TFLMGEN_\w+ = \d", header, re.MULTILINE)) == len(texts) == len(set(texts))
    assert unknown == "unknown status"
    assert unknown not in texts


@requires_compiler
def test_macros_of_a_model(tmp_path: Path) -> None:
    folder = exported(GATE, "plain", tmp_path)
    sources = [str(path) for path in (folder / "src").glob("*.c")]
    status, output, scale = run(USER, tmp_path, f"-I{folder / 'include'}", *sources)
    assert status == "OK"
    real, element = output.split()
    assert np.float32(real) == (int(element) - int(scale.split()[1])) * np.float32(scale.split()[0])


@pytest.mark.parametrize(
    ("before", "after"),
    [("-128, 127))", "-127, 127))"), ("_OUTPUT_SCALE, GATE_OUTPUT_ZERO", "_INPUT_SCALE, GATE_OUTPUT_ZERO")],
)
def test_another_conversion_is_refused(before: str, after: str) -> None:
    compilation = plan_for(GATE, HOST, BuildOptions())
    files = dict(compilation.sources.files)
    header = files["include/gate.h"]
    assert before in header
    entries = [Entry(("gate_input",), ("gate_output",), "gate_invoke", "gate_push_row")]
    check_text(compilation.program, "gate", files, entries)
    files["include/gate.h"] = header.replace(before, after)
    with pytest.raises(InternalError, match="converts elements in another way"):
        check_text(compilation.program, "gate", files, entries)
