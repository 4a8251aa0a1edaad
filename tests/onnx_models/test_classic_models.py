"""Models of scikit-learn, LightGBM and XGBoost (ai.onnx.ml) equal ONNX Runtime, by the reference and as C."""

from __future__ import annotations

import contextlib
import copy
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.classic_models import (
    DOMAIN,
    MAKERS,
    THRESHOLDS,
    ClassicCase,
    damaged,
    model_of,
    rows_of_features,
)
from support.onnx_quantized import outputs_of
from tflmgen.compiler import Compilation, compile_model
from tflmgen.errors import ModelError
from tflmgen.frontend.onnx.class_names import with_class_numbers
from tflmgen.frontend.onnx.convert_graph import OnnxOptions, to_tflite
from tflmgen.frontend.onnx.layout_graph import LARGEST_CONSTANT
from tflmgen.frontend.onnx.tree_tables import ordered
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions, Validate
from tflmgen.reference import Interpreter

ort = pytest.importorskip("onnxruntime", reason="ONNX Runtime is the reference")

Array = np.ndarray[Any, Any]
SEEDS = range(12)


def expected(case: ClassicCase) -> Sequence[Array]:
    model, _ = with_class_numbers(case.model)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(array) for array in session.run(None, {"x": case.x})]


def assert_equal(ours: Sequence[Array], theirs: Sequence[Array]) -> None:
    for got, wanted in zip(ours, theirs, strict=True):
        assert got.shape == wanted.shape
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(got, wanted)


def outputs(case: ClassicCase) -> Sequence[Array]:
    model, _ = with_class_numbers(case.model)
    return Interpreter(to_tflite(model, "m.onnx", OnnxOptions())).invoke(None, [case.x])


def ensemble(rng: np.random.Generator) -> ClassicCase:
    """TreeEnsemble of version 5: one tree of every condition, a set among them, and a tree that is a leaf."""
    modes = [6, *rng.integers(0, 6, 3).tolist(), 0]
    named = {
        "nodes_modes": numpy_helper.from_array(np.array(modes, np.uint8)),
        "nodes_splits": numpy_helper.from_array(rng.choice(THRESHOLDS, 5)),
        "membership_values": numpy_helper.from_array(np.array([3, 1, 2, np.nan], np.float32)),
        "leaf_weights": numpy_helper.from_array(rng.normal(size=6).astype(np.float32)),
        "leaf_targetids": rng.integers(0, 2, 6).tolist(),
        "nodes_featureids": rng.integers(0, 3, 5).tolist(),
        "nodes_truenodeids": [1, 0, 2, 4, 5],
        "nodes_trueleafs": [0, 1, 1, 1, 1],
        "nodes_falsenodeids": [2, 1, 3, 3, 5],
        "nodes_falseleafs": [0, 1, 0, 1, 1],
        "tree_roots": [0, 4],
        "n_targets": 2,
        "aggregate_function": 1,
        "post_transform": 0,
    }
    x = rows_of_features(rng, 4, 3, odd=0)
    return ClassicCase(model_of("TreeEnsemble", x.shape, {"y": TensorProto.FLOAT}, version=5, **named), x)


@pytest.mark.parametrize("kind", MAKERS)
def test_random_models_equal_onnx_runtime(kind: str) -> None:
    for seed in SEEDS:
        case = MAKERS[kind](np.random.default_rng(seed))
        assert_equal(outputs(case), expected(case))


@pytest.mark.sweep
@pytest.mark.parametrize("kind", MAKERS)
def test_many_random_models_equal_onnx_runtime(kind: str) -> None:
    for seed in range(len(SEEDS), 500):
        case = MAKERS[kind](np.random.default_rng(seed))
        assert_equal(outputs(case), expected(case))


def test_ensembles_of_version_5_equal_onnx_runtime() -> None:
    for seed in SEEDS:
        case = ensemble(np.random.default_rng(seed))
        assert_equal(outputs(case), expected(case))


def _compiled(model: onnx.ModelProto, path: Path) -> Compilation:
    """Without the comparison with ONNX Runtime, which is made above."""
    onnx.save(model, path)
    return compile_model(path, Target(core="host"), BuildOptions(name=path.stem, validate=Validate.OFF))


