"""Operands and attributes of the examples of TensorFlow's operations."""

# mypy: ignore-errors
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

R = tf.raw_ops


def _argument(name):
    return op_def_registry.get(name).input_arg[0].name


def _unary(names, domain=lambda x: x):
    return {name: lambda x, name=name: getattr(R, name)(**{_argument(name): domain(x)}) for name in names.split()}


def _binary(names, left=lambda x: x, right=lambda y: y):
    return {
        name: lambda x, y, name=name: getattr(R, name)(
            **{arg.name: v for arg, v in zip(op_def_registry.get(name).input_arg, (left(x), right(y)), strict=True)}
        )
        for name in names.split()
    }


def _whole(x):
    return tf.cast(tf.clip_by_value(x, -1e4, 1e4), tf.int32)


def _positive(x):
    return tf.abs(x) + 0.5


def _unit(x):
    return 0.9 * tf.tanh(x)


def _truth(x):
    return x > 0


def _symmetric(x):
    """Positive definite matrices [2, 3, 3] of a tensor [2, 3, 4]."""
    return tf.matmul(x, x, transpose_b=True) + 4.0 * tf.eye(3)


def _image(x):
    """[1, 4, 4, 2] of [2, 3, 4] and more."""
    return tf.reshape(tf.tile(tf.reshape(x, [-1]), [2])[:32], [1, 4, 4, 2])


def _volume(x):
    return tf.reshape(tf.tile(tf.reshape(x, [-1]), [3])[:64], [1, 4, 4, 2, 2])


def _flat(x):
    return tf.reshape(x, [-1])


def _matrix(x):
    return tf.reshape(x, [6, 4])


def _complex(x, y):
    return tf.complex(x, y)


def _ids(count):
    return np.arange(6, dtype=np.int32) % count


def _sorted_ids():
    return np.array([0, 0, 1, 1, 1, 3], np.int32)


def _pair(x, y):
    return tf.stack([x, y])


SEED = np.array([7, 11], np.int32)
STRIDES = [1, 1, 1, 1]
FILTER = np.linspace(-1, 1, 2 * 2 * 2 * 3, dtype=np.float32).reshape(2, 2, 2, 3)
FILTER_3D = np.linspace(-1, 1, 2 * 2 * 2 * 2 * 3, dtype=np.float32).reshape(2, 2, 2, 2, 3)
ROW = np.linspace(0.5, 1.5, 2, dtype=np.float32)


def _norm(name, **more):
    return lambda x, _: getattr(R, name)(
        x=_image(x), scale=ROW, offset=ROW, mean=ROW, variance=ROW, is_training=False, **more
    )[0]


def _drawn(name, **more):
    def draw():
        key, counter = R.StatelessRandomGetKeyCounter(seed=SEED)
        return getattr(R, name)(shape=[2, 3, 4], key=key, counter=counter, alg=1, **more)

    return lambda x, _: tf.cast(draw(), tf.float32) + x


def _seeded(name, **more):
    return lambda x, _: tf.cast(getattr(R, name)(seed=SEED, **more), tf.float32) + x


def _sparse(name, **more):
    """Sums of rows of a dense matrix by sorted segments."""
    return lambda x, _: getattr(R, name)(data=_matrix(x), indices=_ids(5), segment_ids=_sorted_ids(), **more)


def _list(x):
    return R.TensorListFromTensor(tensor=x, element_shape=[3, 4])


def _branches(x):
    return tf.function(lambda v: v + 1.0).get_concrete_function(tf.TensorSpec(x.shape)), tf.function(
        lambda v: v * 2.0
    ).get_concrete_function(tf.TensorSpec(x.shape))


def _if(name):
    def run(x, _):
        first, second = _branches(x)
        return getattr(R, name)(
            cond=tf.reduce_sum(x) > 0, input=[x], Tout=[tf.float32], then_branch=first, else_branch=second
        )[0]

    return run


def _while(name):
    def run(x, _):
        specs = [tf.TensorSpec([], tf.int32), tf.TensorSpec(x.shape)]
        cond = tf.function(lambda i, _: i < 3).get_concrete_function(*specs)
        body = tf.function(lambda i, v: (i + 1, v * 1.5)).get_concrete_function(*specs)
        return getattr(R, name)(input=[tf.constant(0), x], cond=cond, body=body)[1]

    return run
