"""Streams compute what their operators compute one after another, in C under sanitizers; the checker knows bad ones."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.case_models import model_bytes
from support.kernel_harness import constant, make_case, tensor
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.random_chain import random_chain
from tflmgen.backend.c_library import Sources, emit
from tflmgen.backend.lowering import lower
from tflmgen.errors import InternalError, ModelError, UsageError
from tflmgen.explore.ram_trade_offs import choose_plan
from tflmgen.explore.search import PlanCandidate, best_candidate
from tflmgen.explore.streams.chain import STREAM, row_streams, stream_op
from tflmgen.explore.streams.push_rows import push_rows
from tflmgen.explore.streams.row_kernels import RowKernels
from tflmgen.explore.streams.stream_memory import BlockLiveness, streams
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Block, Module, Op
from tflmgen.ir.kernel.call import Target
from tflmgen.ir.program.instructions import KernelCall, Program, RowCallAt, RowProgram
from tflmgen.ir.streams.row_stream import LineBuffer
from tflmgen.kernels.selection import Selector
from tflmgen.options import Optimize
from tflmgen.passes.pipeline import run_passes
from tflmgen.proof.symbolic_memory import check_memory

HOST = Target(core="host")
MORE = 5
"""TFLMGEN_MORE."""


def module_of(seed: int, dtype: str) -> Module:
    return run_passes(import_model(parse_model(random_chain(seed, dtype), "m.tflite")))


def ops_of(module: Module) -> list[Op]:
    nodes = [node for node in module.functions[0].body.nodes if isinstance(node, Op)]
    assert len(nodes) == len(module.functions[0].body.nodes)
    return nodes


def with_stream(module: Module, choose: random.Random) -> Module | None:
    """The module with one of its longest streams."""
    function = module.functions[0]
    kernels = RowKernels(module.constants, HOST)
    segments = sorted(streams(BlockLiveness(function.body), kernels), key=lambda s: s.first - s.end)
    if not segments:
        return None
    segment = choose.choice(segments[:3])
    nodes = function.body.nodes
    fused = stream_op(ops_of(module)[segment.first : segment.end], segment.ranks)
    body = Block((*nodes[: segment.first], fused, *nodes[segment.end :]), function.body.results)
    return replace(module, functions=(replace(function, body=body),))


def program_of(module: Module) -> Program:
    return lowered(module, best_candidate(module, Selector(HOST).select(module, row_streams(module, HOST))))


def lowered(module: Module, best: PlanCandidate) -> Program:
    program = lower(module, best)
    check_memory(program, module.constants)
    return program


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 400), marks=pytest.mark.sweep)])
def test_streams_compute_the_same(seeds: range, dtype: str) -> None:
    lengths: Counter[int] = Counter()
    sources: dict[str, Sources] = {}
    signatures, calls = [], []
    for seed in seeds:
        module = module_of(seed, dtype)
        streamed = with_stream(module, random.Random(seed))
        if streamed is None:
            continue
        lengths.update(len(n.attributes.ops) for n in ops_of(streamed) if n.operator == STREAM)
        shape = module.functions[0].inputs[0].type.max_shape
        image = np.random.default_rng(seed).normal(size=shape) * (1 if dtype == "float32" else 60)
        for name, variant in (("whole", module), ("rows", streamed)):
            calls.append(Invocation(len(sources), 0, (image.astype(dtype),)))
            sources[f"{name}_{seed}"] = emit(program_of(variant), f"{name}_{seed}", "", "")
            signatures.append(variant.signatures)
    results = run_native(build_native(sources), calls, signatures)
    for name, whole, rows in zip(list(sources)[::2], results[::2], results[1::2], strict=True):
        np.testing.assert_array_equal(whole[0], rows[0], name)
    assert max(lengths) >= 4
    assert sum(lengths.values()) > len(seeds) // 2


def _changed(rows: RowProgram, choose: random.Random) -> RowProgram:
    """A stream that does something else in one place."""
    order, calls = list(rows.order), list(rows.calls)
    kind = choose.randrange(5)
    if kind == 0:
        del order[choose.randrange(len(order))]
    elif kind == 1:
        at = choose.randrange(len(order) - 1)
        order[at], order[at + 1] = order[at + 1], order[at]
    else:
        at = choose.randrange(len(calls))
        calls[at] = _changed_call(calls[at], kind, choose)
    return replace(rows, order=tuple(order), calls=tuple(calls))


def _changed_call(call: RowCallAt, kind: int, choose: random.Random) -> RowCallAt:
    if kind == 2 and isinstance(call.write, LineBuffer):
        return replace(call, write=LineBuffer(call.write.offset + choose.choice((-8, -4, 4, 8))))
    if kind == 3 and call.moves:
        return replace(call, moves=())
    reads = tuple(LineBuffer(r.offset + choose.choice((-4, 4))) if isinstance(r, LineBuffer) else r for r in call.reads)
    return replace(call, reads=reads)


def test_the_checker_refuses_changed_streams() -> None:
    """What it accepts differs from the original in nothing but the order of calls that don't depend on each other."""
    refused = accepted = 0
    for seed in range(16):
        streamed = with_stream(module_of(seed, "int8"), random.Random(seed))
        if streamed is None:
            continue
        program = program_of(streamed)
        function = program.functions[0]
        for trial in range(12):
            body = tuple(
                replace(instruction, rows=_changed(instruction.rows, random.Random(trial)))
                if isinstance(instruction, KernelCall) and instruction.rows is not None
                else instruction
                for instruction in function.body
            )
            if body == function.body:
                continue
            changed = replace(program, functions=(replace(function, body=body), *program.functions[1:]))
            try:
                check_memory(changed, streamed.constants)
                accepted += 1
            except InternalError:
                refused += 1
    assert refused > 20
    assert accepted < refused


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 60), marks=pytest.mark.sweep)])
def test_inputs_by_rows(seeds: range) -> None:
    """Each row is an invoke; the outputs are there after the last, and then the next image begins."""
    sources: dict[str, Sources] = {}
    signatures, calls = [], []
    for seed in seeds:
        module = module_of(seed, "int8")
        pushed = push_rows(module, [module.signatures[0].inputs[0].name])
        small = choose_plan([pushed], Selector(HOST), Optimize.RAM if seed % 2 else Optimize.SPEED, None)
        shape = module.functions[0].inputs[0].type.max_shape
        images = (np.random.default_rng(seed).normal(size=(2, *shape)) * 60).astype(np.int8)
        calls += [Invocation(len(sources), 0, (image,)) for image in images]
        for image in images:
            rows = [(image[:, row : row + 1],) for row in range(shape[1])]
            calls += [Invocation(len(sources) + 1, 0, row, MORE) for row in rows[:-1]]
            calls.append(Invocation(len(sources) + 1, 0, rows[-1]))
        sources[f"whole_{seed}"] = emit(program_of(module), f"whole_{seed}", "", "")
        sources[f"pushed_{seed}"] = emit(lowered(small.module, small.best), f"pushed_{seed}", "", "")
        signatures += [module.signatures, small.module.signatures]
    results = [outputs[0] for outputs in run_native(build_native(sources), calls, signatures) if outputs]
    assert len(results) == 4 * len(seeds)
    for at in range(0, len(results), 4):
        np.testing.assert_array_equal(results[at : at + 2], results[at + 2 : at + 4])


