"""Data flow for plan.json: tensors of each buffer, steps that write each operand, weights by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tflmgen.backend.plan_layers import layer_of, stage_memory
from tflmgen.ir.graph import Function, Module, Op, Value, walk
from tflmgen.ir.kernel import Kernel
from tflmgen.ir.program import (
    Assembly,
    Branch,
    Fixed,
    Flash,
    InputArgument,
    Instruction,
    KernelCall,
    Loop,
    OutputArgument,
    Place,
    Prefetch,
    Program,
    Transfer,
    Work,
    walk_instructions,
)
from tflmgen.ir.streams import RowStream
from tflmgen.kernels import Selection
from tflmgen.memory import (
    Boundary,
    CallStep,
    IfStep,
    Liveness,
    Schedule,
    ScheduledFunction,
    ScheduleItem,
    Step,
    Storage,
    WhileStep,
    boundaries,
    runs,
    walk_items,
)

Json = dict[str, Any]


def tensors_of(buffer: int, storage: Storage, liveness: Liveness, subgraphs: Mapping[Value, int]) -> Iterator[Json]:
    """The tensors that share a buffer, one after another in time or side by side."""
    for value in storage.buffers[buffer].values:
        yield {
            "name": value.name,
            "type": str(value.type),
            "subgraph": subgraphs.get(value),
            "offset": storage.home[value].offset,
            "bytes": value.type.bytes,
            "ranges": [list(run) for run in runs(liveness.ranges[value])],
        }


def subgraph_names(module: Module) -> dict[int, str]:
    """Names of the file's subgraphs that any node comes from, by index."""
    origins = {node.origin for function in module.functions for node in walk(function.body)}
    return {origin.subgraph: origin.subgraph_name for origin in sorted(origins, key=lambda o: o.subgraph)}


def operand_steps(schedule: Schedule) -> dict[int, list[int]]:
    """Step -> steps that write its operands: the entry for a function's inputs, the init for loop variables."""
    writers: dict[Value, int] = {}
    read: dict[int, tuple[Value, ...]] = {}
    for scheduled in schedule.functions:
        writers |= _writers_at_entry(scheduled)
        for item, _ in walk_items(scheduled.body):
            writers |= _writers_of(item)
            read |= _read_by(item)
        read[scheduled.exit] = _results(scheduled.function)
    for boundary, _ in boundaries(schedule):
        read[boundary.index] = boundary.sources
    return {step: sorted({writers[v] for v in values if v in writers}) for step, values in read.items()}


def _writers_at_entry(scheduled: ScheduledFunction) -> dict[Value, int]:
    return {**dict.fromkeys(scheduled.function.inputs, scheduled.entry), **_boundary_writers(scheduled.load)}


def _boundary_writers(boundary: Boundary) -> dict[Value, int]:
    return dict.fromkeys(boundary.values, boundary.index)


def _writers_of(item: ScheduleItem) -> dict[Value, int]:
    if isinstance(item, Step):
        return dict.fromkeys(item.op.outputs, item.index)
    if isinstance(item, CallStep):
        return dict.fromkeys(item.node.outputs, item.results.index)
    writers = dict.fromkeys(item.node.outputs, item.index)
    return writers | _boundary_writers(item.init) if isinstance(item, WhileStep) else writers


def _read_by(item: ScheduleItem) -> dict[int, tuple[Value, ...]]:
    if isinstance(item, Step):
        return {item.index: tuple(v for v in item.op.inputs if v is not None)}
    if isinstance(item, IfStep):
        return {item.index: (item.node.condition,)}
    if isinstance(item, WhileStep):
        return {item.index: item.node.condition.results[:1]}
    return {}


def _results(function: Function) -> tuple[Value, ...]:
    return function.body.results[: len(function.body.results) - len(function.state)]


