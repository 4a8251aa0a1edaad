"""Float LSTM loops become one operator that computes the same, and nothing else does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lstm_models import LstmStyle, lstm_loop
from tflmgen.compiler import compile_model
from tflmgen.frontend import import_variants
from tflmgen.frontend.tflite import write_model
from tflmgen.ir.graph import Module, Op, While, walk
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions
from tflmgen.reference import Interpreter
from tflmgen.reference.module_interpreter import ModuleInterpreter

M4 = Target("cortex-m4", frozenset({"dsp", "fpu"}))
M55 = Target("cortex-m55", frozenset({"dsp", "fpu", "mve"}))
STYLES = st.builds(
    LstmStyle,
    gates=st.permutations("ifgo").map("".join),
    split=st.booleans(),
    joined=st.booleans(),
    pick=st.sampled_from(["GATHER", "SLICE"]),
    result=st.sampled_from(["h", "all"]),
    batch=st.integers(1, 3),
    length=st.integers(1, 9),
    features=st.integers(1, 9),
    cells=st.integers(1, 9),
    seed=st.integers(0, 99),
)


@settings(max_examples=40, deadline=None)
@given(STYLES)
def test_the_operator_computes_what_the_loop_does(style: LstmStyle) -> None:
    """Within rounding of float32, in every invoke: the order of the sums is another."""
    model = lstm_loop(style)
    _, fused = import_variants(model)
    assert _counts(fused) == (1, 0)
    file, graph = Interpreter(model), ModuleInterpreter(fused)
    for x in np.random.default_rng(style.seed).normal(size=(2, style.length, style.batch, style.features)):
        inputs = [x.astype(np.float32)]
        (ours,), (theirs,) = graph.invoke(fused.signatures[0], inputs), file.invoke(None, inputs)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize(
    "style",
    [
        LstmStyle(cell="no tanh"),
        LstmStyle(cell="tanh gate"),
        LstmStyle(cell="old h"),
        LstmStyle(result="c"),
        LstmStyle(start=0.5),
        LstmStyle(steps=6),
        LstmStyle(stateful=True),
    ],
    ids=["no activation", "other activation", "h for c", "cell is read", "start", "fewer steps", "stateful"],
)
def test_other_loops_stay(style: LstmStyle) -> None:
    (module,) = import_variants(lstm_loop(style))
    assert _counts(module) == (0, 1)


def test_a_sequence_of_any_length_stays_in_the_loop() -> None:
    model = lstm_loop(LstmStyle())
    main = model.subgraphs[0]
    rows = [replace(t, shape_signature=(-1, *t.shape[1:])) if t.name == "x" else t for t in main.tensors]
    dynamic = replace(model, subgraphs=(replace(main, tensors=tuple(rows)), *model.subgraphs[1:]))
    assert len(import_variants(dynamic)) == 1


@pytest.mark.parametrize(("target", "fuses"), [(M4, True), (M55, False)], ids=["M4", "M55"])
def test_a_build_takes_the_faster_one(tmp_path: Path, target: Target, fuses: bool) -> None:
    path = tmp_path / "lstm.tflite"
    path.write_bytes(write_model(lstm_loop(LstmStyle(result="all"))))
    compilation = compile_model(path, target, BuildOptions())
    assert _counts(compilation.module) == ((1, 0) if fuses else (0, 1))
    assert "12 input sets equal" in compilation.plan["proof"][0]["text"]


def _counts(module: Module) -> tuple[int, int]:
    """How many LSTM operators and loops there are."""
    nodes = [node for function in module.functions for node in walk(function.body)]
    operators = [node for node in nodes if isinstance(node, Op) and node.operator == "UNIDIRECTIONAL_SEQUENCE_LSTM"]
    return len(operators), sum(isinstance(node, While) for node in nodes)