def two_inputs() -> bytes:
    """y = mean of the convolved image + (given + 1); what depends on the second input comes first in the file."""
    w = ModelWriter()
    g = w.subgraph("main")
    image, addend = g.tensor("image", "float32", [1, 8, 6, 4]), g.tensor("given", "float32", [1, 1, 1, 4])
    raised, y = g.tensor("raised", "float32", [1, 1, 1, 4]), g.tensor("y", "float32", [1, 1, 1, 4])
    g.operator("ADD", [addend, g.constant("one", np.ones((1, 1, 1, 4), np.float32))], [raised])
    conv, mean = g.tensor("conv", "float32", [1, 8, 6, 4]), g.tensor("mean", "float32", [1, 1, 1, 4])
    weights = g.constant("w", np.linspace(-1, 1, 144, dtype=np.float32).reshape(4, 3, 3, 4))
    g.operator(
        "CONV_2D", [image, weights, g.constant("b", np.ones(4, np.float32))], [conv], {"stride_h": 1, "stride_w": 1}
    )
    window = {"padding": 1, "stride_h": 1, "stride_w": 1, "filter_height": 8, "filter_width": 6}
    g.operator("AVERAGE_POOL_2D", [conv], [mean], window)
    g.operator("ADD", [mean, raised], [y])
    g.inputs, g.outputs = [image, addend], [y]
    return w.finish()


@pytest.mark.parametrize("optimize", [Optimize.SPEED, Optimize.RAM])
def test_rows_come_before_what_other_inputs_need(optimize: Optimize) -> None:
    module = run_passes(import_model(parse_model(two_inputs(), "m.tflite")))
    small = choose_plan([push_rows(module, ["image"])], Selector(HOST), optimize, None)
    sources = {"whole": emit(program_of(module), "whole", "", "")}
    sources["pushed"] = emit(lowered(small.module, small.best), "pushed", "", "")
    rng = np.random.default_rng(1)
    image, addend = (rng.normal(size=shape).astype(np.float32) for shape in ((1, 8, 6, 4), (1, 1, 1, 4)))
    calls = [Invocation(0, 0, (image, addend))]
    calls += [Invocation(1, 0, (image[:, row : row + 1], addend), MORE if row < 7 else 0) for row in range(8)]
    results = run_native(build_native(sources), calls, [module.signatures, small.module.signatures])
    np.testing.assert_array_equal(results[0][0], results[-1][0])


def test_what_cannot_come_by_rows() -> None:
    module = module_of(0, "int8")
    with pytest.raises(UsageError, match="the model's inputs are 't0'"):
        push_rows(module, ["x"])
    name = module.signatures[0].inputs[0].name
    with pytest.raises(ModelError, match="comes by rows"):
        push_rows(push_rows(module, [name]), [name])


@pytest.mark.parametrize("filter_type", ["int8", "int4"])
def test_what_is_quantised_as_a_whole_does_not_go_by_rows(filter_type: str) -> None:
    """Float32 by int8 weights: how a row is quantised hangs on all others."""
    options = {"padding": 0, "stride_w": 1, "stride_h": 1}
    for operator, shape, axis in (("CONV_2D", (4, 3, 3, 2), 0), ("DEPTHWISE_CONV_2D", (1, 3, 3, 2), 3)):
        weights = constant(filter_type, np.ones(shape), [0.1] * shape[axis], 0, axis)
        case = make_case(operator, [tensor("float32", (1, 6, 6, 2)), weights], [tensor("float32", ())], options)
        module = run_passes(import_model(parse_model(model_bytes(case), "m.tflite")))
        (node,) = module.functions[0].body.nodes
        assert isinstance(node, Op)
        assert RowKernels(module.constants, HOST).operator(node) is None
