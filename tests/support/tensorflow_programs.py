"""Random programs of TensorFlow with nested branches and loops; it runs in the interpreter that has TensorFlow.

    python tensorflow_programs.py FOLDER SEED...       writes graph_SEED.pb, with control flow of version 1

`program(seed)` is the same kind of program as a tf.function, with control flow of version 2.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1
State = list[Any]
"""The program's variables: an array of floats or integers, a matrix of floats, an integer; all of fixed shapes."""


def _divided(t: Any, divisor: int) -> Any:
    """Rounded down; TFLite divides int32 only."""
    return tf.cast(tf.cast(t, tf.int32) // divisor, t.dtype)


class _Maker:
    """Makes one program: each statement takes the state and gives a new one."""

    def __init__(self, seed: int, version: int) -> None:
        self._random = random.Random(seed)
        self._version = version
        shape = self._random.choice(((3,), (2, 4), (1, 5), (2, 2, 3), (6,), ()))
        self.shapes = (shape, (self._random.randint(1, 4), self._random.randint(1, 4)), ())
        dtypes = random.Random(seed + 1)
        self.dtypes = (
            dtypes.choice((tf.float32, tf.float32, tf.int32, tf.int64)),
            tf.float32,
            dtypes.choice((tf.int32, tf.int32, tf.int64)),
        )

    def block(self, state: State, depth: int) -> State:
        """Some statements, one after another."""
        for _ in range(self._random.randint(1, 3)):
            state = self._statement(state, depth)
        return state

    def _statement(self, state: State, depth: int) -> State:
        kinds: list[Callable[[State, int], State]] = [self._arithmetic]
        if depth > 0:
            kinds += [self._branch, self._loop, self._choice, self._branch, self._loop]
            kinds += [self._rows] if self._version == 2 else [self._array]
        return self._random.choice(kinds)(state, depth - 1)

    def _arithmetic(self, state: State, _: int) -> State:
        x, w, n = state
        constant = round(self._random.uniform(-2, 2), 2)
        floats: Sequence[Callable[[Any], Any]] = (
            lambda t: tf.tanh(t) * constant,
            lambda t: t * 0.5 + constant,
            lambda t: tf.maximum(t, constant) - tf.minimum(t, -constant),
            lambda t: tf.abs(t) - tf.cast(n, tf.float32) * 0.25,
            lambda t: tf.nn.relu(t) * 0.75 + constant,
            lambda t: t * tf.sigmoid(tf.reduce_mean(t)),
            lambda t: tf.where(t > constant, t - 1.0, t * 0.25),
        )
        whole = int(constant * 4)
        integers: Sequence[Callable[[Any], Any]] = (
            lambda t: t + whole,
            lambda t: t * 2 - whole,
            lambda t: tf.maximum(t, whole) - tf.minimum(t, -whole),
            lambda t: tf.maximum(t, -t) - tf.cast(n, t.dtype),
            lambda t: -t,
            lambda t: _divided(t, 3),
            lambda t: tf.where(t > whole, t - 1, _divided(t, 4)),
        )
        kind = self._random.randrange(4)
        if kind == 0:
            return [self._random.choice(floats if self.dtypes[0] == tf.float32 else integers)(x), w, n]
        if kind == 1:
            return [x, self._random.choice(floats)(w), n]
        if kind == 2:
            product = tf.nn.relu(tf.matmul(tf.tanh(w), tf.tanh(w), transpose_b=True))
            return [x, tf.tanh(w) + 0.1 * tf.reduce_mean(product, 1, keepdims=True), n]
        return [x, w, self._random.choice((n + 1, n - 2, tf.minimum(n, 3) * 2, -n, _divided(n, 2)))]

    def _predicate(self, state: State) -> Any:
        x, w, n = tf.cast(state[0], tf.float32), *state[1:]
        bound = round(self._random.uniform(-2, 2), 2)
        return self._random.choice(
            (
                lambda: tf.reduce_sum(x) > bound,
                lambda: tf.reduce_max(w) < bound,
                lambda: n > round(bound),
                lambda: tf.logical_and(n < 4, tf.reduce_mean(x) > bound),
                lambda: tf.equal(n, 1),
            )
        )()

    def _branch(self, state: State, depth: int) -> State:
        sides = [self._frozen_block(depth) for _ in range(2)]
        if self._random.random() < 0.2:
            sides[1] = lambda rows: [tf.identity(t) for t in rows]
        return list(v1.cond(self._predicate(state), lambda: sides[0](state), lambda: sides[1](state)))

    def _choice(self, state: State, depth: int) -> State:
        sides = [self._frozen_block(depth) for _ in range(self._random.randint(2, 4))]
        if self._version == 2:
            return list(tf.switch_case(tf.cast(state[2], tf.int32), [lambda side=side: side(state) for side in sides]))
        pairs = [(self._predicate(state), lambda side=side: side(state)) for side in sides[1:]]
        return list(v1.case(pairs, default=lambda: sides[0](state)))

    def _loop(self, state: State, depth: int) -> State:
        body, trips = self._frozen_block(depth), self._random.choice((0, 1, 3, None))
        limit = tf.cast(tf.clip_by_value(state[2], 0, 4), tf.int32) if trips is None else trips
        alike = (self.shapes[0], self.dtypes[0]) == (self.shapes[1], self.dtypes[1])
        order = self._random.choice(((0, 1), (0, 1), (1, 0))) if alike else (0, 1)

        def step(i: Any, *variables: Any) -> Any:
            results = body(list(variables))
            return (i + 1, results[order[0]], results[order[1]], tf.clip_by_value(results[2], -9, 9))

        def proceeds(i: Any, *variables: Any) -> Any:
            near = tf.reduce_max(tf.abs(tf.cast(variables[0], tf.float32))) < 50.0
            return tf.logical_and(i < limit, near) if trips is None else i < limit

        return list(v1.while_loop(proceeds, step, [tf.constant(0), *state])[1:])

    def _rows(self, state: State, _: int) -> State:
        x, w, n = state
        if self._random.random() < 0.5:
            stacked = tf.scan(lambda a, row: a * 0.5 + row, w)
        else:
            stacked = tf.map_fn(lambda row: tf.tanh(row) + tf.reduce_sum(row), w)
        return [x, stacked, n]

    def _array(self, state: State, _: int) -> State:
        x, w, n = state
        count = self.shapes[1][0]
        rows = v1.TensorArray(tf.float32, count).unstack(w)
        written = v1.TensorArray(tf.float32, count, element_shape=self.shapes[1][1:])

        def step(i: Any, array: Any, total: Any) -> Any:
            row = rows.read(i) * 0.5 + total
            return i + 1, array.write(i, row), row

        start = tf.zeros(self.shapes[1][1:])
        _, written, _ = v1.while_loop(lambda i, *_: i < count, step, [tf.constant(0), written, start])
        return [x, tf.ensure_shape(written.stack(), self.shapes[1]), n]

    def _frozen_block(self, depth: int) -> Callable[[State], State]:
        """A block whose random choices are its own, however often TensorFlow traces it."""
        seed = self._random.randrange(1 << 30)

        def block(state: State) -> State:
            kept, self._random = self._random, random.Random(seed)
            try:
                results = self.block(state, depth)
            finally:
                self._random = kept
            return [tf.ensure_shape(t, s) for t, s in zip(results, self.shapes, strict=True)]

        return block


def program(seed: int) -> Any:
    """A random tf.function."""
    writer = _Maker(seed, 2)
    specs = [tf.TensorSpec(s, d) for s, d in zip(writer.shapes, writer.dtypes, strict=True)]
    body = writer._frozen_block(2)
    return tf.function(lambda x, w, n: tuple(body([x, w, n])), input_signature=specs)


def write_graph(seed: int, path: Path) -> None:
    """A random frozen graph with control flow of version 1."""
    writer, graph = _Maker(seed, 1), tf.Graph()
    v1.disable_control_flow_v2()
    with graph.as_default():
        state = [v1.placeholder(d, s, name) for d, s, name in zip(writer.dtypes, writer.shapes, "xwn", strict=True)]
        for name, tensor in zip("abc", writer._frozen_block(2)(state), strict=True):
            tf.identity(tensor, name)
    v1.enable_control_flow_v2()
    path.write_bytes(graph.as_graph_def().SerializeToString())


if __name__ == "__main__":
    for word in sys.argv[2:]:
        write_graph(int(word), Path(sys.argv[1]) / f"graph_{word}.pb")
