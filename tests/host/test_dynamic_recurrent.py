"""Recurrent layers over sequences whose length is known at run time only: against LiteRT and TFLite Micro.

Lengths that follow one another without a reset are one long sequence to the reference: the layer's states go on from
the last step in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.bidirectional import layer
from support.case_models import model_bytes
from support.dynamic_axes import ARGUMENT, agrees, compiled, floats, ints, vary
from support.dynamic_models import one_graph
from support.kernel_harness import Array, Case, Tensor
from support.litert_shapes import litert_outputs
from support.model_writer import SubgraphWriter
from support.native import RESET, Invocation, build_native, run_native
from support.recurrent_cases import fixed_lstm, float_lstm, quantized_lstm, rnn
from support.recurrent_runs import tflm_steps

LARGEST_EXTENT = 7
SEQUENCE = "UNIDIRECTIONAL_SEQUENCE_"
Rng = np.random.Generator
Reference = Callable[[Case, Array, int], Array]


def _by_litert(case: Case, whole: Array, axis: int) -> Array:
    return litert_outputs(model_bytes(case, axis), [whole])[0]


def _by_tflm(case: Case, whole: Array, axis: int) -> Array:
    return tflm_steps(_of_length(case, whole.shape[axis], axis), [whole])[0]


def _of_length(case: Case, steps: int, axis: int) -> Case:
    """The case with so many steps."""
    source = case.inputs[0]
    assert source is not None

    def shape(sizes: Sequence[int]) -> tuple[int, ...]:
        return (*sizes[:axis], steps, *sizes[axis + 1 :])

    first = Tensor(source.type.with_shape(shape(source.type.max_shape)))
    output = case.outputs[0].with_shape(shape(case.outputs[0].max_shape))
    return replace(case, inputs=(first, *case.inputs[1:]), outputs=(output, *case.outputs[1:]))


LAYERS: dict[str, tuple[Callable[[Rng], Case], Reference, float]] = {
    "LSTM float": (lambda rng: float_lstm(rng, variants=True)[0], _by_litert, 1e-5),
    "LSTM hybrid": (lambda rng: float_lstm(rng, variants=True, hybrid=True)[0], _by_litert, 1e-3),
    "LSTM int8": (lambda rng: quantized_lstm(rng, "int8")[0], _by_tflm, 0),
    "LSTM int16": (lambda rng: quantized_lstm(rng, "int16")[0], _by_tflm, 0),
    "LSTM int8 variants": (lambda rng: fixed_lstm(rng, f"{SEQUENCE}LSTM")[0], _by_litert, 0),
    "RNN float": (lambda rng: rnn(rng, f"{SEQUENCE}RNN", hybrid=False)[0], _by_litert, 1e-5),
    "RNN hybrid": (lambda rng: rnn(rng, f"{SEQUENCE}RNN", hybrid=True)[0], _by_litert, 1e-3),
}
"""Name -> a random case, what it equals, and the absolute tolerance (0: exactly)."""


def _values(rng: Rng, source: Tensor, shape: Sequence[int]) -> Array:
    if source.type.dtype.is_float:
        return rng.normal(size=shape).astype(np.float32)
    low, high = source.type.dtype.limits
    return rng.integers(low, high, shape, source.type.dtype.numpy, endpoint=True)


def _check(rng: Rng, layers: Sequence[str], folder: Path) -> None:
    """Of each layer: three lengths in a row, then a reset and the greatest one."""
    models, calls, wanted = [], [], []
    for number, name in enumerate(layers):
        make, reference, tolerance = LAYERS[name]
        case = make(rng)
        axis = 0 if case.options.get("time_major", False) else 1
        source = case.inputs[0]
        assert source is not None
        models.append(compiled(model_bytes(case, axis), folder, name=f"m{number}", max_dim=LARGEST_EXTENT))
        lengths = [int(n) for n in rng.permutation([0, *rng.integers(1, LARGEST_EXTENT, 2)])]
        for counts in (lengths, [LARGEST_EXTENT]):
            shape = (*source.type.max_shape[:axis], sum(counts), *source.type.max_shape[axis + 1 :])
            whole = _values(rng, source, shape)
            cuts = np.cumsum(counts)[:-1]
            parts, rows = (np.split(a, cuts, axis) for a in (whole, reference(case, whole, axis)))
            calls += [Invocation(number, RESET, ()), *(Invocation(number, 0, (part,)) for part in parts)]
            wanted += [None, *((name, result, tolerance) for result in rows)]
    program = build_native({c.name: c.sources for c in models})
    results = run_native(program, calls, [c.module.signatures for c in models])
    for expected, outputs in zip(wanted, results, strict=True):
        if expected is not None:
            name, want, tolerance = expected
            assert outputs[0].shape == want.shape, name
            np.testing.assert_allclose(outputs[0], want, rtol=1e-5 if tolerance else 0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, tmp_path: Path) -> None:
    if LAYERS[name][1] is _by_tflm:
        pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    _check(np.random.default_rng(len(name)), [name] * 3, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 110))
@pytest.mark.parametrize("name", LAYERS)
def test_many_layers(name: str, seed: int, tmp_path: Path) -> None:
    _check(np.random.default_rng(seed), [name] * 12, tmp_path)


# -- both directions


def _litert_runs(data: bytes, inputs: Sequence[Array]) -> list[tuple[Array, ...]]:
    """The outputs for inputs of one shape, one after the other: LiteRT forgets its states where a shape changes."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    resolver = litert.OpResolverType.BUILTIN_REF
    interpreter = litert.Interpreter(model_content=data, experimental_op_resolver_type=resolver, num_threads=1)
    (source,) = interpreter.get_input_details()
    interpreter.resize_tensor_input(source["index"], inputs[0].shape)
    interpreter.allocate_tensors()
    runs = []
    for value in inputs:
        interpreter.set_tensor(source["index"], value)
        interpreter.invoke()
        details = interpreter.get_output_details()
        runs.append(tuple(np.array(interpreter.get_tensor(detail["index"])) for detail in details))
    return runs


