"""Trains ten small Keras models and compares tflmgen's int8 files with those of TensorFlow's own quantiser.

    pip install tensorflow-cpu scikit-learn tflmgen
    python examples/quantize/compare_with_tensorflow.py [--page] [--seed N] [FOLDER]

Both get the same float weights and the same calibration samples: images of scikit-learn's digits. TensorFlow quantises
with TFLiteConverter, a representative dataset and TFLITE_BUILTINS_INT8. Both files run with the arithmetic of TFLite
Micro, on test samples that neither has seen; the figure is the signal-to-quantisation-noise ratio (SQNR) of the output
against the float model. FOLDER keeps the files; models that are there are not trained again. --page puts the table into
docs/use/quantize.md. --seed has other weights and another division of the images. It takes about five minutes.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from tflmgen.frontend.tflite import read_model
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.options import QuantizeOptions
from tflmgen.quantize import compare_runs, observed_build, quantize_file, run_sets

Array = NDArray[Any]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "use" / "quantize.md"
TITLES = "| Model | TensorFlow, dB |"

SEED = 7
CALIBRATION, TEST = 200, 500
"""Samples of each part; calibration samples are the first ones of the training data."""


def normalised(x: Any, activation: str | None = "relu") -> Any:
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def convolved(x: Any, channels: int, size: int = 3, stride: int = 1, activation: str | None = "relu") -> Any:
    x = layers.Conv2D(channels, size, stride, padding="same", use_bias=False)(x)
    return normalised(x, activation)


def separable(x: Any, channels: int, stride: int = 1, activation: str = "relu") -> Any:
    """Depthwise and pointwise convolution, as in DS-CNN and MobileNet."""
    x = normalised(layers.DepthwiseConv2D(3, stride, padding="same", use_bias=False)(x), activation)
    return convolved(x, channels, 1, 1, activation)


def inverted_residual(x: Any, channels: int, stride: int = 1) -> Any:
    """MobileNetV2's block: expansion by 4, depthwise convolution, linear bottleneck."""
    y = convolved(x, 4 * x.shape[-1], 1, 1, "relu6")
    y = normalised(layers.DepthwiseConv2D(3, stride, padding="same", use_bias=False)(y), "relu6")
    y = convolved(y, channels, 1, 1, None)
    return layers.Add()([x, y]) if stride == 1 and x.shape[-1] == channels else y


def residual(x: Any, channels: int, stride: int = 1) -> Any:
    """ResNet's basic block."""
    y = convolved(convolved(x, channels, 3, stride), channels, 3, 1, None)
    short = x if stride == 1 and x.shape[-1] == channels else convolved(x, channels, 1, stride, None)
    return layers.ReLU()(layers.Add()([short, y]))


def classified(x: Any, activation: str | None = None) -> Any:
    """Ten logits, or probabilities."""
    return layers.Dense(10, activation)(layers.GlobalAveragePooling2D()(x))


def cnn(x: Any) -> Any:
    x = layers.MaxPooling2D()(layers.Conv2D(12, 3, activation="relu", padding="same")(x))
    x = layers.MaxPooling2D()(layers.Conv2D(24, 3, activation="relu", padding="same")(x))
    return layers.Dense(10, "softmax")(layers.Dense(32, "relu")(layers.Flatten()(x)))


def ds_cnn(x: Any) -> Any:
    x = convolved(x, 24, 3, 2)
    for _ in range(3):
        x = separable(x, 24)
    return classified(x, "softmax")


def mobilenet(x: Any) -> Any:
    x = convolved(x, 8, 3, 1, "relu6")
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2)):
        x = separable(x, channels, stride, "relu6")
    return classified(x)


def mobilenet_v2(x: Any) -> Any:
    x = convolved(x, 12, 3, 1, "relu6")
    for channels, stride in ((12, 1), (16, 2), (16, 1), (24, 2), (24, 1)):
        x = inverted_residual(x, channels, stride)
    return classified(convolved(x, 64, 1, 1, "relu6"))


def resnet(x: Any) -> Any:
    x = convolved(x, 12)
    for channels, stride in ((12, 1), (24, 2), (24, 1), (48, 2)):
        x = residual(x, channels, stride)
    return classified(x)


