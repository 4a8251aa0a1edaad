"""docs/use/operators.md is what the support rules say. --update-golden writes it anew."""

from __future__ import annotations

import json

import pytest
from support.commands import tflmgen
from support.repository import ROOT, page_named
from tflmgen.commands.operator_table import CONTROL, SPLIT_UP, VARIABLES, operator_rows
from tflmgen.commands.operators import ALIASES
from tflmgen.commands.operators_page import page
from tflmgen.frontend.tflite.names import BUILTIN_OPERATORS
from tflmgen.kernels.table import OPERATORS

PAGE = page_named("operators")


def test_the_page_is_what_the_rules_say(update_golden: bool) -> None:
    pytest.importorskip("onnx")
    from support.onnx_nodes import direct_lowerings

    refused = json.loads((ROOT / "tests" / "differential" / "refused_types.json").read_text(encoding="utf-8"))
    text = page(operator_rows(OPERATORS.values()), direct_lowerings(), refused)
    if update_golden:
        PAGE.write_text(text, encoding="utf-8")
    else:
        assert PAGE.read_text(encoding="utf-8") == text


def test_operators_without_kernels_are_known() -> None:
    assert {*CONTROL, *VARIABLES, *SPLIT_UP} <= set(BUILTIN_OPERATORS) - set(OPERATORS)


def test_the_list() -> None:
    done = tflmgen("operators", "max_pool", "average_pool", "signalr")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines() if "yes" in line] == [
        "AVERAGE_POOL_2D",
        "MAX_POOL_2D",
        "CUSTOM:SignalRfft",
        "CUSTOM:TflmgenAveragePool2DGradient",
        "CUSTOM:TflmgenMaxPool2DGradient",
    ]


def test_one_operator() -> None:
    done = tflmgen("operators", "add")
    assert "T, T → T; T: float32/int8/int16/int32/int64" in done.out
    assert "zero point 0 for int16 tensors" in done.out
    assert "ADD_N" not in done.out


def test_json() -> None:
    (row,) = tflmgen("operators", "SOFTMAX", "--json").json
    assert row["types"] == {"float32": "TFLM", "int8": "TFLM", "int16": "TFLM"}
    assert {"inputs": [["int8"]], "outputs": [["int8", "int16"]]} in row["signatures"]
    assert row["in_tflm"] is True


def test_a_plugin_is_in_the_list() -> None:
    done = tflmgen("operators", "Erfinv", "--plugin", ROOT / "examples" / "erfinv" / "erfinv.py")
    assert "float32 → float32" in done.out


@pytest.mark.parametrize("words", [("nothing_like_it",), ("Erfinv",)])
def test_no_such_operator(words: tuple[str, ...]) -> None:
    done = tflmgen("operators", *words)
    assert (done.code, done.out) == (1, "")
    assert "no operator's name contains" in done.err


@pytest.mark.parametrize(
    ("name", "operator"),
    [("Conv2D", "CONV_2D"), ("Gemm", "FULLY_CONNECTED"), ("Sigmoid", "LOGISTIC"), ("max_pool2d", "MAX_POOL_2D")],
)
def test_names_of_other_frameworks_find_what_they_become(name: str, operator: str) -> None:
    done = tflmgen("operators", name)
    assert (done.code, operator in done.out) == (0, True), done.err


def test_aliases_are_operators() -> None:
    assert {name for names in ALIASES.values() for name in names} <= set(OPERATORS)
