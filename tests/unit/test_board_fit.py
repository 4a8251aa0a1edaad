"""`tflmgen fit`: a row per board, from plans alone."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from support.commands import tflmgen
from support.model_writer import ModelWriter
from support.repository import ROOT
from tflmgen.hardware import list_boards

GATE = ROOT / "examples" / "gate.tflite"
SCHEMA = json.loads((ROOT / "schema" / "fit.json").read_text(encoding="utf-8"))
BOARDS = "microbit,mps2_an386,nucleo_f446re,host"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y = graph.tensor("x", "float32", [1, 30000]), graph.tensor("y", "float32", [1, 30000])
    graph.operator("ABS", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    (tmp_path / "large.tflite").write_bytes(writer.finish())


def test_every_board_has_a_row() -> None:
    done = tflmgen("fit", GATE, "--boards", "all", "--validate", "off", "--json")
    assert done.code == 0, done.err
    jsonschema.Draft202012Validator(SCHEMA).validate(done.json)
    assert [row["board"] for row in done.json["boards"]] == [board.id for board in list_boards()]
    assert all(row["fits"] for row in done.json["boards"])


def test_rows_are_those_of_single_plans() -> None:
    rows = {row["board"]: row for row in tflmgen("fit", GATE, "--boards", BOARDS, "--json").json["boards"]}
    for board, row in rows.items():
        plan = tflmgen("inspect", GATE, "--board", board, "--json").json
        assert (row["arena_bytes"], row["weights_bytes"]) == (plan["arena"]["bytes"], plan["weights"]["bytes"])
    assert rows["host"]["milliseconds_estimated"] is None
    assert rows["microbit"]["cycles_estimated"] > rows["mps2_an386"]["cycles_estimated"] > 60_000


def test_what_does_not_fit_says_no() -> None:
    done = tflmgen("fit", "large.tflite", "--boards", "microbit,mps2_an386", "--csv", "fit.csv")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    rows = {row["board"]: row for row in csv.DictReader(io.StringIO(Path("fit.csv").read_text()))}
    assert (rows["microbit"]["fits"], rows["mps2_an386"]["fits"]) == ("False", "True")
    assert int(rows["microbit"]["ram_bytes"]) > int(rows["microbit"]["ram_of"])
    assert "It fits 1 of 2." in done.out


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((GATE, "--boards", "mps3"), 1, "unknown board 'mps3'"),
        ((GATE, "--boards", ","), 2, "names none"),
        (("absent.tflite", "--boards", "microbit"), 1, "there is no such file"),
        ((GATE, "--boards", "microbit", "--ram-budget", "8"), 1, "budget"),
        ((GATE, "--boards", "microbit", "--csv", "none/x.csv"), 1, "there is no folder"),
    ],
)
def test_wrong_input(words: tuple[object, ...], code: int, text: str) -> None:
    done = tflmgen("fit", *words)
    assert (done.code, text in done.err) == (code, True), done.err
