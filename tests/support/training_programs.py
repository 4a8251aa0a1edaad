"""Training steps whose gradients TensorFlow derives, for TensorFlow's Python: functions that return a tf.function."""

# mypy: ignore-errors
import numpy as np
import tensorflow as tf

KINDS = 3


def step(logits, shapes, x=(1, 4), update=None):
    """A training step (x, y) -> loss, and the logits of x behind it.

    logits  (weights, x) -> float32[batch, KINDS]
    shapes  of the weights
    update  (weights, gradients): the optimizer; None: gradient descent
    """
    rng = np.random.default_rng(0)
    return _step(logits, [tf.Variable(rng.normal(0, 0.5, shape).astype(np.float32)) for shape in shapes], x, update)


def _step(logits, weights, x, update):
    def train(x, y):
        with tf.GradientTape() as tape:
            # Any number is a label.
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y % KINDS, logits(weights, x))
            loss = tf.reduce_mean(losses)
        (update or _descend)(weights, tape.gradient(loss, weights))
        return {"loss": loss, "logits": logits(weights, x)}

    return tf.function(train, input_signature=[tf.TensorSpec(x, tf.float32), tf.TensorSpec(x[:1], tf.int32)])


def _descend(weights, gradients):
    for weight, gradient in zip(weights, gradients, strict=True):
        if gradient is not None:
            weight.assign_sub(0.1 * tf.convert_to_tensor(gradient))


def _optimizer(weights, optimizer):
    """Updates by an optimizer of Keras, which makes its variables now."""
    optimizer.build(weights)
    return lambda own, gradients: optimizer.apply_gradients(zip(gradients, own, strict=True))


def _two_branches(w, x):
    h = tf.matmul(x, w[0])
    h = tf.cond(tf.reduce_sum(h) > 0, lambda: tf.nn.relu(h) @ w[1], lambda: tf.nn.elu(h) * 0.5)
    h = tf.cond(h[0, 0] > 0.1, lambda: tf.cond(h[0, 1] > 0, lambda: h @ w[1], lambda: tf.nn.selu(h)), lambda: h + w[3])
    return h @ w[2]


def two_branches():
    return step(_two_branches, [(4, 4), (4, 4), (4, 3), (4,)])


def _many_branches(w, x):
    h = tf.matmul(x, w[0])
    branches = [
        lambda: tf.tanh(h),
        lambda: tf.nn.leaky_relu(h @ w[1]) @ w[2],
        lambda: tf.nn.relu6(4.0 * h),
        lambda: tf.nn.softplus(h) * tf.nn.softsign(h),
        lambda: tf.sqrt(1.0 + h * h),
    ]
    return tf.switch_case(tf.cast(tf.abs(3.0 * h[0, 0]), tf.int32), branches) @ w[3]


def many_branches():
    return step(_many_branches, [(4, 4), (4, 5), (5, 4), (4, 3)])


def _branch_in_loop(w, x):
    def step(i, h):
        return i + 1, tf.cond(tf.reduce_sum(h) > 0, lambda: tf.tanh(h @ w[0]), lambda: tf.nn.relu(h + w[1]) - 0.3 * h)

    return tf.while_loop(lambda i, _: i < 4, step, (0, x))[1] @ w[2]


def branch_in_loop():
    return step(_branch_in_loop, [(4, 4), (4,), (4, 3)])


def _loop_in_branch(w, x):
    def loop():
        return tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, tf.tanh(h @ w[0]) + h), (0, x))[1]

    return tf.cond(tf.reduce_sum(x) > 0, loop, lambda: x * w[1]) @ w[2]


def loop_in_branch():
    return step(_loop_in_branch, [(4, 4), (4,), (4, 3)])


def _loop_in_loop(w, x):
    def outer(i, h):
        inner = tf.while_loop(lambda k, _: k < 2, lambda k, g: (k + 1, tf.tanh(g @ w[0])), (0, h))[1]
        return i + 1, inner * w[1] + h

    return tf.while_loop(lambda i, _: i < 3, outer, (0, x))[1] @ w[2]


