"""Lowering: schedule, slots (homes) and offsets become the Program, the last form before C."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import TypeVar

from tflmgen.backend.c_names import identifier
from tflmgen.explore import PlanCandidate, Prefetches
from tflmgen.ir.graph import Module, Op, Value, Variable
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, Null, Operand, Output, Pieces, Scratch, View
from tflmgen.ir.program import (
    Access,
    Argument,
    Assembly,
    Branch,
    ByteCopy,
    Fixed,
    Flash,
    InputArgument,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    OutputArgument,
    Place,
    Prefetch,
    PrefetchWait,
    Program,
    ProgramFunction,
    Rename,
    RowArgument,
    RowCallAt,
    RowProgram,
    RowStageAt,
    Slot,
    SlotTarget,
    StateVariable,
    Transfer,
    Work,
)
from tflmgen.ir.streams import STREAM_VARIANT, RowCall, RowStage, RowStream
from tflmgen.kernels import Selection
from tflmgen.memory import (
    Boundary,
    IfStep,
    Layout,
    ScheduledFunction,
    ScheduleItem,
    Sequence,
    Spot,
    Step,
    Storage,
    WhileStep,
)

_PlaceT = TypeVar("_PlaceT", Fixed, Slot, Flash, Fixed | Slot, Place)


NAME_LENGTH = 24
"""Most characters of a tensor's name in the name of its array."""


