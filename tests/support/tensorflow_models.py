"""Functions that make models of TensorFlow and Keras; they run in the interpreter that has TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

layers = keras.layers


def _function(run: Callable[..., Any], *shapes: Sequence[int], dtypes: Sequence[Any] = ()) -> Any:
    types = [*dtypes, *[tf.float32] * (len(shapes) - len(dtypes))]
    return tf.function(run, input_signature=[tf.TensorSpec(s, d) for s, d in zip(shapes, types, strict=True)])


def python_in_a_layer() -> Any:
    x = keras.Input((3,))
    return keras.Model(x, layers.Lambda(lambda v: v * 2.0)(x))


def layer_without_arguments() -> Any:
    """A layer that Keras builds, and that raises an error when it is called."""
    x = keras.Input((3,))
    return keras.Model(x, layers.Activation("threshold")(x))


def angles() -> Any:
    """Operands of two shapes, which TensorFlow's converter refuses, in branches."""

    def run(x: Any, y: Any) -> Any:
        return tf.cond(x[0, 0] > 0.0, lambda: tf.math.atan2(x, y), lambda: tf.math.atan2(y, x) * 2.0)

    return _function(run, (3, 1), (4,))


def product_of_inputs() -> Any:
    return _function(lambda x, w: tf.nn.relu(tf.matmul(x, w)), (2, 3), (3, 4))


def product_in_a_loop() -> Any:
    def run(x: Any, w: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, tf.nn.relu6(tf.matmul(v, w))), (0, x))[1]

    return _function(run, (2, 3), (3, 3))


def named_results() -> Any:
    """A dictionary whose keys are not in the order of the alphabet."""
    return _function(lambda x: {"y": x * 2.0, "count": tf.reduce_sum(x)}, (3,))


def named_keras_results() -> Any:
    """The same of a Keras model, whose layers have other names."""
    inputs = keras.Input((3,), batch_size=1)
    outputs = {"y": layers.Dense(2, name="a")(inputs), "count": layers.Dense(1, name="b")(inputs)}
    return keras.Model(inputs, outputs)


def sequential() -> Any:
    """A model that Keras makes of a list of layers."""
    return keras.Sequential([keras.Input((3,), batch_size=1), layers.Dense(2, name="head")])


class Subclass(keras.Model):  # type: ignore[misc]
    """A Keras model that is no graph of layers: what its inputs are is known to its callers only."""

    def call(self, x: Any) -> Any:
        return x * 2.0


def unknown_function() -> Any:
    """What is no function of TensorFlow raises an AttributeError where it is traced."""
    return _function(lambda x: tf.math.no_such_function(x), (3,))


def growing_variable() -> Any:
    """TensorFlow refuses it: a variable of a loop changes its shape."""

    def run(x: Any) -> Any:
        return tf.while_loop(lambda v: tf.size(v) < 9, lambda v: [tf.concat([v, v], 0)], [x])

    return _function(run, (3,))


def choice() -> Any:
    def run(i: Any, x: Any) -> Any:
        return tf.switch_case(i, [lambda: x + 1.0, lambda: x * 2.0, lambda: tf.tanh(x), lambda: x - 5.0])

    return _function(run, (), (4,), dtypes=[tf.int32])


def _body(run: Callable[..., Any], *specs: Any) -> Any:
    """A branch or a loop's body, for operations that take functions."""
    return tf.function(run, autograph=False).get_concrete_function(*specs)


def _counted(bounds: Callable[[Any], Sequence[Any]]) -> Any:
    """A For from, to and by what `bounds` makes of an input."""

    def run(n: Any, x: Any) -> Any:
        start, limit, delta = bounds(n)
        body = _body(lambda i, v: v * 0.5 + tf.cast(i, tf.float32), tf.TensorSpec((), tf.int32), tf.TensorSpec((3,)))
        return tf.raw_ops.For(start=start, limit=limit, delta=delta, input=[x], body=body)[0] * 2.0

    return _function(run, (), (3,), dtypes=[tf.int32])


def counted_up() -> Any:
    return _counted(lambda n: (0, tf.abs(n) % 8, 2))