def loop_in_loop():
    return step(_loop_in_loop, [(4, 4), (4,), (4, 3)])


def _nested(w, x, depth=3):
    """What an outer loop changes and an inner one leaves alone is kept by both."""
    if depth == 0:
        return tf.tanh(x @ w[0])
    return tf.while_loop(lambda i, _: i < 2, lambda i, h: (i + 1, _nested(w, h, depth - 1) * x), (0, x))[1]


def three_loops():
    return step(lambda w, x: _nested(w, x) @ w[1], [(4, 4), (4, 3)])


def _until(w, x):
    """The number of iterations depends on the values."""
    halved = tf.while_loop(
        lambda h: tf.reduce_sum(tf.abs(h)) > 1.0,
        lambda h: (0.5 * tf.tanh(h @ w[0]) + 0.1 * h,),
        (3.0 * x,),
        maximum_iterations=6,
    )
    return halved[0] @ w[1]


def until():
    return step(_until, [(4, 4), (4, 3)])


def _broken_off(w, x):
    for _ in tf.range(5):
        x = tf.tanh(x @ w[0])
        if tf.reduce_sum(x) > 0.5:
            break
    return x @ w[1]


def broken_off():
    return step(_broken_off, [(4, 4), (4, 3)])


def _choice_in_loops(w, x):
    def inner(k, g):
        branches = [lambda: tf.tanh(g @ w[0]), lambda: g * w[1], lambda: tf.nn.relu(g) + 0.1]
        return k + 1, tf.switch_case(tf.cast(tf.abs(2.0 * g[0, 0]), tf.int32), branches)

    def outer(i, h):
        return i + 1, tf.while_loop(lambda k, _: k < 2, inner, (0, h))[1]

    return tf.while_loop(lambda i, _: i < 3, outer, (0, x))[1] @ w[2]


def choice_in_loops():
    return step(_choice_in_loops, [(4, 4), (4,), (4, 3)])


def _row_by_row(w, x):
    return tf.reduce_mean(tf.map_fn(lambda row: tf.tanh(row[None] @ w[0])[0], x[0]), 0, keepdims=True) @ w[1]


def row_by_row():
    return step(_row_by_row, [(4, 4), (4, 3)], (1, 5, 4))


def _scanned(w, x):
    rows = tf.scan(lambda h, row: tf.tanh(h @ w[0] + row[None] @ w[1]), x[0], tf.zeros((1, 4)))
    return tf.reshape(rows, (1, 20)) @ w[2]


def scanned():
    return step(_scanned, [(4, 4), (4, 4), (20, 3)], (1, 5, 4))


def _folded(w, x):
    return tf.foldl(lambda h, row: tf.nn.sigmoid(h @ w[0] + row[None]), x[0], tf.ones((1, 4))) @ w[1]


def folded():
    return step(_folded, [(4, 4), (4, 3)], (1, 5, 4))


def _written_rows(w, x):
    rows = tf.TensorArray(tf.float32, 4)
    h = tf.zeros((1, 4))
    for t in tf.range(4):
        h = tf.tanh(h @ w[0] + x[:, t] @ w[1])
        if tf.reduce_sum(h) > 0:
            h *= 0.5
        rows = rows.write(t, h)
    return tf.reduce_sum(rows.stack(), 0) @ w[2]


def written_rows():
    return step(_written_rows, [(4, 4), (4, 4), (4, 3)], (1, 4, 4))


def _unrolled(w, x):
    h = x
    for k in range(2):
        h = tf.nn.relu(h @ w[k]) + tf.nn.l2_normalize(h, -1)
    h = tf.concat([h, tf.exp(-h * h)], -1)
    return h[:, ::2] @ w[2] - tf.reduce_prod(h, -1, keepdims=True)


