"""tflmgen convert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tflmgen.errors import UsageError
from tflmgen.frontend import Tensor, is_lowered, read_source, source_types, write_model
from tflmgen.options import OutputOptions, SourceOptions
from tflmgen.project import check_writable, write_whole
from tflmgen.terminal import Column, Console, Table, count

PORTS = (
    Column("role"),
    Column("name", min_width=16),
    Column("in the source", min_width=16),
    Column("in the .tflite file", min_width=16),
)

Port = dict[str, Any]
"""An input or output: name, type in the source, and type and shape in the file, null where it became a constant."""


def convert_command(source: Path, target: Path | None, options: SourceOptions, output: OutputOptions) -> None:
    """Writes the source's Model to `target`, by default SOURCE.tflite, and prints its inputs and outputs.

    Raises UsageError for a source of another format, ModelError for a bad one.
    """
    console = Console(output)
    path = target or Path(f"{source.stem}.tflite")
    if source.suffix.lower() == ".tflite":
        raise UsageError(f"{source} is a .tflite file already: there is nothing to convert")
    if not is_lowered(source):
        raise UsageError(f"{source} is neither an .onnx file nor a .pt2 one")
    if path.resolve() == source.resolve():
        raise UsageError(f"--output {path} is the source itself")
    check_writable(path)
    with console.progress(f"Converting {source.name}"):
        model = read_source(source, options)
        data = write_model(model)
    write_whole(path, data)
    (signature,) = model.signatures
    tensors = model.subgraphs[signature.subgraph].tensors
    input_types, results = source_types(source)
    inputs = [_port(name, kind, tensors, dict(signature.inputs)) for name, kind in input_types.items()]
    outputs = [_port(name, kind, tensors, dict(signature.outputs)) for name, kind in results.items()]
    contents = {"model": source.name, "output": str(path), "bytes": len(data), "inputs": inputs, "outputs": outputs}
    console.json(contents)
    rows = [("input", *_row(port)) for port in inputs] + [("output", *_row(port)) for port in outputs]
    console.table(Table(f"{source.name} as a .tflite file", PORTS, rows))
    console.line(f"Wrote {path}: {count(len(data))} bytes.")


def _port(name: str, source_type: str, tensors: Sequence[Tensor], places: Mapping[str, int]) -> Port:
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