def counted_down() -> Any:
    return _counted(lambda n: (tf.abs(n) % 8, 0, -1))


def counted_up_or_down() -> Any:
    return _counted(lambda n: (0, n % 8 - 4, tf.where(n % 8 < 4, -1, 2)))


def range_loop() -> Any:
    def run(n: Any, x: Any) -> Any:
        for i in tf.range(n):
            x = x * 0.5 + tf.cast(i, tf.float32)
        return x

    return _function(run, (), (3,), dtypes=[tf.int32])


def choice_by_number() -> Any:
    def run(n: Any, x: Any) -> Any:
        row = tf.TensorSpec((3,))
        then, otherwise = _body(lambda v: v * 2.0, row), _body(lambda v: v - 1.0, row)
        counted = tf.raw_ops.If(cond=n % 3, input=[x], Tout=[tf.float32], then_branch=then, else_branch=otherwise)
        return tf.raw_ops.StatelessIf(
            cond=x[0], input=counted, Tout=[tf.float32], then_branch=otherwise, else_branch=then
        )[0]

    return _function(run, (), (3,), dtypes=[tf.int32])


def stateless() -> Any:
    """StatelessIf and StatelessWhile by their own names."""

    def run(n: Any, x: Any) -> Any:
        count, row = tf.TensorSpec((), tf.int32), tf.TensorSpec((3,))
        then, otherwise = _body(lambda v: v * 2.0, row), _body(lambda v: v - 1.0, row)
        chosen = tf.raw_ops.StatelessIf(
            cond=n > 2, input=[x], Tout=[tf.float32], then_branch=then, else_branch=otherwise
        )
        proceeds = _body(lambda k, _: k < 5, count, row)
        step = _body(lambda k, v: (k + 1, v * 0.5 + 1.0), count, row)
        return tf.raw_ops.StatelessWhile(input=[n % 9, *chosen], cond=proceeds, body=step)[1]

    return _function(run, (), (3,), dtypes=[tf.int32])


class Calls(tf.Module):  # type: ignore[misc]
    """Calls by both operations; a branch, and a loop in another, capture a variable that nothing changes."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = tf.Variable([1.0, 2.0, 3.0])
        self.halved = _body(lambda v: v * 0.5, tf.TensorSpec((3,)))

    @tf.function  # type: ignore[untyped-decorator]
    def stepped(self, x: Any) -> Any:
        step = lambda i, v: (i + 1, tf.tanh(v) * self.scale)  # noqa: E731
        return tf.while_loop(lambda i, _: i < 3, step, [0, x])[1]

    @tf.function(input_signature=[tf.TensorSpec((3,))])  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        called = tf.raw_ops.PartitionedCall(args=[x], Tout=[tf.float32], f=self.halved)[0]
        called = tf.raw_ops.StatefulPartitionedCall(args=[called + 1.0], Tout=[tf.float32], f=self.halved)[0]
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: self.stepped(called), lambda: called * self.scale)


def calls() -> Any:
    return Calls()


class Counter(tf.Module):  # type: ignore[misc]
    """Variables that branches read and change."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = tf.Variable([1.0, 2.0, 3.0])
        self.count = tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec((3,))])  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        def grown() -> Any:
            self.count.assign_add(1)
            return x * self.scale

        def halved() -> Any:
            self.scale.assign(self.scale * 0.5)
            return x + self.scale

        return tf.cond(tf.reduce_sum(x) > 0.0, grown, halved), self.count.read_value()


def variables_in_branches() -> Any:
    return Counter()


class Shared(tf.Module):  # type: ignore[misc]
    """Two signatures: one changes a variable that the other reads."""

    def __init__(self) -> None:
        super().__init__()
        self.total = tf.Variable([0.0, 0.0])
        self.weights = tf.Variable([[1.0, 2.0], [3.0, -4.0]])

    @tf.function(input_signature=[tf.TensorSpec((2,))])  # type: ignore[untyped-decorator]
    def add(self, x: Any) -> Any:
        self.total.assign_add(x)
        return {"total": self.total.read_value()}

    @tf.function(input_signature=[tf.TensorSpec((1, 2))])  # type: ignore[untyped-decorator]
    def read(self, v: Any) -> Any:
        return {"y": tf.matmul(v, self.weights) + self.total}


