"""Turns a module of whole windows into one that takes the newest rows of each, and keeps what windows share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.ir import HopWork, LayerWork, verify
from tflmgen.ir.graph import Call, EntryPoint, Function, Module, Op, Origin, Port, Slide, Value, walk
from tflmgen.kernels.costs import TUNING
from tflmgen.kernels.numeric import normalize_axis
from tflmgen.kernels.specification import Operators
from tflmgen.passes.macs import macs_of
from tflmgen.passes.sliding.cone import Cone, cache_bytes, cone_of
from tflmgen.passes.sliding.graph_builder import GraphBuilder
from tflmgen.passes.sliding.hop_rewrite import HopRewrite
from tflmgen.passes.sliding.recognition import Recognition
from tflmgen.passes.sliding.slide_limits import Stop, layers_of, stop_of
from tflmgen.passes.sliding.track import Track, size
from tflmgen.passes.sliding.window_request import WindowRequest

ConeOf = Callable[[frozenset[Value]], Cone]
"""The cone without caches of these tensors."""


def cone_with_fewer_caches(cone_without: ConeOf, macs: Mapping[int, int], count: int) -> Cone:
    """The cone of a hop with up to `count` caches fewer; `Cone.exact` is that of the hop with all of them.

    One after the other is given up: that which costs the fewest multiply-accumulates per byte, among those that leave
    less to keep. macs: Op.id -> multiply-accumulates of a whole window
    """
    cone = whole = cone_without(frozenset())
    dropped: frozenset[Value] = frozenset()
    for _ in range(count):
        computed = {value for id_, row_map in cone.maps.items() if id_ in cone.computed for value in row_map.op.outputs}
        options = [(cone_without(dropped | {value}), value) for value in cone.caches if value in computed]
        kept, work = cache_bytes(cone), _work(cone, macs)
        costs = [
            ((_work(option, macs) - work) / (kept - cache_bytes(option)), value.id, value, option)
            for option, value in options
            if cache_bytes(option) < kept
        ]
        if not costs:
            break
        _, _, value, cone = min(costs, key=lambda cost: cost[:2])
        dropped |= {value}
    return replace(cone, exact=whole.exact)


def _work(cone: Cone, macs: Mapping[int, int]) -> float:
    """Multiply-accumulates of a hop, and one for each element of other operators."""
    work = 0.0
    for id_, row_map in cone.maps.items():
        if row_map.tracks:
            share = size(cone.computed[id_]) / row_map.tracks[0].rows
            work += share * (macs.get(id_) or sum(value.type.elements for value in row_map.op.outputs))
    return work


COUNTER = "pushes until the first window"


def slide_inputs(
    module: Module,
    requests: Sequence[WindowRequest],
    operators: Operators,
    phases: bool,
    dropped: int = 0,
    rings: bool = True,
) -> Module:
    """The module with sliding windows; `Module.hops` has the work of a hop.

    phases: whether rows behind strides that a hop is no multiple of are kept for several windows. dropped: of so many
    tensors, rows are computed anew instead of kept, as far as that takes less RAM. rings: whether caches may be rings,
    which take less work and more RAM than rows that move. Raises UsageError for an input that does not exist,
    ModelError where windows cannot slide or where it saves nothing.
    """
    known = {port.name for signature in module.signatures for port in signature.inputs}
    for request in requests:
        if request.input not in known:
            names = ", ".join(f"'{port.name}'" for s in module.signatures for port in s.inputs)
            raise UsageError(f"--slide {request.input}: the model's inputs are {names}")
    for signature in module.signatures:
        if any(port.name == request.input for port in signature.inputs for request in requests):
            module = _slid(module, signature, requests, operators, phases, dropped, rings)
    return verify(module, "slide_inputs")


def slide_trade_offs(
    module: Module, requests: Sequence[WindowRequest], operators: Operators, phases: bool = False
) -> tuple[Module, ...]:
    """Variants of the module: all caches, then no rings, then fewer caches; less RAM, more work per hop.

    Raises as slide_inputs does.
    """
    modules = [slide_inputs(module, requests, operators, phases)]
    for dropped in (0, *TUNING.dropped_caches):
        try:
            variant = slide_inputs(module, requests, operators, phases, dropped, rings=False)
        except ModelError:
            break  # a hop computes as much as a whole window
        if sum(hop.cache_bytes for hop in variant.hops) < sum(hop.cache_bytes for hop in modules[-1].hops):
            modules.append(variant)
    return tuple(modules)


def _slid(
    module: Module,
    signature: EntryPoint,
    requests: Sequence[WindowRequest],
    operators: Operators,
    phases: bool,
    dropped: int,
    rings: bool,
) -> Module:
    function = module.function(signature.function)
    slides = {
        port.name: slide_of(module, port, r) for port in signature.inputs for r in requests if r.input == port.name
    }
    ports = tuple(replace(port, slide=slides.get(port.name)) for port in signature.inputs)
    _check_function(module, signature)
    inputs = _tracks(function, ports)
    macs = {node.id: macs_of(node) for node in walk(function.body) if isinstance(node, Op)}
    recognition = Recognition(module.constants, operators, module.path, phases)
    cone = cone_with_fewer_caches(partial(cone_of, function, inputs, recognition, rings=rings), macs, dropped)
    layers = layers_of(function, cone, macs)
    if not cone.sums:
        check_saving(module, layers, stop_of(function, cone, module.constants, operators))
    builder = GraphBuilder(module, operators)
    newest = {
        value: builder.value(port.name, port.invoke_type)
        for value, port in zip(function.inputs, ports, strict=False)
        if port.slide is not None
    }
    counter = COUNTER if len(module.signatures) == 1 else f"{COUNTER} of {signature.key}"
    changed = replace(signature, inputs=ports, counter=counter)
    origin = next((node.origin for node in function.body.nodes), Origin(0, function.name, 0, ""))
    slid = HopRewrite(function, cone, builder, origin).run(module, newest, counter, changed.pushes)
    signatures = tuple(changed if s is signature else s for s in module.signatures)
    windows = max(cone.tracks[value].period for value in (*inputs, *cone.caches))
    hop = HopWork(signature.key, layers, cache_bytes(cone), phases=windows)
    return replace(slid, signatures=signatures, hops=(*slid.hops, hop))


def _tracks(function: Function, ports: Sequence[Port]) -> dict[Value, Track]:
    """Whole windows of the inputs that slide."""
    tracks = {}
    for value, port in zip(function.inputs, ports, strict=False):
        if port.slide is not None:
            rows = port.type.max_shape[port.slide.axis]
            tracks[value] = Track(port.slide.axis, rows, port.slide.hop, 0, rows)
    return tracks


def slide_of(module: Module, port: Port, request: WindowRequest) -> Slide:
    """The slide of an input. Raises ModelError where its window cannot slide so."""
    shape = port.type.max_shape
    axis = normalize_axis(request.axis, len(shape))
    reason = ""
    if not port.type.is_static:
        reason = f"is {port.type}, and a window has a fixed size"
    elif axis is None:
        reason = f"is {port.type}, and has no axis {request.axis}"
    elif any(dim != 1 for dim in shape[:axis]):
        reason = f"is {port.type}, and rows along axis {axis} lie apart: all dimensions before it must be 1"
    elif request.hop >= shape[axis]:
        reason = f"has {shape[axis]} rows along axis {axis}, and a hop of {request.hop} leaves none of them to reuse"
    elif port.type.bytes * 8 != port.type.elements * port.type.dtype.bits or port.type.dtype.bits < 8:
        reason = f"is {port.type}, and rows must be whole bytes"
    if reason or axis is None:
        raise ModelError([Problem(Location(module.path), f"--slide: input '{port.name}' {reason}")])
    return Slide(axis, request.hop)


def _check_function(module: Module, signature: EntryPoint) -> None:
    """Raises ModelError where the signature's function cannot take rows instead of windows."""
    function = module.function(signature.function)
    calls = {node.function for f in module.functions for node in walk(f.body) if isinstance(node, Call)}
    reason = advice = ""
    if function.state:
        listed = ", ".join(f"'{name}'" for name in function.state)
        reason = f"the model keeps state of its own ({listed}), which each whole window would advance once"
        advice = "Give it the new rows alone, without --slide: its state is what it keeps of earlier ones"
    elif sum(s.function == function.name for s in module.signatures) > 1 or function.name in calls:
        reason = f"'{function.name}' is shared with another signature or function"
    if reason:
        raise ModelError([Problem(Location(module.path), f"--slide: {reason}", advice)])


def check_saving(module: Module, layers: Sequence[LayerWork], stop: Stop | None) -> None:
    """Raises ModelError where a hop computes as much as a whole window; names what stops the reuse."""
    if any(layer.row_wise and layer.computed < layer.rows for layer in layers if layer.macs) or (
        not any(layer.macs for layer in layers) and any(layer.computed < layer.rows for layer in layers)
    ):
        return
    where, reason, advice = Location(module.path), "no operator reads the input", ""
    if stop is not None:
        where = stop.origin.location(module.path)
        reason, advice = f"{stop.operator} {stop.reason}", stop.advice
    elif layers:
        padded = layers[0]
        where = Location(module.path, padded.subgraph, "", padded.operator, padded.name)
        reason = f"padding reaches all {padded.rows} rows of {padded.name} in each window"
        advice = "Train the model without padding along time or with rows of zeros before the first one, or take a "
        advice += "longer window or a smaller HOP"
    raise ModelError([Problem(where, f"--slide saves nothing: {reason}", advice)])
