"""tflmgen inspect."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tflmgen.applications import read_program
from tflmgen.commands.hop_table import print_hops
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.compiler import Compilation
from tflmgen.frontend.tflite import FileTensor, SubGraph
from tflmgen.ir import BlockQuantization, Quantization, module_json, module_text
from tflmgen.report import dead_channel_lines, note_lines, report_html
from tflmgen.terminal import Column, Console, Table, count
from tflmgen.user_files import write_whole

OPERATORS = (
    Column("#", numeric=True),
    Column("operator", min_width=20),
    Column("inputs", min_width=20, wraps=True),
    Column("outputs", min_width=20, wraps=True),
)
TENSORS = (
    Column("#", numeric=True),
    Column("name", min_width=12),
    Column("type", min_width=16),
    Column("quantization", priority=2),
    Column("role", min_width=13, wraps=True),
)
SIGNATURES = (
    Column("signature", min_width=10),
    Column("role"),
    Column("name", min_width=12),
    Column("type", min_width=16),
    Column("quantization"),
)
BUFFERS = (
    Column("memory", priority=2),
    Column("offset", numeric=True),
    Column("bytes", numeric=True),
    Column("steps", min_width=13, wraps=True),
    Column("buffer", min_width=20),
)
REMOVED = (
    Column("#"),
    Column("what"),
    Column("channels", numeric=True),
    Column("MACs", numeric=True),
    Column("tensor or subgraph", min_width=20),
)


def inspect_command(prepared: PreparedModel, dump_graph: bool, report: Path | None) -> None:
    """Prints the contents of the file and its plan; with `dump_graph` the graph after the passes instead.

    The contents come first, so that they are shown even if an operator is not supported.

    report  HTML page with the plan; None: none is written
    """
    console, board, path = prepared.console, prepared.board, prepared.path
    subgraphs = read_program(path, prepared.options).subgraphs
    if not dump_graph:
        for graph in subgraphs:
            _print_subgraph(console, graph)
    compilation = prepared.planned(must_fit=False).compilation
    if dump_graph:
        console.line(module_text(compilation.module).rstrip())
    else:
        _print_signatures(console, compilation)
        kernels = "portable C for any processor" if board.is_host else f"C for {board.core}"
        board_hint = "; --board BOARD plans for another" if board.is_host else ""
        console.line(f"The plan for board {board.id}, {kernels}{board_hint}:")
        _print_arena(console, compilation.plan)
    if report is not None:
        write_whole(report, report_html(compilation.plan, board).encode())
        console.line(f"Wrote {report}.")
    if dump_graph:
        console.json({"model": path.name, "board": board.id, **module_json(compilation.module)})
    else:
        console.json({**compilation.plan, "subgraphs": [_describe(graph) for graph in subgraphs]})


def _print_subgraph(console: Console, graph: SubGraph) -> None:
    title = f"Subgraph {graph.index} '{graph.name}': operators"
    rows = [(str(op.index), op.name, _types(graph, op.inputs), _types(graph, op.outputs)) for op in graph.operators]
    console.table(Table(title, OPERATORS, rows))
    roles = {**dict.fromkeys(graph.inputs, "input"), **dict.fromkeys(graph.outputs, "output")}
    tensors = [
        (str(t.index), t.name, _type(t), _quantization(t.quantization, t.blocks), _role(t, roles.get(t.index, "")))
        for t in graph.tensors
    ]
    title = f"Subgraph {graph.index} '{graph.name}': tensors"
    console.table(Table(title, TENSORS, tensors))


def _print_signatures(console: Console, compilation: Compilation) -> None:
    rows = [
        (signature.key or "(no key)", role, port.name, str(port.type), _quantization(port.type.quantization))
        for signature in compilation.module.signatures
        for role, ports in (("input", signature.inputs), ("output", signature.outputs))
        for port in ports
    ]
    console.table(Table("Signatures", SIGNATURES, rows))


def _print_arena(console: Console, plan: dict[str, Any]) -> None:
    arena = plan["arena"]
    rows = [
        (
            buffer["memory"],
            str(buffer["offset"]),
            str(buffer["bytes"]),
            ", ".join(f"{first}-{last}" for first, last in buffer["ranges"]),
            buffer["name"],
        )
        for buffer in sorted(plan["buffers"], key=lambda b: (b["memory"], b["offset"], b["ranges"]))
    ]
    console.table(Table("Buffers", BUFFERS, rows))
    console.line(
        f"Arena: {count(arena['bytes'])} bytes; lower bound for this schedule "
        f"{count(arena['lower_bound'])}; fullest at step {arena['peak_step']}"
    )
    overlapping = [step for step in plan["steps"] if step.get("overlapped_bytes")]
    backward_count = sum(step["backward"] for step in overlapping)
    console.line(f"{len(overlapping)} outputs overlap a dying input; {backward_count} of their kernels run backward.")
    console.line(f"Weights: {count(plan['weights']['bytes'])} bytes. Copies: {len(plan['copies'])}.")
    _print_removed(console, plan)
    print_hops(console, plan)
    for line in note_lines(plan):
        console.line(line)


def _print_removed(console: Console, plan: dict[str, Any]) -> None:
    removed = plan["removed"]
    if not removed:
        return
    rows = [
        (
            f"{entry['subgraph']}.{entry['operator']}",
            entry["what"],
            count(entry["channels"]) if entry["channels"] else "",
            count(entry["macs"]) if entry["macs"] else "",
            entry["name"],
        )
        for entry in removed
    ]
    console.table(Table("Left out by value-range analysis", REMOVED, rows))
    for line in dead_channel_lines(plan):
        console.line(line)


def _types(graph: SubGraph, tensors: Iterable[int]) -> str:
    return ", ".join(f"{i}:{_type(graph.tensors[i])}" if i >= 0 else "-" for i in tensors)


def _type(tensor: FileTensor) -> str:
    signature = tensor.shape_signature
    shape = signature if signature and len(signature) == len(tensor.shape) else tensor.shape
    return f"{tensor.type_name}[{','.join(map(str, shape))}]"


def _role(tensor: FileTensor, role: str) -> str:
    if tensor.data is not None:
        return f"constant, {count(len(tensor.data))} bytes"
    return "variable" if tensor.is_variable else role


def _quantization(quantization: Quantization | None, blocks: BlockQuantization | None = None) -> str:
    if blocks is not None:
        return f"{len(blocks.scales)} scales by blocks of {blocks.size}"
    if quantization is None:
        return ""
    if quantization.per_channel:
        return f"{len(quantization.scales)} scales along axis {quantization.axis}"
    return f"{quantization.scale:.6g} * (q - {quantization.zero_point})".replace("- -", "+ ")


def _describe(graph: SubGraph) -> dict[str, Any]:
    return {
        "index": graph.index,
        "name": graph.name,
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "operators": [
            {"index": op.index, "name": op.name, "inputs": list(op.inputs), "outputs": list(op.outputs)}
            for op in graph.operators
        ],
        "tensors": [
            {
                "index": t.index,
                "name": t.name,
                "dtype": t.type_name,
                "shape": list(t.shape),
                "constant": t.data is not None,
            }
            for t in graph.tensors
        ],
    }
