"""Training of PyTorch programs: all parameters train, nothing else does, and three steps are those of torch's SGD."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.sampling import sampled
from support.trained_model import TrainedReference
from tflmgen.gradients import derive_training_model
from tflmgen.gradients.training_model import TrainingOptions
from tflmgen.gradients.update_step import StepOptions
from tflmgen.options import Loss, OptimizerName
from tflmgen.sources import read_source

torch = pytest.importorskip("torch", reason="PyTorch programs need the packages torch and onnxscript")
pytest.importorskip("onnxscript", reason="PyTorch programs need the packages torch and onnxscript")

from support.torch_trainable import TRAINABLE, reference  # noqa: E402

RATE, STEPS = 0.05, 3


def arrays_like(tensors: Any, rng: np.random.Generator) -> list[Any]:
    """Random inputs of the examples' shapes; integers are below 7."""
    return [
        rng.standard_normal(tuple(t.shape)).astype(np.float32) if t.is_floating_point() else rng.integers(0, 7, t.shape)
        for t in tensors
    ]


@pytest.mark.parametrize("name", sampled(list(TRAINABLE), 5))
def test_steps_equal_autograd(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, examples = TRAINABLE[name]()
    torch.export.save(torch.export.export(module.eval(), tuple(examples)), tmp_path / "net.pt2")
    model = read_source(tmp_path / "net.pt2", for_training=True)
    trained = derive_training_model(model, TrainingOptions(Loss.MSE, StepOptions(OptimizerName.SGD, RATE)))
    names = {name for weight in trained.weights for name in weight.tensor.parameters or ("",)}
    assert names == set(dict(module.named_parameters()))
    types = [model.subgraphs[0].tensors[tensor].dtype for tensor in model.subgraphs[0].inputs]
    exact, own = reference(name, module).double(), TrainedReference(trained)
    optimizer, rng = torch.optim.SGD(exact.parameters(), RATE), np.random.default_rng(0)
    for _ in range(STEPS):
        inputs = arrays_like(examples, rng)
        output = exact(
            *(torch.from_numpy(x).double() if x.dtype == np.float32 else torch.from_numpy(x) for x in inputs)
        )
        target = rng.standard_normal(tuple(output.shape)).astype(np.float32)
        loss = ((output - torch.from_numpy(target)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        operands = [x.astype(dtype.numpy) for x, dtype in zip(inputs, types, strict=True) if dtype is not None]
        np.testing.assert_allclose(own.run("train", [*operands, target]), loss.item(), rtol=2e-6)
