"""Pages of the documentation are tried: commands print what is shown, workflows run, messages exist.

--update-golden puts in what the commands print now; where a page leaves something out, that is for the author.
"""

from __future__ import annotations

import ast
import re
import shutil
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from support.repository import ROOT, page_named
from support.tools import requires_compiler, requires_compiler_of_figures, requires_qemu
from support.transcripts import Shown, agrees, parts_of, run_page, updated
from tflmgen.compiler import compile_model
from tflmgen.hardware.board import load_board
from tflmgen.options import BuildOptions, Optimize

DOCS = ROOT / "docs"
TRANSCRIPTS = ("getting-started", "applications", "export", "streams", "transcripts", "windows")

OWN = {"model", "model-int8", "model-train"}
"""What pages call models of the reader's own, without .tflite."""

needs_no_renode = pytest.mark.skipif(shutil.which("renode") is not None, reason="shows what is printed without Renode")


@pytest.mark.emulator
@requires_compiler
@requires_qemu
@needs_no_renode
@requires_compiler_of_figures
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_commands_print_what_is_shown(name: str, tmp_path: Path, update_golden: bool) -> None:
    page = page_named(name).read_text(encoding="utf-8")
    ran = run_page(page, tmp_path)
    assert ran
    if update_golden:
        page = updated(page, ran)
        page_named(name).write_text(page, encoding="utf-8")
        shown = [part for part in parts_of(page) if isinstance(part, Shown)]
        ran = [(command, printed) for command, (_, printed) in zip(shown, ran, strict=True)]
    for command, printed in ran:
        assert agrees(command.output, printed), f"$ {command.command}\n{printed}"


def test_what_an_early_exit_saves(update_golden: bool) -> None:
    """The page's figures are those of the listing among the transcripts, which the test before this one records."""
    listing = page_named("transcripts").read_text(encoding="utf-8")
    rows = {label: re.search(rf": {label} +([\d,]+) ", listing) for label in ("even", "bright horizontal")}
    early, whole = (row[1] for row in rows.values() if row is not None)
    costs = [int(text.replace(",", "")) for text in (early, whole)]
    figures = {"early": early, "whole": whole, "mean": str(round(100 * (7 * costs[0] + costs[1]) / 8 / costs[1]))}
    examples = page_named("examples")
    page = examples.read_text(encoding="utf-8")
    for name, figure in figures.items():
        block = re.compile(rf"(?<=<!-- {name} -->)([\d,]*)(?=<!-- -->)")
        if update_golden:
            page = block.sub(figure, page)
            examples.write_text(page, encoding="utf-8")
        shown = block.search(page)
        assert shown is not None
        assert shown[1] == figure


def test_commands_name_models_that_are_there() -> None:
    """A reader has the repository's examples and files of the reader's own, which are called model."""
    for path in (*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        blocks = re.findall(r"^```(?:console)?\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
        for line in lines:
            named = re.findall(r"\S+\.tflite\b", line) if re.match(r"(\S*/)?tflmgen \w", line) else []
            for name in named:
                assert Path(name).stem in OWN or (ROOT / name).is_file(), f"{path.name}: {line}"


def test_the_loop_of_a_stream_is_what_is_generated() -> None:
    page = page_named("streams").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```c\n(for .*?)^```$", page, re.DOTALL | re.MULTILINE)
    options = BuildOptions(optimize=Optimize.RAM)
    compiled = compile_model(ROOT / "examples" / "gate.tflite", load_board("mps2_an386").target, options)
    lines = [line.strip() for line in compiled.sources.files["src/gate.c"].splitlines()]
    first, *wanted = [line.strip() for line in shown.splitlines()]
    following = iter(lines[lines.index(first) + 1 :])
    for line in wanted:  # in this order; between them stand the numbers of the calls
        assert any(generated.startswith(line.removesuffix("...")) for generated in following), line


def test_every_command_has_a_transcript() -> None:
    page = page_named("commands").read_text(encoding="utf-8")
    commands = set(re.findall(r"^\| `(\w+)[ `]", page.split("\n## ")[0], re.MULTILINE))
    texts = [page_named(name).read_text(encoding="utf-8") for name in TRANSCRIPTS]
    commands_shown = (part.command for text in texts for part in parts_of(text) if isinstance(part, Shown))
    shown = {command.split()[1] for command in commands_shown if command.startswith("tflmgen ")}
    at_a_board = {"flash", "monitor"}
    on_a_cluster = {"sweep"}  # tests/unit/test_sweep_cluster.py runs it
    assert commands - at_a_board - on_a_cluster <= shown


def workflow() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    page = page_named("ci").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)]
    return dict(blocks[0])


def steps_of(job: str) -> list[str]:
    """What a job runs once everything is installed."""
    steps = workflow()["jobs"][job]["steps"]
    return [step["run"] for step in steps if "run" in step and step["name"] != "Install"]


def run_steps(job: str, folder: Path) -> None:
    variables = " ".join(f"{name}={value}" for name, value in workflow()["env"].items())
    script = "\n".join(["set -e", f"export {variables}", *steps_of(job)])
    (folder / "script").write_text(script, encoding="utf-8")
    ((_, printed),) = run_page("```console\n$ bash -e script && echo done\n```\n", folder)
    assert printed.endswith("done\n"), printed


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_the_workflow_with_qemu(tmp_path: Path) -> None:
    run_steps("qemu", tmp_path)
    assert (tmp_path / "test.xml").is_file()
    assert "Instructions" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.emulator
@requires_compiler
@pytest.mark.skipif(shutil.which("renode-test") is None, reason="needs Renode")
def test_the_workflow_with_renode(tmp_path: Path) -> None:
    run_steps("renode", tmp_path)


def test_the_workflow_has_what_github_wants() -> None:
    contents: dict[Any, Any] = workflow()
    assert contents[True] == ["push", "pull_request"]  # YAML 1.1 reads `on` as a truth value, which GitHub knows
    for job in contents["jobs"].values():
        assert job["runs-on"].startswith("ubuntu-")
        for step in job["steps"]:
            assert len({"uses", "run"} & step.keys()) == 1
            assert step.keys() <= {"uses", "run", "name", "with", "if"}


def literals() -> set[str]:
    """Every text in the code, with an ellipsis for what is filled in."""
    strings = set()
    for path in (ROOT / "codegen").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (v.value if isinstance(v, ast.Constant) else "…" for v in node.values)
                strings.add("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings.add(node.value)
    return strings


def test_messages_under_troubleshooting_exist() -> None:
    page = page_named("troubleshooting").read_text(encoding="utf-8").split("\n## C\n")[0]
    headings = re.findall(r"^### `(.*)`$", page, re.MULTILINE)
    assert len(headings) == page.count("\n### ") > 15
    known = literals()
    for message in chain.from_iterable(heading.split("`, `") for heading in headings):
        assert any(message in text for text in known), message
