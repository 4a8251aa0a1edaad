"""Hand-made streaming wake words, and windows of the same weights that slide: the same scores, as few instructions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.corpus import CORPUS
from support.tools import requires_compiler, requires_qemu
from support.window_twin import window_twin
from tflmgen.compiler import compile_module
from tflmgen.emulators.firmware_session import running
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.hardware.board import load_board
from tflmgen.ir.graph.module import Module, Op
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions
from tflmgen.terminal.console import Console

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

BOARD = "mps2_an386"
LARGEST_RATIO = 1.1
"""Instructions of a hop of the twin, by those of an invoke of the streaming model."""
STEPS = 20
"""Complete windows whose scores are compared."""
IN_CI = "mww_v2_vad"
STREAMING = sorted(path.stem for path in CORPUS.glob("*/mww_*.tflite") if "exposed" not in path.stem)
CASES = [pytest.param(name, marks=() if name == IN_CI else pytest.mark.sweep) for name in STREAMING]


def with_scores(module: Module) -> Module:
    """The module with the sums of its last dense layer as its output, which a sigmoid would round to 0 or 1."""
    function = module.function(module.signatures[0].function)
    dense = [node for node in function.body.nodes if isinstance(node, Op) and node.operator == "FULLY_CONNECTED"][-1]
    (scores,), (port,) = dense.outputs, module.signatures[0].outputs
    behind = function.body.nodes.index(dense) + 1
    body = replace(function.body, nodes=function.body.nodes[:behind], results=(scores, *function.body.results[1:]))
    signature = replace(module.signatures[0], outputs=(replace(port, type=scores.type),))
    return replace(module, functions=(replace(function, body=body),), signatures=(signature,))


@pytest.mark.skipif(not STREAMING, reason="the corpus of models is not there")
@pytest.mark.parametrize("name", CASES)
def test_a_window_that_slides_is_no_slower_than_streaming_by_hand(name: str) -> None:
    (path,) = CORPUS.glob(f"*/{name}.tflite")
    streaming = with_scores(import_model(parse_model(path.read_bytes(), path.name)))
    twin = window_twin(streaming)
    (rows,), (window,) = streaming.signatures[0].inputs, twin.signatures[0].inputs
    hop, shape = rows.type.max_shape[1], window.type.max_shape
    hops = -(-shape[1] // hop) + STEPS - 1
    rng = np.random.default_rng(7)
    series = rng.normal(size=(1, hops * hop, *shape[2:])) * rng.choice([5, 60], (1, hops * hop, 1)) - 60
    pushes = [part.tobytes() for part in np.split(series.clip(-128, 127).astype(np.int8), hops, 1)]
    slid = invokes(twin, pushes, f"{window.name}=1,{hop}")
    by_hand = invokes(streaming, pushes)
    assert slid[0] == by_hand[0]
    assert len(set(slid[0])) > STEPS // 4
    assert slid[1] <= LARGEST_RATIO * by_hand[1], (slid[1], by_hand[1])


def invokes(module: Module, pushes: list[bytes], *slides: str) -> tuple[list[tuple[bytes, ...]], int]:
    """Outputs of the last STEPS invokes, and instructions of the last one."""
    board, options = load_board(BOARD), BuildOptions("model", slide=[*slides])
    compilation = compile_module(module, "model", board.target, options)
    console = Console(OutputOptions(quiet=True))
    with running(compilation, board, options, SessionOptions(), console, count=True) as ran:
        replies = [ran.session.invoke(0, [rows]) for rows in pushes]
    count = replies[-1].instructions
    assert count is not None
    return [reply.outputs for reply in replies[-STEPS:]], count
