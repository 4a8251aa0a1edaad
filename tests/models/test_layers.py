"""`tflmgen test --layers`: it agrees where all is right, and names the operator, tensor and element that are not."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import tflmgen, write_adder
from support.model_writer import ModelWriter
from tflmgen.actions.output_comparison import sets_of
from tflmgen.backend.c_library import Sources, emit
from tflmgen.commands.layer_comparison import _match_by_key, _trace_layers
from tflmgen.compare import intermediate_values
from tflmgen.compare.intermediate_values import (
    HEAD,
    ComparedValue,
    Expected,
    LayersError,
    comparable_pairs,
    first_difference,
)
from tflmgen.compare.verdict import Tolerance
from tflmgen.hardware.board import load_board
from tflmgen.ir.graph.module import Narrowed, Origin
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions
from tflmgen.project.firmware_build import plan_for
from tflmgen.terminal.console import Console

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")

ELEMENTS = 300
"""More bytes than one frame holds."""


def write_loop(path: Path) -> Path:
    """Four times: a = (a * x) + x."""
    writer = ModelWriter()
    main, condition, body = (writer.subgraph(name) for name in ("main", "condition", "body"))
    x, start = main.tensor("x", "float32", [ELEMENTS]), main.constant("zero", np.zeros(1, np.int32))
    outputs = [main.tensor("count", "int32", [1]), main.tensor("last", "float32", [ELEMENTS])]
    outputs.append(main.tensor("same", "float32", [ELEMENTS]))
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main.operator("WHILE", [start, x, x], outputs, options)
    main.inputs, main.outputs = [x], [outputs[1]]
    for graph in (condition, body):
        i, a = graph.tensor("i", "int32", [1]), graph.tensor("a", "float32", [ELEMENTS])
        graph.inputs = [i, a, graph.tensor("factor", "float32", [ELEMENTS])]
    limit, more = condition.constant("limit", np.full(1, 4, np.int32)), condition.tensor("more", "bool", [1])
    condition.operator("LESS", [condition.inputs[0], limit], [more])
    condition.outputs = [more]
    unit, next_i = body.constant("one", np.ones(1, np.int32)), body.tensor("next_i", "int32", [1])
    product, total = (body.tensor(name, "float32", [ELEMENTS]) for name in ("product", "total"))
    body.operator("ADD", [body.inputs[0], unit], [next_i])
    body.operator("MUL", body.inputs[1:], [product])
    body.operator("ADD", [product, body.inputs[2]], [total])
    body.outputs = [next_i, total, body.inputs[2]]
    path.write_bytes(writer.finish())
    return path


def wrong_kernel(operator: str, element: int, call: int = 0) -> Any:
    """An emit() whose `operator` adds 1 to one element of its output, in its `call`-th run."""
    pattern = re.compile(
        rf"(/\* [^*]*: {operator} ->[^\n]*\n(?:(?!/\*)[^\n]*\n)*?)( *)(tflmgen_layer\(\d+u, 0u, (.*), \d+u\);)"
    )
    damage = "{ static int calls; if (calls++ == %d) ((float *)%s)[%d] += 1.0f; }"

    def emit_wrong(*words: Any, **named: Any) -> Sources:
        sources = emit(*words, **named)
        files = {
            path: pattern.sub(lambda m: f"{m[1]}{m[2]}{damage % (call, m[4], element)}\n{m[2]}{m[3]}", text, count=1)
            for path, text in sources.files.items()
        }
        assert files != sources.files
        return replace(sources, files=files)

    return emit_wrong


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_loop(tmp_path_factory.mktemp("layers") / "loop.tflite")


def test_right_kernels(loop: Path) -> None:
    done = tflmgen("test", loop, "--board", "host", "--layers", "--json")
    assert done.code == 0
    assert done.json["passed"]
    assert {(vector_set["reference"], vector_set["compared"]) for vector_set in done.json["sets"]} == {
        ("TFLite Micro", 2)
    }


def test_a_wrong_kernel_is_located(loop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(intermediate_values, "emit", wrong_kernel("MUL", 250, call=3))
    report = tmp_path / "report.xml"
    done = tflmgen("test", loop, "--board", "host", "--layers", "--junit", report, "--json")
    assert done.code == 1
    assert "sets differ" in done.err
    assert "operator 1 (MUL), tensor 'product', iteration 3: 1 of 300 wrong" in report.read_text()
    first = done.json["sets"][0]["first"]
    assert (first["operator"], first["tensor"], first["index"], first["iterations"]) == (1, "product", [250], [3])


def test_outside_of_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intermediate_values, "emit", wrong_kernel("ADD", 2))
    done = tflmgen("test", write_adder(tmp_path / "adder.tflite"), "--board", "host", "--layers")
    assert done.code == 1
    assert "subgraph 0 'main', operator 0 (ADD), tensor 'sum': 1 of 4 wrong, the first at [0,2]" in done.out


def test_another_build_tells_the_iteration(loop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a board without TFLite Micro: what goes wrong in the second iteration is wrong in those after it too."""
    options, session, console = BuildOptions(), SessionOptions(), Console(OutputOptions(quiet=True))
    host = load_board("host")
    plain = plan_for(loop, host, options)
    vectors = sets_of(loop, None, plain.module.signatures, SessionOptions())
    (right, *_), _ = _trace_layers(plain, host, vectors, options, session, console)
    monkeypatch.setattr(intermediate_values, "emit", wrong_kernel("MUL", 7, call=1))
    (wrong, *_), _ = _trace_layers(plain, host, vectors, options, session, console)
    difference = first_difference(comparable_pairs(wrong, _match_by_key(wrong, right)), Tolerance(0, 0))
    assert difference is not None
    assert (difference.layer.tensor, difference.layer.iterations, difference.index) == ("product", (1,), (7,))


