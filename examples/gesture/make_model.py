"""Trains the example's classifier on BasicMotions; writes motion.tflite, motions.csv and expected.csv beside itself.

    pip install tensorflow-cpu aeon
    python make_model.py

BasicMotions is in the package aeon: students with a smart watch stand, walk, run or play badminton; 80 recordings of
10 s at 10 Hz, half of them for tests. The CSV file has recordings of the test half, one after the other.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf
from aeon.datasets import load_classification
from numpy.typing import NDArray

Array = NDArray[Any]

HERE = Path(__file__).resolve().parent
LABELS = ("badminton", "running", "standing", "walking")
ROWS, HERTZ, UNIT = 40, 10, 512
MEAN = np.array([2.6, -1.3, -1.0, 0.0, 0.0, -0.1], np.float32)
DEVIATION = np.array([7.1, 6.8, 3.6, 2.1, 1.8, 3.5], np.float32)
"""Of the training half, rounded, as app.toml has them."""
SCENE = (("standing", 0), ("walking", 0), ("running", 0), ("badminton", 0), ("standing", 1), ("running", 1))
"""Label and number of the recordings in motions.csv."""
SEED = 3


def recordings(split: str) -> tuple[Array, Array]:
    """int16[n, 100, 6] in units of 1/512, and labels."""
    x, names = load_classification("BasicMotions", split=split)
    counts = np.round(np.transpose(np.array(x), (0, 2, 1)) * UNIT)
    return np.clip(counts, -32768, 32767).astype(np.int16), np.array([LABELS.index(name) for name in names])


def windows(x: Array, labels: Array) -> tuple[Array, Array]:
    """All windows of 4 s, normalised, and their labels."""
    real = (x.astype(np.float32) / UNIT - MEAN) / DEVIATION
    starts = range(x.shape[1] - ROWS + 1)
    return np.concatenate([real[:, s : s + ROWS] for s in starts]), np.tile(labels, len(starts))


def trained(x: Array, labels: Array) -> Any:
    tf.keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    layers = tf.keras.layers
    inputs = layers.Input((ROWS, 6), 1)
    maps = layers.Conv1D(12, 5, activation="relu")(inputs)
    maps = layers.Conv1D(16, 5, activation="relu")(maps)
    maps = layers.Conv1D(16, 5, activation="relu")(maps)
    pooled = layers.Dropout(0.2)(layers.GlobalAveragePooling1D()(maps))
    model = tf.keras.Model(inputs, layers.Dense(len(LABELS), activation="softmax")(pooled))
    model.compile(tf.keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    model.fit(x, labels, 64, 15, verbose=0)
    return model


def converted(model: Any, x: Array) -> bytes:
    """The model in int8."""
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([sample[None]] for sample in x[::7])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return bytes(converter.convert())


def right(content: bytes, x: Array, labels: Array) -> float:
    """Part of the windows that the converted model labels as they are."""
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    scale, zero = source["quantization"]
    hits = 0
    for sample, label in zip(np.clip(np.round(x / scale) + zero, -128, 127).astype(np.int8), labels, strict=True):
        interpreter.set_tensor(source["index"], sample[None])
        interpreter.invoke()
        hits += int(interpreter.get_tensor(result["index"]).argmax() == label)
    return hits / len(x)


def write_scene(x: Array, labels: Array) -> None:
    """A motion is expected to be decided within 4 s: by then the window has nothing else in it."""
    parts = [x[labels == LABELS.index(name)][number] for name, number in SCENE]
    np.savetxt(HERE / "motions.csv", np.concatenate(parts), "%d", ",")
    rows, start = [], 0.0
    for (name, _), part in zip(SCENE, parts, strict=True):
        rows.append(f"{start + 3.5:.1f},decide,{name},2500 ms")
        start += len(part) / HERTZ
    (HERE / "expected.csv").write_text("\n".join(["time,stage,value,tolerance", *rows]) + "\n")


def main() -> None:
    x, labels = windows(*recordings("train"))
    tested, others = recordings("test")
    model = trained(x, labels)
    content = converted(model, x)
    (HERE / "motion.tflite").write_bytes(content)
    write_scene(tested, others)
    test_x, test_labels = windows(tested, others)
    hits = model.predict(test_x, verbose=0).argmax(1) == test_labels
    accuracy = right(content, test_x, test_labels)
    print(f"{len(test_x)} windows of the test half: float32 {hits.mean():.1%}, int8 {accuracy:.1%}")


if __name__ == "__main__":
    main()
