"""GraphDefs with control flow of version 1; it runs in the interpreter that has TensorFlow.

    python version_1_graphs.py FOLDER NAME...       writes NAME.pb, a graph from x (float32[3]) and n (int32) to y

The functions whose names begin with "saved_" write SavedModels of TensorFlow 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework.function import Defun

v1 = tf.compat.v1


def _rows_of(x: Any, change: Callable[[Any, Any], Any]) -> Any:
    """Each element of x changed, through two TensorArrays and a loop."""
    rows, written = v1.TensorArray(tf.float32, 3).unstack(x), v1.TensorArray(tf.float32, 3)
    step = lambda i, array: (i + 1, array.write(i, change(i, rows.read(i))))  # noqa: E731
    return v1.while_loop(lambda i, _: i < 3, step, [0, written])[1].stack()


def _halved(_: Any, v: Any) -> Any:
    return v1.cond(tf.reduce_sum(v) > 0.0, lambda: v * 0.5 - 1.0, lambda: v + 1.0)


def _loop(n: Any, x: Any, change: Callable[[Any, Any], Any]) -> Any:
    return v1.while_loop(lambda i, _: i < tf.minimum(n, 5), lambda i, v: (i + 1, change(i, v)), [0, x])[1]


def _shaped(tensor: Any) -> Any:
    tensor.set_shape((3,))
    return tensor


def case(x: Any, n: Any) -> Any:
    pairs = [(n < 0, lambda: x * 2.0), (tf.equal(n, 0), lambda: tf.tanh(x)), (n > 5, lambda: x - 1.0)]
    return v1.case(pairs, default=lambda: x + 1.0)


def case_exclusive(x: Any, n: Any) -> Any:
    pairs = [(n < 0, lambda: x * 2.0), (n > 5, lambda: x - 1.0)]
    return v1.case(pairs, default=lambda: x + 1.0, exclusive=True)


def constants(x: Any, n: Any) -> Any:
    """Branches without operands: only control inputs tie them to their cond."""
    return x + v1.cond(n > 0, lambda: tf.constant([1.0, 2.0, 3.0]), lambda: tf.constant([0.0, 0.0, 5.0]))


def same_predicate(x: Any, n: Any) -> Any:
    is_positive = n > 0

    def inner(v: Any) -> Any:
        return v1.cond(is_positive, lambda: v * 2.0, lambda: v - 3.0)

    return v1.cond(is_positive, lambda: inner(x), lambda: inner(x + 1.0))


def two_results(x: Any, n: Any) -> Any:
    """One cond with two results, of which one goes into another cond of the same predicate."""
    is_positive = n > 0
    a, b = v1.cond(is_positive, lambda: (x * 2.0, x), lambda: (x, tf.tanh(x)))
    return b + v1.cond(is_positive, lambda: tf.tanh(a), lambda: a * a)


def nested(x: Any, n: Any) -> Any:
    """A loop in a cond in a loop."""

    def change(i: Any, v: Any) -> Any:
        inner = lambda: v1.while_loop(lambda j, _: j < i, lambda j, w: (j + 1, w * 0.5 + x), [0, v])[1]  # noqa: E731
        return v1.cond(tf.reduce_sum(v) > 0.0, inner, lambda: v + 1.0)

    return _loop(n, x, change)


def rotated(x: Any, n: Any) -> Any:
    """Loop variables that change places, of which two leave."""
    start = [tf.constant(0), x, x * 2.0, x * 3.0]
    _, a, b, _ = v1.while_loop(lambda i, *_: i < tf.minimum(n, 7), lambda i, a, b, c: (i + 1, b, c, a * 0.5), start)
    return a + b


def growing(x: Any, n: Any) -> Any:
    """A vector that each iteration makes longer."""
    start = x + tf.cast(n, tf.float32)
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    step = lambda i, v: (i + 1, tf.concat([v, v[-1:] * 0.5], 0))  # noqa: E731
    return v1.while_loop(lambda i, _: i < 4, step, [0, start], shape_invariants=shapes)[1]


def growing_rows(x: Any, n: Any) -> Any:
    """A matrix that gets a row in some iterations, in a loop in a cond."""
    row, shapes = tf.reshape(x, (1, 3)), [tf.TensorShape([]), tf.TensorShape([None, 3])]

    def grown() -> Any:
        def step(i: Any, v: Any) -> Any:
            return i + 1, tf.concat([v, row * tf.cast(i, tf.float32)], 0)

        return tf.reduce_sum(v1.while_loop(lambda i, _: i < 3, step, [0, row], shape_invariants=shapes)[1], 0)

    return v1.cond(n > 0, grown, lambda: x)


def mapped(x: Any, n: Any) -> Any:
    """Arrays whose elements' shape is only known from what was read from the one before."""
    first = v1.map_fn(lambda row: row * 2.0 + tf.cast(n, tf.float32), x)
    return v1.map_fn(tf.tanh, first)