def test_trees_as_c_equal_the_reference(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    cases = [MAKERS["tree_regressor"](rng) for _ in SEEDS] + [ensemble(rng) for _ in range(3)]
    models = [_compiled(case.model, tmp_path / f"t{k}.onnx") for k, case in enumerate(cases)]
    results = outputs_of(models, [[{"x": case.x}] for case in cases])
    for case, (result,) in zip(cases, results, strict=True):
        np.testing.assert_array_equal(result, outputs(case)[0])


def test_integers_in_the_order_of_the_floats() -> None:
    values = np.array([-np.inf, -3.4e38, -1.0, -1e-45, 0.0, 1e-45, 1.0, np.inf], np.float32)
    numbers = [ordered(float(value)) for value in values]
    assert numbers == sorted(set(numbers))
    assert ordered(-0.0) == ordered(0.0)
    assert ordered(float("nan")) < numbers[0]


def string_classifier() -> onnx.ModelProto:
    case = MAKERS["tree_classifier"](np.random.default_rng(3))
    model = copy.deepcopy(case.model)
    node = model.graph.node[0]
    kept = [a for a in node.attribute if not a.name.startswith("classlabels")]
    count = 1 + max(next(helper.get_attribute_value(a) for a in node.attribute if a.name == "class_ids"))
    del node.attribute[:]
    node.attribute.extend(kept)
    names = [f"class {k}" for k in range(max(count, 2))]
    node.attribute.append(helper.make_attribute("classlabels_strings", names))
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING
    node.output[1] = "raw"
    zip_map = helper.make_node("ZipMap", ["raw"], ["scores"], domain=DOMAIN, classlabels_strings=names)
    model.graph.node.append(zip_map)
    kinds = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, ()))
    model.graph.output[1].type.CopyFrom(helper.make_sequence_type_proto(kinds))
    return model


def test_string_classes_are_numbers_with_a_table_of_names(tmp_path: Path) -> None:
    header = _compiled(string_classifier(), tmp_path / "classes.onnx").sources.files["include/classes_labels.h"]
    assert '"class 0",\n' in header
    assert "classes_output_label_label(int32_t number)" in header
    assert "classes_output_scores_class(const float *scores)" in header
    assert "classes_output_label_class" not in header


BROKEN: Mapping[str, tuple[dict[str, Any], str]] = {
    "cycle": ({"nodes_truenodeids": [0, 0, 0]}, "has nodes that no root leads to"),
    "no such node": ({"nodes_falsenodeids": [7, 0, 0]}, "has a tree of several roots"),
    "no such feature": ({"nodes_featureids": [9, 0, 0]}, "compares feature 9, but its input has 2"),
    "no such output": ({"target_ids": [0, 5]}, "an output that it lacks"),
    "no leaf": ({"target_nodeids": [0, 2]}, "weights for a node that is no leaf"),
    "lengths": ({"nodes_modes": ["BRANCH_LEQ", "LEAF"]}, "has 3 nodes"),
    "twice": ({"nodes_nodeids": [0, 1, 1]}, "two nodes of the same number"),
    "mode": ({"nodes_modes": ["BRANCH_X", "LEAF", "LEAF"]}, "BRANCH_X, which ONNX lacks"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_trees_are_refused_by_node(name: str) -> None:
    named: dict[str, Any] = {
        "n_targets": 1,
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [1.0, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
    }
    change, text = BROKEN[name]
    model = model_of("TreeEnsembleRegressor", (1, 2), {"y": TensorProto.FLOAT}, **(named | change))
    with pytest.raises(ModelError, match=rf"node 'classic'.*({text})"):
        to_tflite(model, "m.onnx", OnnxOptions())


@pytest.mark.parametrize("kind", MAKERS)
def test_damaged_attributes_are_refused_or_read(kind: str) -> None:
    """Whatever an attribute has: a located error, and nothing that is much larger than the file."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model, _ = with_class_numbers(damaged(MAKERS[kind](rng).model, rng))
        tracemalloc.start()
        try:
            with contextlib.suppress(ModelError):
                to_tflite(model, "m.onnx", OnnxOptions())
            assert tracemalloc.get_traced_memory()[1] < 2 * LARGEST_CONSTANT
        finally:
            tracemalloc.stop()
