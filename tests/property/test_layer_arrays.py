"""Tables, scales and tensors of several gates: the operator's own are accepted, each changed element is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.model_writer import ModelWriter
from support.pipeline import SELECTOR, Stages, compile_bytes
from tflmgen.errors import InternalError
from tflmgen.ir.kernel import ConstantArray
from tflmgen.ir.program import Program
from tflmgen.kernels import reader_of
from tflmgen.proof import check_constants

Q8: dict[str, Any] = {"scale": [0.05], "zero_point": [3]}
Q16: dict[str, Any] = {"scale": [1 / 2048], "zero_point": [0]}
"""Quantisation of inputs of int8 and int16."""


def unary(name: str, dtype: str, output: dict[str, Any], options: dict[str, Any] | None = None) -> bytes:
    w = ModelWriter()
    g = w.subgraph("main")
    g.inputs = [g.tensor("x", dtype, [2, 6], **(Q8 if dtype == "int8" else Q16))]
    g.outputs = [g.tensor("y", dtype, [2, 6], **output)]
    g.operator(name, g.inputs, g.outputs, options)
    return w.finish()


MODELS = {
    "logistic int8": lambda: unary("LOGISTIC", "int8", {"scale": [1 / 256], "zero_point": [-128]}),
    "tanh int8": lambda: unary("TANH", "int8", {"scale": [1 / 128], "zero_point": [0]}),
    "hard swish int8": lambda: unary("HARD_SWISH", "int8", {"scale": [0.06], "zero_point": [-20]}),
    "logistic int16": lambda: unary("LOGISTIC", "int16", {"scale": [1 / 32768], "zero_point": [0]}),
    "tanh int16": lambda: unary("TANH", "int16", {"scale": [1 / 32768], "zero_point": [0]}),
    "exp int16": lambda: unary("EXP", "int16", {"scale": [1 / 256], "zero_point": [0]}),
    "softmax int8": lambda: unary("SOFTMAX", "int8", {"scale": [1 / 256], "zero_point": [-128]}, {"beta": 1.0}),
    "softmax int16": lambda: unary("SOFTMAX", "int16", {"scale": [1 / 32768], "zero_point": [0]}, {"beta": 1.0}),
}


def refuses(stages: Stages, program: Program) -> bool:
    try:
        check_constants(stages.module, program, SELECTOR.select(stages.module).selected, reader_of)
    except InternalError:
        return True
    return False


def mutants(array: ConstantArray, rng: np.random.Generator) -> Iterator[ConstantArray]:
    """One element more, one less, an element twice, and the last one missing."""
    elements = np.frombuffer(array.data, array.dtype.numpy)
    for change in (1, -1):
        for at in rng.integers(len(elements), size=8):
            changed = elements.copy()
            changed[at] += np.array(change).astype(changed.dtype)
            yield replace(array, data=changed.tobytes())
    yield replace(array, data=np.append(elements, elements[-1]).tobytes())
    yield replace(array, data=elements[:-1].tobytes())


@pytest.mark.parametrize("name", MODELS)
def test_changed_tables_are_refused(name: str) -> None:
    stages = compile_bytes(MODELS[name]())
    assert not refuses(stages, stages.program)
    count = 0
    for key, array in stages.program.constants.items():
        for changed in mutants(array, np.random.default_rng(1)):
            constants = {**stages.program.constants, key: changed}
            assert refuses(stages, replace(stages.program, constants=constants)), (key, count)
            count += 1
    assert count >= 18