def array_in_cond(x: Any, n: Any) -> Any:
    return tf.ensure_shape(v1.cond(n > 0, lambda: _rows_of(x, lambda _, row: row * 2.0), lambda: x), (3,))


def cond_in_array(x: Any, n: Any) -> Any:
    change = lambda _, row: v1.cond(row > 0.0, lambda: row * 2.0, lambda: -row)  # noqa: E731
    return _shaped(_rows_of(x, change)) + tf.cast(n, tf.float32)


def library(x: Any, n: Any) -> Any:
    """A function that is called twice, with a cond and a loop."""

    @Defun(tf.float32, tf.int32)  # type: ignore[untyped-decorator]
    def run(v: Any, k: Any) -> Any:
        return v1.cond(k > 0, lambda: v * 2.0, lambda: _loop(tf.constant(3), v, lambda _, w: tf.tanh(w) + v))

    return run(x, n) + run(x * 2.0, n - 1)


def library_array(x: Any, n: Any) -> Any:
    """Functions with TensorArrays, one of which calls the other, in a loop."""

    @Defun(tf.float32)  # type: ignore[untyped-decorator]
    def inner(v: Any) -> Any:
        return _rows_of(v, lambda _, row: row * 0.5)

    @Defun(tf.float32, tf.int32)  # type: ignore[untyped-decorator]
    def outer(v: Any, k: Any) -> Any:
        rows = tf.ensure_shape(inner(v), (3,))
        return _rows_of(rows, lambda _, row: v1.cond(k > 1, lambda: row * 2.0, lambda: row - 1.0))

    return _loop(n, x, lambda i, v: _shaped(outer(v, i)))


def library_in_branches(x: Any, n: Any) -> Any:
    """An If of version 2 whose branches have control flow of version 1."""

    @Defun(tf.float32)  # type: ignore[untyped-decorator]
    def then(v: Any) -> Any:
        return _loop(tf.constant(3), v, _halved)

    @Defun(tf.float32)  # type: ignore[untyped-decorator]
    def otherwise(v: Any) -> Any:
        return _rows_of(v, lambda _, row: row * 2.0)

    return _shaped(tf.raw_ops.If(cond=n > 0, input=[x], Tout=[tf.float32], then_branch=then, else_branch=otherwise)[0])


def mixed(x: Any, n: Any) -> Any:
    """A graph with If and While of version 2 between a loop and a cond of version 1, and a function in the loop."""
    halved = tf.function(lambda v: tf.cond(tf.reduce_sum(v) > 0.0, lambda: v * 0.5, lambda: v + 1.0), autograph=False)
    call = halved.get_concrete_function(tf.TensorSpec((3,)))
    first = _loop(n, x, lambda _, v: call(v))
    v1.enable_control_flow_v2()
    chosen = tf.cond(n > 0, lambda: first * 0.5, lambda: first + 1.0)
    step = lambda i, v: (i + 1, v * 0.5 + chosen)  # noqa: E731
    counted = tf.while_loop(lambda i, _: i < tf.minimum(n, 4), step, [tf.constant(0), x])[1]
    v1.disable_control_flow_v2()
    return v1.cond(n > 2, lambda: counted * 0.5, lambda: counted + chosen)


