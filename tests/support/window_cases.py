"""Models whose windows slide, with three hops each, and series that compare pushes with whole windows.

Networks with random weights, windows of the weights of streaming wake words, and the corpus' models if they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Module, Port

from support import window_models as models
from support.corpus import CORPUS
from support.window_twin import window_twin

Arrays = tuple[NDArray[Any], ...]
Hops = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class WindowCase:
    """A model of whole windows.

    axis    of time, of each input that slides
    hops    rows per push; a hop that strides do not divide keeps phases
    inputs  that slide; empty: the first
    """

    name: str
    load: Callable[[], Module]
    hops: Hops
    axis: int = 1
    inputs: tuple[str, ...] = ()

    def slides(self, module: Module, hop: int) -> list[str]:
        """Values of --slide."""
        first = module.signatures[0].inputs[0].name
        return [f"{name}={self.axis},{hop}" for name in self.inputs or (first,)]


def built_cases() -> Iterator[WindowCase]:
    """Networks with random weights in three types, and some with control flow and several inputs."""
    for build, hops in _NETWORKS:
        for dtype in ("int8", "int16", "float32"):
            yield WindowCase(f"{build.__name__}-{dtype}", partial(_parsed, partial(build, dtype)), hops)
    yield WindowCase("branching", partial(_parsed, models.branching), (1, 2, 5), inputs=("x",))
    yield WindowCase("looping", partial(_parsed, models.looping), (1, 3, 4), inputs=("x",))
    yield WindowCase("two_windows", partial(_parsed, models.two_windows), (1, 2, 3), inputs=("left", "right"))


def corpus_cases() -> Iterator[WindowCase]:
    """Models of the corpus; none where it is absent."""
    files = {path.stem: path for path in CORPUS.glob("*/*.tflite")}
    for name, path in sorted(files.items()):
        if name.startswith("mww_") and "exposed" not in name:
            yield WindowCase(f"{name}, its twin", partial(_twin, path), (1, 2, 3))
    for name, (axis, hops) in _CORPUS.items():
        if name in files:
            yield WindowCase(name, partial(_read, files[name]), hops, axis, _INPUTS.get(name, ()))


def series(ports: Sequence[Port], count: int) -> tuple[list[Arrays], list[Arrays]]:
    """Pushes in order, and the whole windows that the last `count` of them complete.

    ports: the inputs of the model that slides; those that do not change from push to push.
    """
    rng = np.random.default_rng(7)
    pushes = max(port.pushes for port in ports) + count - 1
    pushed, windows = [], []
    for port in ports:
        shape = [*port.type.max_shape]
        if port.slide is None:
            pushed.append([_random(rng, port, shape) for _ in range(pushes)])
            windows.append(pushed[-1][-count:])
            continue
        axis, hop, rows = port.slide.axis, port.slide.hop, shape[port.slide.axis]
        shape[axis] = pushes * hop
        stream = _random(rng, port, shape)
        pushed.append(np.split(stream, pushes, axis))
        ends = [hop * (pushes - count + 1 + k) for k in range(count)]
        windows.append([np.take(stream, range(end - rows, end), axis) for end in ends])
    return [*zip(*pushed, strict=True)], [*zip(*windows, strict=True)]


def _random(rng: np.random.Generator, port: Port, shape: Sequence[int]) -> NDArray[Any]:
    """Floats and quantised numbers around 0; other integers are small, since they may count a loop."""
    dtype = port.type.dtype
    if dtype.is_float:
        return rng.normal(size=shape).astype(dtype.numpy)
    if port.type.quantization is not None:
        return (rng.normal(size=shape) * 60).clip(-128, 127).astype(dtype.numpy)
    return rng.integers(0, 2 if dtype.bits == 8 else 5, shape).astype(dtype.numpy)


def _parsed(build: Callable[[], bytes]) -> Module:
    return import_model(parse_model(build(), "m.tflite"))


def _read(path: Path) -> Module:
    return import_model(parse_model(path.read_bytes(), path.name))


def _twin(path: Path) -> Module:
    return window_twin(_read(path))


_NETWORKS: tuple[tuple[Callable[[str], bytes], Hops], ...] = (
    (models.ds_cnn, (1, 2, 5)),
    (models.tc_resnet, (1, 4, 12)),
    (models.valid_cnn, (1, 2, 3)),
    (models.averaging, (1, 2, 3)),
    (models.causal_tcn, (1, 3, 4)),
    (models.dilated_tcn, (1, 2, 7)),
    (models.accelerometer, (2, 8, 16)),
    (models.attention, (1, 2, 4)),
)

_CORPUS: dict[str, tuple[int, Hops]] = {
    "mlperf_kws_int8": (1, (1, 2, 4)),
    "tflm_micro_speech": (1, (40, 80, 160)),
    "stm32_miniresnetv2_1s": (1, (1, 4, 16)),
    "arduino_magic_wand": (1, (1, 2, 4)),
    "k2_tcn_f32": (1, (1, 2, 5)),
    "k2_tcn_i8io": (1, (1, 2, 5)),
    "k2_tcn_16x8io": (1, (1, 2, 5)),
    "k2_transformer_block_f32": (1, (1, 2, 3)),
    "k2_transformer_block_i8": (1, (1, 2, 3)),
    "k2_transformer_block_i8io": (1, (1, 2, 3)),
    "k2_gru_while_f32": (1, (1, 2, 3)),
    "k2_gru_while_drq": (1, (1, 2, 3)),
    "k3_lstm_while_f32g": (1, (1, 2, 3)),
    "k3_simplernn_while_f32g": (1, (1, 2, 3)),
    "torch_gru": (1, (1, 2, 3)),
    "torch_cnn": (2, (1, 2, 4)),
    "app_crnn_gru_kws_f32": (1, (1, 2, 4)),
    "app_crnn_gru_kws_drq": (1, (1, 2, 4)),
    "app_crnn_shift_gru_f32": (1, (1, 2, 4)),
    "app_crnn_shift_gru_i8": (1, (1, 2, 4)),
    "app_crnn_shift_gru_i8io": (1, (1, 2, 4)),
    "app_early_exit2_cnn_f32": (1, (1, 2, 4)),
    "app_early_exit2_cnn_i8io": (1, (1, 2, 4)),
    "if_heavy_then_i8": (1, (1, 2, 3)),
    "cnn_16x8_16x8io": (1, (1, 2, 4)),
    "cnn_16x8_drq": (1, (1, 2, 4)),
    "tinymaix_mnist_valid_f": (1, (1, 2, 4)),
    "tinymaix_mnist_valid_q": (1, (1, 2, 4)),
    "tinymaix_cifar10_q": (1, (1, 2, 4)),
}

_INPUTS = dict.fromkeys(("app_early_exit2_cnn_f32", "app_early_exit2_cnn_i8io"), ("x",))
"""Of models whose first input does not slide."""
