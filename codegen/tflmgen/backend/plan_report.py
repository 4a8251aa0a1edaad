"""plan.json: all decisions of a compilation, for reports, tests and other tools. Schema: schema/plan.json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tflmgen.backend.c_library import Sources
from tflmgen.backend.plan_flow import (
    fetched_buffers,
    operand_steps,
    overlaps_by_step,
    stages_of,
    subgraph_names,
    tensors_of,
    weights_by_step,
)
from tflmgen.backend.plan_layers import layer_of, total_macs, with_file_macs
from tflmgen.explore import PlanCandidate
from tflmgen.ir import HopWork
from tflmgen.ir.graph import Module, Op, Port, Removed, StagePart, Value, walk
from tflmgen.ir.kernel import Kernel, KernelChoice, Selected
from tflmgen.ir.program import Access, Assembly, Fixed, Loop, Program, StateVariable, walk_instructions
from tflmgen.ir.streams import STREAM_VARIANT, Called, Computation, RowStream
from tflmgen.kernels import Selection
from tflmgen.memory import (
    Boundary,
    CallStep,
    IfStep,
    Schedule,
    ScheduleItem,
    Sequence,
    Step,
    Storage,
    WhileStep,
    runs,
    walk_items,
)
from tflmgen.version import VERSION

Json = dict[str, Any]


def plan_json(
    module: Module,
    best: PlanCandidate,
    program: Program,
    sources: Sources,
    options: Mapping[str, Any],
    packing_bound: int,
) -> Json:
    """The plan as JSON values; see schema/plan.json for each field."""
    selection, schedule, storage = best.selection, best.schedule, best.storage
    copied = _copied_pieces(program)
    read, weights = operand_steps(schedule), weights_by_step(program, sources.weights)
    overlaps = overlaps_by_step(program)
    plain = [_with_pieces(step, copied) for step in _steps(schedule, selection, sources)]
    steps = with_file_macs(plain, module.removed_macs)
    return {
        "tflmgen": VERSION,
        "model": {"path": Path(module.path).name, "sha256": module.sha256},
        "options": dict(options),
        "notes": [*module.notes, *selection.notes],
        "removed": [_removed(removed) for removed in module.removed],
        "macs": total_macs(steps, module.removed_macs),
        "arena": _arena(best, program, packing_bound),
        "subgraphs": [{"index": index, "name": name} for index, name in subgraph_names(module).items()],
        "buffers": [*_buffers(best, _subgraphs(module)), *fetched_buffers(program)],
        "steps": [_with_flow(step, read, weights) | overlaps.get(step["index"], {}) for step in steps],
        "copies": list(_copies(storage)),
        "loops": list(_loops(schedule, program)),
        "state": [_variable(v, storage) for v in program.state],
        "weights": {"bytes": sources.weight_bytes},
        "signatures": [_signature(program, i) for i in range(len(program.signatures))],
        "slide": [_hop(hop) for hop in module.hops],
        "stages": [{"name": part.name, "steps": _steps_of(part, steps)} for part in module.stages],
    }


def _arena(best: PlanCandidate, program: Program, packing_bound: int) -> Json:
    arena = {
        "bytes": program.arena_bytes,
        "packing_bound": packing_bound,
        "lower_bound": best.layout.arena.lower_bound,
        "peak_step": best.layout.arena.peak_step,
        "order_proved": best.order_proved,
    }
    return {**arena, "parts": list(program.arena_sizes)} if len(program.arena_starts) > 1 else arena


def _steps_of(part: StagePart, steps: Iterable[Json]) -> list[int]:
    """Operators of a stage, by the places of the file that they come from."""
    operators = (step for step in steps if step["kind"] == "operator")
    return [step["index"] for step in operators if part.holds(step["subgraph"], step["operator"])]


def _buffers(best: PlanCandidate, subgraphs: Mapping[Value, int]) -> Iterator[Json]:
    for number, (buffer, offset) in enumerate(zip(best.storage.buffers, best.layout.offsets, strict=True)):
        yield {
            "name": buffer.name,
            "subgraph": subgraphs.get(buffer.values[0]) if buffer.values else None,
            "memory": buffer.memory,
            "bytes": buffer.bytes,
            "offset": offset,
            "ranges": [list(run) for run in runs(buffer.steps)],
            "tensors": list(tensors_of(number, best.storage, best.liveness, subgraphs)),
        }


def _hop(hop: HopWork) -> Json:
    """The work of a hop beside its exact cone and a whole window; MACs may be parts of rows, and are rounded."""
    return {
        "signature": hop.signature,
        "cache_bytes": hop.cache_bytes,
        "phases": hop.phases,
        "macs": {"window": hop.macs, "cone": round(hop.cone_macs), "computed": round(hop.computed_macs)},
        "layers": [
            {
                "subgraph": layer.subgraph,
                "operator": layer.operator,
                "name": layer.name,
                "rows": layer.rows,
                "cone_rows": layer.cone,
                "computed_rows": layer.computed,
                "macs": layer.macs,
                "row_wise": layer.row_wise,
            }
            for layer in hop.layers
        ],
    }


def _removed(removed: Removed) -> Json:
    return {
        "what": removed.kind,
        "name": removed.name,
        "subgraph": removed.origin.subgraph,
        "operator": removed.origin.operator,
        "channels": removed.channels,
        "of_channels": removed.of,
        "known_channels": removed.known,
        "macs": removed.macs,
    }


def _copied_pieces(program: Program) -> dict[int, int]:
    """Step of an operator assembled from pieces (CONCATENATION ...) -> bytes of the pieces that are copied."""
    return {
        instruction.step: sum(copy.bytes for copy in instruction.copies)
        for function in program.functions
        for instruction in walk_instructions(function.body)
        if isinstance(instruction, Assembly)
    }


def _with_pieces(step: Json, copied: Mapping[int, int]) -> Json:
    moved = copied.get(step["index"])
    return step if moved is None else {**step, "variant": "copy" if moved else "view", "copied_bytes": moved}


def _with_flow(step: Json, read: Mapping[int, list[int]], weights: Mapping[int, int]) -> Json:
    return {**step, "inputs": read.get(step["index"], []), "weights_bytes": weights.get(step["index"], 0)}


def _loops(schedule: Schedule, program: Program) -> Iterator[Json]:
    limits = {
        loop.step: loop.limit
        for function in program.functions
        for loop in walk_instructions(function.body)
        if isinstance(loop, Loop)
    }
    for function in schedule.functions:
        for item, _ in walk_items(function.body):
            if isinstance(item, WhileStep):
                node = item.node
                yield {
                    "step": item.index,
                    "function": function.function.name,
                    "subgraph": node.origin.subgraph,
                    "operator": node.origin.operator,
                    "body": node.body.name,
                    "trips": node.trips,
                    "max_iterations": limits[item.index],
                }


def _variable(variable: StateVariable, storage: Storage) -> Json:
    """JSON of a state variable; its slot is larger than the variable if it is a piece of another value."""
    value, place = variable.access.value, variable.access.place
    return {
        "name": variable.name,
        "bytes": storage.buffers[storage.home[value].buffer].bytes,
        "dtype": value.type.dtype.label,
        "shape": list(value.type.max_shape),
        "offset": place.offset if isinstance(place, Fixed) else None,
    }


def _subgraphs(module: Module) -> dict[Value, int]:
    """The subgraph of the file that each value comes from, by the node that defines it."""
    subgraphs = {}
    for function in module.functions:
        for node in walk(function.body):
            subgraphs.update(dict.fromkeys(node.outputs, node.origin.subgraph))
    return subgraphs


def _steps(schedule: Schedule, selection: Selection, sources: Sources) -> Iterator[Json]:
    for function in schedule.functions:
        name = function.function.name
        yield {"index": function.entry, "kind": "entry", "function": name, "parent": None}
        yield _boundary(function.load, name, function.entry, sources)
        yield from _sequence(function.body, function.entry, name, selection, sources)
        yield _boundary(function.store, name, function.entry, sources)
        yield {"index": function.exit, "kind": "exit", "function": name, "parent": function.entry}


def _sequence(part: Sequence, parent: int, function: str, selection: Selection, sources: Sources) -> Iterator[Json]:
    for item in part.items:
        yield from _item(item, parent, function, selection, sources)


def _boundary(boundary: Boundary, function: str, parent: int, sources: Sources) -> Json:
    line = sources.lines.get(boundary.index)
    return {"index": boundary.index, "kind": boundary.kind, "function": function, "parent": parent, "line": line}


def _item(item: ScheduleItem, parent: int, function: str, selection: Selection, sources: Sources) -> Iterator[Json]:
    def boundary(b: Boundary, of: int) -> Json:
        return _boundary(b, function, of, sources)

    if isinstance(item, Step):
        yield _step(item.op, item.index, parent, function, selection, sources)
        return
    kind = "if" if isinstance(item, IfStep) else "while" if isinstance(item, WhileStep) else "call"
    origin = item.node.origin
    own = {
        "index": item.index,
        "kind": kind,
        "function": function,
        "parent": parent,
        "subgraph": origin.subgraph,
        "operator": origin.operator,
        "line": sources.lines.get(item.index),
    }
    if isinstance(item, IfStep):
        yield own
        yield from _sequence(item.then, item.index, function, selection, sources)
        yield boundary(item.then_end, item.index)
        yield from _sequence(item.orelse, item.index, function, selection, sources)
        yield boundary(item.else_end, item.index)
    elif isinstance(item, WhileStep):
        yield boundary(item.init, parent)
        yield from _sequence(item.condition, item.index, function, selection, sources)
        yield {**own, "trips": item.node.trips}
        yield from _sequence(item.body, item.index, function, selection, sources)
        yield boundary(item.next, item.index)
    else:
        assert isinstance(item, CallStep)
        yield boundary(item.arguments, parent)
        yield {**own, "callee": item.node.function}
        yield boundary(item.results, parent)


def _step(op: Op, index: int, parent: int, function: str, selection: Selection, sources: Sources) -> Json:
    kernel = selection.of(op)
    called = kernel if isinstance(kernel, Called) else None
    c_function, variant = _named(kernel)
    return {
        "index": index,
        "kind": "operator",
        "function": function,
        "parent": parent,
        "subgraph": op.origin.subgraph,
        "operator": op.origin.operator,
        "name": op.operator,
        "outputs": [str(v.type) for v in op.outputs],
        "kernel": c_function,
        "variant": variant,
        "macs": called.macs if called else 0,
        **(layer_of(op) if not isinstance(kernel, RowStream) else {}),
        **_choice(selection.kernels[op.id]),
        **({"stages": stages} if (stages := stages_of(op, selection, index, sources.stage_lines)) else {}),
        "line": sources.lines.get(index),
    }


def _named(kernel: Computation) -> tuple[str | None, str]:
    """C function and kernel variant of a call; a stream's function is named by its step."""
    if isinstance(kernel, Kernel):
        return kernel.function, kernel.variant
    return ("", STREAM_VARIANT) if isinstance(kernel, RowStream) else (None, "view")