def merge_of_three(x: Any, n: Any) -> Any:
    """No tf.cond: three values meet in one Merge, whose number of the one that arrives is read."""
    low, high = tf.raw_ops.Switch(data=x, pred=n > 0)
    middle, top = tf.raw_ops.Switch(data=high, pred=n > 5)
    value, number = tf.raw_ops.Merge(inputs=[low * 2.0, middle + 1.0, top - 1.0])
    return value * tf.cast(number + 1, tf.float32)


def opposite_predicate(x: Any, n: Any) -> Any:
    is_positive = n > 0
    low, _ = tf.raw_ops.Switch(data=x, pred=is_positive)
    high, _ = tf.raw_ops.Switch(data=x, pred=tf.logical_not(is_positive))
    return tf.raw_ops.Merge(inputs=[low * 2.0, high + 1.0])[0]


def two_predicates(x: Any, n: Any) -> Any:
    """Two comparisons that nobody knows to be opposite."""
    _, high = tf.raw_ops.Switch(data=x, pred=n > 0)
    _, low = tf.raw_ops.Switch(data=x, pred=n <= 0)
    return tf.raw_ops.Merge(inputs=[low * 2.0, high + 1.0])[0]


def no_predicate(x: Any, n: Any) -> Any:
    """Two values, each of which arrives under two conditions of its own."""

    def under(first: Any, second: Any) -> Any:
        return tf.raw_ops.Switch(data=tf.raw_ops.Switch(data=x, pred=first)[1], pred=second)[1]

    inputs = [under(n > 0, n > 5) * 2.0, under(n <= 0, n < -5) + 1.0]
    return tf.raw_ops.Merge(inputs=inputs)[0]


def rest(x: Any, n: Any) -> Any:
    """One value arrives under a condition, the other under two that together are its opposite."""
    low, high = tf.raw_ops.Switch(data=x, pred=n > 0)
    _, odd = tf.raw_ops.Switch(data=high, pred=tf.equal(n % 2, 1))
    _, other = tf.raw_ops.Switch(data=x, pred=tf.logical_or(n <= 0, tf.equal(n % 2, 0)))
    return tf.raw_ops.Merge(inputs=[tf.tanh(odd), other + 1.0])[0] + 0.0 * tf.raw_ops.Merge(inputs=[low, high])[0]


def waiting_through_a_loop(x: Any, n: Any) -> Any:
    """Two conds of one predicate, of which the second waits for the first by a loop that captures it."""
    is_positive = n > 0
    a = v1.cond(is_positive, lambda: tf.tanh(x), lambda: x - 1.0)
    looped = _loop(tf.constant(3), x, lambda _, v: v * 0.5 + a)
    return v1.cond(is_positive, lambda: looped * 2.0, lambda: looped)


def crossed(x: Any, n: Any) -> Any:
    """Two conds of each of two predicates: the second of each waits for the first of the other."""
    is_positive, is_even = n > 0, tf.equal(n % 2, 0)
    a = v1.cond(is_positive, lambda: tf.tanh(x), lambda: x - 1.0)
    b = v1.cond(is_even, lambda: x * 3.0, lambda: x)
    c = v1.cond(is_even, lambda: a * 2.0, lambda: a)
    return c + v1.cond(is_positive, lambda: b * 0.5, lambda: b + 1.0)


def consecutive(x: Any, n: Any) -> Any:
    """Three conds of one predicate, each of which waits for those before."""
    is_positive = n > 0
    a = v1.cond(is_positive, lambda: tf.tanh(x), lambda: x - 1.0)
    b = v1.cond(is_positive, lambda: a * 2.0, lambda: a)
    return v1.cond(is_positive, lambda: b - a, lambda: tf.sigmoid(b) * a)


def dead_result(x: Any, n: Any) -> Any:
    """A result that is there for some inputs only: of these the file says the same."""
    return tf.raw_ops.Switch(data=x, pred=n > 0)[1] * 2.0


def scattered(x: Any, n: Any) -> Any:
    """An array that gets its elements in another order than that of the tensor."""
    rows = v1.TensorArray(tf.float32, 3).scatter([2, 0, 1], x)
    return rows.read(tf.clip_by_value(n, 0, 2))