def lower(
    module: Module,
    plan: PlanCandidate,
    loop_limits: Mapping[int, int] = MappingProxyType({}),
    prefetches: Prefetches = MappingProxyType({}),
) -> Program:
    """The Program of a plan: every call, copy and address. Constants that no instruction reads are left out.

    loop_limits  While.id -> most iterations
    """
    storage, layout = plan.storage, plan.layout
    lowering = _Lowering(module, plan.selection, storage, layout, loop_limits, prefetches)
    functions = tuple(lowering.function(f) for f in plan.schedule.functions)
    size = -(-layout.arena.bytes // 4) * 4
    state = tuple(lowering.variable(name, v) for name, v in module.state.items() if v.home in storage.home)
    return Program(
        functions,
        module.signatures,
        size,
        lowering.constants,
        layout.state_bytes,
        state,
        lowering.images,
        layout.arena.starts,
    )


class _Lowering:
    def __init__(
        self,
        module: Module,
        selection: Selection,
        storage: Storage,
        layout: Layout,
        loop_limits: Mapping[int, int],
        prefetches: Prefetches,
    ) -> None:
        self._module = module
        self._prefetches = prefetches
        self._loop_limits = loop_limits
        self._selection = selection
        self._storage = storage
        self._layout = layout
        self.constants: dict[str, ConstantArray] = {}
        self.images: dict[str, ConstantArray] = {}
        self._slots: dict[int, int] = {}
        self._rotating = {i for group in storage.groups for i in group}
        self._pool: dict[tuple[str, bytes], str] = {}

    def function(self, scheduled: ScheduledFunction) -> ProgramFunction:
        function = scheduled.function
        inputs, results = function.inputs, function.body.results
        body = self._sequence(scheduled.body)
        if scheduled.is_entry:
            inputs = inputs[: len(inputs) - len(function.state)]
            results = results[: len(results) - len(function.state)]
            body = (self._transfer(scheduled.load), *body, self._transfer(scheduled.store))
        accesses = tuple(map(self._access, inputs)), tuple(map(self._access, results))
        slots, groups = self._function_slots()
        return ProgramFunction(function.name, scheduled.is_entry, slots, groups, *accesses, body)

    def _function_slots(self) -> tuple[tuple[SlotTarget, ...], tuple[tuple[int, ...], ...]]:
        """Slots of the function lowered last, and the groups of slots that exchange pointers; both are then reset."""
        used = [g for g in self._storage.groups if any(i in self._slots for i in g)]
        groups = tuple(tuple(self._slot(i) for i in group) for group in used)
        homes = tuple(SlotTarget(self._fixed(i), self._storage.buffers[i].bytes) for i in self._slots)
        self._slots = {}
        return homes, groups

    def _slot(self, buffer: int) -> int:
        return self._slots.setdefault(buffer, len(self._slots))

    def variable(self, name: str, variable: Variable) -> StateVariable:
        home, data = variable.home, self._module.constants[variable.initial]
        self.images[name] = ConstantArray(name, home.type.dtype, home.type.max_shape, data)
        return StateVariable(name, self._access(home), name)

    def _sequence(self, sequence: Sequence) -> tuple[Instruction, ...]:
        items = [(item.index, self._item(item)) for item in sequence.items]
        if not self._prefetches:
            return tuple(chain.from_iterable(lowered for _, lowered in items))
        calls = [i for _, lowered in items for i in lowered if isinstance(i, KernelCall)]
        fetches = {call.step: fetch for call in calls for fetch in self._fetches_of(call)}
        early: defaultdict[int, list[Prefetch]] = defaultdict(list)
        for step, fetch in fetches.items():
            if step != fetch.step:
                early[fetch.step].append(fetch)
        instructions: list[Instruction] = []
        for index, lowered in items:
            own = fetches.get(index)
            if own is not None:
                instructions += [*([own] if own.step == index else []), PrefetchWait(index)]
            # The next operator's array may be under way while this one runs.
            instructions += [*early[index], *lowered]
        return tuple(instructions)

    def _fetches_of(self, call: KernelCall) -> Iterator[Prefetch]:
        for argument in call.arguments:
            if isinstance(argument, Work) and argument.copy_of and isinstance(argument.place, Fixed):
                yield Prefetch(self._prefetches[call.step].begin, argument.place, argument.copy_of, argument.bytes)

    def _item(self, item: ScheduleItem) -> tuple[Instruction, ...]:
        if isinstance(item, Step):
            return (self._step(item),)
        if isinstance(item, IfStep):
            then = (*self._sequence(item.then), self._transfer(item.then_end))
            orelse = (*self._sequence(item.orelse), self._transfer(item.else_end))
            return (Branch(item.index, item.node.origin, self._access(item.node.condition), then, orelse),)
        if isinstance(item, WhileStep):
            node = item.node
            test = self._access(node.condition.results[0]) if node.trips is None else None
            condition, body = self._sequence(item.condition), (*self._sequence(item.body), self._transfer(item.next))
            limit = self._loop_limits.get(node.id)
            loop = Loop(item.index, node.origin, condition, test, body, node.trips, limit)
            outputs = [
                Rename(item.index, self._access(output), self._access(variable))
                for output, variable in zip(item.node.outputs, item.node.variables, strict=True)
                if output in self._storage.home
            ]
            return (self._transfer(item.init), loop, *outputs)
        invoke = Invoke(item.index, item.node.origin, item.node.function)
        return (self._transfer(item.arguments), invoke, self._transfer(item.results))

    def _step(self, step: Step) -> Instruction:
        kernel = self._selection.of(step.op)
        if isinstance(kernel, View):
            source = step.op.inputs[kernel.input]
            assert source is not None
            return Rename(step.index, self._access(step.op.outputs[0]), self._access(source), step.op.origin)
        if isinstance(kernel, Pieces):
            return self._assembly(step, kernel)
        return self._stream(step, kernel) if isinstance(kernel, RowStream) else self._call(step, kernel)

    def _call(self, step: Step, kernel: Kernel) -> KernelCall:
        if kernel.backward and self._is_behind(step, kernel, kernel.backward):
            kernel = kernel.backward
        return KernelCall(
            step.index,
            step.op.origin,
            kernel.function,
            kernel.header,
            kernel.variant,
            self._arguments(step, kernel.operands),
            kernel.params,
            kernel.overlaps,
            kernel.macs,
            kernel.error,
            counts=kernel.counts,
        )

    def _stream(self, step: Step, stream: RowStream) -> KernelCall:
        return KernelCall(
            step.index,
            step.op.origin,
            f"stream_{step.index}",
            "",
            STREAM_VARIANT,
            self._arguments(step, stream.operands),
            None,
            stream.overlaps,
            stream.macs,
            stream.error,
            self._rows(stream),
        )

    def _arguments(self, step: Step, operands: tuple[Operand, ...]) -> tuple[Argument, ...]:
        return tuple(self._argument(step, position, operand) for position, operand in enumerate(operands))

    def _rows(self, stream: RowStream) -> RowProgram:
        calls = tuple(self._row_call(call, stream.stages[call.stage]) for call in stream.calls)
        stages = tuple(
            RowStageAt(s.op.origin, s.op.outputs, s.sources, s.needs, s.rows, s.row_bytes) for s in stream.stages
        )
        return RowProgram(stages, calls, stream.order, stream.input_row_bytes)

    def _row_call(self, call: RowCall, stage: RowStage) -> RowCallAt:
        kernel, reads = call.kernel, dict(zip(stage.data, call.reads, strict=True))
        arguments: list[RowArgument] = []
        for operand, spot in zip(kernel.operands, call.scratch, strict=True):
            if isinstance(operand, Input) and operand.index in reads:
                arguments.append(reads[operand.index])
            elif isinstance(operand, Input):
                value = stage.op.inputs[operand.index]
                constant = None if value is None else self._place(value)
                arguments.append(Work(constant, 0 if value is None else value.type.bytes))
            elif isinstance(operand, Output):
                arguments.append(call.write)
            elif isinstance(operand, ConstantArray):
                arguments.append(self._array(operand, stage.op))
            else:
                arguments.append(spot or Work(None))
        scratch = tuple(
            (spot, operand.bytes)
            for operand, spot in zip(kernel.operands, call.scratch, strict=True)
            if isinstance(operand, Scratch) and spot is not None
        )
        overlaps = tuple(replace(o, input=stage.data.index(o.input)) for o in kernel.overlaps if o.input in stage.data)
        return RowCallAt(
            call.stage,
            kernel.function,
            kernel.header,
            kernel.params,
            call.moves,
            tuple(arguments),
            call.reads,
            call.write,
            scratch,
            overlaps,
        )

    def _is_behind(self, step: Step, kernel: Kernel, backward: Kernel) -> bool:
        """Whether an output overlaps its input so that only a kernel that processes pixels last to first is correct."""
        for claim in backward.overlaps:
            output, source = step.op.outputs[claim.output], step.op.inputs[claim.input]
            if source is not None and {output, source} <= self._storage.home.keys():
                target, origin = self._access(output).place, self._access(source).place
                if isinstance(target, Fixed) and isinstance(origin, Fixed) and target.memory == origin.memory:
                    behind = target.offset - origin.offset
                    ahead = any(o.distance <= -behind for o in kernel.overlaps if o.output == claim.output)
                    return claim.distance <= behind < source.type.bytes and not ahead
        return False

    def _assembly(self, step: Step, kernel: Pieces) -> Assembly:
        inputs = tuple(None if v is None else self._access(v) for v in step.op.inputs)
        outputs = tuple(map(self._access, step.op.outputs))
        copies = []
        for part in kernel.parts:
            source, output = inputs[part.input], outputs[part.output]
            assert source is not None
            assert not isinstance(output.place, Flash)
            target, origin = _moved(output.place, part.output_offset), _moved(source.place, part.input_offset)
            if target != origin:
                copies.append(ByteCopy(target, origin, part.bytes))
        return Assembly(step.index, step.op.origin, tuple(copies), inputs, outputs, kernel.parts)

    def _argument(self, step: Step, position: int, operand: Operand) -> Argument:
        if isinstance(operand, Input):
            value = step.op.inputs[operand.index]
            return Work(None) if value is None else InputArgument(operand.index, self._access(value))
        if isinstance(operand, Output):
            return OutputArgument(operand.index, self._access(step.op.outputs[operand.index]))
        if isinstance(operand, Null):
            return Work(None)
        if isinstance(operand, ConstantArray):
            return self._fetched(step, position, self._array(operand, step.op))
        if not operand.bytes:
            return Work(None)
        return Work(self._fixed(self._storage.scratch[step.index, position]), operand.bytes)

    def _fetched(self, step: Step, position: int, array: Work) -> Work:
        """The array, where it is copied to the arena there."""
        fetch = self._prefetches.get(step.index)
        if fetch is None or fetch.operand != position or fetch.bytes < array.bytes:
            return array
        assert isinstance(array.place, Flash)
        return replace(array, place=Fixed(fetch.offset), copy_of=array.place)

    def _array(self, array: ConstantArray, op: Op) -> Work:
        origin = op.origin
        where = f"s{origin.subgraph}_" if origin.subgraph else ""
        name = f"{where}{origin.operator_name}_{origin.operator}_{array.name}"
        return Work(Flash(self._constant(array, name)), len(array.data), array.dtype.c_type)

    def _transfer(self, boundary: Boundary) -> Transfer:
        move = self._storage.moves[boundary.index]
        copies = tuple(
            ByteCopy(
                self._spot(copy.destination),
                self._place(copy.source) if isinstance(copy.source, Value) else self._spot(copy.source),
                copy.bytes,
            )
            for copy in move.copies
        )
        rotation = tuple((self._slot(slot), self._slot(other)) for slot, other in move.rotation)
        values = tuple(map(self._access, boundary.values))
        return Transfer(boundary.index, boundary.kind, copies, rotation, values, boundary.sources)

    def _access(self, value: Value) -> Access:
        return Access(self._place(value), value)

    def _place(self, value: Value) -> Place:
        if value.constant is None:
            return self._spot(self._storage.home[value])
        data = self._module.constants[value.constant]
        array = ConstantArray(value.name, value.type.dtype, value.type.max_shape, data)
        return Flash(self._constant(array, f"const_{value.name.split('/')[-1][-NAME_LENGTH:]}"))

    def _spot(self, spot: Spot) -> Fixed | Slot:
        if spot.buffer in self._rotating:
            return Slot(self._slot(spot.buffer), spot.offset)
        return _moved(self._fixed(spot.buffer), spot.offset)

    def _fixed(self, buffer: int) -> Fixed:
        return Fixed(self._layout.offsets[buffer], self._storage.buffers[buffer].memory)

    def _constant(self, array: ConstantArray, wanted: str) -> str:
        """The constant's name in the pool; arrays of one C type with equal bytes share the first name."""
        key = (array.dtype.c_type, hashlib.sha256(array.data).digest())
        if key not in self._pool:
            name, number = identifier(wanted), 2
            while name in self.constants:
                name, number = f"{identifier(wanted)}_{number}", number + 1
            self._pool[key] = name
            self.constants[name] = array
        return self._pool[key]


def _moved(place: _PlaceT, offset: int) -> _PlaceT:
    return replace(place, offset=place.offset + offset)
