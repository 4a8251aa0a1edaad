"""Programs of operations that are written with others (tensorflow_worker/written_*.py), for TensorFlow's Python."""

# mypy: ignore-errors
import tensorflow as tf


def program(function, *shapes):
    """A tf.function of float32 tensors of these shapes."""
    return tf.function(function, input_signature=[tf.TensorSpec(shape, tf.float32) for shape in shapes])


def _square(x):
    """A symmetric positive definite matrix of any other."""
    return tf.matmul(x, x, transpose_b=True) + 4.0 * tf.eye(3)


erfc = program(lambda x: [tf.math.erf(x), tf.math.erfc(x)], (3, 5))
lgamma = program(lambda x: tf.math.lgamma(x + 0.3), (3, 5))
expm1 = program(lambda x: tf.math.expm1(x), (3, 5))


def _classified(x):
    reciprocal = 1.0 / tf.nn.relu(x)
    return [tf.math.is_nan(tf.math.log(x)), tf.math.is_inf(reciprocal), tf.math.is_finite(reciprocal)]


classified = program(_classified, (3, 5))
rolled = program(lambda x: tf.roll(x, [2, -1], [0, 1]), (3, 5))
products = program(
    lambda x: [tf.math.cumprod(x, 1, exclusive=a, reverse=b) for a in (True, False) for b in (True, False)], (3, 7)
)
searched = program(
    lambda x, y: [tf.searchsorted(tf.sort(x), y, side=side) for side in ("left", "right")], (2, 6), (2, 4)
)
histogram = program(lambda x: tf.histogram_fixed_width(x, [-1.0, 1.0], 5), (20,))
counted = program(
    lambda x: tf.raw_ops.DenseBincount(input=tf.cast(tf.abs(3.0 * x), tf.int32), size=4, weights=tf.abs(x)), (2, 20)
)
inverse = program(lambda x: tf.linalg.inv(_square(x)), (2, 3, 3))
solution = program(lambda x, y: tf.linalg.solve(_square(x), y, adjoint=True), (3, 3), (3, 2))
triangular = program(
    lambda x, y: [tf.linalg.triangular_solve(_square(x), y, lower=lower, adjoint=lower) for lower in (True, False)],
    (3, 3),
    (3, 2),
)
determinant = program(lambda x: tf.linalg.det(_square(x)), (2, 3, 3))
cholesky = program(lambda x: tf.linalg.cholesky(_square(x)), (3, 3))
crops = program(
    lambda x, y: tf.image.crop_and_resize(x, tf.sigmoid(y), [0, 1], [3, 1], method="nearest", extrapolation_value=7.0),
    (2, 6, 5, 2),
    (2, 4),
)
cubic = program(
    lambda x: [
        tf.compat.v1.image.resize_bicubic(x, [7, 3], align_corners=a, half_pixel_centers=b)
        for a, b in ((False, False), (True, False), (False, True))
    ],
    (1, 4, 5, 2),
)
patches = program(lambda x: tf.image.extract_patches(x, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 2, 1], "SAME"), (1, 6, 7, 2))


def _boxes(x):
    corner = tf.sigmoid(x[..., :2])
    return tf.concat([corner, corner + tf.sigmoid(x[..., 2:])], -1)


suppressed = program(
    lambda x, y: tf.image.combined_non_max_suppression(_boxes(x)[:, :, None], tf.sigmoid(y), 4, 6, 0.4, 0.3),
    (2, 12, 4),
    (2, 12, 3),
)
soft = program(
    lambda x, y: tf.image.non_max_suppression_with_scores(_boxes(x), tf.sigmoid(y), 6, 0.6, 0.2, 0.5), (12, 4), (12,)
)
selected = program(lambda x, y: tf.gather(x, tf.image.non_max_suppression(_boxes(x), y, 6, 0.4, 0.3)), (12, 4), (12,))

too_large = tf.function(
    lambda x: tf.compat.v1.image.resize_bicubic(x, [5_000_000, 1]),
    input_signature=[tf.TensorSpec((1, 4, 1, 1), tf.float32)],
)
local_response = program(lambda x: tf.nn.lrn(x, 2, 1.0, 0.5, 0.75), (1, 2, 3, 7))


def integers(function, dtype, *shapes):
    """A tf.function of tensors of integers."""
    return tf.function(function, input_signature=[tf.TensorSpec(shape, dtype) for shape in shapes])


def _bits(x, y, steps):
    bits = tf.bitwise
    return [
        bits.bitwise_and(x, y),
        bits.bitwise_or(x, y),
        bits.bitwise_xor(x, y),
        bits.invert(x),
        bits.left_shift(x, steps),
        bits.right_shift(x, steps),
        bits.bitwise_and(x, tf.constant(15, x.dtype)),
        tf.raw_ops.PopulationCount(x=x),
    ]


def _small_bits(x, y):
    results = []
    for dtype in (tf.int8, tf.uint8, tf.uint16):
        small = tf.cast(y % 8, dtype)
        results += [tf.cast(bits, tf.int32) for bits in _bits(tf.cast(x % 128, dtype), small, small)]
    for dtype, shape in ((tf.uint32, [8]), (tf.uint64, [4, 2])):
        large, other = (tf.bitcast(tf.reshape(v, shape), dtype) for v in (x, y % 40))
        *bits, ones = _bits(large, other, other)
        results += [tf.bitcast(word, tf.int32) for word in bits] + [tf.cast(ones, tf.int32)]
    return results


