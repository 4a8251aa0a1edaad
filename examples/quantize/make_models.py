"""Trains four models with control flow and converts them to .tflite: what `tflmgen quantize` is tested with.

    pip install tensorflow-cpu scikit-learn aeon
    python examples/quantize/make_models.py [FOLDER]

digits_exit   a CNN on scikit-learn's digits that stops at a first classifier where that is sure (If)
digits_settle a network on the same digits whose state is iterated until it settles (While, ended by a comparison)
vowels_lstm   Keras 3 LSTM on JapaneseVowels: who of nine speakers says /ae/ (While over time)
motions_gru   Keras 3 GRU on BasicMotions: standing, walking, running or badminton (While over time)

For each it writes MODEL.tflite, MODEL_cal.npz (training samples, `x`) and MODEL_test.npz (`x`, `labels`).
Inputs are rounded to 1/16, as an ADC would, so that the committed files are small.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf
from aeon.datasets import load_classification
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

Array = NDArray[Any]
Split = tuple[Array, Array, Array, Array]

HERE = Path(__file__).resolve().parent
SEED = 7
CALIBRATION, MORE_CALIBRATION = 96, 384
"""Samples for calibration; more where a comparison ends a loop, so that one trip more or less shows."""
SURE = 0.9
"""Probability from which the first classifier's answer is taken."""
SETTLED = 0.05
"""Largest change of the state below which it counts as settled."""
MAX_STEPS = 30


def rounded(x: Array) -> Array:
    return (np.round(x * 16) / 16).astype(np.float32)


def digits() -> Split:
    """Training and test images 8x8x1 from 0 to 1, and their labels; every fourth image is for the test."""
    images, labels = load_digits(return_X_y=True)
    x, is_test = rounded(images.reshape(-1, 8, 8, 1) / 16), np.arange(len(images)) % 4 == 3
    return x[~is_test], labels[~is_test], x[is_test], labels[is_test]


def series(name: str, steps: int, every: int = 1) -> Split:
    """Time series [samples, steps, channels] of aeon, normalised by channel, zeros after their ends; and labels."""
    parts = []
    for part in ("train", "test"):
        x, labels = load_classification(name, split=part)
        padded = np.zeros((len(x), steps, x[0].shape[0]))
        for row, one in zip(padded, x, strict=True):
            values = one.T[::every][:steps]
            row[: len(values)] = values
        parts.append((padded, labels))
    (x, own), (tx, others) = parts
    mean, deviation = x.mean((0, 1)), x.std((0, 1))
    names = sorted(set(own))
    labels, tested = (np.array([names.index(label) for label in given]) for given in (own, others))
    return rounded((x - mean) / deviation), labels, rounded((tx - mean) / deviation), tested


def fit(model: Any, x: Array, labels: Array, epochs: int, rate: float = 3e-3) -> None:
    keras.utils.set_random_seed(SEED)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(rate), loss)
    model.fit(x, labels, epochs=epochs, batch_size=32, verbose=0)


