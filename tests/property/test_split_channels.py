"""Random layers whose output channels are computed in groups: the same module, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_layers import convolution, dense, random_layers
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph import Module, Op, walk
from tflmgen.ir.well_formed import verify
from tflmgen.kernels import traits_of
from tflmgen.passes.channel_groups import GROUP, split_channels
from tflmgen.reference.module_interpreter import ModuleInterpreter

MODELS = 60


def operators(module: Module) -> list[Op]:
    return [node for f in module.functions for node in walk(f.body) if isinstance(node, Op)]


def widest(module: Module) -> int:
    weighted = [op for op in operators(module) if traits_of(op.operator).depth_axis is not None]
    return max((op.outputs[0].type.max_shape[-1] for op in weighted), default=0)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_groups_compute_the_same(dtype: str) -> None:
    rng, split_layers = np.random.default_rng(48), 0
    for number in range(MODELS):
        data, kind = random_layers(rng, dtype, (convolution, dense))
        module = import_model(parse_model(data, "m.tflite"))
        ids = [op.id for op in operators(module)]
        split = verify(split_channels(module, dict.fromkeys(ids, 2 + number % 3)), "split_channels")
        split_layers += sum(traits_of(op.operator).concatenates for op in operators(split))
        assert (split.functions != module.functions) == (widest(module) > GROUP)
        for _ in range(2):
            values = rng.normal(0, 40, kind.max_shape)
            inputs = [values.astype(kind.dtype.numpy)]
            wanted = ModuleInterpreter(module).invoke(module.signatures[0], inputs)
            got = ModuleInterpreter(split).invoke(split.signatures[0], inputs)
            assert [a.tobytes() for a in got] == [a.tobytes() for a in wanted], number
    assert split_layers > MODELS / 6


def test_only_named_layers_are_split() -> None:
    data, _ = random_layers(np.random.default_rng(1), "int8", (convolution, dense))
    module = import_model(parse_model(data, "m.tflite"))
    assert split_channels(module, {}).functions == module.functions
