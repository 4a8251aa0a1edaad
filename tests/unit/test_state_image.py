"""The image of the state in flash: no zeros that a memset can write, and every byte what it is to be."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray
from support.model_writer import ModelWriter
from support.native import RESET, Invocation, build_native, run_native
from support.pipeline import compile_bytes
from support.tools import requires
from tflmgen.backend.state_image import LEAST_GAP, LEAST_SAVING, image_of
from tflmgen.proof.reset_contents import image_after


def plan_of(flash: bytes) -> str:
    values = ", ".join(map(str, flash))
    return f"static const uint8_t initial_state[{len(flash)}] = {{{values}}};" if flash else ""


def images() -> list[bytes]:
    choose = random.Random(5)
    sparse = [
        b"".join(
            bytes(choose.randrange(200)) + bytes(choose.randrange(1, 256) for _ in range(choose.randrange(40)))
            for _ in range(choose.randrange(1, 6))
        )
        for _ in range(60)
    ]
    return [bytes(8), bytes(4096), b"\1", b"\1" * 100, bytes(500) + b"\1", b"\1" + bytes(500), *filter(None, sparse)]


@pytest.mark.parametrize("state", ["state", "self->state", "state + TFLMGEN_GUARD_BEFORE"])
def test_a_reset_brings_back_every_byte(state: str) -> None:
    for data in images():
        image = image_of(data)
        assert image_after(image.statements(state), state, len(data), plan_of(image.flash)) == data
        assert len(image.flash) <= max(0, len(data) - data.count(bytes(LEAST_GAP + LEAST_SAVING)) * LEAST_GAP)
        assert bool(image.flash) == any(data)


def test_wrong_resets_are_refused() -> None:
    data = bytes(100) + b"\1\2\3" + bytes(200) + b"\4" + bytes(96)
    image = image_of(data)
    assert image.flash == b"\1\2\3\4"
    fill, first, second = image.statements("state")
    plan = plan_of(image.flash)
    for statements in (
        [first, second],
        [fill.replace("400", "399"), first, second],
        [fill.replace("400", "401"), first, second],
        [fill, first.replace("3)", "5)"), second],
        [fill, first, second.replace("+ 303", "+ 400")],
        [fill, first, second.replace("state", "arena", 1)],
        [fill, first, second, "run();"],
    ):
        with pytest.raises(ValueError, match="reset"):
            image_after(statements, "state", len(data), plan)
    for statements in ([fill, first], [first, second, fill], [fill, second.replace("+ 303", "+ 304"), first]):
        assert image_after([fill, *statements], "state", len(data), plan) != data


def counter(first: NDArray[np.float32]) -> bytes:
    """A variable, of these values at first, to which each invoke adds its input."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    names = ("x", "kept", "total")
    x, kept, total = (graph.tensor(name, "float32", list(first.shape)) for name in names)
    handle = graph.tensor("handle", "resource", [])
    graph.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    graph.operator("VAR_HANDLE", [], [handle], {"container": "", "shared_name": "v"})
    graph.operator("READ_VARIABLE", [handle], [kept])
    graph.operator("ADD", [x, kept], [total])
    graph.operator("ASSIGN_VARIABLE", [handle, total], [])
    graph.inputs, graph.outputs = [x], [total]
    init = writer.subgraph("init")
    handle, value = init.tensor("handle", "resource", []), init.constant("first", first)
    init.operator("VAR_HANDLE", [], [handle], {"container": "", "shared_name": "v"})
    init.operator("ASSIGN_VARIABLE", [handle, value], [])
    return writer.finish()


def kept_runs(first: NDArray[np.float32]) -> str:
    """The plan's source; the outputs of two invokes, a reset and another are as they are to be."""
    stages = compile_bytes(counter(first))
    sources = stages.sources("m")
    invoke = Invocation(0, 0, (np.ones(first.shape, np.float32),))
    outputs = run_native(
        build_native({"m": sources}), [invoke, invoke, Invocation(0, RESET, ()), invoke], [stages.module.signatures]
    )
    for got, added in zip((outputs[0], outputs[1], outputs[3]), (1, 2, 1), strict=True):
        np.testing.assert_array_equal(got[0], first + added)
    return sources.files["src/m.c"]


@requires("gcc")
def test_zeros_are_not_in_flash() -> None:
    text = kept_runs(np.zeros((1, 4096), np.float32))
    assert "initial_state" not in text
    assert "state[16384];" in text
    assert "memset(state, 0, 16384);" in text


@requires("gcc")
def test_flash_has_what_is_not_zero() -> None:
    first = np.zeros((1, 4096), np.float32)
    first[0, 2000:2003] = (1, -2, 3)
    assert "initial_state[10]" in kept_runs(first)
