"""Writes files that Keras 3 never writes, and graphs that reach files; it runs in TensorFlow's interpreter."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import keras
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

layers = keras.layers


def layers_of_keras_2() -> Any:
    """Layers into whose configurations Keras 2 wrote keys that Keras 3 refuses, and a function that it changed."""
    keras.utils.set_random_seed(7)
    x = keras.Input((6, 4))
    value = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    value = layers.GRU(4, return_sequences=True)(value)
    value = layers.BatchNormalization()(layers.SeparableConv1D(4, 3)(value))
    return keras.Model(x, layers.Activation("hard_sigmoid")(layers.Flatten()(value)))


def dense() -> Any:
    keras.utils.set_random_seed(7)
    x = keras.Input((3,))
    return keras.Model(x, layers.Dense(2)(x))


def rewrite(path: Path, change: Callable[[Any], None], version: str) -> None:
    """Changes the configuration in a .keras or .h5 file, and the version of Keras that it says it is of."""
    if path.suffix == ".h5":
        with h5py.File(path, "r+") as file:
            configuration = json.loads(file.attrs["model_config"])
            change(configuration)
            file.attrs["model_config"], file.attrs["keras_version"] = json.dumps(configuration), version
        return
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    configuration = json.loads(members["config.json"])
    change(configuration)
    members["config.json"] = json.dumps(configuration).encode()
    members["metadata.json"] = json.dumps({**json.loads(members["metadata.json"]), "keras_version": version}).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)


def with_keys_of_keras_2(configuration: Any) -> None:
    """Adds what tf_keras 2.21 writes into configurations of these layers, at its defaults."""
    keys = {
        "LSTM": {"time_major": False, "implementation": 2},
        "GRU": {"time_major": False, "implementation": 2},
        "SeparableConv1D": {"groups": 1, "kernel_regularizer": None, "kernel_constraint": None},
        "BatchNormalization": {"axis": [2]},
    }
    remaining = [configuration]
    while remaining:
        part = remaining.pop()
        remaining += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        if isinstance(part, dict) and isinstance(part.get("config"), dict):
            part["config"] |= keys.get(str(part.get("class_name")), {})


def with_units(units: int) -> Callable[[Any], None]:
    """Changes the number of units that dense layers declare."""

    def change(configuration: Any) -> None:
        for layer in configuration["config"]["layers"]:
            if layer["class_name"] == "Dense":
                layer["config"]["units"] = units

    return change


def reaching(folder: Path) -> None:
    """SavedModels, binary and text, that write a file when they run, and a frozen graph that reads one."""

    class Writer(tf.Module):  # type: ignore[misc]
        @tf.function(  # type: ignore[untyped-decorator]
            input_signature=[tf.TensorSpec([2], tf.float32)]
        )
        def run(self, x: Any) -> Any:
            tf.io.write_file(str(folder / "written"), "by the model")
            return {"y": x + 1.0}

    writer = Writer()
    tf.saved_model.save(writer, str(folder / "writer"), signatures={"run": writer.run})
    message = saved_model_pb2.SavedModel()
    message.ParseFromString((folder / "writer" / "saved_model.pb").read_bytes())
    (folder / "text").mkdir()
    (folder / "text" / "saved_model.pbtxt").write_text(text_format.MessageToString(message))

    class Printer(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])  # type: ignore[untyped-decorator]
        def run(self, x: Any) -> Any:
            tf.print(x, output_stream=f"file://{folder / 'written'}")
            return {"y": x + 1.0}

    printer = Printer()
    tf.saved_model.save(printer, str(folder / "printer"), signatures={"run": printer.run})
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        length = tf.strings.length(tf.io.read_file("/etc/hostname"))
        tf.add(x, tf.cast(length, tf.float32), name="y")
    (folder / "reader.pb").write_bytes(graph.as_graph_def().SerializeToString())


def main(folder: Path) -> None:
    """Writes each Keras model as .h5 and as .keras, and the graphs."""
    reaching(folder)
    for suffix in ("h5", "keras"):
        old, small = folder / f"layers_of_keras_2.{suffix}", folder / f"dense.{suffix}"
        layers_of_keras_2().save(old)
        rewrite(old, with_keys_of_keras_2, "2.15.0")
        dense().save(small)
        rewrite(small, with_units(250_000_000), keras.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