bits_32 = integers(lambda x, y: _bits(x, y, y % 40), tf.int32, (9,), (9,))
bits_small = integers(_small_bits, tf.int32, (8,), (8,))
bits_64 = integers(
    lambda x, y: _bits(tf.cast(x, tf.int64) * 5000000001, tf.cast(y, tf.int64), tf.cast(y % 80, tf.int64)),
    tf.int32,
    (9,),
    (9,),
)
drawn = program(
    lambda x: [
        x + tf.random.stateless_uniform((2, 3), [7, 11], -1.0, 2.0),
        x + tf.random.stateless_truncated_normal((2, 3), [1, 2]),
        x + tf.random.stateless_gamma((2, 3), [1, 2], 1.5),
        x + tf.cast(tf.random.stateless_uniform((2, 3), [7, 11], 0, 10, tf.int32, "threefry"), tf.float32),
        x + tf.cast(tf.random.experimental.stateless_shuffle(tf.range(3), [3, 4]), tf.float32),
    ],
    (2, 3),
)


def _draw(seed):
    return [
        tf.random.stateless_uniform((3, 5), seed),
        tf.random.stateless_normal((3, 5), seed),
        tf.random.stateless_uniform((7,), seed, -5, 90, tf.int32),
        tf.random.stateless_uniform((7,), seed, None, None, tf.int32),
    ]


drawn_by_seed = integers(_draw, tf.int32, (2,))
pairs = tf.lookup.KeyValueTensorInitializer([50, -3, 9, 7], [0.5, 0.3, 0.9, 0.7], tf.int64, tf.float32)
table = tf.lookup.StaticHashTable(pairs, -1.0)
numbers = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([4, 2, 3], [1, 2, 4], tf.int32, tf.int32), 0)


def _looked_up(x):
    def step(i, sums):
        return i + 1, sums + table.lookup(tf.cast(x % 10, tf.int64) + i)

    _, sums = tf.while_loop(lambda i, _: i < 3, step, (tf.constant(0, tf.int64), tf.zeros(x.shape)))
    chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: numbers[x % 5], lambda: x)
    return [sums, chosen, tf.cast(x, tf.int64) * table.size()]


looked_up = integers(_looked_up, tf.int32, (2, 3))
orthogonal = program(
    lambda x, y: [*tf.linalg.qr(x), *tf.linalg.qr(y), *tf.linalg.qr(x, full_matrices=True)], (2, 4, 3), (3, 4)
)
eigen = program(lambda x: tf.linalg.eigh(x + tf.linalg.matrix_transpose(x)), (2, 4, 4))
eigenvalues = program(lambda x: tf.linalg.eigvalsh(_square(x)), (3, 3))


def _decoded(x):
    (path,), scores = tf.nn.ctc_greedy_decoder(x, [5, 3])
    return [path.indices, path.values, path.dense_shape, scores]


decoded = program(_decoded, (5, 2, 3))


def _assigned(x, y):
    at = tf.cast(tf.math.floormod(tf.reduce_sum(x), 3.0), tf.int32)
    update = tf.raw_ops.TensorStridedSliceUpdate
    return [
        update(input=x, begin=[0, 1], end=[2, 5], strides=[1, 2], value=y[:, :2]),
        update(
            input=x,
            begin=[-1, 0],
            end=[0, 0],
            strides=[1, -1],
            value=y[0],
            shrink_axis_mask=1,
            end_mask=2,
            begin_mask=2,
        ),
        update(
            input=x,
            begin=[at, 0],
            end=[at + 1, 0],
            strides=[1, 1],
            value=y[1],
            shrink_axis_mask=1,
            end_mask=2,
            begin_mask=2,
        ),
    ]


assigned = program(_assigned, (3, 5), (2, 5))

transformed = program(
    lambda x, y: tf.math.real(tf.signal.ifft(tf.signal.fft2d(tf.complex(x, y)))), (2, 12, 8), (2, 12, 8)
)
restored = program(lambda x: tf.signal.irfft(tf.signal.rfft(x, [12]), [12]), (2, 10))
magnitudes = program(lambda x: tf.abs(tf.signal.stft(x, 16, 8)), (64,))
synthesised = program(
    lambda x: tf.signal.inverse_stft(tf.signal.stft(x, 16, 8, window_fn=None), 16, 8, window_fn=None), (64,)
)


def _complex(x, y):
    a, b = tf.complex(x, y), tf.complex(y, x + 2.0)

    def step(i, z):
        return i + 1, a / b + tf.exp(z * (0.25 + 0.5j)) - tf.math.conj(z)

    _, z = tf.while_loop(lambda i, _: i < 2, step, (0, a))
    chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.transpose(z), lambda: tf.linalg.adjoint(z))
    product = tf.linalg.matmul(chosen, tf.stack([z[0], tf.reverse(z, [0])[1], b[2]]), adjoint_b=True)
    return [tf.math.real(product), tf.abs(tf.sqrt(a)), tf.math.imag(tf.reduce_sum(z)), tf.math.angle(b)]


complex_numbers = program(_complex, (3, 3), (3, 3))