def _choice(choice: Selected) -> Json:
    """Estimated cycles of the chosen kernel, and the rejected candidates, cheapest first."""
    if not isinstance(choice, KernelChoice) or not choice.chosen.cycles:
        return {}
    others = [
        {"kernel": other.kernel.function, "variant": other.kernel.variant, "cycles": other.cycles}
        for other in choice.considered
    ]
    return {"expected": {"cycles": choice.chosen.cycles}, "considered": others}


def _copies(storage: Storage) -> Iterator[Json]:
    for index, move in sorted(storage.moves.items()):
        for copy in move.copies:
            source = copy.source
            yield {
                "step": index,
                "where": move.boundary.kind,
                "bytes": copy.bytes,
                "kind": "store" if isinstance(source, Value) else "copy",
                "per": "iteration" if move.in_loop else "call",
                "to": storage.buffers[copy.destination.buffer].name,
                "from": source.name if isinstance(source, Value) else storage.buffers[source.buffer].name,
                "why": copy.reason,
            }


def _signature(program: Program, index: int) -> Json:
    signature = program.signatures[index]
    function = program.function(signature.function)
    return {
        "key": signature.key,
        "function": signature.function,
        "inputs": [_port(p, a) for p, a in zip(signature.inputs, function.inputs, strict=False)],
        "outputs": [_port(p, a) for p, a in zip(signature.outputs, function.results, strict=False)],
    }


def _port(port: Port, access: Access) -> Json:
    quantization = port.type.quantization
    return {
        "name": port.name,
        "dtype": port.type.dtype.label,
        "shape": list(port.type.max_shape),
        "dynamic": not port.type.is_static,
        "pushed_rows": port.type.max_shape[1] if port.pushed else 0,
        "slide": {"axis": port.slide.axis, "hop": port.slide.hop, "pushes": port.pushes} if port.slide else None,
        "scale": quantization.scale if quantization else None,
        "zero_point": quantization.zero_point if quantization else None,
        "offset": access.place.offset if isinstance(access.place, Fixed) else None,
    }
