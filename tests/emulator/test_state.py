"""Variables have their initial contents when the firmware starts, without a reset."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from support.model_writer import ModelWriter
from tflmgen.compiler import compile_module
from tflmgen.emulators.firmware_session import running
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.hardware.board import load_board
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions
from tflmgen.terminal.console import Console


def summing_model() -> bytes:
    """y = v + x, which v becomes; v begins as 100 and 200."""
    w = ModelWriter()
    g = w.subgraph("main")
    handle = g.tensor("handle", "resource", [])
    old, x, y = g.tensor("old", "int32", [2]), g.tensor("x", "int32", [2]), g.tensor("y", "int32", [2])
    g.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    g.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    g.operator("READ_VARIABLE", [handle], [old])
    g.operator("ADD", [old, x], [y])
    g.operator("ASSIGN_VARIABLE", [handle, y], [])
    g.inputs, g.outputs = [x], [y]
    s = w.subgraph("start")
    resource = s.tensor("handle", "resource", [])
    s.operator("VAR_HANDLE", [], [resource], {"shared_name": "v"})
    s.operator("ASSIGN_VARIABLE", [resource, s.constant("begin", np.array([100, 200], np.int32))], [])
    return w.finish()


@pytest.mark.emulator
@pytest.mark.parametrize("name", ["host", "mps2_an386", "mps2_an385_m0"])
def test_state_at_the_start_and_after_a_reset(name: str) -> None:
    board = load_board(name)
    if not board.is_host and not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")):
        pytest.skip("arm-none-eabi-gcc or qemu-system-arm is not installed")
    module = import_model(parse_model(summing_model(), "sum.tflite"))
    compilation = compile_module(module, "sum", board.target, BuildOptions("sum"))
    x = np.array([1, 2], np.int32).tobytes()
    with running(compilation, board, BuildOptions("sum"), SessionOptions(), Console(OutputOptions(quiet=True))) as ran:
        sums = [np.frombuffer(ran.session.invoke(0, [x]).outputs[0], np.int32).tolist() for _ in range(2)]
        assert sums == [[101, 202], [102, 204]]
        ran.session.reset()
        assert np.frombuffer(ran.session.invoke(0, [x]).outputs[0], np.int32).tolist() == [101, 202]
