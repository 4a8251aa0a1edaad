"""Trains the example's two models on speech that espeak-ng makes, and writes vad.tflite and kws.tflite beside itself.

    apt install espeak-ng
    pip install tensorflow-cpu tflmgen
    python make_models.py

vad  8 rows of features: is that speech?
kws  64 rows of features: do they end with the word? Convolutions without padding, so that they slide cheaply
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tflmgen
from numpy.typing import NDArray
from speech import OTHERS, RATE, WORD, Samples, sentence, spoken, variations

HERE = Path(__file__).parent
CHANNELS, VAD_ROWS, KWS_ROWS = 40, 8, 64
FRAME = RATE // 100
FRONT_END = """
[input.audio]
type = "int16"
shape = [160]
[stage.features]
builtin = "microfrontend"
input = "audio"
slide = [0, 160]
"""
PER_WORD = 240
SCALE, ZERO = 1 / 26, -128
"""Of the features, as the front end's int8 has them for the models: 0 to about 10."""

Features = NDArray[np.int8]


def features_of(clips: list[Samples]) -> list[Features]:
    """Rows of each clip, by the application's own front end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "front_end.toml"
        path.write_text(FRONT_END)
        with tflmgen.compile(path, "host").session() as session:
            rows = []
            for clip in clips:
                session.reset()
                frames = clip[: len(clip) // FRAME * FRAME].reshape(-1, FRAME)
                rows.append(np.concatenate([session.run(frame)["features.features"] for frame in frames]))
    return rows


def clips() -> tuple[list[Samples], list[tuple[int, int, bool]]]:
    """Seconds of speech, and of each the rows in which its word begins and ends, and whether it is the word."""
    rng, sounds, spans = np.random.default_rng(5), [], []
    for number in range(5 * PER_WORD):
        is_word = number % 5 < 2
        text = WORD if is_word else str(rng.choice(OTHERS))
        ((voice, speed, pitch),) = variations(rng, 1)
        word = spoken(text, voice, speed, pitch)
        start = rng.uniform(0.3, 0.6)
        length = len(word) / RATE
        sounds.append(sentence([(start, (word * rng.uniform(0.3, 1.0)).astype(np.int16))], start + length + 0.5, rng))
        spans.append((int(start * 100), int((start + length) * 100), is_word))
    return sounds, spans


def windows(rows: list[Features], spans: list[tuple[int, int, bool]]) -> tuple[Any, Any, Any, Any]:
    """Inputs and labels of both models."""
    rng = np.random.default_rng(6)
    vad, vad_labels, kws, kws_labels = [], [], [], []
    for feature, (first, last, is_word) in zip(rows, spans, strict=True):
        for end in rng.integers(VAD_ROWS, len(feature), 8):
            inside = first + 4 <= end <= last
            if inside or end < first or end > last + 12:
                vad.append(feature[end - VAD_ROWS : end])
                vad_labels.append(int(inside))
        padded = np.concatenate([np.repeat(feature[:8], 8, 0), feature])
        ends = [last + int(d) for d in rng.integers(-2, 7, 3)] if is_word else rng.integers(first, len(feature), 3)
        early = rng.integers(first, max(first + 1, last - 15), 1)
        for end in (*ends, *early):
            kws.append(padded[end : end + KWS_ROWS])
            kws_labels.append(int(is_word and end > last - 5))
    return np.array(vad), np.array(vad_labels), np.array(kws), np.array(kws_labels)


def real(features: Features) -> NDArray[np.float32]:
    return ((features.astype(np.float32) - ZERO) * SCALE).astype(np.float32)


def trained(model: Any, x: NDArray[np.float32], y: NDArray[Any], epochs: int) -> None:
    model.compile(tf.keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy", metrics=["accuracy"])
    weights = {0: 1.0, 1: float(np.sum(y == 0) / np.sum(y == 1))}
    model.fit(x, y, 64, epochs, verbose=2, validation_split=0.15, class_weight=weights)


def written(model: Any, x: NDArray[np.float32], path: Path) -> None:
    """The model in int8, with its input's scale as the front end has it: the extremes are among the samples."""
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    extremes = np.linspace(0, 255 * SCALE, x[:1].size, dtype=np.float32).reshape(x[:1].shape)
    converter.representative_dataset = lambda: ([sample[None]] for sample in (*extremes, *x[::7]))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    path.write_bytes(converter.convert())


def main() -> None:
    tf.keras.utils.set_random_seed(1)
    layers = tf.keras.layers
    sounds, spans = clips()
    vad_x, vad_y, kws_x, kws_y = windows(features_of(sounds), spans)
    order = np.random.default_rng(7).permutation(len(kws_x))
    kws_x, kws_y = kws_x[order], kws_y[order]
    inputs = layers.Input((VAD_ROWS, CHANNELS), 1)
    x = layers.GlobalAveragePooling1D()(layers.Conv1D(4, 3, activation="relu")(inputs))
    vad = tf.keras.Model(inputs, layers.Dense(2, activation="softmax")(x))
    trained(vad, real(vad_x), vad_y, 10)
    written(vad, real(vad_x), HERE / "vad.tflite")
    inputs = layers.Input((KWS_ROWS, CHANNELS), 1)
    x = layers.Conv1D(16, 5, 2, activation="relu")(inputs)
    for _ in range(3):
        x = layers.Conv1D(24, 5, activation="relu")(x)
    x = layers.Dropout(0.3)(layers.Flatten()(layers.AveragePooling1D(3)(x)))
    kws = tf.keras.Model(inputs, layers.Dense(2, activation="softmax")(x))
    trained(kws, real(kws_x), kws_y, 25)
    written(kws, real(kws_x), HERE / "kws.tflite")


if __name__ == "__main__":
    main()