def signatures() -> Any:
    return Shared()


def embedding_layer() -> Any:
    inputs = keras.Input((4,), batch_size=1, dtype="int32", name="ids")
    return keras.Model(inputs, layers.Embedding(5, 3)(inputs % 5))


def layer_norm() -> Any:
    inputs = keras.Input((4, 6), batch_size=1, name="tokens")
    return keras.Model(inputs, layers.LayerNormalization()(inputs))


def rows() -> Any:
    def run(x: Any) -> Any:
        return tf.scan(lambda a, b: a * 0.5 + b, x), tf.map_fn(lambda row: tf.tanh(row) * 2.0, x)

    return _function(run, (5, 3))


def checked_shape() -> Any:
    """A check of a shape that TensorFlow does not know: of what a loop makes longer."""

    def run(x: Any) -> Any:
        shapes = [tf.TensorShape([]), tf.TensorShape([None])]
        longer = tf.while_loop(lambda i, _: i < 4, lambda i, v: (i + 1, tf.concat([v, x], 0)), [0, x], shapes)[1]
        return tf.ensure_shape(longer, (15,)) + 1.0

    return _function(run, (3,))


def _recurrent(*stack: Any, shape: Sequence[int] = (5, 3), batch: int | None = 1) -> Any:
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

    def __init__(self, units: int, **settings: Any) -> None:
        super().__init__(**settings)
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
    inputs = keras.Input((6, 8), batch_size=1, name="tokens")
    attended = layers.MultiHeadAttention(2, 4)(inputs, inputs)
    value = layers.LayerNormalization()(inputs + attended)
    return keras.Model(inputs, layers.LayerNormalization()(value + layers.Dense(8)(layers.Dense(16, "gelu")(value))))


def _normalized(model: Any) -> Any:
    """The model with normalisations that fit random images: else its activations vanish layer by layer."""
    normalizations = [layer for layer in model.layers if isinstance(layer, layers.BatchNormalization)]
    for layer in normalizations:
        layer.momentum = 0.0
    images = np.random.default_rng(7).normal(size=(16, *model.inputs[0].shape[1:])).astype(np.float32)
    model(images, training=True)
    for layer in normalizations:
        layer.momentum = 0.99
    return model


def residual_net() -> Any:
    inputs = keras.Input((16, 16, 3), name="image")
    value = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(inputs)))
    for filters, stride in ((8, 1), (16, 2)):
        path = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(filters, 3, stride, "same")(value)))
        path = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same")(path))
        short = value if stride == 1 else layers.Conv2D(filters, 1, stride)(value)
        value = layers.ReLU()(layers.Add()([path, short]))
    return _normalized(keras.Model(inputs, layers.Dense(4, "softmax")(layers.GlobalAveragePooling2D()(value))))


def separable_net() -> Any:
    """DS-CNN as in MLPerf Tiny's keyword spotting, with fewer channels."""
    inputs = keras.Input((49, 10, 1), name="spectrum")
    value = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, (10, 4), 2, "same")(inputs)))
    for _ in range(2):
        value = layers.ReLU()(layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(value)))
        value = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 1)(value)))
    return _normalized(keras.Model(inputs, layers.Dense(12, "softmax")(layers.GlobalAveragePooling2D()(value))))


def mobilenet() -> Any:
    return _normalized(keras.applications.MobileNetV2((96, 96, 3), 0.35, weights=None, classes=2))


def save(path: str, name: str) -> None:
    """Saves a Keras model as a .keras or .h5 file, or as a SavedModel."""
    keras.utils.set_random_seed(7)
    model = globals()[name]()
    if path.endswith((".keras", ".h5")):
        model.save(path)
    elif isinstance(model, Shared):
        tf.saved_model.save(model, path, signatures={"add": model.add, "read": model.read})
    else:
        model.export(path, verbose=False)


if __name__ == "__main__":
    import sys

    for word in sys.argv[1:]:
        save(*reversed(word.split("=")))