def unrolled():
    return step(_unrolled, [(4, 4), (4, 4), (4, 3)])


def _images(w, x):
    h = tf.nn.conv2d(x, w[0], [1, 2, 1, 1], "SAME") + w[1]
    h = tf.nn.max_pool2d(tf.nn.relu(h), 2, 1, "VALID")
    h = tf.nn.depthwise_conv2d(h, w[2], [1, 1, 1, 1], "SAME")
    h = tf.pad(h, [[0, 0], [1, 1], [0, 2], [0, 0]], "REFLECT")
    h = tf.compat.v1.image.resize_bilinear(h, [3, 5], half_pixel_centers=True)
    h = tf.nn.avg_pool2d(tf.nn.local_response_normalization(h, 1), 2, 1, "VALID")
    h = tf.nn.conv2d(h, w[3], 1, [[0, 0], [1, 0], [0, 1], [0, 0]])
    return tf.reduce_mean(tf.compat.v1.image.resize_nearest_neighbor(h, [4, 3]), [1, 2])


def images():
    return step(_images, [(3, 3, 2, 4), (4,), (2, 2, 4, 1), (2, 2, 4, 3)], (1, 6, 5, 2))


def _normalised(w, x):
    y, _, _ = tf.compat.v1.nn.fused_batch_norm(x, w[0], w[1], is_training=True)
    return tf.reduce_mean(tf.nn.conv2d_transpose(tf.nn.relu(y), w[2], (1, 6, 6, 3), 2), [1, 2])


def normalised():
    return step(_normalised, [(2,), (2,), (2, 2, 3, 2)], (1, 3, 3, 2))


def _looked_up(w, x):
    rows = tf.nn.embedding_lookup(w[0], tf.cast(tf.abs(4.0 * x), tf.int32) % 6)
    return tf.reduce_mean(rows, 1) @ w[1]


def looked_up():
    """The gradient of a table is rows and their numbers."""

    def added(weights, gradients):
        rows, dense = gradients
        tf.raw_ops.ResourceScatterAdd(resource=weights[0].handle, indices=rows.indices, updates=-0.1 * rows.values)
        weights[1].assign_sub(0.1 * dense)

    return step(_looked_up, [(6, 4), (4, 3)], (1, 5), added)


def _keras(layers, x, optimizer):
    import keras

    keras.utils.set_random_seed(7)
    inputs = keras.Input(x[1:], x[0])
    model = keras.Model(inputs, keras.layers.Dense(KINDS)(layers(keras.layers, inputs)))
    weights = [variable.value for variable in model.trainable_variables]
    update = _optimizer(model.trainable_variables, optimizer(keras.optimizers))
    by_name = lambda _, gradients: update(model.trainable_variables, gradients)  # noqa: E731
    return _step(lambda _, x: model(x, training=True), weights, x, by_name)


def lstm():
    return _keras(lambda layers, x: layers.LSTM(4)(x), (1, 5, 3), lambda optimizers: optimizers.Adam(0.02))


def gru_rows():
    def layers(layers, x):
        return layers.GRU(3, reset_after=False)(layers.GRU(4, return_sequences=True)(x))

    return _keras(layers, (1, 4, 3), lambda optimizers: optimizers.SGD(0.1, momentum=0.9, nesterov=True))


def masked():
    return _keras(
        lambda layers, x: layers.LSTM(4)(layers.Masking(0.0)(x)),
        (1, 4, 3),
        lambda optimizers: optimizers.Adamax(0.1, global_clipnorm=0.5),
    )


def conv_lstm():
    def layers(layers, x):
        return layers.GlobalAveragePooling2D()(layers.ConvLSTM2D(2, 3, padding="same")(x))

    return _keras(layers, (1, 3, 4, 4, 1), lambda optimizers: optimizers.Nadam(0.1))


