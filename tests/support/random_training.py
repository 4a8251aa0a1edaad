"""Random training steps whose gradients TensorFlow derives, for TensorFlow's Python: `seed_17` is a tf.function.

Layers, activations, branches, choices by number, loops, maps and scans, nested to any depth, with shared weights.
"""

# mypy: ignore-errors
import numpy as np
import tensorflow as tf

WIDTH = 3
DEPTH = 2
"""Branches and loops within one another at most."""


class Steps:
    """Functions of rows [batch, WIDTH], chosen by a seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.weights = []
        self.rows = int(self.rng.integers(1, 3))

    def weight(self, *shape):
        """A variable: one of its shape that there is, now and then, else a new one."""
        known = [weight for weight in self.weights if tuple(weight.shape) == shape]
        if known and self.rng.random() < 0.25:
            return known[int(self.rng.integers(len(known)))]
        self.weights.append(tf.Variable(self.rng.normal(0, 0.7, shape).astype(np.float32)))
        return self.weights[-1]

    def chain(self, depth, longest=3):
        """Some steps one after another."""
        kinds = [self.dense, self.activation, self.residual, self.scaled, self.normalised, self.sliced]
        kinds += 2 * [self.branch, self.choice, self.loop, self.mapped, self.scanned, self.until] if depth else []
        chosen = [int(self.rng.integers(len(kinds))) for _ in range(self.rng.integers(1, longest + 1))]
        steps = [kinds[k](depth - 1) for k in chosen]

        def run(x):
            for step in steps:
                x = step(x)
            return x

        return run

    def dense(self, _):
        weight, bias = self.weight(WIDTH, WIDTH), self.weight(WIDTH)
        return lambda x: tf.matmul(x, weight) + bias

    def activation(self, _):
        functions = [tf.tanh, tf.nn.relu, tf.sigmoid, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign, tf.abs]
        functions += [tf.nn.relu6, tf.nn.leaky_relu, tf.nn.softmax, tf.sin, lambda x: tf.square(x) * 0.3]
        functions += [lambda x: tf.sqrt(1.0 + x * x), lambda x: tf.exp(-tf.abs(x)), lambda x: tf.nn.gelu(x, True)]
        return functions[int(self.rng.integers(len(functions)))]

    def residual(self, _):
        dense = self.dense(0)
        return lambda x: x + tf.tanh(dense(x))

    def scaled(self, _):
        scale = self.weight(WIDTH)
        return [lambda x: x * scale, lambda x: x - scale, lambda x: x / (1.0 + tf.square(scale))][self.rng.integers(3)]

    def normalised(self, _):
        return lambda x: (
            (x - tf.reduce_mean(x, -1, keepdims=True))
            * tf.math.rsqrt(tf.math.reduce_variance(x, -1, keepdims=True) + 0.1)
        )

    def sliced(self, _):
        def run(x):
            parts = tf.split(x, [1, 2], -1)
            return tf.concat([parts[1][:, ::-1], tf.reduce_max(x, -1, keepdims=True) - parts[0]], -1)

        return run

    def branch(self, depth):
        then, other, limit = self.chain(depth), self.chain(depth), float(self.rng.normal(0, 0.5))
        return lambda x: tf.cond(tf.reduce_sum(x) > limit, lambda: then(x), lambda: other(x))

    def choice(self, depth):
        branches = [self.chain(depth, 2) for _ in range(self.rng.integers(2, 5))]
        return lambda x: tf.switch_case(
            tf.cast(tf.abs(3.0 * x[0, 0]), tf.int32), [lambda branch=branch: branch(x) for branch in branches]
        )

    def loop(self, depth):
        body, trips = self.chain(depth, 2), int(self.rng.integers(0, 4))
        return lambda x: tf.while_loop(lambda i, _: i < trips, lambda i, h: (i + 1, _bounded(body(h))), (0, x))[1]

    def until(self, depth):
        body = self.chain(depth, 2)
        return lambda x: tf.while_loop(
            lambda h: tf.reduce_sum(tf.abs(h)) > 1.0, lambda h: (0.5 * _bounded(body(h)),), (x,), maximum_iterations=3
        )[0]

    def mapped(self, depth):
        body = self.chain(depth, 2)
        return lambda x: tf.map_fn(lambda row: body(row[None])[0], x)

    def scanned(self, depth):
        body = self.chain(depth, 2)
        return lambda x: tf.scan(lambda h, row: _bounded(body(h)) + row, x, tf.zeros(WIDTH)[None])[:, 0]


def _bounded(x):
    """Values that no loop makes large."""
    return tf.clip_by_value(x, -3.0, 3.0)


def training_step(seed):
    """x -> loss, and the gradients by all weights; every other one changes these, too."""
    steps = Steps(seed)
    model, head, updates = steps.chain(DEPTH, 4), steps.dense(0), seed % 2 == 1

    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(head(model(_bounded(x))) - 0.5))
        gradients = tape.gradient(loss, steps.weights, unconnected_gradients="zero")
        for weight, gradient in zip(steps.weights, gradients, strict=True):
            if updates:
                weight.assign_sub(0.05 * gradient)
        return {"loss": loss, **{f"gradient_{k:02}": tf.identity(g) for k, g in enumerate(gradients)}}

    return tf.function(train, input_signature=[tf.TensorSpec((steps.rows, WIDTH), tf.float32)], autograph=False)


def __getattr__(name):
    if name.startswith("seed_"):
        return training_step(int(name.removeprefix("seed_")))
    raise AttributeError(name)
