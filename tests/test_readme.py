"""What the README shows is what the commands print. --update-golden puts in what they print now."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.browser import PROGRAM, browser
from support.listings import main_function
from support.repository import ROOT, page_named
from support.tools import requires_compiler_of_figures, requires_qemu
from support.transcripts import PLAIN_80_COLUMNS
from tflmgen.compiler import compile_model
from tflmgen.hardware.board import load_board
from tflmgen.options import BuildOptions
from tflmgen.project.firmware_build import plan_for
from tflmgen.report import report_html

README = ROOT / "README.md"
CONSOLE = re.compile(r"(?<=```console\n)\$ tflmgen ([^\n]+)\n(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
PLAN = re.compile(r"(?<=```c\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
SHOWN_FROM = "    /* subgraph 0 'main', operator 5: IF */"
MAX_LINES = 100
"""Two screens."""
IMAGES = ROOT / "docs" / "images"
PICTURES = {"light": IMAGES / "report-light.png", "dark": IMAGES / "report-dark.png"}
MAX_BYTES = 200_000


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_the_generated_c(update_golden: bool) -> None:
    target = load_board("mps2_an386").target
    sources = compile_model(ROOT / "examples" / "gate.tflite", target, BuildOptions()).sources
    body = main_function(sources.files["src/gate.c"])
    body = body[body.index(SHOWN_FROM) :]
    text = README.read_text(encoding="utf-8")
    (shown,) = PLAN.finditer(text)
    if update_golden:
        README.write_text(text[: shown.start()] + body + text[shown.end() :], encoding="utf-8")
    else:
        assert shown[0] == body


@pytest.mark.emulator
@requires_compiler_of_figures
@requires_qemu
@pytest.mark.skipif(shutil.which("renode") is not None, reason="shows what is printed without Renode")
def test_what_the_commands_print(update_golden: bool, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = README.read_text(encoding="utf-8")
    environment = {**os.environ, **PLAIN_80_COLUMNS}
    printed = {}
    for shown in CONSOLE.finditer(text):
        command = [sys.executable, "-m", "tflmgen", *shown[1].split()]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        printed[shown[0]] = f"$ tflmgen {shown[1]}\n" + "\n".join(lines).rstrip("\n") + "\n"
    assert printed
    if update_golden:
        for old, new in printed.items():
            text = text.replace(old, new)
        README.write_text(text, encoding="utf-8")
    else:
        assert list(printed) == list(printed.values())


def test_the_pictures_of_the_report(update_golden: bool, tmp_path: Path) -> None:
    if update_golden and PROGRAM is not None:
        board = load_board("mps2_an386")
        plan = plan_for(ROOT / "examples" / "gate.tflite", board, BuildOptions()).plan
        (tmp_path / "report.html").write_text(report_html(plan, board), encoding="utf-8")
        with browser(tmp_path / "profile") as tab:
            for scheme, path in PICTURES.items():
                tab.media(scheme)
                tab.open(tmp_path / "report.html", 1100)
                path.write_bytes(tab.picture("#memory"))
    shown = re.findall(r'(?:src|srcset)="(docs/images/[^"]+)"', README.read_text(encoding="utf-8"))
    assert {ROOT / name for name in shown} == set(PICTURES.values())
    for path in PICTURES.values():
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < MAX_BYTES


def rows_of(text: str, heading: str = "") -> dict[str, list[str]]:
    """The tables' rows below a heading, up to the next one: first cell -> the others."""
    part = text[text.index(heading) + len(heading) :].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
    return {row[0]: row[1:] for row in reversed(rows)}


def test_figures_are_those_of_the_pages() -> None:
    """The README's tables have the rows of the pages on performance and memory, which scripts make."""
    pages = {name: page_named(name).read_text(encoding="utf-8") for name in ("performance", "memory")}
    shown = rows_of(README.read_text(encoding="utf-8"), "## What it reaches")
    models = shown["Instructions per multiply-accumulate"]
    m4 = rows_of(pages["performance"], "## Cortex-M4")
    assert shown["TensorFlow Lite Micro with CMSIS-NN"] == [m4[name][3] for name in models]
    every = [m4[name][4] for name in models]
    assert shown["tflmgen, by default but everything computed"] == every
    ranges = pages["performance"][pages["performance"].index("## Range analysis") :].splitlines()
    less = {c[2].strip(): c for c in (line.split("|") for line in ranges) if c[1:2] == [" Cortex-M4 "]}
    number = {name: [int(less[name][i].replace(",", "")) for i in (3, 6)] for name in models if name in less}
    wanted = [
        f"{number[n][1] / number[n][0]:.2f}" if n in number else name for n, name in zip(models, every, strict=True)
    ]
    assert next(row for title, row in shown.items() if "dead channels" in title) == wanted
    (winograd,) = re.findall(
        r"^\| Cortex-M4 \| IC \| `--winograd` \| [\d,]+ \| ([\d.]+) .*$", pages["performance"], re.M
    )
    assert next(row for title, row in shown.items() if "--winograd" in title) == ["", "", winograd, "", ""]
    files = ("mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_resnet_int8", "mlperf_ad01_int8", "tflm_person_detect")
    memory = rows_of(pages["memory"], "<summary>All models")
    assert shown["tflmgen, `--optimize balanced` (the default)"] == [memory[name][2] for name in files]
    assert next(row for title, row in shown.items() if "--optimize ram" in title) == [memory[name][3] for name in files]
