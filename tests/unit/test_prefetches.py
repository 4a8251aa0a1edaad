"""Weights that are copied from slow flash to idle bytes of the arena: when, and what the proof refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.well_known import well_known
from tflmgen.compiler import Compilation, compile_model
from tflmgen.errors import InternalError
from tflmgen.hardware.board import load_board
from tflmgen.hardware.memory_regions import placed
from tflmgen.ir.kernel import Target
from tflmgen.ir.program import Fixed, Instruction, KernelCall, Prefetch, PrefetchWait, Program, Work
from tflmgen.kernels import Selector
from tflmgen.options import BuildOptions, Validate
from tflmgen.proof.meaning import check_meaning
from tflmgen.proof.symbolic_memory import check_memory

Body = list[Instruction]
BOARD = load_board("nucleo_l4r5zi")
IDEAL = Target(BOARD.core, BOARD.features)
"""The same core with a flash that never waits."""


def compiled(path: Path, target: Target) -> Compilation:
    return compile_model(path, target, BuildOptions(validate=Validate.OFF))


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return well_known("mlperf_ic_resnet_int8", tmp_path_factory.mktemp("resnet"))


@pytest.fixture(scope="module")
def fetching(resnet: Path) -> Compilation:
    return compiled(resnet, BOARD.target)


def body_of(program: Program) -> Body:
    (function,) = program.functions
    return list(function.body)


def with_body(program: Program, body: Body) -> Program:
    return replace(program, functions=(replace(program.functions[0], body=tuple(body)),))


def first(body: Body) -> int:
    """Where the first prefetch is that goes on while another operator runs."""
    return next(k for k, i in enumerate(body) if isinstance(i, Prefetch) and isinstance(body[k + 1], KernelCall))


def test_prefetches_take_idle_bytes_only(resnet: Path, fetching: Compilation) -> None:
    fetches = [i for i in body_of(fetching.program) if isinstance(i, Prefetch)]
    assert len(fetches) >= 4
    assert fetching.program.arena_bytes == compiled(resnet, IDEAL).program.arena_bytes
    assert all(f.destination.offset + f.bytes <= fetching.program.arena_bytes for f in fetches)


def test_nothing_is_fetched_without_waits(resnet: Path) -> None:
    plain = compiled(resnet, IDEAL)
    assert not any(isinstance(i, Prefetch) for i in body_of(plain.program))
    assert "TFLMGEN_CODE_CACHE" not in plain.sources.files["src/mlperf_ic_resnet_int8.c"]


def test_arrays_that_the_cache_holds_stay_in_flash(resnet: Path) -> None:
    cached = compiled(resnet, replace(BOARD.target, constant_cache=1 << 20))
    assert not any(isinstance(i, Prefetch) for i in body_of(cached.program))


def test_the_target_knows_where_code_and_weights_are() -> None:
    waiting = replace(IDEAL, code_cache=1024, constant_cache=256, constant_waits=5 / 8)
    assert BOARD.target == waiting
    assert placed(BOARD, ["code=sram"]).target == replace(waiting, code_cache=0)
    assert load_board("mps2_an386").target == IDEAL
    assert load_board("nucleo_f446re").target.code_cache == 0


def without_prefetch(body: Body) -> Body:
    at = first(body)
    return body[:at] + body[at + 1 :]


def without_wait(body: Body) -> Body:
    at = next(k for k, i in enumerate(body) if isinstance(i, PrefetchWait))
    return body[:at] + body[at + 1 :]


def late(body: Body) -> Body:
    """The wait behind the call that reads what is awaited."""
    at = next(k for k, i in enumerate(body) if isinstance(i, PrefetchWait))
    call = next(k for k in range(at, len(body)) if isinstance(body[k], KernelCall))
    return [*body[:at], *body[at + 1 : call + 1], body[at], *body[call + 1 :]]


def early(body: Body) -> Body:
    """All arrays begin to arrive before the first operator."""
    fetches = [i for i in body if isinstance(i, Prefetch)]
    return [*fetches, *(i for i in body if not isinstance(i, Prefetch))]


def changed(body: Body, change: Callable[[Prefetch], Prefetch]) -> Body:
    at = first(body)
    fetch = body[at]
    assert isinstance(fetch, Prefetch)
    return [*body[:at], change(fetch), *body[at + 1 :]]


def moved(body: Body) -> Body:
    return changed(body, lambda f: replace(f, destination=Fixed(f.destination.offset + 8)))


def shortened(body: Body) -> Body:
    return changed(body, lambda f: replace(f, bytes=f.bytes - 4))


def shifted(body: Body) -> Body:
    return changed(body, lambda f: replace(f, source=replace(f.source, offset=4)))


def exchanged(body: Body) -> Body:
    """The bytes of another layer."""
    others = [i for i in body if isinstance(i, Prefetch)]
    wanted = next(i for i in body[first(body) :] if isinstance(i, Prefetch))
    other = max((f for f in others if f.source != wanted.source), key=lambda f: f.bytes)
    return changed(body, lambda f: replace(f, source=other.source))


def never_read(body: Body) -> Body:
    """A last prefetch that nobody waits for, which arrives after the end."""
    return [*body, next(i for i in body if isinstance(i, Prefetch))]


def over_inputs(body: Body) -> Body:
    """A call whose array is where its input is."""
    at = first(body)
    call = next(i for i in body[at:] if isinstance(i, KernelCall))
    source = next(a for a in call.arguments if not isinstance(a, Work))
    place = source.access.place
    assert isinstance(place, Fixed)
    return changed(body, lambda f: replace(f, destination=place))


MUTANTS = (without_prefetch, without_wait, late, early, moved, shortened, shifted, exchanged, never_read, over_inputs)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_prefetches_are_refused(fetching: Compilation, mutant: Callable[[Body], Body]) -> None:
    check_memory(fetching.program, fetching.module.constants)
    with pytest.raises(InternalError):
        check_memory(with_body(fetching.program, mutant(body_of(fetching.program))), fetching.module.constants)


def test_an_array_of_another_layer_is_refused(fetching: Compilation) -> None:
    """Fetched and read alike, but it is not what the operator table says."""
    body = body_of(fetching.program)
    sources = [i.source for i in body if isinstance(i, Prefetch)]
    names = {sources[0]: sources[1], sources[1]: sources[0]}

    def exchange(instruction: Instruction) -> Instruction:
        if isinstance(instruction, Prefetch):
            return replace(instruction, source=names.get(instruction.source, instruction.source))
        if isinstance(instruction, KernelCall):
            arguments = tuple(
                replace(a, copy_of=names.get(a.copy_of, a.copy_of)) if isinstance(a, Work) and a.copy_of else a
                for a in instruction.arguments
            )
            return replace(instruction, arguments=arguments)
        return instruction

    selected = Selector(BOARD.target).select(fetching.module).selected
    check_meaning(fetching.module, fetching.program, selected, {})
    with pytest.raises(InternalError):
        check_meaning(fetching.module, with_body(fetching.program, [*map(exchange, body)]), selected, {})
