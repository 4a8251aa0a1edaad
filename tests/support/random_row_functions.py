"""Random functions of rows whose number is known at run time, for TensorFlow's Python: parts of random_functions.py."""

# mypy: ignore-errors
import tensorflow as tf


class RowSteps:
    """Steps from rows [any number, width] to rows, and ways there and back."""

    def __init__(self, functions, width):
        self.functions, self.rng, self.width = functions, functions.rng, width

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def through(self, depth, rows):
        """x [rows, width] -> some of its rows -> steps on these -> the shape of x."""
        opened, closing = self.opened(depth, rows), self.closed(rows)
        return lambda x, n: closing(x, opened(x, n))

    def opened(self, depth, rows):
        """x [rows, width], n -> rows [at most so many, width], after part steps."""
        start = self.start(rows)
        kinds = [self.plain, self.plain, self.fewer, self.turned]
        kinds += [self.mapped, self.scanned, self.branch, self.loop, self.collected] if depth > 0 else []
        steps = [self.pick(kinds)(depth - 1, rows) for _ in range(int(self.rng.integers(1, 4)))]

        def run(x, n):
            part = start(x, n)
            for step in steps:
                part = tf.clip_by_value(step(part, n), -4.0, 4.0)
            return part

        return run

    def start(self, rows):
        limit = float(self.rng.normal(0, 0.5))

        def chosen(x, _):
            return tf.boolean_mask(x, x[:, 0] > limit)

        def below(x, _):
            return tf.gather(x, tf.where(x[:, 1] < limit)[:, 0])

        def first(x, n):
            return x[: tf.clip_by_value(n, 0, rows)]

        def unique(x, _):
            return tf.gather(x, tf.unique(tf.math.floormod(tf.cast(tf.round(x[:, 0]), tf.int32), rows)).y)

        def counted(x, n):
            return tf.gather(x, tf.range(tf.clip_by_value(n, 0, rows)))

        def best(x, _):
            corner = tf.sigmoid(x[:, :2])
            boxes = tf.concat([corner, corner + 0.3], 1)
            return tf.gather(x, tf.image.non_max_suppression(boxes, x[:, 2], rows, 0.4, 0.0))

        return self.pick([chosen, below, first, unique, counted, best])

    def plain(self, *_):
        weights = self.functions.constant(self.width, self.width)
        return self.pick(
            [
                lambda part, _: tf.tanh(part) @ weights,
                lambda part, n: part * weights[0] + tf.cast(n, tf.float32) * 0.25,
                lambda part, _: tf.nn.softmax(part),
                lambda part, _: part - tf.reduce_sum(part, 0, keepdims=True) * 0.25,
                lambda part, _: part + tf.cast(tf.shape(part)[0], tf.float32) * 0.1,
                lambda part, _: tf.cumsum(part, 0),
                lambda part, _: part + tf.cast(tf.range(tf.shape(part)[0]), tf.float32)[:, None],
            ]
        )

    def fewer(self, *_):
        limit = float(self.rng.normal())
        return self.pick(
            [
                lambda part, _: tf.boolean_mask(part, tf.reduce_sum(part, 1) > limit),
                lambda part, _: part[: tf.minimum(tf.shape(part)[0], 2)],
                lambda part, _: part[1:],
                lambda part, _: tf.gather(part, tf.where(part[:, 2] > limit)[:, 0]),
            ]
        )

    def turned(self, *_):
        return self.pick(
            [
                lambda part, _: tf.reverse(part, [0]),
                lambda part, _: tf.reverse(part, [1]),
                lambda part, _: tf.sort(part, 1),
                lambda part, _: tf.gather(part, tf.argsort(part[:, 1], stable=True)),
                lambda part, _: tf.transpose(tf.transpose(part) * 0.5),
                lambda part, _: tf.concat([part, part * 0.5], 0)[: tf.shape(part)[0]],
                lambda part, _: tf.reshape(tf.reshape(part, (-1,)), (-1, self.width)),
            ]
        )

    def mapped(self, depth, _rows):
        body = self.functions.chain(depth, 1, 2)
        return lambda part, n: tf.map_fn(lambda row: body(row[None], n)[0], part)

    def scanned(self, depth, _rows):
        body = self.functions.chain(depth, 1, 2)
        return lambda part, n: tf.scan(lambda h, row: body(h[None] + row, n)[0], part, tf.zeros(self.width))

    def branch(self, *_):
        """Sides that give different numbers of rows."""
        then, other = self.fewer(), self.plain()
        return lambda part, n: tf.cond(n > 0, lambda: then(part, n), lambda: other(part, n))

    def loop(self, *_):
        """Rows that each iteration makes fewer, or only changes."""
        body = self.pick([self.plain, self.fewer])()
        shapes = (tf.TensorShape(()), tf.TensorShape((None, self.width)))

        def run(part, n):
            step = lambda i, h: (i + 1, tf.clip_by_value(body(h, n), -4.0, 4.0))  # noqa: E731
            return tf.while_loop(lambda i, _: i < 2, step, (0, part), shape_invariants=shapes)[1]

        return run

    def collected(self, depth, _rows):
        """Rows that a loop over as many writes into an array of that size."""
        body = self.functions.chain(depth, 1, 2)

        def run(part, n):
            count = tf.shape(part)[0]
            array = tf.TensorArray(tf.float32, count, element_shape=(self.width,))
            step = lambda i, array: (i + 1, array.write(count - 1 - i, body(part[i][None], n)[0]))  # noqa: E731
            return tf.while_loop(lambda i, _: i < count, step, (0, array))[1].stack()

        return run

    def closed(self, rows):
        """(x, rows) -> the shape of x."""

        def total(x, part):
            return x + tf.reduce_sum(part, 0)

        def count(x, part):
            return x - tf.cast(tf.shape(part)[0], tf.float32) * 0.5

        def padded(x, part):
            part = part[:rows]
            return x + tf.pad(part, [[0, rows - tf.shape(part)[0]], [0, 0]])

        def scattered(x, part):
            part = part[:rows]
            return tf.tensor_scatter_nd_add(x, tf.range(tf.shape(part)[0])[:, None], part)

        def highest(x, part):
            return tf.maximum(x, tf.reduce_max(tf.concat([part, x[:1]], 0), 0))

        def averaged(x, part):
            return x + tf.math.divide_no_nan(tf.reduce_sum(part, 0), tf.cast(tf.shape(part)[0], tf.float32))

        return self.pick([total, count, padded, scattered, highest, averaged])
