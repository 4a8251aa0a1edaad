"""A Program as a .tflite file, by TensorFlow's converter, with what it breaks rewritten before it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import convert_to_constants

from tflmgen.tensorflow_worker.composites import fused_names, has_composites, keeping_composites, release_composites
from tflmgen.tensorflow_worker.graph_mends import (
    AFTER_FREEZING,
    AFTER_STRUCTURE,
    BEFORE_FREEZING,
    BEFORE_STRUCTURE,
    WITH_VARIABLES,
    mend_graph,
    mended_function,
    structured,
)
from tflmgen.tensorflow_worker.loaded_source import LoadedProgram, SourceError
from tflmgen.tensorflow_worker.merged_branches import UnstructuredError
from tflmgen.tensorflow_worker.structured_control_flow import structured_function
from tflmgen.tensorflow_worker.version_1_functions import has_control_flow_v1


@dataclass(frozen=True)
class Converted:
    """A converted program.

    mends      a sentence for each kind of rewrite
    inputs     nodes of the graph that the inputs are, where the file has no signatures
    graph_def  the frozen graph, if there is one
    custom     custom operators that composites have become
    """

    data: bytes
    mends: list[str]
    inputs: list[str]
    graph_def: Any
    custom: list[str] = field(default_factory=list)


def convert(program: LoadedProgram, folder: Path, custom: Sequence[str] | None, bound: int | None) -> Converted:
    """Converts a program. Raises SourceError that names layer and operation.

    A program of one entry that changes no variable is frozen to a graph; others go through a SavedModel, whose
    signatures share their variables.

    custom  composites of these names become custom operators
    bound   iterations of loops whose condition gives no bound, and of which a gradient keeps values
    """
    convert_by = _of_graph if len(program.entries) == 1 and not program.is_stateful else _of_saved_model
    if any(has_composites(entry.function.graph.as_graph_def()) for entry in program.entries):
        try:
            return convert_by(program, folder, custom, bound)
        except Exception:
            # A composite whose operands are not those of its operator is refused: inlined, it is what its body says.
            custom = None
    try:
        return convert_by(program, folder, custom, bound)
    except Exception as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(*_explained(str(error))) from None


def _of_graph(program: LoadedProgram, folder: Path, custom: Sequence[str] | None, bound: int | None) -> Converted:
    (entry,) = program.entries
    kept: list[str] = []
    keep = keeping_composites(custom, kept, freezes=True)
    function, mends = mended_function(structured(entry.function, False), keep, BEFORE_FREEZING, bound)
    kept += fused_names(function.graph.as_graph_def())
    graph_def, inputs, outputs = _constant_graph(function)
    if has_control_flow_v1(graph_def):
        mends += mend_graph(graph_def, outputs, BEFORE_STRUCTURE)
        try:
            graph_def, inputs, outputs = _frozen(structured_function(graph_def, inputs, outputs))
        except UnstructuredError as error:
            raise error.refusal from None
        mends += mend_graph(graph_def, outputs, AFTER_STRUCTURE)
    else:
        mends += mend_graph(graph_def, outputs, AFTER_FREEZING)
    release_composites(graph_def)
    (folder / "graph.pb").write_bytes(graph_def.SerializeToString())
    kept = [name for name in dict.fromkeys(kept) if name in (custom or ())]
    data = _converted_graph(graph_def, inputs, outputs, allows_custom=bool(kept))
    return Converted(data, mends, [name.split(":")[0] for name in inputs], graph_def, kept)


def _constant_graph(function: Any) -> tuple[Any, list[str], list[str]]:
    """The function's graph with constants for variables, names of its inputs and of its outputs, as _frozen() returns.

    A graph without variables may stay as it is: freezing fails for functions with TensorFlow 1's control flow.
    """
    try:
        return _frozen(function)
    except tf.errors.InvalidArgumentError:
        graph_def = function.graph.as_graph_def()
        if function.captured_inputs or not has_control_flow_v1(graph_def):
            raise
    return graph_def, *([tensor.name for tensor in side] for side in (function.inputs, function.outputs))


def _frozen(function: Any) -> tuple[Any, list[str], list[str]]:
    """The graph of a ConcreteFunction with its variables as constants, and the names of inputs and outputs."""
    frozen = convert_to_constants.convert_variables_to_constants_v2(function, lower_control_flow=False)
    inputs, outputs = ([tensor.name for tensor in side] for side in (frozen.inputs, frozen.outputs))
    return frozen.graph.as_graph_def(), inputs, outputs


def _converted_graph(graph_def: Any, inputs: Sequence[str], outputs: Sequence[str], allows_custom: bool) -> bytes:
    """The file of a frozen graph. A graph of its own keeps its functions apart from those of earlier conversions."""
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(graph_def, name="")
        ports = [[graph.get_tensor_by_name(name) for name in names] for names in (inputs, outputs)]
    converter = tf.compat.v1.lite.TFLiteConverter(graph_def, *ports)
    converter.allow_custom_ops = allows_custom
    return bytes(converter.convert())


def _of_saved_model(program: LoadedProgram, folder: Path, custom: Sequence[str] | None, bound: int | None) -> Converted:
    module = tf.Module()
    module.variables_of_program = program.variables
    signatures, mends = {}, []
    kept: list[str] = []
    for number, entry in enumerate(program.entries):
        keep = keeping_composites(custom, kept, freezes=False)
        function, done = mended_function(structured(entry.function, True), keep, WITH_VARIABLES, bound)
        kept += fused_names(function.graph.as_graph_def())
        mends += done
        own = function.inputs[: len(entry.inputs)]
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype, name=f"in_{i:03}") for i, tensor in enumerate(own)]
        named = tf.function(_by_name(function), autograph=False)
        signatures[f"entry_{number}"] = named.get_concrete_function(*specs)
    saved = folder / "saved_model"
    shutil.rmtree(saved, ignore_errors=True)
    # What is derived by a gradient function of its own has been derived.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, str(saved), signatures=signatures, options=options)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(saved), signature_keys=list(signatures))
    kept = [name for name in dict.fromkeys(kept) if name in (custom or ())]
    converter.allow_custom_ops = bool(kept)
    return Converted(bytes(converter.convert()), mends, [], None, kept)


def _by_name(function: Any) -> Any:
    def run(*tensors: Any) -> Any:
        results = tf.nest.flatten(function(*tensors))
        return {f"out_{j:03}": tf.identity(result) for j, result in enumerate(results)}

    return run


_NODE = re.compile(r"\bfused\[\"[^\"]*:\", \"([^\"@]+)")
_LINE = re.compile(r"([^\s\"(]+\.py):(\d+)")
_ILLEGAL = re.compile(r"'(tf\.[\w.]+)' op is neither a custom op nor a flex op")
_CALLS = re.compile(r"^((Stateful)?PartitionedCall(_\d+)?/)+")
_OWN = (os.sep + "tensorflow" + os.sep, os.sep + "keras" + os.sep, "tflmgen")


def _explained(text: str) -> tuple[str, str]:
    """Message of the converter as a sentence with layer and Python line where it knows them, and advice."""
    places: dict[str, str] = {}
    for line in text.splitlines():
        for name in _ILLEGAL.findall(line):
            places.setdefault(name, next(map(_place, _NODE.findall(line)), ""))
    if places:
        names = ", ".join(name + place for name, place in places.items())
        lines = [f"{file}:{line}" for file, line in _LINE.findall(text) if not any(own in file for own in _OWN)]
        source = f", made at {lines[0]}" if lines else ""
        return f"TFLite has no operator for {names}{source}", "Write it with other operations"
    errors = [line.strip() for line in text.splitlines() if "error:" in line]
    lines = errors or [line.strip() for line in text.splitlines() if line.strip()] or ["it says nothing"]
    place = next(map(_place, _NODE.findall(lines[0])), "")
    # Behind the place, which ends in brackets, is what is wrong there.
    rule = re.sub(r"^.*error: loc\(.*?\]\)+: ", "", lines[0]) if place else lines[0]
    return f"TensorFlow's converter fails{place}: {rule[:300]}", ""


def _place(node: str) -> str:
    return f" in '{_CALLS.sub('', node)}'"
