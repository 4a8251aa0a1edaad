"""tflmgen convert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tflmgen.actions import converted
from tflmgen.commands.conversion_results import ConvertedPort as Port
from tflmgen.commands.conversion_results import ports_of, proof_json, proof_lines
from tflmgen.conversion import TensorFlowSource, convert_lowered, tensorflow_source
from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.frontend.onnx import file_of_source, stem_of_source
from tflmgen.frontend.tflite import FileTensor, Model, write_model
from tflmgen.options import BuildOptions, ConvertOptions, OutputOptions, SourceOptions
from tflmgen.sources import has_no_framework, is_tflite, keep_verdict, read_source, source_types
from tflmgen.terminal import Column, Console, Table, count
from tflmgen.user_files import check_writable, write_whole

PORTS = (
    Column("role"),
    Column("name", min_width=16),
    Column("in the source", min_width=16),
    Column("in the .tflite file", min_width=16),
)


def convert_command(
    source: Path, target: Path | None, choices: ConvertOptions, options: SourceOptions, output: OutputOptions
) -> None:
    """Writes the source's Model to `target`, by default SOURCE.tflite, and prints its inputs and outputs.

    Raises UsageError for a source of another format, ModelError for a bad one, or one whose result is not equal.
    """
    tensorflow = tensorflow_source(source)
    path = target or Path(f"{tensorflow.stem if tensorflow else stem_of_source(source)}.tflite")
    if source.suffix.lower() == ".tflite":
        raise UsageError(f"{source} is a .tflite file already: there is nothing to convert")
    if path.resolve() == source.resolve():
        raise UsageError(f"--output {path} is the source itself")
    if tensorflow is not None:
        _convert_tensorflow(tensorflow, path, choices, options, output)
    else:
        _convert_lowered(source, path, choices, options, output)
    if choices.quantize is not None:
        from tflmgen.commands.quantize import quantize_first

        quantize_first(path, BuildOptions(quantize=choices.quantize), output, compiles=False)


def _convert_tensorflow(
    source: TensorFlowSource, path: Path, choices: ConvertOptions, options: SourceOptions, output: OutputOptions
) -> None:
    console = Console(output)
    result = converted(source, path, choices, options, console)
    inputs, outputs = ports_of(result)
    contents = {"model": source.path.name, "output": str(path), "bytes": len(result.data)}
    contents |= {"inputs": inputs, "outputs": outputs, "mends": [*result.mends], "proof": proof_json(result)}
    console.json(contents)
    _print_ports(console, source.path.name, inputs, outputs)
    for line in proof_lines(result, choices.tolerance):
        console.line(line)
    console.line(f"Wrote {path}: {count(len(result.data))} bytes.")


def _convert_lowered(
    source: Path, path: Path, choices: ConvertOptions, options: SourceOptions, output: OutputOptions
) -> None:
    if not file_of_source(source).exists():
        raise ModelError([Problem(Location(str(source)), "there is no such file or folder")])
    if is_tflite(source):
        raise UsageError(
            f"{source} cannot be converted: requires .keras, .h5, a SavedModel's folder, .pb, .pbtxt, "
            "FILE.py:FUNCTION, .circle, .bin (llama2.c), .safetensors, .onnx or .pt2"
        )
    is_alone = has_no_framework(source)
    proved = ConvertOptions() if is_alone else ConvertOptions(None, None, None, choices.calibration, choices.tolerance)
    if replace(choices, quantize=None) != proved or options.keras_objects is not None:
        names = "--inputs, --outputs, --signature, --keep, --plugin and --keras-objects"
        names = f"--calibration, --tolerance, {names}" if is_alone else names
        raise UsageError(f"{names} are for TensorFlow's sources; {source} is of another format")
    console = Console(output)
    check_writable(path, file_of_source(source), choices.calibration)
    result = None
    with console.progress(f"Converting {source.name}") as progress:
        if is_alone:
            model = read_source(source, options)
            data = write_model(model)
        else:
            result = convert_lowered(source, options, choices.calibration, choices.tolerance, progress)
            model, data = result.model, result.data
    if result is not None:
        console.refuse_warnings(filter(None, [result.proof.warning]))
    write_whole(path, data)
    if result is not None:
        keep_verdict(data, file_of_source(source), result.proof)
    inputs, outputs = _own_ports(model) if is_alone else _lowered_ports(source, model)
    contents = {"model": source.name, "output": str(path), "bytes": len(data), "inputs": inputs, "outputs": outputs}
    console.json(contents | {"mends": [], "proof": result and proof_json(result)})
    _print_ports(console, source.name, inputs, outputs)
    for note in model.notes:
        console.line(f"note: {note}")
    for line in proof_lines(result, choices.tolerance) if result else ():
        console.line(line)
    console.line(f"Wrote {path}: {count(len(data))} bytes.")


def _lowered_ports(source: Path, model: Model) -> tuple[list[Port], list[Port]]:
    (signature,) = model.signatures
    tensors = model.subgraphs[signature.subgraph].tensors
    input_types, results = source_types(source)
    inputs = [_port(name, kind, tensors, dict(signature.inputs)) for name, kind in input_types.items()]
    return inputs, [_port(name, kind, tensors, dict(signature.outputs)) for name, kind in results.items()]


def _own_ports(model: Model) -> tuple[list[Port], list[Port]]:
    """Ports of the first subgraph, which are the same in both files."""
    graph = model.subgraphs[0]
    sides = []
    for indices in (graph.inputs, graph.outputs):
        named = {graph.tensors[i].name: i for i in indices}
        types = {name: f"{graph.tensors[i].type_name}[{_dims(graph.tensors[i])}]" for name, i in named.items()}
        sides.append([_port(name, type_, graph.tensors, named) for name, type_ in types.items()])
    return sides[0], sides[1]


def _dims(tensor: FileTensor) -> str:
    return ",".join(map(str, tensor.shape))


def _print_ports(console: Console, name: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
    rows = [("input", *_row(port)) for port in inputs] + [("output", *_row(port)) for port in outputs]
    console.table(Table(f"{name} as a .tflite file", PORTS, rows))


def _port(name: str, source_type: str, tensors: Sequence[FileTensor], places: Mapping[str, int]) -> Port:
    tensor = tensors[places[name]] if name in places else None
    return {
        "name": name,
        "source_type": source_type,
        "dtype": tensor and tensor.type_name,
        "shape": tensor and list(tensor.shape),
    }


def _row(port: Port) -> tuple[str, str, str]:
    shape = ",".join(map(str, port["shape"] or ()))
    return port["name"], port["source_type"], "a constant" if port["dtype"] is None else f"{port['dtype']}[{shape}]"
