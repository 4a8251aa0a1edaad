"""Makes examples/lstm_sequences.tflite and .npz: a Keras 3 LSTM that returns its whole sequence, with frozen weights.

    pip install tensorflow-cpu
    python examples/make_lstm.py [UNITS [MODEL.tflite]]

x float32[1, 100, 32] -> float32[1, 100, UNITS], UNITS = 16 in the committed file, so that it stays small. TensorFlow's
converter makes a WHILE of the layer and lowers its TensorLists to slices and concatenations of the whole sequence, 100
times over; tflmgen stores one row per step. The expected outputs are TensorFlow's own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

HERE = Path(__file__).resolve().parent
STEPS, FEATURES, UNITS = 100, 32, 16
SEED = 3


def main() -> None:
    units = int(sys.argv[1]) if len(sys.argv) > 1 else UNITS
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "lstm_sequences.tflite"
    keras.utils.set_random_seed(SEED)
    layer = keras.layers.LSTM(units, return_sequences=True, unroll=False)
    model = keras.Sequential([keras.Input((STEPS, FEATURES), batch_size=1), layer])
    weights = [w.astype(np.float32) for w in model.get_weights()]
    model.set_weights([w + np.random.default_rng(i).normal(0, 0.05, w.shape) for i, w in enumerate(weights)])

    @tf.function(input_signature=[tf.TensorSpec((1, STEPS, FEATURES), tf.float32, name="x")])
    def run(x: tf.Tensor) -> tf.Tensor:
        return model(x, training=False)

    frozen = convert_variables_to_constants_v2(run.get_concrete_function(), lower_control_flow=False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
    data = converter.convert()
    path.write_bytes(data)
    rng = np.random.default_rng(SEED)
    inputs = [rng.normal(0, scale, (1, STEPS, FEATURES)).astype(np.float32) for scale in (0.5, 2.0)]
    arrays = {"n_sets": np.array(len(inputs)), "stateful": np.array(False)}
    for k, x in enumerate(inputs):
        arrays |= {f"s{k}_in_0": x, f"s{k}_out_0": run(tf.constant(x)).numpy()}
    np.savez_compressed(path.with_suffix(".npz"), **arrays)
    print(f"{path}: {len(data)} bytes")


if __name__ == "__main__":
    main()