def one_layer(values: list[int], kept: tuple[int, ...] | None) -> ComparedValue:
    origin = Origin(0, "main", 3, "CONV_2D")
    array = np.array([values], np.int8)
    return ComparedValue(origin, "t", (), (), array, None if kept is None else Narrowed(kept, 4))


@pytest.mark.parametrize(
    ("kept", "expected", "theirs"),
    [((0, 2, 3), [1, 9, 2, 4], None), ((0, 2, 3), [2, 4], (2, 3)), (None, [1, 9, 2, 4], (0, 1, 2, 3))],
)
def test_tensors_that_lack_channels(kept: tuple[int, ...] | None, expected: list[int], theirs: Any) -> None:
    """What both have is compared; a difference is told by the file's channels."""
    mine = one_layer([1, 2, 3] if kept else [1, 9, 2, 3], kept)
    assert mine.shape == (1, 4)
    other = one_layer(expected, theirs)
    difference = first_difference(comparable_pairs([mine], {0: Expected(other.array, other.narrowed)}), Tolerance(0, 0))
    assert difference is not None
    assert (difference.index, difference.count, difference.expected, difference.actual) == ((0, 3), 1, "4", "3")


def test_lost_frames_are_noticed(loop: Path) -> None:
    program = plan_for(loop, load_board("host"), BuildOptions()).program
    frames = [HEAD.pack(n, 0, 0xFFFE, 0) for n in (0, 2)]
    with pytest.raises(LayersError, match="lost"):
        intermediate_values.read_layers(program, frames, {})
    assert struct.calcsize("<IIHI") == 14


def test_not_at_a_port(loop: Path) -> None:
    done = tflmgen("test", loop, "--board", "mps2_an386", "--layers", "--port", "/dev/null")
    assert done.code != 0
    assert "leave --port out" in done.err


@pytest.mark.emulator
def test_on_a_board(loop: Path) -> None:
    done = tflmgen("test", loop, "--board", "mps2_an386", "--emulator", "qemu", "--layers", "--json")
    assert done.code == 0
    assert [vector_set["compared"] for vector_set in done.json["sets"]] == [2, 2, 2]
