"""Trains a classifier of shoulder exercises on nine people, and lets TensorFlow adapt it to the tenth.

    pip install tensorflow-cpu && pip install --no-deps seglearn
    python make_model.py [PERSON]

The package seglearn has recordings of a watch (D. Burns et al., https://arxiv.org/abs/1802.01489): ten people do seven
exercises with either arm; acceleration and rotation, 50 Hz. Windows are 2.56 s at 12.5 Hz. PERSON, by default 2, is
left out of the training. The first half of each of the person's recordings is for learning, the second for tests.

It writes exercises.tflite, and exercises.npz: 100 samples to learn from in the order of learning (`learn`, `labels`),
samples for tests (`test`, `test_labels`), in int8 of 1/32; and of TensorFlow's own training from the same weights with
the same samples the losses of the 100 steps (`losses`) and how many tests are right before, after 20 and after 100
(`correct`). With a PERSON it only prints these.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

Array = NDArray[Any]

HERE = Path(__file__).resolve().parent
PERSON = 2
EXERCISES = 7
ROWS, MEANS_OF = 32, 4
"""Rows of a window, and how many recorded rows one of them is the mean of."""
TRAIN_EVERY, TEST_EVERY = 8, 16
"""Rows from one window to the next."""
MEAN = np.array([0.0, 0.4, -0.15, 0.0, 0.0, 0.0])
DEVIATION = np.array([0.9, 0.5, 0.55, 1.0, 2.5, 1.05])
UNIT = 32
STOPS = (0, 20, 100)
"""Samples after which the tests are done."""
RATE = 1e-3
SEED = 3


def recordings() -> list[tuple[int, int, Array]]:
    """Person, exercise and rows int8[n, 6] of each recording."""
    spec = find_spec("seglearn")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps seglearn")
    data = np.load(Path(spec.origin).parent / "data" / "watch_dataset.npy", allow_pickle=True).item()
    kept = []
    for person, exercise, rows in zip(data["subject"], data["y"], data["X"], strict=True):
        means = rows[: len(rows) // MEANS_OF * MEANS_OF].reshape(-1, MEANS_OF, rows.shape[1]).mean(1)
        units = np.clip(np.round((means - MEAN) / DEVIATION * UNIT), -127, 127).astype(np.int8)
        kept.append((int(person), int(exercise), units))
    return kept


def windows(parts: list[tuple[int, Array]], every: int) -> tuple[Array, Array]:
    """Windows int8[n, ROWS, 6] of pairs of an exercise and rows, and their exercises."""
    pairs = [(rows[s : s + ROWS], label) for label, rows in parts for s in range(0, len(rows) - ROWS + 1, every)]
    return np.array([window for window, _ in pairs]), np.array([label for _, label in pairs], np.int8)


def in_turn(labels: Array) -> Array:
    """Indices of samples to learn from: all exercises once in random order, then again."""
    rng = np.random.default_rng(SEED)
    queues = [list(rng.permutation(np.flatnonzero(labels == label))) for label in range(EXERCISES)]
    rounds = -(-STOPS[-1] // EXERCISES)
    return np.array([queues[label].pop() for _ in range(rounds) for label in rng.permutation(EXERCISES)])[: STOPS[-1]]


def real(samples: Array) -> Array:
    return samples.astype(np.float32) / UNIT


def trained(samples: Array, labels: Array) -> Any:
    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    layers = keras.layers
    inputs = layers.Input((ROWS, 6), name="x")
    maps = layers.Conv1D(12, 5, 2, activation="relu")(inputs)
    maps = layers.Conv1D(16, 5, 2, activation="relu")(maps)
    hidden = layers.Dense(24, activation="relu")(layers.Dropout(0.3)(layers.Flatten()(maps)))
    model = keras.Model(inputs, layers.Dense(EXERCISES)(hidden))
    model.compile(keras.optimizers.Adam(2e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(real(samples), labels, epochs=12, batch_size=64, verbose=0)
    return model


def adapted(model: Any, learn: tuple[Array, Array], test: tuple[Array, Array]) -> tuple[Array, Array]:
    """Losses of the steps with one sample each, and how many tests are right at STOPS."""
    loss, optimizer = keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras.optimizers.Adam(RATE)
    weights = model.trainable_variables
    optimizer.build(weights)

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=False))
        optimizer.apply_gradients(zip(tape.gradient(value, weights), weights, strict=True))
        return value

    compiled_step = tf.function(step)
    losses, correct = [], []
    for done in range(STOPS[-1] + 1):
        if done in STOPS:
            correct.append(int(np.sum(np.argmax(model(real(test[0]), training=False), -1) == test[1])))
        if done < STOPS[-1]:
            losses.append(
                float(compiled_step(real(learn[0][done : done + 1]), learn[1][done : done + 1].astype(np.int32)))
            )
    return np.array(losses, np.float32), np.array(correct, np.int16)


def converted(model: Any) -> bytes:
    spec = tf.TensorSpec((1, ROWS, 6), tf.float32, name="x")
    function = tf.function(lambda x: model(x, training=False), input_signature=[spec]).get_concrete_function()
    frozen = convert_variables_to_constants_v2(function)
    data: bytes = tf.lite.TFLiteConverter.from_concrete_functions([frozen]).convert()
    return data


def main() -> None:
    person = int(sys.argv[1]) if len(sys.argv) > 1 else PERSON
    everyone = recordings()
    model = trained(*windows([(label, rows) for who, label, rows in everyone if who != person], TRAIN_EVERY))
    own = [(label, rows, len(rows) // 2) for who, label, rows in everyone if who == person]
    samples, labels = windows([(label, rows[:half]) for label, rows, half in own], TRAIN_EVERY)
    learn = samples[order := in_turn(labels)], labels[order]
    test = windows([(label, rows[half:]) for label, rows, half in own], TEST_EVERY)
    data = converted(model)
    losses, correct = adapted(model, learn, test)
    print(f"person {person}: {correct} of {len(test[0])} right after {STOPS}, {correct / len(test[0]) * 100} %")
    if len(sys.argv) > 1:
        return
    (HERE / "exercises.tflite").write_bytes(data)
    own_samples = {"learn": learn[0], "labels": learn[1], "test": test[0], "test_labels": test[1]}
    arrays: dict[str, Any] = {**own_samples, "losses": losses, "correct": correct}
    np.savez_compressed(HERE / "exercises.npz", **arrays)


if __name__ == "__main__":
    main()
