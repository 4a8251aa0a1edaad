"""Random functions of all that TensorFlow computes, for TensorFlow's Python: `seed_17` is a tf.function.

A function of x [rows, WIDTH] and n, an integer, is a chain of steps. Some keep the shape, some have chains of their own
(branches, loops, maps, scans, arrays), and some take rows whose number is known at run time through a chain of such.
"""

# mypy: ignore-errors
import numpy as np
import tensorflow as tf
from random_row_functions import RowSteps

WIDTH = 3
DEPTH = 2
"""Branches, loops and rows within one another at most."""


def bounded(x):
    """Finite values that no loop makes large."""
    return tf.clip_by_value(x, -4.0, 4.0)


def number_of(x):
    """An integer that data decide, -4 to 4."""
    return tf.cast(tf.round(bounded(tf.reduce_sum(x))), tf.int32)


class Functions:
    """Functions of (x, n), chosen by a seed; n is the same in all of a function."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.rows = int(self.rng.integers(1, 5))
        self.row_steps = RowSteps(self, WIDTH)

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def constant(self, *shape):
        return self.rng.normal(0, 0.7, shape).astype(np.float32)

    def chain(self, depth, rows, longest=3):
        """Some steps one after another, x [rows, WIDTH] -> the same shape."""
        plain = [self.element, self.product, self.order, self.whole, self.segments, self.update, self.solved]
        flow = [self.branch, self.choice, self.loop, self.until, self.mapped, self.mapped_pair, self.scanned]
        flow += [self.folded, self.array, self.elements, self.some_rows, self.some_rows]
        kinds = plain + flow if depth else plain
        steps = [self.pick(kinds)(depth - 1, rows) for _ in range(int(self.rng.integers(1, longest + 1)))]

        def run(x, n):
            for step in steps:
                x = tf.ensure_shape(bounded(step(x, n)), (rows, WIDTH))
            return x

        return run

    def element(self, *_):
        scale = self.constant(WIDTH)
        return self.pick(
            [
                lambda x, _: tf.tanh(x) + scale,
                lambda x, n: x * scale - tf.cast(n, tf.float32) * 0.25,
                lambda x, _: tf.where(x > scale, x, tf.math.erf(x)),
                lambda x, _: tf.math.divide_no_nan(x, tf.nn.relu(x - scale)),
                lambda x, _: tf.atan2(x, np.abs(scale) + 0.1) + tf.math.expm1(-tf.abs(x)),
                lambda x, _: tf.math.log1p(tf.abs(x)) * tf.sign(x),
                lambda x, _: tf.nn.softmax(x) - tf.math.reduce_logsumexp(x, 1, keepdims=True),
                lambda x, _: tf.where(tf.math.is_finite(scale / (x + 0.5)), x, -x),
            ]
        )

    def product(self, _, rows):
        weights, square = self.constant(WIDTH, WIDTH), self.constant(rows, rows)
        return self.pick(
            [
                lambda x, _: x @ weights + x,
                lambda x, _: square @ tf.nn.relu(x),
                lambda x, _: tf.einsum("rc,sc,sd->rd", x, x, tf.tanh(x)) * 0.1,
                lambda x, _: tf.linalg.band_part(x, 0, 1) + tf.linalg.matmul(x, weights, transpose_b=True),
                lambda x, _: tf.reduce_max(x[:, None] - x[None], 1),
            ]
        )

    def order(self, *_):
        shift, axis = int(self.rng.integers(-2, 3)), int(self.rng.integers(2))
        return self.pick(
            [
                lambda x, _: tf.sort(x, axis, "DESCENDING"),
                lambda x, _: tf.gather(x, tf.argsort(x[:, 0], stable=True)),
                lambda x, _: tf.roll(x, shift, axis),
                lambda x, n: tf.roll(x, n, 0),
                lambda x, _: tf.cumsum(x, axis, exclusive=shift > 0, reverse=shift % 2 == 1),
                lambda x, _: tf.math.cumprod(x, axis, reverse=shift > 0),
                lambda x, _: tf.math.top_k(x, WIDTH).values[:, ::-1],
                lambda x, _: tf.reverse(x, [axis]),
                lambda x, n: tf.reverse_sequence(x, tf.fill((x.shape[0],), tf.clip_by_value(n, 0, WIDTH)), 1),
            ]
        )

    def whole(self, *_):
        """Through integers."""
        divisor = int(self.rng.integers(2, 5))
        function = self.pick(
            [
                lambda t, n: t // divisor + n,
                lambda t, _: tf.math.floormod(t, divisor),
                lambda t, _: tf.bitwise.bitwise_xor(t, divisor),
                lambda t, _: tf.bitwise.left_shift(tf.abs(t), tf.ones_like(t)),
                lambda t, n: tf.reduce_sum(tf.one_hot(t, 5, dtype=tf.int32), 2) - tf.minimum(t, n),
                lambda t, _: t + tf.math.bincount(tf.reshape(tf.abs(t), (-1,)), minlength=9, maxlength=9)[:1],
                lambda t, _: tf.searchsorted(tf.sort(t), t),
                lambda t, _: tf.reduce_prod(tf.clip_by_value(t, -2, 2), 1, keepdims=True) - t,
            ]
        )
        kind = self.pick([tf.int32, tf.int32, tf.int64])
        apply = lambda x, n: function(tf.cast(tf.round(x), tf.int32), n)  # noqa: E731
        return lambda x, n: 0.5 * tf.cast(tf.cast(apply(x, n), kind), tf.float32) + 0.1 * x

    def segments(self, _, rows):
        ids = np.sort(self.rng.integers(0, rows, rows)).astype(np.int32)
        name = self.pick(["sum", "mean", "max", "min"])
        known, computed = (getattr(tf.math, f"{kind}_{name}") for kind in ("segment", "unsorted_segment"))

        def by_data(x, n):
            chosen = tf.math.floormod(tf.cast(tf.round(x[:, 0] * 2.0), tf.int32) + n, rows)
            return x + tf.clip_by_value(computed(x, chosen, rows), -2.0, 2.0)

        fixed = lambda x, _: tf.gather(known(x, ids), ids) - x * 0.5  # noqa: E731
        return self.pick([fixed, by_data])

    def update(self, _, rows):
        row = int(self.rng.integers(rows))

        def scattered(x, n):
            place = tf.math.floormod(n, rows)
            return tf.tensor_scatter_nd_add(x, [[row], [place]], tf.stack([x[0], tf.tanh(x[-1])]))

        def stored(x, _):
            place = tf.math.floormod(number_of(x), rows)
            return tf.tensor_scatter_nd_update(x, [[place]], x[row : row + 1] - 1.0)

        highest = lambda x, _: tf.tensor_scatter_nd_max(x, [[row]], -x[:1])  # noqa: E731
        added = lambda x, _: x + tf.scatter_nd([[row], [row]], tf.stack([x[0], x[-1]]), x.shape)  # noqa: E731
        return self.pick([scattered, stored, highest, added])

    def solved(self, _, _rows):
        """Linear algebra of a small well-conditioned matrix, and transforms."""
        own = lambda x: tf.eye(WIDTH) * 2.0 + tf.linalg.matmul(x, x, transpose_a=True) * 0.1  # noqa: E731
        turned = tf.linalg.matrix_transpose
        return self.pick(
            [
                lambda x, _: turned(tf.linalg.solve(own(x), turned(x))),
                lambda x, _: x @ tf.linalg.inv(own(x)),
                lambda x, _: x @ tf.linalg.cholesky(own(x)),
                lambda x, _: x * tf.linalg.det(own(x)) * 0.1,
                lambda x, _: tf.signal.irfft(tf.signal.rfft(x) * tf.complex(0.5, 0.25), [WIDTH]),
                lambda x, _: tf.abs(tf.signal.fft(tf.complex(x, x[:, ::-1]))),
            ]
        )

    def branch(self, depth, rows):
        then, other, limit = self.chain(depth, rows), self.chain(depth, rows), float(self.rng.normal(0, 0.5))
        predicate = self.pick([lambda x, _: tf.reduce_mean(x) > limit, lambda _x, n: n > int(2 * limit)])
        return lambda x, n: tf.cond(predicate(x, n), lambda: then(x, n), lambda: other(x, n))

    def choice(self, depth, rows):
        sides = [self.chain(depth, rows, 2) for _ in range(int(self.rng.integers(2, 4)))]
        index = self.pick([lambda _x, n: n, lambda x, _: number_of(x)])
        return lambda x, n: tf.switch_case(index(x, n), [lambda side=side: side(x, n) for side in sides])

    def loop(self, depth, rows):
        body, trips = self.chain(depth, rows, 2), self.pick([0, 2, 3, None])

        def run(x, n):
            limit = tf.clip_by_value(n, 0, 4) if trips is None else trips
            return tf.while_loop(lambda i, _: i < limit, lambda i, h: (i + 1, body(h, i + n)), (0, x))[1]

        return run

    def until(self, depth, rows):
        """A loop with a flag that a branch within sets, as `break` becomes."""
        body, limit = self.chain(depth, rows, 2), float(self.rng.uniform(0, 2))

        def step(done, i, h, n):
            done = tf.reduce_max(h) < limit
            return done, i + 1, tf.cond(done, lambda: h, lambda: body(h, n) - 0.5), n

        def run(x, n):
            return tf.while_loop(lambda done, i, *_: ~done & (i < 4), step, (False, 0, x, n))[2]

        return run

    def mapped(self, depth, _rows):
        body = self.chain(depth, 1, 2)
        return lambda x, n: tf.map_fn(lambda row: body(row[None], n)[0], x)

    def mapped_pair(self, depth, rows):
        """Two inputs and two results of different types."""
        body = self.chain(depth, 1, 2)

        def one_row(pair):
            result = body(pair[0][None], pair[1])[0]
            return result, number_of(result)

        types = (tf.TensorSpec((WIDTH,), tf.float32), tf.TensorSpec((), tf.int32))

        def run(x, n):
            values, numbers = tf.map_fn(one_row, (x, tf.range(rows) + n), fn_output_signature=types)
            return values + 0.25 * tf.cast(numbers, tf.float32)[:, None]

        return run

    def scanned(self, depth, _rows):
        body, backwards = self.chain(depth, 1, 2), bool(self.rng.integers(2))

        def run(x, n):
            return tf.scan(lambda h, row: body(h[None], n)[0] + row, x, tf.zeros(WIDTH), reverse=backwards)

        return run

    def folded(self, depth, _rows):
        body, fold = self.chain(depth, 1, 2), self.pick([tf.foldl, tf.foldr])
        return lambda x, n: x + 0.5 * fold(lambda h, row: body(h[None] + row, n)[0], x, tf.zeros(WIDTH))

    def elements(self, depth, _rows):
        """A map of a map, over single elements."""
        del depth
        limit = float(self.rng.normal())
        inner = lambda v: tf.cond(v > limit, lambda: v * 0.5, lambda: tf.tanh(v) + limit)  # noqa: E731
        return lambda x, _: tf.map_fn(lambda row: tf.map_fn(inner, row), x)

    def array(self, depth, rows):
        """Rows that a loop writes and reads again, in any order; some of them in a branch."""
        body, dynamic = self.chain(depth, 1, 2), bool(self.rng.integers(2))
        order = self.rng.permutation(rows).astype(np.int32)

        def run(x, n):
            source = tf.TensorArray(tf.float32, rows, clear_after_read=False).unstack(x)
            target = tf.TensorArray(tf.float32, 0 if dynamic else rows, dynamic_size=dynamic, element_shape=(WIDTH,))

            def step(i, target):
                place = i if dynamic else tf.gather(order, i)
                row = source.read(tf.gather(order, i))
                row = tf.cond(tf.reduce_sum(row) > 0.0, lambda: body(row[None], n)[0], lambda: row - source.read(0))
                return i + 1, target.write(place, row)

            _, target = tf.while_loop(lambda i, _: i < rows, step, (0, target), maximum_iterations=rows)
            return target.stack()

        return run

    def some_rows(self, depth, rows):
        return self.row_steps.through(depth, rows)


def function(seed):
    """A random tf.function of x and n; every third gives its last rows as they are, too."""
    functions = Functions(seed)
    body = functions.chain(DEPTH, functions.rows, 4)
    last = functions.row_steps.opened(1, functions.rows) if seed % 3 == 0 else None

    def run(x, n):
        x, n = bounded(x), tf.clip_by_value(n, -4, 4)
        result = body(x, n)
        return {"y": result} if last is None else {"y": result, "rows": last(result, n)}

    specs = [tf.TensorSpec((functions.rows, WIDTH), tf.float32, "x"), tf.TensorSpec((), tf.int32, "n")]
    return tf.function(run, input_signature=specs, autograph=False)


def __getattr__(name):
    if name.startswith("seed_"):
        return function(int(name.removeprefix("seed_")))
    raise AttributeError(name)
