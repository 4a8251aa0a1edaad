"""Functions that make models with composites; they run in the interpreter that has TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf


def _function(run: Callable[..., Any], *shapes: Sequence[int], dtype: Any = tf.float32) -> Any:
    return tf.function(run, input_signature=[tf.TensorSpec(shape, dtype) for shape in shapes])


def _composite(name: str, run: Callable[..., Any]) -> Any:
    return tf.function(run, experimental_implements=name, autograph=False)


def unknown() -> Any:
    """No operator of TFLite's, and no plug-in."""
    twice = _composite("acme.twice_tanh", lambda v: tf.tanh(v) * 2.0)
    return _function(lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: twice(x), lambda: x) + twice(x), (3,))


def embedding() -> Any:
    table = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    lookup = _composite("embedding_lookup", lambda t, i: tf.gather(t, i))
    return _function(lambda i: lookup(table, i % 3) * 2.0, (4,), dtype=tf.int32)


def embedding_of_other_operands() -> Any:
    """Functions of a known name, of which one has the operator's operands: of the others the bodies count."""
    table = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = _composite("embedding_lookup", lambda t, i: tf.gather(t, i))
    scaled = _composite("embedding_lookup", lambda t, i, gain: tf.gather(t, i) * gain)
    turned = _composite("embedding_lookup", lambda i, t: tf.gather(t, i))

    def run(i: Any) -> Any:
        i = i % 3
        total = rows(table, i) + rows(table * 2.0, tf.cast(i, tf.int64)) + turned(i, table * 3.0)
        integers = tf.cast(rows(tf.cast(table, tf.int32), i), tf.float32)
        return total + integers + scaled(table * 4.0, i, tf.cast(i[0], tf.float32))

    return _function(run, (4,), dtype=tf.int32)


class Scaled(tf.Module):  # type: ignore[misc]
    """A composite in a branch and outside of it, which takes a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = tf.Variable([1.0, -2.0, 0.5])
        self.scaled = _composite("acme.gain", lambda v, gain: tf.tanh(v) * gain)

    @tf.function(input_signature=[tf.TensorSpec((3,))])  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: self.scaled(x, self.gain), lambda: x) + self.scaled(x, x)


def of_a_plugin() -> Any:
    return Scaled()


class Counting(Scaled):
    """The same in a model that changes a variable, so that it goes through a SavedModel."""

    def __init__(self) -> None:
        super().__init__()
        self.total = tf.Variable([0.0, 0.0, 0.0])

    @tf.function(input_signature=[tf.TensorSpec((3,))])  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        return self.total.assign_add(self.scaled(x, self.gain)) + 0.0


def of_a_plugin_with_state() -> Any:
    return Counting()


def without_a_body_in_tflite() -> Any:
    """TFLite has no operator for the body: only the plug-in computes it."""
    inverse = _composite("Erfinv", lambda v: tf.math.erfinv(v) + 0.0 * tf.math.digamma(v + 2.0))
    return _function(lambda x: inverse(tf.tanh(x) * 0.9) + 1.0, (5,))


def detections() -> Any:
    """SSD's postprocessing with a threshold that nothing reaches: all outputs are zero."""
    words = {"max_detections": "i: 4", "max_classes_per_detection": "i: 1", "num_classes": "i: 2"}
    words |= {"nms_score_threshold": "f: 1e30", "nms_iou_threshold": "f: 0.5", "use_regular_nms": "b: false"}
    words |= {f"{axis}_scale": f"f: {scale}" for axis, scale in zip("yxhw", (10.0, 10.0, 5.0, 5.0), strict=True)}
    attributes = " ".join(f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in words.items())

    def body(boxes: Any, scores: Any, anchors: Any) -> Any:
        zero = tf.minimum(tf.reduce_sum(boxes * boxes + anchors) + tf.reduce_sum(scores), 0.0) * 0.0
        return tf.zeros((1, 4, 4)) + zero, tf.zeros((1, 4)) + zero, tf.zeros((1, 4)) + zero, tf.zeros(1) + zero

    process = _composite(f'name: "TFLite_Detection_PostProcess" {attributes}', body)
    return _function(process, (1, 6, 4), (1, 6, 3), (6, 4))