def embedded():
    def layers(layers, x):
        import keras

        return layers.GRU(4)(layers.Embedding(6, 4)(keras.ops.cast(keras.ops.abs(x) * 3.0, "int32") % 6))

    return _keras(layers, (1, 5), lambda optimizers: optimizers.Ftrl(0.1))


def bidirectional():
    return _keras(
        lambda layers, x: layers.Bidirectional(layers.SimpleRNN(4))(x),
        (1, 4, 3),
        lambda optimizers: optimizers.RMSprop(0.02, momentum=0.5),
    )


def convolutions():
    def layers(layers, x):
        x = layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same", activation="relu")(x))
        x = layers.SeparableConv2D(4, 2, activation="relu6")(layers.MaxPooling2D()(x))
        return layers.GlobalAveragePooling2D()(x)

    return _keras(layers, (1, 6, 6, 2), lambda optimizers: optimizers.AdamW(0.02))


def attention():
    def layers(layers, x):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 3)(x, x))
        return layers.GlobalMaxPooling1D()(layers.Dense(6, activation="gelu")(x))

    return _keras(layers, (1, 4, 6), lambda optimizers: optimizers.Adagrad(0.05))


def fused_updates():
    """Updates by the operations that TensorFlow's optimizers are."""
    slots = [[tf.Variable(0.1 * tf.ones(shape)) for _ in range(3)] for shape in ((4, 4), (4, 3))]

    def update(weights, gradients):
        raw = tf.raw_ops
        for weight, own, g in zip(weights, slots, gradients, strict=True):
            # What is only used by its handle is no variable of the function.
            tf.group([slot.read_value() for slot in own])
            var, (a, b, c) = weight.handle, (slot.handle for slot in own)
            rates = {"lr": 0.03, "grad": g}
            betas = {"beta1": 0.9, "beta2": 0.99, "epsilon": 1e-3, "beta1_power": 0.9}
            raw.ResourceApplyFtrl(var=var, accum=b, linear=a, l1=0.001, l2=0.01, lr_power=-0.5, **rates)
            raw.ResourceApplyGradientDescent(var=var, alpha=0.05, delta=g)
            raw.ResourceApplyMomentum(var=var, accum=a, momentum=0.8, use_nesterov=True, **rates)
            raw.ResourceApplyKerasMomentum(var=var, accum=a, momentum=0.8, use_nesterov=True, **rates)
            raw.ResourceApplyMomentum(var=var, accum=a, momentum=0.8, **rates)
            raw.ResourceApplyAdam(var=var, m=a, v=b, beta2_power=0.99, **betas, **rates)
            raw.ResourceApplyAdamWithAmsgrad(var=var, m=a, v=b, vhat=c, beta2_power=0.99, **betas, **rates)
            raw.ResourceApplyAdaMax(var=var, m=a, v=b, **betas, **rates)
            raw.ResourceApplyRMSProp(var=var, ms=b, mom=a, rho=0.9, momentum=0.5, epsilon=1e-3, **rates)
            raw.ResourceApplyCenteredRMSProp(var=var, mg=a, ms=b, mom=c, rho=0.9, momentum=0.5, epsilon=0.1, **rates)
            raw.ResourceApplyAdagrad(var=var, accum=b, **rates)
            raw.ResourceApplyAdagradV2(var=var, accum=b, epsilon=1e-3, **rates)
            raw.ResourceApplyAdadelta(var=var, accum=b, accum_update=c, rho=0.9, epsilon=1e-3, **rates)

    return step(lambda w, x: tf.tanh(x @ w[0]) @ w[1], [(4, 4), (4, 3)], update=update)


def _unbounded(w, x):
    halved = tf.while_loop(lambda h: tf.reduce_sum(tf.abs(h)) > 1.0, lambda h: (0.5 * tf.tanh(h @ w[0]),), (x,))
    return halved[0] @ w[1]


def unbounded():
    """Nothing says how many iterations there are."""
    return step(_unbounded, [(4, 4), (4, 3)])
