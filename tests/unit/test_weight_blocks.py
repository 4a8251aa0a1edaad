"""Weights in blocks that are fetched one ahead of the other: when, and what the proof refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from support.well_known import pointwise_network, well_known
from tflmgen.compiler import Compilation, compile_model
from tflmgen.errors import InternalError
from tflmgen.hardware.board import load_board
from tflmgen.ir.program import Instruction, KernelCall, Prefetch, PrefetchWait, Program, Work
from tflmgen.options import BuildOptions, Optimize, Validate
from tflmgen.proof.symbolic_memory import check_memory


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Compilation:
    """A wide pointwise layer behind a large image, whose bytes are idle then: less than its weights."""
    path = tmp_path_factory.mktemp("pointwise") / "pointwise.tflite"
    path.write_bytes(pointwise_network())
    return compile_model(path, BOARD.target, OPTIONS)


Body = list[Instruction]
BOARD = load_board("nucleo_l4r5zi")
OPTIONS = BuildOptions(validate=Validate.OFF)


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return well_known("mlperf_ic_resnet_int8", tmp_path_factory.mktemp("resnet"))


@pytest.fixture(scope="module")
def blocked(resnet: Path) -> Compilation:
    return compile_model(resnet, BOARD.target, OPTIONS)


def body_of(program: Program) -> Body:
    (function,) = program.functions
    return list(function.body)


def calls_of_blocks(body: Body) -> list[KernelCall]:
    """The calls of the layer that is computed in the most blocks."""
    calls = [
        i for i in body if isinstance(i, KernelCall) and any(isinstance(a, Work) and a.copy_of for a in i.arguments)
    ]
    layers = [[c for c in calls if c.origin == call.origin] for call in calls]
    return max(layers, key=len)


def fetch_of(body: Body, call: KernelCall) -> Prefetch:
    (source,) = (a.copy_of for a in call.arguments if isinstance(a, Work) and a.copy_of)
    return next(i for i in body if isinstance(i, Prefetch) and i.source == source)


def test_a_layer_whose_weights_exceed_the_idle_bytes_is_in_blocks(blocked: Compilation, resnet: Path) -> None:
    body = body_of(blocked.program)
    blocks = calls_of_blocks(body)
    assert len(blocks) > 1
    fetches = [fetch_of(body, call) for call in blocks]
    assert sum(f.bytes for f in fetches) > blocked.program.arena_bytes
    plain = compile_model(resnet, replace(BOARD.target, constant_waits=0, constant_cache=0), OPTIONS)
    assert blocked.program.arena_bytes <= plain.program.arena_bytes


def test_a_block_arrives_while_the_one_before_is_computed(streamed: Compilation) -> None:
    body = body_of(streamed.program)
    blocks = calls_of_blocks(body)
    ahead = [body.index(fetch_of(body, second)) < body.index(first) for first, second in pairwise(blocks)]
    assert len(blocks) > 2
    assert any(ahead)


def test_smaller_code_and_less_memory_keep_layers_whole(resnet: Path) -> None:
    for optimize in (Optimize.SIZE, Optimize.RAM):
        target = replace(BOARD.target, optimize=optimize.value)
        compilation = compile_model(resnet, target, replace(OPTIONS, optimize=optimize))
        origins = [i.origin for i in body_of(compilation.program) if isinstance(i, KernelCall)]
        assert len(set(origins)) == len(origins)


def overwriting(body: Body) -> Body:
    """A block begins to arrive before the block whose bytes it takes is read."""
    blocks = calls_of_blocks(body)
    for k, call in enumerate(blocks):
        fetch = fetch_of(body, call)
        for earlier in blocks[:k]:
            other = fetch_of(body, earlier)
            at, size = fetch.destination.offset, fetch.bytes
            if at < other.destination.offset + other.bytes and other.destination.offset < at + size:
                rest = [i for i in body if i is not fetch]
                where = rest.index(earlier)
                return [*rest[:where], fetch, *rest[where:]]
    raise AssertionError("no two blocks share bytes")


def late(body: Body) -> Body:
    """A block is waited for behind the call that reads it."""
    last = calls_of_blocks(body)[-1]
    where = body.index(last)
    wait = max(k for k in range(where) if isinstance(body[k], PrefetchWait))
    return [*body[:wait], *body[wait + 1 : where + 1], body[wait], *body[where + 1 :]]


def exchanged(body: Body) -> Body:
    """Two blocks arrive in each other's place."""
    first, second = (fetch_of(body, call) for call in calls_of_blocks(body)[:2])
    swapped = {id(first): replace(first, source=second.source), id(second): replace(second, source=first.source)}
    return [swapped.get(id(i), i) for i in body]


@pytest.mark.parametrize("mutant", [overwriting, late, exchanged])
def test_wrong_schedules_of_blocks_are_refused(streamed: Compilation, mutant: Callable[[Body], Body]) -> None:
    program, constants = streamed.program, streamed.module.constants
    check_memory(program, constants)
    body = tuple(mutant(body_of(program)))
    with pytest.raises(InternalError):
        check_memory(replace(program, functions=(replace(program.functions[0], body=body),)), constants)
