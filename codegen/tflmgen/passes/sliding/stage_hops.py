"""Stages of an application whose windows slide: the branch that computes a whole window computes a hop.

Where a stage runs for every hop, the hop replaces the whole window. Where it may miss some, it computes the first
window after that whole, and takes from it the rows that the next hop reuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tflmgen.errors import InternalError, Location, ModelError, Problem
from tflmgen.ir import DType, HopWork, Ids, TensorType, clone, substitute, verify
from tflmgen.ir.graph import (
    Block,
    Call,
    EntryPoint,
    Function,
    If,
    Module,
    Op,
    Origin,
    Port,
    StageWindow,
    Value,
    Variable,
    definitions_in,
    uses_in,
    walk,
)
from tflmgen.kernels import Comparison
from tflmgen.kernels.specification import Operators
from tflmgen.passes.macs import macs_of
from tflmgen.passes.pipeline import run_passes, without_ranges
from tflmgen.passes.sliding.cone import Cone, cache_bytes, cone_of, values_read
from tflmgen.passes.sliding.graph_builder import GraphBuilder
from tflmgen.passes.sliding.hop_rewrite import HopRewrite, cached
from tflmgen.passes.sliding.recognition import Recognition
from tflmgen.passes.sliding.rings import HeldRows
from tflmgen.passes.sliding.slid_module import check_saving, slide_of
from tflmgen.passes.sliding.slide_limits import layers_of, stop_of
from tflmgen.passes.sliding.track import Track
from tflmgen.passes.sliding.window_request import WindowRequest

HOP_ADVICE = "Change every: a hop has the rows of that many calls"
ADVICE = "Set reuse = false to compute each window whole, or leave out slide and give the stage whole windows"


def slide_stages(module: Module, operators: Operators) -> Module:
    """The module with the hops of its stages; `Module.hops` has their work.

    Raises ModelError where a stage's windows cannot slide or where that saves nothing.
    """
    for window in module.windows:
        module = _Stage(module, window, operators).slid()
    return verify(replace(module, windows=()), "slide_stages") if module.windows else module


@dataclass(frozen=True, slots=True)
class _Alone:
    """A branch as a function of its own, after the passes. window: its input that is the whole window."""

    module: Module
    function: Function
    window: Value


class _Stage:
    def __init__(self, module: Module, window: StageWindow, operators: Operators) -> None:
        self._module, self._window, self._operators = module, window, operators
        self._function, self._node = _branch_of(module, window)
        state = self._function.state
        self._entry = dict(zip(state, self._function.inputs[self._function.ports :], strict=True))
        results = self._function.body.results
        self._exit = dict(zip(state, results[len(results) - len(state) :], strict=True))
        self._ids = Ids(module)
        self._constants = dict(module.constants)
        self._next_block = 0

    def slid(self) -> Module:
        alone = self._alone()
        cone, work = self._work(alone)
        builder = GraphBuilder(alone.module, self._operators, self._ids)
        origin = self._node.origin
        rows = cone.tracks[alone.window].rows
        window = self._window
        if window.newest:
            newest = self._exit[window.newest]
            part = HeldRows((rows - window.hop, rows), builder.value("newest", newest.type))
        else:
            newest = self._exit[window.window]
            part = HeldRows((0, rows), alone.window)
        hop = HopRewrite(alone.function, cone, builder, origin).hop({alone.window: part})
        names = {name: f"{window.stage}/{name}" for name in hop.caches}
        old = {name: replace(cache, id=self._ids.take()) for name, cache in hop.caches.items()}
        mapping = {part.value: newest, **{cache: old[name] for name, cache in hop.caches.items()}}
        block = Block(tuple(builder.nodes), (*hop.results, *hop.nexts), self._node.then.name)
        then = self._adopted(block, builder.constants, mapping)
        if window.left:
            then = self._hop_or_whole(then, self._whole(alone, cone, part, origin), origin)
        new = {name: replace(cache, id=self._ids.take()) for name, cache in hop.caches.items()}
        orelse = replace(self._node.orelse, results=(*self._node.orelse.results, *old.values()))
        node = replace(self._node, then=then, orelse=orelse, outputs=(*self._node.outputs, *new.values()))
        before, after = ({names[name]: value for name, value in values.items()} for values in (old, new))
        return self._with_state(node, before, after, work)

    def _alone(self) -> _Alone:
        """The branch as a function of what it reads."""
        block, window = clone(self._node.then, {}, self._ids), self._exit[self._window.window]
        own = set(definitions_in(block))
        reads = dict.fromkeys(v for v in uses_in(block) if not v.is_constant and v not in own)
        inputs = (window, *(v for v in reads if v != window))
        ports, outputs = (tuple(Port(v.name, v.type) for v in values) for values in (inputs, block.results))
        function = Function(block.name, inputs, block)
        callees = self._module.functions[: self._module.functions.index(self._function)]
        entry = EntryPoint("", function.name, ports, outputs)
        module = replace(
            self._module, functions=(*callees, function), signatures=(entry,), state={}, windows=(), hops=()
        )
        if any(not port.type.is_static for port in (*ports, *outputs)):
            self._fail("the stage's shapes are known at run time only")
        if any(isinstance(node, Call) for node in walk(block)):
            self._fail("the stage's model calls a subgraph from several places")
        module = run_passes(module, without_ranges(self._operators))
        self._ids = Ids(self._module, module)
        function = module.function(function.name)
        return _Alone(module, function, function.inputs[0])

    def _work(self, alone: _Alone) -> tuple[Cone, HopWork]:
        window, value = self._window, alone.window
        request = WindowRequest(window.stage, window.axis, window.hop)
        try:
            slide = slide_of(self._module, Port(window.stage, value.type), request)
            rows = value.type.max_shape[slide.axis]
            recognition = Recognition(alone.module.constants, self._operators, self._module.path)
            tracks = {value: Track(slide.axis, rows, slide.hop, 0, rows)}
            cone = cone_of(alone.function, tracks, recognition, rings=False)
            macs = {node.id: macs_of(node) for node in walk(alone.function.body) if isinstance(node, Op)}
            layers = layers_of(alone.function, cone, macs)
            if not cone.sums:
                stop = stop_of(alone.function, cone, alone.module.constants, self._operators)
                check_saving(self._module, layers, stop)
        except ModelError as error:
            problem = error.problems[0]
            rule = problem.rule.removeprefix("--slide").removeprefix(":").strip()
            self._fail(rule, f"{HOP_ADVICE}. {ADVICE}" if "HOP" in problem.advice else ADVICE)
        return cone, HopWork(window.stage, layers, cache_bytes(cone), window.invokes)

    def _fail(self, rule: str, advice: str = ADVICE) -> None:
        raise ModelError([Problem(Location(self._window.place), rule, advice)])

    def _whole(self, alone: _Alone, cone: Cone, window: HeldRows, origin: Origin) -> Block:
        """The branch on a whole window, which leaves the rows that the next hop reuses."""
        builder = GraphBuilder(alone.module, self._operators, self._ids)
        builder.nodes = list(alone.function.body.nodes)
        nexts = []
        for value, (first, end) in cached(cone, {alone.window: window}).items():
            track = cone.tracks[value]
            nexts.append(builder.cut(value, track.axis, (first + track.hop, end + track.hop), origin))
        nexts += [moving.of_window(builder) for moving in cone.sums.values()]
        block = Block(tuple(builder.nodes), (*alone.function.body.results, *nexts), self._node.then.name)
        return self._adopted(block, builder.constants, {})

    def _adopted(self, block: Block, constants: Mapping[str, bytes], mapping: Mapping[Value, Value]) -> Block:
        """The block with ids and constants of the whole module. mapping: what is defined outside of it."""
        self._next_block += 1
        replaced = {old: new for old, new in mapping.items() if old != new}
        for value in uses_in(block):
            if value.constant is not None and value not in replaced:
                data, key = constants[value.constant], value.constant
                if self._constants.setdefault(key, data) != data:
                    key = f"{self._window.stage}.{self._next_block}.{key}"
                    self._constants[key] = data
                replaced[value] = replace(value, id=self._ids.take(), constant=key)
        return clone(substitute(block, replaced), {}, self._ids)

    def _hop_or_whole(self, hop: Block, whole: Block, origin: Origin) -> Block:
        """A hop if the window moved by one since the last run, else the whole window."""
        left = self._entry[self._window.left]
        zero = Value(self._ids.take(), "zero", left.type, f"{self._window.stage}.zero")
        self._constants[f"{self._window.stage}.zero"] = bytes(left.type.bytes)
        moved = Value(self._ids.take(), "moved by a hop", TensorType(DType.BOOL, left.type.shape))
        compare = Op(self._ids.take(), Comparison.EQUAL.operator, (left, zero), (moved,), None, origin)
        outputs = tuple(replace(v, id=self._ids.take(), constant=None) for v in hop.results)
        choice = If(self._ids.take(), moved, hop, whole, outputs, origin)
        return Block((compare, choice), outputs, hop.name)

    def _with_state(self, node: If, before: Mapping[str, Value], after: Mapping[str, Value], work: HopWork) -> Module:
        """The module with the node, and with variables for what it keeps."""
        function = self._function
        nodes = tuple(node if other is self._node else other for other in function.body.nodes)
        body = replace(function.body, nodes=nodes, results=(*function.body.results, *after.values()))
        changed = replace(
            function, inputs=(*function.inputs, *before.values()), body=body, state=(*function.state, *before)
        )
        variables = {}
        for name, value in before.items():
            self._constants[f"state.{name}"] = bytes(value.type.bytes)
            variables[name] = Variable(replace(value, id=self._ids.take()), f"state.{name}")
        module = replace(
            self._module,
            functions=tuple(changed if f is function else f for f in self._module.functions),
            constants=self._constants,
            state={**self._module.state, **variables},
            hops=(*self._module.hops, work),
        )
        for name in (self._window.window, self._window.newest):
            module = _without_unread(module, name) if name else module
        return module


def _branch_of(module: Module, window: StageWindow) -> tuple[Function, If]:
    """The function and the If of a stage: the If whose first branch is the stage's subgraph."""
    for function in module.functions:
        for node in function.body.nodes:
            if isinstance(node, If) and any(n.origin.subgraph == window.subgraph for n in node.then.nodes[:1]):
                return function, node
    raise InternalError(f"{window.place}: the stage's branch is not in the graph")


def _without_unread(module: Module, name: str) -> Module:
    """The module without a variable whose contents only its own next contents follow from, in all functions."""
    functions: list[Function] = []
    initial, ids = module.state[name].initial, Ids(module)
    for function in module.functions:
        changed = _without_variable(function, name, initial, ids) if name in function.state else function
        if changed is None:
            return module
        functions.append(changed)
    state = {other: variable for other, variable in module.state.items() if other != name}
    return replace(module, functions=tuple(functions), state=state)


def _without_variable(function: Function, name: str, initial: str, ids: Ids) -> Function | None:
    """The function without a variable, None if another result depends on its contents or a call takes them."""
    place = function.state.index(name)
    inputs, results = list(function.inputs), list(function.body.results)
    entry = inputs.pop(function.ports + place)
    results.pop(len(results) - len(function.state) + place)
    needed = set(results)
    for node in reversed(function.body.nodes):
        if not needed.isdisjoint(node.outputs):
            needed |= values_read(node)
    if entry in needed:
        return None
    constant = replace(entry, id=ids.take(), constant=initial)
    body = substitute(replace(function.body, results=tuple(results)), {entry: constant})
    state = tuple(other for other in function.state if other != name)
    return replace(function, inputs=tuple(inputs), body=body, state=state)
