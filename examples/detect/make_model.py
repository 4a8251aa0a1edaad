"""Trains a person detector, a single-shot one with boxes of two scales, on drawn pictures.

    pip install tensorflow-cpu
    python make_model.py [EPOCHS]

    tflmgen convert saved_model -o person.tflite

It writes saved_model/ in the current folder, which tflmgen converts; pictures.npz: 24 pictures to calibrate with; and
scenes.npz: four to look at (`picture`) with their people (`people`, rows that are not in use zero). It prints how many
of the people in 400 other pictures are found, and by how many boxes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from pictures import MOST_PEOPLE, SIZE, scenes

Array = NDArray[Any]

HERE = Path(__file__).resolve().parent
SEED = 5
SCALES = ((12, 0.32), (12, 0.45), (6, 0.62), (6, 0.82))
"""Cells along each side, and the height of the box around each cell's middle, which is 0.45 times as wide."""
BOXES = 5
"""Boxes that come out, those of the greatest scores that overlap by less than OVERLAP."""
OVERLAP, LEAST_SCORE = 0.3, 0.3
TRAINED, TESTED = 6000, 400


def anchors() -> Array:
    """Middle (row, column), height and width of each box that is looked at: float32[boxes, 4]."""
    rows = []
    for cells, height in SCALES:
        middles = (np.arange(cells) + 0.5) / cells
        rows += [(row, column, height, 0.45 * height) for row in middles for column in middles]
    return np.array(rows, np.float32)


ANCHORS = anchors()


def targets(people: list[Array]) -> tuple[Array, Array]:
    """Scores float32[n, boxes] (1 where a person is, -1 where it does not matter) and shifts [n, boxes, 4]."""
    scores = np.zeros((len(people), len(ANCHORS)), np.float32)
    shifts = np.zeros((len(people), len(ANCHORS), 4), np.float32)
    for number, boxes in enumerate(people):
        for top, left, bottom, right in boxes:
            middle, size = np.array([top + bottom, left + right]) / 2, np.array([bottom - top, right - left])
            common = overlaps(ANCHORS, middle, size)
            is_near = common > min(0.45, float(common.max()) * 0.999)
            scores[number, (common > 0.3) & ~is_near & (scores[number] == 0)] = -1
            scores[number, is_near] = 1
            shifts[number, is_near, :2] = (middle - ANCHORS[is_near, :2]) / ANCHORS[is_near, 2:]
            shifts[number, is_near, 2:] = np.log(size / ANCHORS[is_near, 2:])
    return scores, shifts


def overlaps(boxes: Array, middle: Array, size: Array) -> Array:
    """Shared area by joint area of boxes (middles and sizes) and one box."""
    least = np.maximum(boxes[:, :2] - boxes[:, 2:] / 2, middle - size / 2)
    most = np.minimum(boxes[:, :2] + boxes[:, 2:] / 2, middle + size / 2)
    shared = np.prod(np.maximum(most - least, 0), axis=1)
    return np.asarray(shared / (np.prod(boxes[:, 2:], axis=1) + np.prod(size) - shared))


def network() -> Any:
    """Pictures to scores (logits) [n, boxes] and shifts [n, boxes, 4]."""
    layers = keras.layers

    def block(x: Any, channels: int, stride: int) -> Any:
        x = layers.DepthwiseConv2D(3, stride, "same", use_bias=False)(x)
        x = layers.ReLU(6)(layers.BatchNormalization()(x))
        x = layers.Conv2D(channels, 1, use_bias=False)(x)
        return layers.ReLU(6)(layers.BatchNormalization()(x))

    def head(x: Any, values: int) -> Any:
        return layers.Reshape((-1, values))(layers.Permute((3, 1, 2, 4))(_by_scale(x, values)))

    def _by_scale(x: Any, values: int) -> Any:
        cells = x.shape[1]
        return layers.Reshape((cells, cells, 2, values))(layers.Conv2D(2 * values, 3, padding="same")(x))

    picture = layers.Input((SIZE, SIZE, 1), name="picture")
    x = layers.Conv2D(8, 3, 2, "same", use_bias=False)(picture)
    x = layers.ReLU(6)(layers.BatchNormalization()(x))
    fine = block(block(block(block(x, 16, 2), 16, 1), 32, 2), 32, 1)
    coarse = block(block(block(fine, 48, 2), 48, 1), 48, 1)
    join = layers.Concatenate(1)
    scores = layers.Flatten()(join([head(fine, 1), head(coarse, 1)]))
    return keras.Model(picture, [scores, layers.Concatenate(1)([head(fine, 4), head(coarse, 4)])])


