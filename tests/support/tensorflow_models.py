"""Functions that make models of TensorFlow and Keras; they run in the interpreter that has TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

layers = keras.layers


def _function(run: Callable[..., Any], *shapes: Sequence[int], dtypes: Sequence[Any] = ()) -> Any:
    types = [*dtypes, *[tf.float32] * (len(shapes) - len(dtypes))]
    return tf.function(run, input_signature=[tf.TensorSpec(s, d) for s, d in zip(shapes, types, strict=True)])


def product_of_inputs() -> Any:
    return _function(lambda x, w: tf.nn.relu(tf.matmul(x, w)), (2, 3), (3, 4))


def product_in_a_loop() -> Any:
    def run(x: Any, w: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, tf.nn.relu6(tf.matmul(v, w))), (0, x))[1]

    return _function(run, (2, 3), (3, 3))


def choice() -> Any:
    def run(i: Any, x: Any) -> Any:
        return tf.switch_case(i, [lambda: x + 1.0, lambda: x * 2.0, lambda: tf.tanh(x), lambda: x - 5.0])

    return _function(run, (), (4,), dtypes=[tf.int32])


def rows() -> Any:
    def run(x: Any) -> Any:
        return tf.scan(lambda a, b: a * 0.5 + b, x), tf.map_fn(lambda row: tf.tanh(row) * 2.0, x)

    return _function(run, (5, 3))


def checked_shape() -> Any:
    return _function(lambda x: tf.ensure_shape(tf.abs(x), (3,)) + 1.0, (3,))


def _recurrent(*stack: Any, shape: Sequence[int] = (5, 3), batch: int | None = 1) -> Any:
    keras.utils.set_random_seed(7)
    inputs = keras.Input(shape, batch_size=batch, name="frames")
    value = inputs
    for layer in stack:
        value = layer(value)
    return keras.Model(inputs, value)


def lstm() -> Any:
    return _recurrent(layers.LSTM(4))


def gru_rows() -> Any:
    return _recurrent(layers.GRU(4, return_sequences=True))


def gru_reset_before() -> Any:
    return _recurrent(layers.GRU(4, reset_after=False))


def simple_rnn() -> Any:
    return _recurrent(layers.SimpleRNN(4, return_sequences=True))


def bidirectional() -> Any:
    return _recurrent(layers.Bidirectional(layers.LSTM(3, return_sequences=True)), layers.Dense(2))


def conv_lstm() -> Any:
    return _recurrent(layers.ConvLSTM1D(2, 3, padding="same"), shape=(4, 6, 2))


def masked() -> Any:
    return _recurrent(layers.Masking(0.0), layers.LSTM(4))


def stateful_lstm() -> Any:
    return _recurrent(layers.LSTM(4, stateful=True))


class LeakyCell(layers.Layer):  # type: ignore[misc, name-defined]
    """A recurrent cell of our own: v' = v / 2 + tanh(dense(x))."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.state_size = self.units = units
        self.dense = layers.Dense(units, activation="tanh")

    def build(self, shape: Any) -> None:
        self.dense.build(shape)

    def call(self, x: Any, states: Any) -> Any:
        value = states[0] * 0.5 + self.dense(x)
        return value, [value]


def custom_cell() -> Any:
    return _recurrent(layers.RNN(LeakyCell(4), return_sequences=True))


def transformer_block() -> Any:
    keras.utils.set_random_seed(7)
    inputs = keras.Input((6, 8), batch_size=1, name="tokens")
    attended = layers.MultiHeadAttention(2, 4)(inputs, inputs)
    value = layers.LayerNormalization()(inputs + attended)
    return keras.Model(inputs, layers.LayerNormalization()(value + layers.Dense(8)(layers.Dense(16, "gelu")(value))))


def residual_net() -> Any:
    keras.utils.set_random_seed(7)
    inputs = keras.Input((16, 16, 3), batch_size=1, name="image")
    value = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(inputs)))
    for filters, stride in ((8, 1), (16, 2)):
        path = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(filters, 3, stride, "same")(value)))
        path = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same")(path))
        short = value if stride == 1 else layers.Conv2D(filters, 1, stride)(value)
        value = layers.ReLU()(layers.Add()([path, short]))
    return keras.Model(inputs, layers.Dense(4, "softmax")(layers.GlobalAveragePooling2D()(value)))


def separable_net() -> Any:
    """DS-CNN as in MLPerf Tiny's keyword spotting, with fewer channels."""
    keras.utils.set_random_seed(7)
    inputs = keras.Input((49, 10, 1), batch_size=1, name="spectrum")
    value = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, (10, 4), 2, "same")(inputs)))
    for _ in range(2):
        value = layers.ReLU()(layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(value)))
        value = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 1)(value)))
    return keras.Model(inputs, layers.Dense(12, "softmax")(layers.GlobalAveragePooling2D()(value)))


def mobilenet() -> Any:
    keras.utils.set_random_seed(7)
    return keras.applications.MobileNetV2((96, 96, 3), 0.35, weights=None, classes=2)


def save(path: str, name: str) -> None:
    """Saves a Keras model as a .keras or .h5 file, or as a SavedModel."""
    model = globals()[name]()
    if path.endswith((".keras", ".h5")):
        model.save(path)
    else:
        model.export(path, verbose=False)


if __name__ == "__main__":
    import sys

    for word in sys.argv[1:]:
        save(*reversed(word.split("=")))
