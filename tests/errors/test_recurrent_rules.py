"""What the recurrent operators and int16 activations refuse, and the sentence with which they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from support.kernel_harness import Case, Tensor, broken_rules, constant, quantization, tensor
from support.model_writer import ModelWriter
from tflmgen.errors import ModelError
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.model import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.kernels.specification.operator import INTERMEDIATES
from tflmgen.kernels.table import OPERATORS

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
LSTM_OPTIONS = {"fused_activation_function": 4}
Inputs = Mapping[int, Tensor | None]


def lstm(changes: Inputs | None = None, options: Mapping[str, Any] = LSTM_OPTIONS, count: int = 24) -> Case:
    """A good int8 LSTM of 3 channels and 2 cells, with any of its inputs replaced."""
    inputs: list[Tensor | None] = [None] * 24
    inputs[0] = tensor("int8", (1, 4, 3), 0.1, 5)
    inputs[1:5] = [constant("int8", np.ones((2, 3)), 0.01)] * 4
    inputs[5:9] = [constant("int8", np.ones((2, 2)), 0.01)] * 4
    inputs[12:16] = [constant("int32", np.ones(2), 0.001)] * 4
    inputs[18], inputs[19] = tensor("int8", (1, 2), 0.01, 3), tensor("int16", (1, 2), 2.0**-12)
    for index, item in (changes or {}).items():
        inputs[index] = item
    return Case(LSTM, tuple(inputs[:count]), (tensor("int8", (1, 4, 2), 0.01, 3).type,), options)


def svdf(changes: Inputs | None = None, rank: int = 2) -> Case:
    """A good int8 SVDF of 3 channels, 4 filters, 5 steps of memory, with any of its inputs replaced."""
    inputs: list[Tensor | None] = [
        tensor("int8", (1, 3), 0.1, 5),
        constant("int8", np.ones((4, 3)), 0.01),
        constant("int16", np.ones((4, 5)), 0.01),
        constant("int32", np.ones(2), 0.001),
        tensor("int16", (1, 20), 0.01),
    ]
    for index, item in (changes or {}).items():
        inputs[index] = item
    return Case("SVDF", tuple(inputs), (tensor("int8", (1, 2), 0.1, 3).type,), {"rank": rank})


def rnn(changes: Inputs) -> Case:
    inputs: list[Tensor | None] = [
        tensor("float32", (1, 4, 3)),
        constant("float32", np.ones((2, 3))),
        constant("float32", np.ones((2, 2))),
        constant("float32", np.ones(2)),
        tensor("float32", (1, 2)),
    ]
    for index, item in changes.items():
        inputs[index] = item
    return Case("UNIDIRECTIONAL_SEQUENCE_RNN", tuple(inputs), (tensor("float32", (1, 4, 2)).type,), {})


def fully_connected(x: Tensor, w: Tensor, b: Tensor | None, y: Tensor) -> Case:
    return Case("FULLY_CONNECTED", (x, w, b), (y.type,), {})


NORMS = {i: constant("int16", np.ones(2), 1e-4) for i in range(20, 24)}
HIDDEN = {INTERMEDIATES: (None, None, None, None, quantization(0.01, 3))}


def test_good_cases_are_good() -> None:
    good = [lstm(), lstm(count=20), lstm({1: None, 5: None, 12: None}, LSTM_OPTIONS | HIDDEN), svdf(), rnn({})]
    assert [broken_rules(case) for case in good] == [[]] * 5


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({2: None}, "the weights and biases of three gates"),
        ({18: None}, "an input, the"),
        ({0: tensor("uint8", (1, 4, 3), 0.1)}, "float32 tensors"),
        ({0: tensor("float32", (1, 4, 3))}, "float32 tensors"),
        ({19: tensor("int8", (1, 2), 2.0**-12)}, "float32 tensors, where weights"),
        ({13: constant("int64", np.ones(2), 0.001)}, "float32 tensors, where weights"),
        ({2: tensor("int8", (2, 3), 0.01)}, "to be constant"),
        ({0: tensor("int8", (4, 3), 0.1)}, "an input of 3 dimensions"),
        ({0: tensor("int8", (1, 0, 3), 0.1)}, "none of them 0"),
        ({1: None}, "optional tensors that belong together"),
        ({10: constant("int16", np.ones(2), 1.0)}, "optional tensors that belong together"),
        ({17: constant("int32", np.ones(2), 1.0)}, "optional tensors that belong together"),
        ({2: constant("int8", np.ones(3), 0.01)}, "weights of 2 dimensions"),
        ({3: constant("int8", np.ones((2, 4)), 0.01)}, "weights, biases and coefficients of"),
        ({6: constant("int8", np.ones((2, 3)), 0.01)}, "weights, biases and coefficients of"),
        ({15: constant("int32", np.ones(3), 0.01)}, "weights, biases and coefficients of"),
        ({18: tensor("int8", (2, 2), 0.01)}, "one value per batch and cell"),
        ({2: constant("int8", np.ones((2, 3)), [0.1, 0.2])}, "one scale for each"),
        ({18: tensor("int8", (1, 2))}, "one scale for each"),
        ({2: constant("int8", np.ones((2, 3)), 0.01, 1)}, "zero point 0 for weights"),
        ({19: tensor("int16", (1, 2), 2.0**-31)}, "a cell scale of"),
        ({19: tensor("int16", (1, 2), 4.1)}, "at most 4"),
        ({2: constant("int8", np.ones((2, 3)), 1e30)}, "scales whose multipliers fit"),
        (NORMS, "its intermediate"),
    ],
)
def test_lstm_refuses(changes: Inputs, sentence: str) -> None:
    (broken,) = broken_rules(lstm(changes))
    assert sentence in broken


def test_lstm_of_odd_length_is_refused() -> None:
    (broken,) = broken_rules(lstm(count=21))
    assert broken == "20 inputs, or 24 with layer normalisation"


@pytest.mark.parametrize("hidden", [quantization(0.02, 3), quantization(0.01, 4), quantization(0.01, 400)])
def test_a_hidden_value_that_is_not_the_state_needs_a_projection(hidden: object) -> None:
    options = LSTM_OPTIONS | {INTERMEDIATES: (None, None, None, None, hidden)}
    (broken,) = broken_rules(lstm({1: None, 5: None, 12: None}, options))
    assert "without projection as the state" in broken


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (None, "the operator's options are missing"),
        ({"fused_activation_function": 1}, "the activation is not TANH"),
        (LSTM_OPTIONS | {"diagonal_recurrent_tensors": True}, "diagonal"),
        (LSTM_OPTIONS | {"cell_clip": -1.0}, "cell_clip or proj_clip"),
        (LSTM_OPTIONS | {"proj_clip": float("nan")}, "cell_clip or proj_clip"),
        (LSTM_OPTIONS | {"kernel_type": 1}, "BASIC"),
    ],
)
def test_lstm_options_that_are_refused(options: Mapping[str, Any] | None, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        OPERATORS[LSTM].attributes(options)


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (svdf({1: None}), "every input except the bias"),
        (svdf({4: tensor("int8", (1, 20), 0.01)}), "both int8 or both int16"),
        (svdf({0: tensor("float32", (1, 3))}), "float32 tensors"),
        (svdf({0: tensor("int8", (1, 1, 3), 0.1)}), "of 2 dimensions"),
        (svdf(rank=3), "a number of filters that is a multiple of the rank"),
        (svdf({4: tensor("int16", (1, 19), 0.01)}), "of the shapes"),
        (svdf({3: constant("int32", np.ones(3), 0.001)}), "of the shapes"),
        (svdf({1: tensor("int8", (4, 3), 0.01)}), "the weights to be constant"),
        (svdf({0: tensor("int8", (1, 3))}), "one scale for each"),
        (svdf({1: constant("int8", np.ones((4, 3)), 0.01, 2)}), "zero point 0 for the weights"),
        (svdf({4: tensor("int16", (1, 20), 1e-30)}), "less than 2^30"),
        (rnn({3: None}), "every input to be present"),
        (rnn({0: tensor("int8", (1, 4, 3), 0.1)}), "float32 tensors; the weights may be int8"),
        (rnn({0: tensor("float32", (4, 3))}), "an input of 3 dimensions"),
        (rnn({2: constant("float32", np.ones((2, 3)))}), "of the shapes"),
        (
            rnn({1: constant("int8", np.ones((2, 3)), 1.0), 2: constant("int8", np.ones((2, 2)), 1.0, 1)}),
            "one scale and zero point 0 for each",
        ),
    ],
)
def test_svdf_and_rnn_refuse(case: Case, sentence: str) -> None:
    (broken,) = broken_rules(case)
    assert sentence in broken


def lstm_model(variable: bool, twice: bool = False) -> Model:
    """A file of one float32 recurrent operator whose states are variables or not, or one variable used twice."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y = graph.tensor("x", "float32", [1, 1, 1]), graph.tensor("y", "float32", [1, 1, 1])
    matrix, vector = graph.constant("w", np.ones((1, 1), np.float32)), graph.constant("b", np.ones(1, np.float32))
    h, c = (graph.tensor(name, "float32", [1, 1], variable=variable) for name in "hc")
    tensors = [x, *[matrix] * 8, -1, -1, -1, *[vector] * 4, -1, -1, h, h if twice else c]
    graph.operator(LSTM, tensors, [y], LSTM_OPTIONS)
    graph.inputs, graph.outputs = [x], [y]
    if not variable:
        graph.inputs = [x, h, c]
    return parse_model(bytes(writer.finish()), "m.tflite")