def squeeze_excite(x: Any) -> Any:
    for channels in (16, 24):
        x = convolved(x, channels, 3, 2)
        gate = layers.Dense(channels // 4, "relu")(layers.GlobalAveragePooling2D()(x))
        gate = layers.Dense(channels, "sigmoid")(gate)
        x = layers.Multiply()([x, layers.Reshape((1, 1, channels))(gate)])
    return classified(x)


def densenet(x: Any) -> Any:
    x = convolved(x, 12, 3, 2)
    for _ in range(3):
        x = layers.Concatenate()([x, convolved(x, 8)])
    return classified(x)


def mlp(x: Any) -> Any:
    return layers.Dense(10)(layers.Dense(48, "tanh")(layers.Dense(64, "tanh")(layers.Flatten()(x))))


def mlp_autoencoder(x: Any) -> Any:
    """MLPerf Tiny's anomaly detector, smaller: dense layers with batch normalisation through a bottleneck."""
    x = layers.Flatten()(x)
    for units in (64, 64, 8, 64, 64):
        x = normalised(layers.Dense(units)(x))
    return layers.Dense(64)(x)


def conv1d(x: Any) -> Any:
    x = layers.Reshape((8, 8))(x)
    for channels in (24, 32):
        x = layers.Conv1D(channels, 3, activation="relu", padding="same")(x)
    return layers.Dense(10, "softmax")(layers.GlobalMaxPooling1D()(x))


MODELS: dict[str, Callable[[Any], Any]] = {
    "CNN": cnn,
    "DS-CNN": ds_cnn,
    "MobileNet": mobilenet,
    "MobileNetV2": mobilenet_v2,
    "ResNet": resnet,
    "squeeze and excitation": squeeze_excite,
    "DenseNet": densenet,
    "MLP with TANH": mlp,
    "MLP autoencoder": mlp_autoencoder,
    "1-D convolutions": conv1d,
}


def digits(seed: int) -> tuple[Array, Array, Array]:
    """Training images 8x8x1 from 0 to 1, their labels, and test images."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(images))
    x, y = images[order].reshape(-1, 8, 8, 1).astype(np.float32) / 16, labels[order]
    return x[:-TEST], y[:-TEST], x[-TEST:]


def trained(name: str, x: Array, labels: Array, seed: int) -> Any:
    keras.utils.set_random_seed(seed)
    image = keras.Input(x.shape[1:], batch_size=1)
    model = keras.Model(image, MODELS[name](image))
    trainable = keras.Model(free := keras.Input(x.shape[1:]), MODELS[name](free))
    if name == "MLP autoencoder":
        trainable.compile("adam", "mse")
        trainable.fit(x, x.reshape(len(x), -1), epochs=12, batch_size=32, verbose=0)
    else:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=model.layers[-1].activation.__name__ != "softmax")
        trainable.compile("adam", loss)
        trainable.fit(x, labels, epochs=12, batch_size=32, verbose=0)
    model.set_weights(trainable.get_weights())
    return model


def converted(model: Any, calibration: Array) -> tuple[bytes, bytes]:
    """The float file, and TensorFlow's int8 file with float inputs and outputs."""
    plain = tf.lite.TFLiteConverter.from_keras_model(model).convert()
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([one[None]] for one in calibration)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    return plain, converter.convert()


def compared(name: str, folder: Path, images: tuple[Array, Array, Array], seed: int) -> tuple[float, float, str]:
    """SQNR in dB of TensorFlow's file and of ours on the test images, and what ours owes its figure to."""
    x, labels, test = images
    path, peer, samples = (folder / f"{name.replace(' ', '_')}{end}" for end in (".tflite", "_tf.tflite", ".npz"))
    if not (path.exists() and peer.exists()):
        with redirect_stdout(io.StringIO()):
            files = converted(trained(name, x, labels, seed), x[:CALIBRATION])
        for file, data in zip((path, peer), files, strict=True):
            file.write_bytes(data)
    vectors = Vectors(tuple(VectorSet("", 0, (image[None],)) for image in test))
    with observed_build(read_model(path)) as build:
        np.savez(samples, **{build.signatures[0].inputs[0].name: x[:CALIBRATION]})
        made = quantize_file(path, samples, QuantizeOptions(), None, lambda *_: None)
        reference = run_sets(build, vectors)
        figures = []
        for model in (read_model(peer), made.quantized.model):
            with observed_build(model) as quantized:
                figures.append(compare_runs(build, vectors, reference, run_sets(quantized, vectors), model).sqnr_db)
    return figures[0], figures[1], ", ".join(t.measure.removeprefix("ranges by ") for t in made.trials if t.is_used)


def rows(folder: Path, seed: int) -> Iterator[str]:
    images = digits(seed)
    gains = []
    yield f"{TITLES} tflmgen, dB | gain, dB | measures used |"
    yield "|---|--:|--:|--:|---|"
    for name in MODELS:
        peer, own, measures = compared(name, folder, images, seed)
        gains.append(own - peer)
        yield f"| {name} | {peer:.1f} | {own:.1f} | {own - peer:+.1f} | {measures} |"
    yield f"| mean | | | {np.mean(gains):+.1f} | |"


def put_into_page(table: list[str]) -> None:
    """Replaces the page's table by this one."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(TITLES))
    end = next(number for number in range(first, len(lines)) if not lines[number].startswith("|"))
    PAGE.write_text("\n".join([*lines[:first], *table, *lines[end:], ""]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--seed", type=int, default=SEED)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = words.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        table = []
        for row in rows(folder, words.seed):
            print(row, flush=True)
            table.append(row)
        if words.page:
            put_into_page(table)


if __name__ == "__main__":
    main()
