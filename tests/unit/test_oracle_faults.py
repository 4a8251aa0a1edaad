"""TFLite Micro is no reference for operators that meet a known fault of its kernels, and is one for all others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.case_models import model_bytes
from support.kernel_harness import make_case, tensor
from tflmgen.compare.oracle import OracleError, tflm_outputs
from tflmgen.input_sets import VectorSet

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
X = np.array([-128, 0, 60, 127], np.int8)


def relu6(folder: Path, scale: float) -> np.ndarray:
    """TFLite Micro's outputs of RELU6, from scale 0.1 to another."""
    path = folder / "relu6.tflite"
    path.write_bytes(model_bytes(make_case("RELU6", [tensor("int8", (4,), 0.1)], [tensor("int8", (), scale)])))
    ((output,),) = tflm_outputs(path, [VectorSet("", 0, (X,))], 1 << 16, 60)
    return output


def test_relu6_of_one_scale(tmp_path: Path) -> None:
    np.testing.assert_array_equal(relu6(tmp_path, 0.1), np.clip(X, 0, 60))


def test_relu6_to_another_scale(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match="whatever scale the output has"):
        relu6(tmp_path, 0.05)