@pytest.mark.parametrize(
    ("variable", "twice", "sentence"),
    [
        (False, False, f"{LSTM} requires variables as the tensors that it updates"),
        (True, True, f"{LSTM} requires different variables as its states"),
    ],
)
def test_states_are_variables_of_their_own(variable: bool, twice: bool, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        import_model(lstm_model(variable, twice))


def test_rank_0_is_refused() -> None:
    with pytest.raises(ValueError, match="rank"):
        OPERATORS["SVDF"].attributes({"rank": 0})


def test_int8_svdf_with_an_activation_that_nothing_applies() -> None:
    case = svdf()
    relu = Case(case.operator, case.inputs, case.outputs, {"rank": 2, "fused_activation_function": 1})
    (broken,) = broken_rules(relu)
    assert "RELU with an output zero point of -128" in broken


X, W, Y = tensor("int16", (1, 2), 1e-3), constant("int8", np.ones((2, 2)), 0.01), tensor("int16", (1, 2), 1e-3)


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (fully_connected(X, constant("int16", np.ones((2, 2)), 0.01), None, Y), "int16 or float32 with an int8 filter"),
        (fully_connected(X, W, constant("float32", np.ones(2)), Y), "a bias, if any, of int32"),
        (fully_connected(tensor("int16", (1, 2), 1e-3, 1), W, None, Y), "zero point 0 for an int16"),
        (fully_connected(X, W, None, tensor("int16", (1, 2), 1e-8)), "an input scale times filter"),
        (fully_connected(X, W, tensor("int64", (2,), 1e-5), Y), "an int64 bias to"),
        (fully_connected(X, W, constant("int64", [2**46, 0], 1e-5), Y), "an int64 bias to"),
    ],
)
def test_int16_refuses(case: Case, sentence: str) -> None:
    (broken,) = broken_rules(case)
    assert sentence in broken