def _check_bidirectional(seed: int, operator: str, hybrid: bool, count: int, folder: Path) -> None:
    rng = np.random.default_rng(seed)
    models, calls, wanted = [], [], []
    for number in range(count):
        model = layer(rng, operator, hybrid, open_time=True)
        models.append(compiled(model.data, folder, name=f"m{number}", max_dim=LARGEST_EXTENT))
        shape, axis = model.inputs[0].shape, 0 if model.time_major else 1
        for steps in (LARGEST_EXTENT, int(rng.integers(1, LARGEST_EXTENT))):
            sizes = (*shape[:axis], steps, *shape[axis + 1 :])
            inputs = [rng.normal(size=sizes).astype(np.float32) for _ in range(2)]
            calls += [Invocation(number, RESET, ()), *(Invocation(number, 0, (value,)) for value in inputs)]
            wanted += [(), *_litert_runs(model.data, inputs)]
    program = build_native({c.name: c.sources for c in models})
    tolerance = 1e-3 if hybrid else 1e-5
    got = run_native(program, calls, [c.module.signatures for c in models])
    for outputs, expected in zip(got, wanted, strict=True):
        for mine, theirs in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=tolerance)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("operator", ["BIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM"])
def test_both_directions(operator: str, hybrid: bool, tmp_path: Path) -> None:
    _check_bidirectional(1, operator, hybrid, 3, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 105))
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("operator", ["BIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM"])
def test_many_both_directions(operator: str, hybrid: bool, seed: int, tmp_path: Path) -> None:
    _check_bidirectional(seed, operator, hybrid, 12, tmp_path)


# -- among other operators


def _rnn(g: SubgraphWriter, x: int, y: int, sizes: Sequence[int], **options: object) -> None:
    """sizes: batches, channels, units."""
    batches, channels, units = sizes
    state = g.tensor(f"h{y}", "float32", [batches, units], variable=True)
    weights = [g.constant(f"w{y}", floats(units, channels)), g.constant(f"r{y}", floats(units, units) / 2)]
    bias = g.constant(f"b{y}", floats(units))
    options = {"fused_activation_function": 4, "time_major": False, **options}
    g.operator(f"{SEQUENCE}RNN", [x, *weights, bias, state], [y], options)


def test_layers_among_others(tmp_path: Path) -> None:
    """Batches and steps are open; of the batches, the layers' states have two."""

    def build(g: SubgraphWriter) -> None:
        x, first, second = (vary(g, name, "float32", (-1, -1, size)) for name, size in (("x", 3), ("a", 4), ("b", 5)))
        mean = vary(g, "mean", "float32", (-1, 5))
        _rnn(g, x, first, (2, 3, 4))
        _rnn(g, first, second, (2, 4, 5))
        g.operator("MEAN", [second, g.constant("axes", ints(1))], [mean], {"keep_dims": False})
        g.inputs, g.outputs = [x], [second, mean]

    data = one_graph(build)
    compilation = compiled(data, tmp_path, max_dim=LARGEST_EXTENT)
    cases = [floats(2, steps, 3) for steps in (LARGEST_EXTENT, 1, 4)]
    wrong = [Invocation(0, 0, (floats(batches, 3, 3),), ARGUMENT) for batches in (1, 3)]
    calls = [call for case in cases for call in (Invocation(0, RESET, ()), Invocation(0, 0, (case,)))]
    program = build_native({compilation.name: compilation.sources})
    got = run_native(program, [*wrong, *calls], [compilation.module.signatures])[2:]
    for case, outputs in zip(cases, got[1::2], strict=True):
        for mine, theirs in zip(outputs, litert_outputs(data, [case]), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_a_single_step_takes_as_many_batches_as_its_state(tmp_path: Path) -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "float32", (-1, 3)), vary(g, "y", "float32", (-1, 2))
        state = g.tensor("h", "float32", [2, 2], variable=True)
        operands = [g.constant("w", floats(2, 3)), g.constant("r", floats(2, 2)), g.constant("b", floats(2))]
        g.operator("RNN", [x, *operands, state], [y], {"fused_activation_function": 4})
        g.inputs, g.outputs = [x], [y]

    agrees(one_graph(build), tmp_path, [[floats(2, 3)], ([floats(1, 3)], ARGUMENT)])
