"""Sliding windows on emulated boards: each push gives what the whole window gives on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.tools import requires_compiler, requires_qemu
from support.window_models import accelerometer, causal_tcn, ds_cnn, tc_resnet, valid_cnn
from tflmgen.compiler import compile_module
from tflmgen.emulators.firmware_session import running
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph import Module
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions
from tflmgen.project.board import Board, load_board
from tflmgen.terminal.console import Console

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

STEPS = 50
"""Complete windows that are compared, each a hop after the one before."""
MORE = 5


IN_CI = ((ds_cnn, "int8", "mps2_an386"), (ds_cnn, "float32", "mps3_an547"), (causal_tcn, "int8", "mps3_an547"))


def cases() -> list[object]:
    """Three networks with their first hop; all kinds, types and hops on both boards in the sweep."""
    kinds = ((ds_cnn, (1, 2, 5)), (tc_resnet, (4, 8, 12)), (valid_cnn, (1, 2, 3)), (causal_tcn, (1, 3, 4)))
    chosen: list[object] = []
    for build, hops in (*kinds, (accelerometer, (4, 8, 16))):
        for dtype in ("int8", "int16", "float32"):
            for board in ("mps2_an386", "mps3_an547"):
                for hop in hops:
                    marks = () if hop == hops[0] and (build, dtype, board) in IN_CI else (pytest.mark.sweep,)
                    chosen.append(pytest.param(build, dtype, board, hop, marks=marks))
    return chosen


@pytest.mark.parametrize(("build", "dtype", "name", "hop"), cases())
def test_pushes_give_what_whole_windows_give(build: Callable[[str], bytes], dtype: str, name: str, hop: int) -> None:
    module = import_model(parse_model(build(dtype), "m.tflite"))
    options = BuildOptions("slid", slide=[f"t0=1,{hop}"])
    board = load_board(name)
    slid = compile_module(module, "slid", board.target, options)
    (port,), pushes = slid.module.signatures[0].inputs, slid.module.signatures[0].pushes
    rows, shape = port.type.max_shape[1], [*port.type.max_shape]
    shape[1] = hop * (pushes + STEPS - 1)
    scale = 1.0 if dtype == "float32" else 60.0
    series = (np.random.default_rng(hop).normal(size=shape) * scale).astype(port.type.dtype.numpy)
    ends = [hop * (pushes + k) for k in range(STEPS)]
    wanted = whole_windows(module, board, [series[:, end - rows : end] for end in ends])
    with running(slid, board, options, SessionOptions(), Console(OutputOptions(quiet=True))) as ran:
        replies = [ran.session.invoke(0, [part.tobytes()]) for part in np.split(series, pushes + STEPS - 1, 1)]
    assert [reply.status for reply in replies] == [MORE] * (pushes - 1) + [0] * STEPS
    assert [reply.outputs for reply in replies[pushes - 1 :]] == wanted


def whole_windows(module: Module, board: Board, windows: list[NDArray[Any]]) -> list[tuple[bytes, ...]]:
    """Outputs of the model without sliding: of integers on the host, of floats on the board with its own kernels."""
    is_float = module.signatures[0].inputs[0].type.dtype.is_float
    chosen, options = board if is_float else load_board("host"), BuildOptions("whole")
    whole = compile_module(module, "whole", chosen.target, options)
    with running(whole, chosen, options, SessionOptions(), Console(OutputOptions(quiet=True))) as ran:
        return [ran.session.invoke(0, [window.tobytes()]).outputs for window in windows]
