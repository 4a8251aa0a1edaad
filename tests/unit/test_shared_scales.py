"""Operators that demand one scale: small operands with other readers keep a scale of their own where that is worth it.

The models compute a = 8 rows of x, w = 6 a, p = a layer of a, and q = an operator on a and w.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.silent_watcher import SilentWatcher
from tflmgen.compare.oracle import tflm_outputs
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder, parse_model, write_model
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.ir import DType
from tflmgen.options import QuantizedIo, QuantizeOptions
from tflmgen.quantize import observed_build, quantize_file, refinement
from tflmgen.quantize.calibration import calibrate
from tflmgen.quantize.file_quantization import QuantizedFile
from tflmgen.quantize.model_quantization import QuantizationChoice, QuantizedModel, prepare_float, quantize_model
from tflmgen.quantize.shared_scales import OneScale, shared_groups

F32 = DType.FLOAT32
SHAPE = (1, 8)
Array = NDArray[np.float32]
JOINS = ("CONCATENATION", "PACK", "MAXIMUM", "MINIMUM", "SELECT_V2", "PADV2")


def layer(graph: SubGraphBuilder, source: int, name: str, gain: float = 1.0) -> int:
    """A matrix of 8 rows on a tensor."""
    weights = gain * np.linalg.qr(np.random.default_rng(len(name)).normal(size=(8, 8)))[0]
    result = graph.tensor(name, F32, SHAPE)
    graph.operator("FULLY_CONNECTED", [source, graph.constant(f"{name}_w", weights.astype(np.float32)), -1], [result])
    return result


def joined(graph: SubGraphBuilder, name: str, a: int, w: int) -> int:
    """An operator on a small value and a wide one, or on a small one and a constant."""
    shape = {"CONCATENATION": (1, 16), "PACK": (2, 1, 8), "PADV2": (1, 10)}.get(name, SHAPE)
    result = graph.tensor("joined", F32, shape)
    operands, options = [a, w], {}
    if name == "CONCATENATION":
        options = {"axis": 1}
    elif name == "PACK":
        options = {"axis": 0, "values_count": 2}
    elif name == "PADV2":
        sides = graph.constant("sides", np.array([[0, 0], [1, 1]], np.int32))
        operands = [a, sides, graph.constant("value", np.array([-20], np.float32))]
    elif name == "SELECT_V2":
        operands = [graph.constant("which", np.array([[True, False] * 4])), a, w]
    graph.operator(name, operands, [result], options)
    return result


def model_with(name: str, is_read: bool = True) -> Model:
    builder = ModelBuilder()
    main = builder.subgraph("main")
    main.inputs = [main.tensor("x", F32, SHAPE)]
    a = layer(main, main.inputs[0], "a")
    w = layer(main, a if is_read else main.inputs[0], "wide", 6.0)
    main.outputs = [layer(main, a, "layer"), joined(main, name, a, w)] if is_read else [joined(main, name, a, w)]
    return parse_model(write_model(builder.model()), name)


def samples() -> Vectors:
    rng = np.random.default_rng(5)
    return Vectors(tuple(VectorSet("", 0, (rng.uniform(-1, 1, SHAPE).astype(np.float32),)) for _ in range(32)))


def outputs(model: Model, place: int = 0) -> Array:
    with observed_build(model) as build:
        return np.stack([arrays[place] for arrays in build.run(samples().sets, False, SilentWatcher())])


def quantised(source: Model, share: float) -> QuantizedModel:
    return quantize_model(source, calibrate(source, samples()), QuantizationChoice(requantised=share))


def conversions(model: Model) -> int:
    """QUANTIZEs between integers."""
    (graph,) = model.subgraphs
    return sum(op.name == "QUANTIZE" and graph.tensors[op.inputs[0]].dtype is not F32 for op in graph.operators)


@pytest.mark.parametrize("name", JOINS)
def test_a_small_operand_keeps_its_scale_for_other_readers(name: str, tmp_path: Path) -> None:
    source = prepare_float(model_with(name))
    shared, own = quantised(source, 0), quantised(source, 0.5)
    assert (conversions(shared.model), conversions(own.model)) == (0, 1)
    wanted = outputs(source)
    before, after = (np.square(outputs(quantized.model) - wanted).sum() for quantized in (shared, own))
    assert 10 * np.log10(before / after) > 5
    file = tmp_path / "quantized.tflite"
    file.write_bytes(own.data)
    for place, of_tflm in enumerate(zip(*tflm_outputs(file, samples().sets, 1 << 20, 120), strict=True)):
        got = outputs(own.model, place)
        np.testing.assert_array_equal(got, np.stack(of_tflm).reshape(got.shape))


@pytest.mark.parametrize("name", ["CONCATENATION", "MAXIMUM"])
def test_an_operand_without_other_readers_is_not_requantised(name: str) -> None:
    assert conversions(quantised(prepare_float(model_with(name, is_read=False)), 0.5).model) == 0


def refined_file(folder: Path) -> QuantizedFile:
    path, data = folder / "model.tflite", folder / "samples.npz"
    path.write_bytes(write_model(model_with("CONCATENATION")))
    np.savez(data, x=np.concatenate([arrays.inputs[0] for arrays in samples().sets]))
    # With float outputs the join is at an exact end, and demands no scale.
    return quantize_file(path, data, QuantizeOptions(io=QuantizedIo.INT8), None, lambda *_: None)


def requantised_used(result: QuantizedFile) -> list[bool]:
    return [trial.is_used for trial in result.trials if trial.measure == "requantised operands below 1/4"]


def test_it_is_a_measure_that_is_kept_where_it_lowers_the_error(tmp_path: Path) -> None:
    result = refined_file(tmp_path)
    assert requantised_used(result) == [True]
    assert conversions(result.quantized.model) == 1


def test_it_is_left_where_the_other_measures_gain_more_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_measures(_: Any, best: refinement.Refinement, *__: Any) -> refinement.Refinement:
        if not best.choice.requantised:
            best.noise_db = best.noise_db - 40
        return best

    monkeypatch.setattr(refinement._Search, "with_measures", with_measures)
    result = refined_file(tmp_path)
    assert requantised_used(result) == [False]
    assert conversions(result.quantized.model) == 0


def groups(share: float, ranges: dict[str, tuple[float, float]], read: str, *joins: str) -> set[str]:
    """Groups of webs, which are letters, with operators like 'ab>c', as sorted words."""
    keys = {letter: (0, ord(letter)) for letter in ranges}
    operators = [
        OneScale(tuple(keys[o] for o in operands), (keys[result],), None, len(operands) > 1)
        for operands, result in (join.split(">") for join in joins)
    ]
    sets, _ = shared_groups(operators, {keys[k]: r for k, r in ranges.items()}, {keys[r] for r in read}, share)
    members: dict[tuple[int, int], str] = {}
    for letter in sorted(ranges):
        root = sets.root(keys[letter])
        members[root] = members.get(root, "") + letter
    return set(members.values())


def test_groups_are_apart_where_ranges_differ() -> None:
    small, wide = (-1.0, 1.0), (-5.0, 5.0)
    ranges = {"a": small, "w": wide, "r": wide}
    assert groups(0.5, ranges, "ar", "aw>r") == {"a", "rw"}
    assert groups(0.1, ranges, "ar", "aw>r") == {"arw"}
    assert groups(0.5, ranges, "r", "aw>r") == {"arw"}
    assert groups(0.0, ranges, "ar", "aw>r") == {"arw"}


def test_a_chain_is_cut_once_and_a_value_that_moves_on_is_read_there() -> None:
    small, wide = (-1.0, 1.0), (-5.0, 5.0)
    # r = [a, b] is read, and s = [r, w] is wide: one QUANTIZE of r, and none of a and b.
    assert groups(0.5, {"a": small, "b": small, "r": small, "s": wide, "w": wide}, "abrs", "ab>r", "rw>s") == {
        "abr",
        "sw",
    }
    # p is a moved, as by MAX_POOL_2D, and both are joined with what is wide.
    ranges = {"a": small, "p": small, "r": wide, "s": wide, "v": wide, "w": wide}
    assert groups(0.5, ranges, "p", "a>p", "av>r", "pw>s") == {"ap", "rv", "sw"}


def test_what_is_little_smaller_at_each_join_is_compared_with_the_last() -> None:
    ranges = {"a": (-1.0, 1.0), "b": (-1.6, 1.6), "r": (-1.6, 1.6), "c": (-2.5, 2.5), "s": (-2.5, 2.5)}
    assert groups(0.5, ranges, "ars", "ab>r", "rc>s") == {"a", "bcrs"}
