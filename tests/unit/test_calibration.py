"""Calibration: what it observes of a model with control flow, and how it reads its data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.quantize_models import decaying_loop, f32
from tflmgen.emulators import StatusError
from tflmgen.frontend import TensorKey, import_model
from tflmgen.input_sets import Vectors, VectorsError, VectorSet
from tflmgen.quantize import observed_build
from tflmgen.quantize.calibration import calibrate
from tflmgen.quantize.calibration_data import read_calibration, split
from tflmgen.quantize.statistics import Calibration, TensorStatistics, statistics_of

X = f32([[8, 1, 1, 0]]), f32([[-3, 2, 0, 0]]), f32([[0.5, 0.25, 0, 0]])
LIMIT = f32([1])


def calibration_of(sets: list[tuple[NDArray[Any], ...]]) -> Calibration:
    return calibrate(decaying_loop(), Vectors(tuple(VectorSet("", 0, inputs) for inputs in sets)))


def values_of(statistics: TensorStatistics) -> tuple[float, float, int]:
    return statistics.minimum, statistics.maximum, statistics.elements


def test_ranges_decisions_and_runs_of_loops_and_branches() -> None:
    calibration = calibration_of([(x, LIMIT) for x in X])
    # 8 needs three halvings, 2 one, 0.5 none; the sums afterwards are 1.25, -0.5 and 0.75.
    assert calibration.decisions == {(0, 0): ((3,), (1,), (0,)), (0, 3): ((1,), (0,), (1,))}
    assert calibration.runs == {0: 3, 1: 7, 2: 4, 3: 2, 4: 1}
    assert calibration.unreached == ()
    assert values_of(calibration.tensors[2, 2]) == (-1.5, 4.0, 16)  # what the body computes
    assert values_of(calibration.tensors[2, 0]) == (-3.0, 8.0, 28)  # the loop variable: also the initial values
    assert values_of(calibration.tensors[0, 6]) == (-1.0, 2.0, 12)
    assert values_of(calibration.tensors[4, 1]) == (-1.0, 1.5, 4)
    assert values_of(calibration.tensors[2, 3]) == (0.5, 0.5, 1)  # a constant


def test_a_branch_and_a_body_that_never_ran_are_named() -> None:
    calibration = calibration_of([(X[2], LIMIT)])
    assert [str(unreached) for unreached in calibration.unreached] == [
        "subgraph 2 'body' (body of operator 0 in subgraph 0) never ran",
        "subgraph 4 'else' (else of operator 3 in subgraph 0) never ran",
    ]
    assert not [key for key in calibration.tensors if key in {(2, 0), (2, 2), (4, 0), (4, 1)}]


def test_a_loop_that_does_not_end_is_an_error() -> None:
    model = decaying_loop()
    vectors = Vectors((VectorSet("", 0, (X[0], f32([-1]))),))
    with observed_build(model, timeout=0.2) as build, pytest.raises(StatusError, match=r"did not finish in 0\.2 s"):
        build.run(vectors.sets, False, _Changer({}))


class _Changer:
    """Replaces values of chosen tensors."""

    def __init__(self, values: dict[TensorKey, float]) -> None:
        self._values = values

    def wants(self, tensor: TensorKey) -> bool:
        return tensor in self._values

    def tensor(self, tensor: TensorKey, value: NDArray[Any]) -> None:
        value[...] = self._values[tensor]

    def mark(self, event: str, operator: tuple[int, int]) -> None:
        del event, operator


def test_a_watcher_may_change_values_and_the_run_goes_on_with_them() -> None:
    sets = (VectorSet("", 0, (X[0], LIMIT)),)
    with observed_build(decaying_loop()) as build:
        (unchanged,) = build.run(sets, False, _Changer({}))
        (from_body,) = build.run(sets, False, _Changer({(2, 2): 0.25}))
        (from_input,) = build.run(sets, False, _Changer({(0, 0): -1.0}))
    np.testing.assert_array_equal(unchanged[0], [[2, 0.25, 0.25, 0]])
    np.testing.assert_array_equal(from_body[0], [[0.5, 0.5, 0.5, 0.5]])
    np.testing.assert_array_equal(from_input[0], [[1, 1, 1, 1]])


def test_a_watcher_s_exception_arrives() -> None:
    with observed_build(decaying_loop()) as build, pytest.raises(ZeroDivisionError):
        build.run((VectorSet("", 0, (X[0], LIMIT)),), False, _Failing({(2, 2): 0.0}))


class _Failing(_Changer):
    def tensor(self, tensor: TensorKey, value: NDArray[Any]) -> None:
        del tensor, value
        raise ZeroDivisionError


def test_a_histogram_counts_each_value_in_its_bin() -> None:
    values = f32([-3.5, -3.5, -0.0, 0.0, 1e-30, 2.0, 2.01, 5e4])
    statistics = statistics_of(values)
    assert statistics is not None
    low, high = statistics.edges[:-1], statistics.edges[1:]
    expected = [int(np.count_nonzero((values >= a) & (values < b))) for a, b in zip(low, high, strict=True)]
    zero = int(np.searchsorted(low, 0.0))
    assert statistics.counts[zero - 1] + statistics.counts[zero] == 2  # -0.0 has a bin of its own
    nonzero = [i for i in range(len(low)) if i not in (zero - 1, zero)]
    # A negative bin includes its lower end in magnitude, which is its upper bound.
    assert [int(statistics.counts[i]) for i in nonzero if low[i] >= 0] == [expected[i] for i in nonzero if low[i] >= 0]
    assert statistics.elements == len(values)
    assert (statistics.minimum, statistics.maximum) == (-3.5, 5e4)
    assert np.all(np.diff(statistics.edges) > 0)


@pytest.mark.parametrize("seed", range(5))
def test_statistics_of_parts_merge_to_those_of_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.normal(0, 10.0 ** rng.integers(-3, 4), 3000).astype(np.float32) for _ in range(2)]
    merged, whole = [statistics_of(p) for p in parts], statistics_of(np.concatenate(parts))
    assert merged[0] is not None
    assert merged[1] is not None
    assert whole is not None
    both = merged[0].merged(merged[1])
    assert values_of(both) == values_of(whole)
    np.testing.assert_array_equal(both.counts, whole.counts)
    np.testing.assert_array_equal(both.edges, whole.edges)


SIGNATURES = import_model(decaying_loop()).signatures


def written(folder: Path, **arrays: Any) -> Path:
    path = folder / "cal.npz"
    np.savez(path, **arrays)
    return path


def test_sets_are_split_the_same_way_every_time(tmp_path: Path) -> None:
    arrays = {f"s{k}_in_{i}": [f32([[k] * 4]), LIMIT][i] for k in range(40) for i in range(2)}
    data = read_calibration(written(tmp_path, **arrays), SIGNATURES)
    assert [int(s.inputs[0][0, 0]) for s in data.held_out.sets] == list(range(3, 40, 4))
    assert (len(data.fit.sets), data.samples) == (30, 40)
    assert data.warnings == ()


def test_samples_stacked_in_one_array(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for stacked in (x, x.reshape(3, 1, 4)):
        data = read_calibration(written(tmp_path, x=stacked, limit=np.ones((3, 1), np.float32)), SIGNATURES)
        assert [s.inputs[0].tolist() for s in data.fit.sets] == [[row.tolist()] for row in x]


def test_few_samples_are_a_warning_with_their_number(tmp_path: Path) -> None:
    data = read_calibration(written(tmp_path, x=X[0], limit=LIMIT), SIGNATURES)
    assert [w.split(": ")[0].split(" has ")[1] for w in data.warnings] == ["1 sample"]
    assert data.fit.sets == data.held_out.sets


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"x": X[0]}, "array 'limit' is missing"),
        ({"y": X[0], "limit": LIMIT}, "array 'x' is missing"),
        ({"x": X[0][:, :3], "limit": LIMIT}, r"array 'x' is float32\[1,3\], but input is float32\[1,4\]"),
        ({"x": X[0].astype(np.int32), "limit": LIMIT}, "array 'x' is int32"),
        ({"x": np.zeros((0, 4), np.float32), "limit": np.zeros((0, 1), np.float32)}, r"float32\[0,4\]"),
        ({"x": f32([[0, np.nan, 1, 1]]), "limit": LIMIT}, r"input 'x' is nan at \[0,1\]"),
        ({"s0_in_0": X[0], "s0_in_1": f32([np.inf])}, r"set 0: input 'limit' is inf at \[0\]"),
        ({}, "The file holds no arrays"),
    ],
)
def test_data_that_does_not_fit_is_refused(arrays: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match=text):
        read_calibration(written(tmp_path, **arrays), SIGNATURES)


def test_a_sequence_stays_whole() -> None:
    vectors = Vectors(tuple(VectorSet("", 0, ()) for _ in range(9)), stateful=True)
    assert split(vectors) == (vectors, vectors)
