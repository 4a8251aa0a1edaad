"""Loads a source of any kind to a Program: Keras files, SavedModels, frozen graphs and Python functions."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.file_operations import check_graph, checked_saved_model
from tflmgen.tensorflow_worker.frozen_graph import load_frozen
from tflmgen.tensorflow_worker.keras_file import load_keras
from tflmgen.tensorflow_worker.loaded_source import LoadedEntry, LoadedProgram, SourceError, port_of
from tflmgen.tensorflow_worker.version_1_saved_model import FrozenSignature, frozen_signatures, reference_tags

Request = Mapping[str, Any]
KERAS_SIGNATURES = {"serve", "serving_default"}
"""Two names of one function, in what Keras exports."""
_IN_USER_CODE = "in user code:"
"""First line of an error that AutoGraph passes on."""
_CAUSE = "Exception encountered: "


def load_source(request: Request) -> LoadedProgram:
    """The Program of request["source"], of the kind request["kind"]. Raises SourceError."""
    tf.config.set_visible_devices([], "GPU")
    tf.config.threading.set_intra_op_parallelism_threads(2)
    program = _LOADERS[request["kind"]](request)
    if request["kind"] != "python":
        for entry in program.entries:
            check_graph(entry.function.graph.as_graph_def())
    return program


def _keras_file(request: Request) -> LoadedProgram:
    path = Path(request["source"])
    objects = _objects_of(request.get("objects"))
    try:
        model = load_keras(path, objects)
    except SourceError:
        raise
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        # Keras nests its errors: the innermost says which class it is about.
        causes = [line.partition(_CAUSE)[2] for line in lines if line.startswith(_CAUSE)]
        advice = ""
        if "custom" in str(error) or "Could not locate class" in str(error):
            advice = "Name the file with the classes of your own: --keras-objects FILE.py"
        elif path.suffix == ".h5" and "No model config" in str(error):
            advice = "It has weights alone. Load them into the model, and save that as a .keras file"
        elif "safe_mode" in str(error):
            advice = "Give a Python file with a function that returns the model, loaded with safe_mode=False"
            lines = [re.split(r"(?<=\.)\s", line)[0] for line in lines]
        raise SourceError(f"Keras cannot load it: {[*lines[:1], *causes][-1].rstrip('.')}", advice) from None
    return _keras_model(model, request)


def _objects_of(file: str | None) -> dict[str, Any]:
    """Classes and functions that a Python file defines, by name. What it registers with Keras is known anyway."""
    if file is None:
        return {}
    with _located(Path(file), f"{Path(file).name}: "):
        module = _imported(Path(file))
    return {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}


def _keras_model(model: Any, request: Request) -> LoadedProgram:
    try:
        inputs = [*model.inputs] if isinstance(model.inputs, (list, tuple)) else [model.inputs]
        structure = model.inputs if isinstance(model.inputs, (list, tuple)) and len(inputs) > 1 else inputs[0]
    except (ValueError, AttributeError, TypeError):
        raise SourceError(
            "the Keras model does not say what its inputs are: it was never built, or its class is one of your own",
            "Call it on an example, export it with model.export(FOLDER, format='tf_saved_model'), and convert FOLDER",
        ) from None
    struct = getattr(model, "_inputs_struct", structure)
    names = [tensor.name.split(":")[0] for tensor in inputs]
    specs = [
        tf.TensorSpec(_fixed_shape(name, tensor.shape, request), tf.as_dtype(tensor.dtype))
        for name, tensor in zip(names, inputs, strict=True)
    ]

    def run(*tensors: Any) -> Any:
        return model(tf.nest.pack_sequence_as(struct, list(tensors)), training=False)

    # A Sequential model keeps the names in the functional model that it builds.
    layered = model if hasattr(model, "output_names") else getattr(model, "_functional", None)
    outputs = [str(name) for name in getattr(layered, "output_names", ())]
    return LoadedProgram([_entry("serving_default", names, specs, run, outputs)], model)


def _saved_model(request: Request) -> LoadedProgram:
    scratch = TemporaryDirectory()
    path = str(checked_saved_model(Path(request["source"]), Path(scratch.name)))
    tags = reference_tags(Path(path))
    signatures: Mapping[str, Any]
    try:
        loaded = tf.saved_model.load(path) if tags is None else None
        signatures = dict(loaded.signatures if loaded is not None else frozen_signatures(Path(path), tags or ()))
    except SourceError:
        raise
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise SourceError(f"TensorFlow cannot load the SavedModel: {lines[0]}") from None
    signatures = {key: function for key, function in signatures.items() if not key.startswith("__")}
    if not signatures:
        raise SourceError("the SavedModel has no signatures", "Give signatures= to tf.saved_model.save")
    chosen = request.get("signature")
    if chosen is not None and chosen not in signatures:
        raise SourceError(f"it has no signature '{chosen}', but {', '.join(signatures)}")
    keys = [chosen] if chosen is not None else list(signatures)
    if set(keys) == KERAS_SIGNATURES:
        keys = ["serving_default"]
    if loaded is None:
        return LoadedProgram([_frozen_signature(key, signatures[key], request) for key in keys])
    return LoadedProgram([_signature(key, signatures[key], request) for key in keys], loaded)


def _frozen_signature(key: str, signature: FrozenSignature, request: Request) -> LoadedEntry:
    shapes = {name: _fixed_shape(name, shape, request) for name, shape in signature.shapes().items()}
    function = signature.function(shapes)
    return LoadedEntry(
        key,
        tuple(map(port_of, signature.inputs, function.inputs)),
        tuple(map(port_of, signature.outputs, function.outputs)),
        function,
    )


def _signature(key: str, function: Any, request: Request) -> LoadedEntry:
    # A loaded signature has its inputs in another order in each process; by their names as TensorFlow flattens them.
    structure = dict(sorted(function.structured_input_signature[1].items()))
    specs = [tf.TensorSpec(_fixed_shape(name, spec.shape, request), spec.dtype) for name, spec in structure.items()]
    outputs = sorted(function.structured_outputs)

    def run(*tensors: Any) -> Any:
        results = function(**dict(zip(structure, tensors, strict=True)))
        return [results[name] for name in outputs]

    return _entry(key, list(structure), specs, run, outputs)


def _frozen(request: Request) -> LoadedProgram:
    path = Path(request["source"])
    function, inputs, outputs = load_frozen(path, request["inputs"], request["outputs"])
    names = [name.removesuffix(":0") for name in inputs]
    shapes = [_fixed_shape(name, t.shape, request) for name, t in zip(names, function.inputs, strict=True)]
    if any(shape != tuple(t.shape) for shape, t in zip(shapes, function.inputs, strict=True)):
        fixed = dict(zip(names, shapes, strict=True))
        function, inputs, outputs = load_frozen(path, request["inputs"], request["outputs"], fixed)
    ports = tuple(port_of(name, tensor) for name, tensor in zip(names, function.inputs, strict=True))
    results = [name.removesuffix(":0") for name in outputs]
    return LoadedProgram(
        [LoadedEntry("serving_default", ports, tuple(map(port_of, results, function.outputs)), function)], function
    )


def _python(request: Request) -> LoadedProgram:
    path, name = Path(request["source"]), request["function"]
    with _located(path):
        model = getattr(_imported(path), name, None)
        if model is None:
            raise SourceError(f"it has no function '{name}'")
        if not _is_traceable(model):
            model = model()
    if hasattr(model, "layers"):
        return _keras_model(model, request)
    if isinstance(model, tf.Module) and callable(model) and _is_traceable(type(model).__call__):
        return _traced(model.__call__, request, model)
    if not _is_traceable(model):
        raise SourceError(f"'{name}' returns {type(model).__name__}, neither a Keras model nor a tf.function")
    return _traced(model, request, model)


def _imported(path: Path) -> Any:
    """The module of a Python file, which may import what is beside it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def _located(path: Path, prefix: str = "") -> Iterator[None]:
    """Makes what a Python file raises a SourceError with the file's line."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        trace, line = error.__traceback__, 0
        while trace is not None:
            line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == str(path) else line
            trace = trace.tb_next
        where = f"line {line} raises " if line else ""
        raise SourceError(f"{prefix}{where}{type(error).__name__}: {error}") from None


def _is_traceable(value: Any) -> bool:
    return hasattr(value, "get_concrete_function") or hasattr(value, "structured_input_signature")


def _traced(function: Any, request: Request, owner: Any) -> LoadedProgram:
    concrete = function
    if hasattr(function, "get_concrete_function"):
        try:
            concrete = function.get_concrete_function()
        except Exception as error:
            # The function may raise any exception, of which AutoGraph says where in the user's code it comes from.
            if not isinstance(error, (ValueError, TypeError)) and _IN_USER_CODE not in str(error):
                raise
            advice = (
                "" if getattr(function, "input_signature", None) else "Give it an input_signature=[tf.TensorSpec(...)]"
            )
            raise SourceError(f"the tf.function cannot be traced: {_reason(error)}", advice) from None
    positional, named = concrete.structured_input_signature
    flat = [spec for spec in tf.nest.flatten((positional, named)) if isinstance(spec, tf.TensorSpec)]
    names = [spec.name or f"input_{i}" for i, spec in enumerate(flat)]
    specs = [
        tf.TensorSpec(_fixed_shape(name, spec.shape, request), spec.dtype)
        for name, spec in zip(names, flat, strict=True)
    ]

    def run(*tensors: Any) -> Any:
        args, kwargs = tf.nest.pack_sequence_as((positional, named), list(tensors))
        return concrete(*args, **kwargs)

    return LoadedProgram([_entry("serving_default", names, specs, run)], owner)


def _reason(error: Exception) -> str:
    """Message and place of an error of TensorFlow: it quotes the program in between, from the outermost call on."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    places = [line for line in lines if line.startswith("File ")]
    if not places:
        return lines[0] if lines else type(error).__name__
    return f"{lines[-1]} ({places[-1].rstrip('*').strip()})"


