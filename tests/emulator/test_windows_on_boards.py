"""Sliding windows on emulated boards: each push gives what the whole window gives on the host."""

from __future__ import annotations

import pytest
from support.tools import requires_compiler, requires_qemu
from support.window_cases import Arrays, WindowCase, built_cases, corpus_cases, series
from tflmgen.compiler import compile_module
from tflmgen.emulators.firmware_session import running
from tflmgen.hardware.board import Board, load_board
from tflmgen.ir.graph.module import Module
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions
from tflmgen.terminal.console import Console

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

STEPS = 50
"""Complete windows that are compared, each a hop after the one before."""
MORE = 5
BOARDS = ("mps2_an386", "mps3_an547")
IN_CI = {("ds_cnn-int8", "mps2_an386"), ("ds_cnn-float32", "mps3_an547"), ("causal_tcn-int8", "mps3_an547")}
OF_CORPUS = {"mlperf_kws_int8", "k2_tcn_16x8io", "k2_transformer_block_i8io", "app_crnn_shift_gru_i8io", "torch_gru"}


def cases() -> list[object]:
    """Three networks with their first hop; all kinds, types and hops on both boards in the sweep."""
    chosen: list[object] = []
    for case in (*built_cases(), *(case for case in corpus_cases() if case.name in OF_CORPUS)):
        for board in BOARDS:
            for hop in case.hops:
                marks = () if hop == case.hops[0] and (case.name, board) in IN_CI else (pytest.mark.sweep,)
                chosen.append(pytest.param(case, board, hop, marks=marks, id=f"{case.name}-{board}-{hop}"))
    return chosen


@pytest.mark.parametrize(("case", "name", "hop"), cases())
def test_pushes_give_what_whole_windows_give(case: WindowCase, name: str, hop: int) -> None:
    module, board = case.load(), load_board(name)
    options = BuildOptions("slid", slide=case.slides(module, hop), slide_phases=True)
    slid = compile_module(module, "slid", board.target, options)
    pushed, windows = series(slid.module.signatures[0].inputs, STEPS)
    with running(slid, board, options, SessionOptions(), Console(OutputOptions(quiet=True))) as ran:
        replies = [ran.session.invoke(0, [array.tobytes() for array in arrays]) for arrays in pushed]
    missing = slid.module.signatures[0].pushes - 1
    assert [reply.status for reply in replies] == [MORE] * missing + [0] * STEPS
    assert [reply.outputs for reply in replies[missing:]] == whole_windows(module, board, windows)


def whole_windows(module: Module, board: Board, windows: list[Arrays]) -> list[tuple[bytes, ...]]:
    """Outputs of the model without sliding: of integers on the host, of floats on the board with its own kernels."""
    has_floats = any(
        value.type.dtype.is_float for f in module.functions for node in f.body.nodes for value in node.outputs
    )
    chosen, options = board if has_floats else load_board("host"), BuildOptions("whole")
    whole = compile_module(module, "whole", chosen.target, options)
    with running(whole, chosen, options, SessionOptions(), Console(OutputOptions(quiet=True))) as ran:
        return [ran.session.invoke(0, [array.tobytes() for array in arrays]).outputs for arrays in windows]