def stages_of(op: Op, selection: Selection, step: int, lines: Mapping[tuple[int, int], Sequence[int]]) -> list[Json]:
    """The operators of a stream in the order of the graph; empty for other operators."""
    stream = selection.of(op)
    if not isinstance(stream, RowStream):
        return []
    calls: dict[int, list[Kernel]] = {number: [] for number in range(len(stream.stages))}
    for number in stream.order:
        calls[stream.calls[number].stage].append(stream.calls[number].kernel)
    return [
        {
            "subgraph": stage.op.origin.subgraph,
            "operator": stage.op.origin.operator,
            "name": stage.op.operator,
            "outputs": [str(v.type) for v in stage.op.outputs],
            "kernels": list(dict.fromkeys(call.function for call in calls[number] if call.function)),
            "variant": " ".join(dict.fromkeys(call.variant for call in calls[number])),
            "calls": len(calls[number]),
            "macs": sum(call.macs for call in calls[number]),
            **stage_memory(stream, number),
            **layer_of(stage.op),
            "lines": list(lines.get((step, number), ())),
        }
        for number, stage in enumerate(stream.stages)
    ]


def overlaps_by_step(program: Program) -> dict[int, Json]:
    """Step of a kernel call -> bytes that outputs and inputs share, whether pixels are processed last to first, and
    bytes of weights that are prefetched, if any."""
    return {
        instruction.step: {
            "overlapped_bytes": _overlapped(instruction),
            "backward": any(o.behind for o in instruction.overlaps),
            **_fetched_bytes(instruction),
        }
        for function in program.functions
        for instruction in walk_instructions(function.body)
        if isinstance(instruction, KernelCall)
    }


def _fetched_bytes(call: KernelCall) -> Json:
    """{"fetched_bytes": number} of a call that reads arrays copied to the arena."""
    fetched = sum(a.bytes for a in call.arguments if isinstance(a, Work) and a.copy_of is not None)
    return {"fetched_bytes": fetched} if fetched else {}


def _overlapped(call: KernelCall) -> int:
    common = 0
    for output in call.arguments:
        for source in call.arguments:
            if isinstance(output, OutputArgument) and isinstance(source, InputArgument):
                output_place, source_place = output.access.place, source.access.place
                if isinstance(output_place, Flash) or isinstance(source_place, Flash):
                    continue
                if replace(output_place, offset=0) == replace(source_place, offset=0):
                    end = min(output_place.offset + output.access.bytes, source_place.offset + source.access.bytes)
                    common += max(0, end - max(output_place.offset, source_place.offset))
    return common


def fetched_buffers(program: Program) -> Iterator[Json]:
    """Bytes of the arena that hold prefetched weights, from the step in front of which the copy begins."""
    fetches: dict[int, Prefetch] = {}
    for instruction in (i for function in program.functions for i in walk_instructions(function.body)):
        if isinstance(instruction, Prefetch):
            fetches[instruction.destination.offset] = instruction
        elif isinstance(instruction, KernelCall):
            copied = [a.place for a in instruction.arguments if isinstance(a, Work) and a.copy_of]
            for fetch in (fetches[place.offset] for place in copied if isinstance(place, Fixed)):
                yield {
                    "name": f"copy of {fetch.source.name}",
                    "subgraph": instruction.origin.subgraph,
                    "memory": "arena",
                    "bytes": fetch.bytes,
                    "offset": fetch.destination.offset,
                    "ranges": [[fetch.step, instruction.step]],
                    "tensors": [],
                }


def weights_by_step(program: Program, used: Mapping[str, int]) -> dict[int, int]:
    """Step -> bytes of the constants that it reads first. used: name -> bytes of each constant in flash."""
    weight_bytes: dict[int, int] = {}
    charged: set[str] = set()
    for function in program.functions:
        for instruction in sorted(walk_instructions(function.body), key=lambda i: i.step):
            new = {p.name for p in _places(instruction) if isinstance(p, Flash)} & used.keys() - charged
            if new:
                weight_bytes[instruction.step] = weight_bytes.get(instruction.step, 0) + sum(used[name] for name in new)
            charged |= new
    return weight_bytes


def _places(instruction: Instruction) -> Iterator[Place | None]:
    if isinstance(instruction, KernelCall):
        for argument in instruction.arguments:
            if isinstance(argument, InputArgument | OutputArgument):
                yield argument.access.place
            elif isinstance(argument, Work):
                yield argument.contents
        if instruction.rows is not None:
            yield from (a.place for call in instruction.rows.calls for a in call.arguments if isinstance(a, Work))
    elif isinstance(instruction, Assembly | Transfer):
        yield from (copy.source for copy in instruction.copies)
    elif isinstance(instruction, Branch):
        yield instruction.condition.place
    elif isinstance(instruction, Loop) and instruction.test is not None:
        yield instruction.test.place
