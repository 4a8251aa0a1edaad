"""Functions with arrays that grow where they are written, for TensorFlow's Python: names are tf.functions."""

# mypy: ignore-errors
import tensorflow as tf


def _function(run):
    return tf.function(run, input_signature=[tf.TensorSpec((4, 3), tf.float32), tf.TensorSpec((), tf.int32)])


def _array(size=0, dtype=tf.float32):
    return tf.TensorArray(dtype, size=size, dynamic_size=True)


def by_counter():
    def run(x, n):
        rows = _array()
        for i in tf.range(4):
            if i < n:
                rows = rows.write(i, x[i] * 2.0)
        return rows.stack()

    return _function(run)


def where_positive():
    """Appended behind a row of zeros, some rows only."""

    def run(x, _):
        rows = _array(size=1)
        for i in tf.range(4):
            if x[i, 0] > 0.0:
                rows = rows.write(rows.size(), x[i])
        return rows.stack()

    return _function(run)


def computed_places():
    """With a gap, and from two loops within one another."""

    def run(x, _):
        rows = _array().write(0, x[0]).write(2, x[1])
        for i in tf.range(3):
            for j in tf.range(2):
                rows = rows.write(2 * i + j + 3, x[i] - x[j])
        return rows.stack()

    return _function(run)


def in_two_loops():
    def run(x, _):
        numbers = _array(dtype=tf.int32)
        for i in tf.range(3):
            if x[i, 0] > 0.0:
                numbers = numbers.write(i, 7)
        first = numbers.stack()
        for i in tf.range(2):
            numbers = numbers.write(numbers.size(), i)
        return first, numbers.stack()

    return _function(run)


def beside_found_rows():
    """Maps over rows whose number data decide stay the converter's; spectra are pairs of floats."""

    def run(x, _):
        rows = _array()
        for i in tf.range(4):
            below = tf.boolean_mask(x, x[:, 0] < tf.cast(i, tf.float32) - 1.0)
            below = tf.map_fn(lambda row: tf.tanh(row) + row[0], below)
            rows = rows.write(i, tf.reduce_sum(below, 0) + tf.abs(tf.signal.fft(tf.complex(x[i], x[0]))))
        return tf.ensure_shape(rows.stack(), (4, 3)) @ x[:3]

    return _function(run)


def bins():
    def run(x, n):
        counts = _array(dtype=tf.int32)
        for i in tf.range(4):
            numbers = tf.cast(tf.abs(x[:, 0]), tf.int32) + i
            counts = counts.write(i, tf.math.bincount(numbers, minlength=5, maxlength=5))
        return counts.write(tf.clip_by_value(n, 0, 5), tf.zeros(5, tf.int32)).stack()

    return _function(run)


def anywhere():
    return _function(lambda x, n: _array().write(n, x[0]).stack())


def computed_size():
    return _function(lambda x, n: _array(size=n).write(0, x[0]).stack())
