"""A row that is stored into caches in all the ways that people write it, for TensorFlow's Python."""

# mypy: ignore-errors
import tensorflow as tf

PLACES, DEPTH, HEADS = 16, 8, 2
STORES = 6


def caches():
    """A step (row, place) that stores the row at a place of each of STORES variables, and returns sums of these."""
    flat = [tf.Variable(tf.zeros([PLACES, DEPTH]), name=f"flat_{n}") for n in range(STORES - 1)]
    heads = tf.Variable(tf.zeros([1, HEADS, PLACES, DEPTH]), name="heads")

    def store(row, place):
        scattered, compared, hot, written, sliced = flat
        scattered.assign(tf.tensor_scatter_nd_update(scattered, [[place]], row))
        compared.assign(tf.where(tf.range(PLACES)[:, None] == place, row, compared))
        mask = tf.one_hot(place, PLACES)[:, None]
        hot.assign(hot * (1 - mask) + mask * row)
        written.scatter_nd_update([[place]], row)
        sliced[place].assign(row[0])
        is_there = (tf.range(PLACES) == place)[None, None, :, None]
        heads.assign(tf.where(is_there, tf.reshape(row, [1, 1, 1, DEPTH]) * tf.ones([1, HEADS, 1, 1]), heads))
        return {"sums": tf.stack([tf.reduce_sum(values, 0) for values in flat]), "heads": tf.reduce_sum(heads, 2)}

    return tf.function(store, input_signature=[tf.TensorSpec([1, DEPTH], tf.float32), tf.TensorSpec([], tf.int32)])