def early_exit(data: Split) -> Any:
    """Function of one image: class probabilities, of the first classifier if it is sure, else of the second."""
    keras.utils.set_random_seed(SEED)
    shared = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Conv2D(8, 3, padding="same", activation="relu")])
    first = keras.Sequential([keras.layers.MaxPooling2D(4), keras.layers.Flatten(), keras.layers.Dense(10)])
    second = keras.Sequential(
        [
            keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(2),
            keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(2),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    )
    image = keras.Input((8, 8, 1))
    features = shared(image)
    both = keras.Model(image, [first(features), second(features)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    both.compile(keras.optimizers.Adam(3e-3), [loss, loss])
    both.fit(data[0], [data[1], data[1]], epochs=40, batch_size=32, verbose=0)

    def run(x: tf.Tensor) -> tf.Tensor:
        maps = shared(x)
        quick = tf.nn.softmax(first(maps))
        return tf.cond(tf.reduce_max(quick) > SURE, lambda: quick, lambda: tf.nn.softmax(second(maps)))

    return run


class Settling(keras.layers.Layer):
    """State after iterations of z = tanh(z W + x U + b), with W kept a contraction; unrolled while training."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.units = units

    def build(self, shape: tuple[int, ...]) -> None:
        self.w = self.add_weight(shape=(self.units, self.units), initializer="glorot_uniform", name="w")
        self.u = self.add_weight(shape=(shape[-1], self.units), initializer="glorot_uniform", name="u")
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", name="b")

    def contraction(self) -> Any:
        """W scaled so that no state's change grows: its rows' sums are at most 0.7."""
        return self.w * (0.7 / tf.maximum(tf.reduce_max(tf.reduce_sum(tf.abs(self.w), 0)), 0.7))

    def call(self, x: Any) -> Any:
        given, w = tf.matmul(x, self.u) + self.b, self.contraction()
        z = tf.zeros_like(given)
        for _ in range(12):
            z = tf.tanh(tf.matmul(z, w) + given)
        return z


def settling(data: Split) -> Any:
    """Function of one image, flattened: scores of the state after it has settled."""
    keras.utils.set_random_seed(SEED)
    layer, scores = Settling(24), keras.layers.Dense(10)
    model = keras.Sequential([keras.Input((64,)), layer, scores])
    fit(model, data[0].reshape(-1, 64), data[1], 60)
    w = layer.contraction().numpy()

    def run(x: tf.Tensor) -> tf.Tensor:
        given = tf.matmul(x, layer.u) + layer.b

        def change(z: tf.Tensor, last: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
            return tf.logical_and(tf.reduce_max(tf.abs(z - last)) > SETTLED, step < MAX_STEPS)

        def iterate(z: tf.Tensor, last: tf.Tensor, step: tf.Tensor) -> tuple[tf.Tensor, ...]:
            del last
            return tf.tanh(tf.matmul(z, w) + given), z, step + 1

        start = tf.zeros_like(given)
        z, _, _ = tf.while_loop(change, iterate, [tf.tanh(given), start, tf.constant(1)])
        return scores(z)

    return run


def recurrent(layer: Any, data: Split, classes: int, epochs: int) -> Any:
    """Function of one series: scores of a recurrent layer's last state."""
    keras.utils.set_random_seed(SEED)
    shape = data[0].shape[1:]
    fit(model := keras.Sequential([keras.Input(shape), layer, keras.layers.Dense(classes)]), *data[:2], epochs)
    return lambda x: model(x, training=False)


def write(folder: Path, name: str, run: Any, data: Split, samples: int = CALIBRATION) -> None:
    """Converts a function of one sample, and writes the model, calibration samples and test samples."""
    x, _, tx, labels = data
    spec = tf.TensorSpec((1, *x.shape[1:]), tf.float32, name="x")
    concrete = tf.function(run, input_signature=[spec]).get_concrete_function()
    frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    model = tf.lite.TFLiteConverter.from_concrete_functions([frozen]).convert()
    (folder / f"{name}.tflite").write_bytes(model)
    chosen = np.random.default_rng(SEED).permutation(len(x))[:samples]
    np.savez_compressed(folder / f"{name}_cal.npz", x=x[chosen])
    np.savez_compressed(folder / f"{name}_test.npz", x=tx, labels=labels.astype(np.int8))
    right = [int(np.argmax(concrete(tf.constant(one[None]))) == label) for one, label in zip(tx, labels, strict=True)]
    sizes = [(folder / f"{name}{end}").stat().st_size for end in (".tflite", "_cal.npz", "_test.npz")]
    print(f"{name}: {np.mean(right):.4f} of {len(tx)} right; bytes {sizes}", flush=True)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    images = digits()
    write(folder, "digits_exit", early_exit(images), images)
    flat = images[0].reshape(-1, 64), images[1], images[2].reshape(-1, 64), images[3]
    write(folder, "digits_settle", settling(flat), flat, MORE_CALIBRATION)
    vowels = series("JapaneseVowels", 24)
    lstm = recurrent(keras.layers.LSTM(24, unroll=False), vowels, 9, 60)
    write(folder, "vowels_lstm", lstm, tuple(part[:n] for part, n in zip(vowels, (None, None, 180, 180), strict=True)))
    motions = series("BasicMotions", 50, 2)
    write(folder, "motions_gru", recurrent(keras.layers.GRU(16, unroll=False), motions, 4, 80), motions)


if __name__ == "__main__":
    main()