def _entry(
    key: str, names: Sequence[str], specs: Sequence[Any], run: Callable[..., Any], outputs: Sequence[str] = ()
) -> LoadedEntry:
    """The entry of a function of flat tensors; each output gets a name: its key in the dictionary that the function
    returns, or else the one of `outputs`.
    """

    def flat(*tensors: Any) -> Any:
        nonlocal outputs
        results = run(*tensors)
        if isinstance(results, Mapping):
            # tf.nest.flatten(), which takes the values, sorts a dictionary by its keys.
            outputs = [str(name) for name in sorted(results)]
        return [tf.identity(tensor) for tensor in tf.nest.flatten(results)]

    named = [tf.TensorSpec(spec.shape, spec.dtype, name=f"in_{i}") for i, spec in enumerate(specs)]
    function = tf.function(flat, autograph=False).get_concrete_function(*named)
    results = function.outputs
    if len(outputs) != len(results) or len(set(outputs)) != len(outputs):
        outputs = [f"output_{i}" for i in range(len(results))]
    ports = tuple(port_of(name, spec) for name, spec in zip(names, specs, strict=True))
    return LoadedEntry(key, ports, tuple(map(port_of, outputs, results)), function)


def _fixed_shape(name: str, shape: Any, request: Request) -> tuple[int, ...]:
    """An input's shape: the user's, or the source's with the batch. Raises SourceError where neither is enough."""
    wanted = request["shapes"].get(name)
    if wanted is not None:
        if not tf.TensorShape(wanted).is_compatible_with(shape):
            raise SourceError(f"--shape {name}={','.join(map(str, wanted))} does not fit its shape {shape}")
        return tuple(wanted)
    dims = tf.TensorShape(shape)
    if dims.rank is None or any(dim is None for dim in dims[1:]):
        rule = f"input '{name}' has the shape {dims}, which is not known before the run"
        raise SourceError(rule, f"Give it: --shape {name}=1,...")
    return tuple(request["batch"] if dim is None else int(dim) for dim in dims)


_LOADERS: Mapping[str, Callable[[Request], LoadedProgram]] = {
    "keras": _keras_file,
    "saved_model": _saved_model,
    "graph": _frozen,
    "python": _python,
}