def gradient(x: Any, n: Any) -> Any:
    """The gradient of a loop keeps values of its iterations on stacks."""
    y = v1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, tf.tanh(v) * x), [0, x])[1]
    return tf.gradients(tf.reduce_sum(y), [x])[0] + tf.cast(n, tf.float32)


def gradient_of_nested(x: Any, n: Any) -> Any:
    """A branch pushes on a stack where it is taken, and an inner loop in each iteration of the outer one."""

    def step(i: Any, v: Any) -> Any:
        w = v1.cond(tf.reduce_sum(v) > 0.5, lambda: tf.tanh(v) * x, lambda: v * v - x)
        return i + 1, v1.while_loop(lambda k, _: k < 2, lambda k, u: (k + 1, tf.sin(u) * w), [0, v])[1]

    y = v1.while_loop(lambda i, _: i < 3, step, [0, x])[1]
    return tf.gradients(tf.reduce_sum(y), [x])[0] + tf.cast(n, tf.float32)


def gradient_of_rows(x: Any, n: Any) -> Any:
    """The gradient of a TensorArray is one of its own."""
    y = tf.map_fn(lambda v: v * tf.tanh(v), x)
    return tf.gradients(tf.reduce_sum(y), [x])[0] + tf.cast(n, tf.float32)


def two_exits(graph_def: Any) -> None:
    """Gives the loop of `rotated` a second Exit of one variable."""
    leaving = next(node for node in graph_def.node if node.op == "Exit" and node.name.endswith("_1"))
    second = graph_def.node.add()
    second.CopyFrom(leaving)
    second.name = "second_exit"
    total = next(node for node in graph_def.node if node.name == "y")
    both = graph_def.node.add(name="both", op="AddV2", input=[total.input[0], second.name])
    both.attr["T"].type = tf.float32.as_datatype_enum
    total.input[0] = both.name


def write_graph(folder: Path, name: str) -> None:
    v1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        x, n = v1.placeholder(tf.float32, (3,), "x"), v1.placeholder(tf.int32, (), "n")
        tf.identity((rotated if name == "two_exits" else globals()[name])(x, n), "y")
    graph_def = graph.as_graph_def()
    if name == "two_exits":
        two_exits(graph_def)
    (folder / f"{name}.pb").write_bytes(graph_def.SerializeToString())


def write_saved_model(folder: Path, name: str) -> None:
    """Two signatures over one variable, a reference but for steps that train; "saved_reads" does not change it."""
    v1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph) as session:
        x, n = v1.placeholder(tf.float32, (None, 3), "x"), v1.placeholder(tf.int32, (), "n")
        weights = v1.get_variable("w", initializer=tf.eye(3) * 0.5 + 0.1, use_resource=name.endswith("_trains"))
        loop = _loop(n, x, lambda _, v: tf.tanh(tf.matmul(v, weights)) + x)
        results = {"looped": loop, "chosen": v1.cond(n > 0, lambda: loop * 2.0, lambda: tf.matmul(loop, weights))}
        if name.endswith("_counts"):
            results = {"counted": tf.identity(v1.assign_add(weights, tf.eye(3))) + tf.reduce_sum(x)}
        if name.endswith("_trains"):
            looped = v1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, weights))), [0, x])[1]
            loss = tf.reduce_mean(tf.square(looped - tf.cast(n, tf.float32)))
            with tf.control_dependencies([v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)]):
                results = {"train": tf.identity(loss), "infer": looped}
        if name.endswith("_scatters"):
            results = {"scattered": tf.identity(v1.scatter_sub(weights, [0], tf.ones((1, 3)))) + tf.reduce_sum(x)}
        session.run(v1.global_variables_initializer())
        signature = v1.saved_model.predict_signature_def
        signatures = {key: signature({"x": x, "n": n}, {"y": result}) for key, result in results.items()}
        builder = v1.saved_model.Builder(str(folder / name))
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=signatures)
        builder.save()


if __name__ == "__main__":
    for word in sys.argv[2:]:
        write = write_saved_model if word.startswith("saved_") else write_graph
        write(Path(sys.argv[1]), word)
