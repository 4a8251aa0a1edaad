"""Prefetches by a hook of the application that copies as late as it may, or at once, at random, in QEMU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.tools import requires_compiler, requires_qemu
from support.well_known import pointwise_network, well_known
from tflmgen.compiler import compile_model
from tflmgen.emulators.firmware_session import running
from tflmgen.hardware.board import load_board
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions, Validate
from tflmgen.terminal.console import Console

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

HOOK = """
static struct { void *to; const void *from; uint32_t bytes; } waiting[8];
static uint32_t waiting_count, seed = 1;

void tflmgen_prefetch(void *destination, const void *source, uint32_t bytes)
{
    seed = seed * 1664525u + 1013904223u;
    if (seed >> 31) {
        memcpy(destination, source, bytes);
        return;
    }
    memset(destination, 0xA5, bytes);
    waiting[waiting_count].to = destination;
    waiting[waiting_count].from = source;
    waiting[waiting_count++].bytes = bytes;
}

void tflmgen_prefetch_wait(void)
{
    while (waiting_count) {
        --waiting_count;
        memcpy(waiting[waiting_count].to, waiting[waiting_count].from, waiting[waiting_count].bytes);
    }
}
"""


def streaming(folder: Path) -> Path:
    """A network with a layer whose weights arrive in blocks, one while another is used."""
    path = folder / "pointwise.tflite"
    path.write_bytes(pointwise_network())
    return path


@pytest.mark.parametrize("hook", ["", HOOK])
@pytest.mark.parametrize("network", [lambda folder: well_known("mlperf_ic_resnet_int8", folder), streaming])
def test_outputs_are_those_without_prefetches(network: Callable[[Path], Path], hook: str, tmp_path: Path) -> None:
    board, options = load_board("mps2_an386"), BuildOptions("net", validate=Validate.OFF)
    model = network(tmp_path)
    size = compile_model(model, board.target, options).module.signatures[0].inputs[0].type.bytes
    images = [np.random.default_rng(k).integers(-128, 128, size, np.int8).tobytes() for k in range(4)]

    def outputs(target: Target) -> list[list[bytes]]:
        compilation = compile_model(model, target, options)
        path = "src/net.c"
        text = compilation.sources.files[path]
        assert ("tflmgen_prefetch(" in text) == bool(target.constant_waits)
        if target.constant_waits and hook:
            text = (
                text.replace('#include "net_model.h"', '#define TFLMGEN_PREFETCH_HOOK\n#include "net_model.h"') + hook
            )
        files = {**compilation.sources.files, path: text}
        compilation = replace(compilation, sources=replace(compilation.sources, files=files))
        with running(compilation, board, options, SessionOptions(), Console(OutputOptions(quiet=True))) as ran:
            return [list(ran.session.invoke(0, [image]).outputs) for image in images]

    assert outputs(load_board("nucleo_l4r5zi").target) == outputs(board.target)