def loss_of(wanted: Any, shifts: Any, scores: Any, given: Any) -> Any:
    """Focal loss of the scores, and the shifts' where people are."""
    is_person, counts = tf.cast(wanted == 1, tf.float32), tf.cast(wanted >= 0, tf.float32)
    likely = tf.sigmoid(scores)
    right = is_person * likely + (1 - is_person) * (1 - likely)
    focal = tf.nn.sigmoid_cross_entropy_with_logits(is_person, scores) * (1 - right) ** 2
    people = tf.reduce_sum(is_person) + 1
    moved = tf.reduce_sum(is_person[..., None] * tf.abs(shifts - given)) / people
    return tf.reduce_sum(focal * counts) / people + moved


def trained(pictures: Array, people: list[Array], epochs: int) -> Any:
    keras.utils.set_random_seed(SEED)
    model = network()
    batch, rng = 32, np.random.default_rng(SEED)
    steps = epochs * (len(pictures) // batch)
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(4e-3, steps))
    scores, shifts = targets(people)

    @tf.function
    def step(x: Any, wanted: Any, moved: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(wanted, moved, *model(x, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    for epoch in range(epochs):
        order = rng.permutation(len(pictures))[: len(pictures) // batch * batch].reshape(-1, batch)
        losses = [float(step(pictures[k], scores[k], shifts[k])) for k in order]
        print(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.3f}", flush=True)
    return model


def detector(model: Any) -> Any:
    """A picture to boxes [1, BOXES, 4], scores [1, BOXES] and their number, as a tf.Module with a signature."""

    def detect(picture: Any) -> dict[str, Any]:
        logits, shifts = model(picture, training=False)
        middles = ANCHORS[:, :2] + shifts[..., :2] * ANCHORS[:, 2:]
        sides = ANCHORS[:, 2:] * tf.exp(shifts[..., 2:])
        corners = tf.concat([middles - sides / 2, middles + sides / 2], -1)
        boxes, scores, _, count = tf.image.combined_non_max_suppression(
            corners[:, :, None], tf.sigmoid(logits)[..., None], BOXES, BOXES, OVERLAP, LEAST_SCORE, clip_boxes=True
        )
        return {"boxes": boxes, "scores": scores, "count": count}

    module = tf.Module()
    module.model = model
    spec = tf.TensorSpec((1, SIZE, SIZE, 1), tf.float32, name="picture")
    module.detect = tf.function(detect, input_signature=[spec])
    return module


def found(boxes: Array, people: Array) -> int:
    """People that a box covers by half (shared by joint area), each box for one."""
    left, number = list(boxes), 0
    for top, column, bottom, right in people:
        middle, size = np.array([top + bottom, column + right]) / 2, np.array([bottom - top, right - column])
        own = [np.concatenate([(b[:2] + b[2:]) / 2, b[2:] - b[:2]]) for b in left]
        common = overlaps(np.array(own), middle, size) if own else np.zeros(0)
        if common.size and common.max() >= 0.5:
            left.pop(int(common.argmax()))
            number += 1
    return number


def main() -> None:
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    model = trained(*scenes(TRAINED, SEED), epochs)
    module = detector(model)
    pictures, people = scenes(TESTED, SEED + 1)
    answers = [module.detect(tf.constant(picture[None])) for picture in pictures]
    boxes = [a["boxes"].numpy()[0, : int(a["count"][0])] for a in answers]
    hits = sum(found(own, wanted) for own, wanted in zip(boxes, people, strict=True))
    print(f"{hits} of {sum(map(len, people))} people found, {sum(map(len, boxes))} boxes")
    tf.saved_model.save(module, "saved_model", signatures={"serving_default": module.detect})
    np.savez_compressed(HERE / "pictures.npz", picture=scenes(24, SEED + 2)[0])
    shown, persons = scenes(4, SEED + 3)
    padded = np.stack([np.pad(p, ((0, MOST_PEOPLE - len(p)), (0, 0))) for p in persons])
    np.savez_compressed(HERE / "scenes.npz", picture=shown, people=padded)


if __name__ == "__main__":
    main()
