"""Turns a module of whole windows into one that takes the newest rows of each, and keeps what windows share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.ir import Call, HopWork, LayerWork, Module, Op, Origin, Port, Signature, Slide, Value, verify, walk
from tflmgen.kernels import Operators, normalize_axis
from tflmgen.passes import macs_of
from tflmgen.sliding.cone import Cone, cone_of
from tflmgen.sliding.graph_builder import GraphBuilder
from tflmgen.sliding.hop_rewrite import Rewrite
from tflmgen.sliding.recognition import Recognition
from tflmgen.sliding.track import Track
from tflmgen.sliding.window_request import WindowRequest
from tflmgen.sliding.work import layers_of

COUNTER = "pushes until the first window"


def slide_inputs(
    module: Module, requests: Sequence[WindowRequest], operators: Operators, phases: bool = False
) -> Module:
    """The module with sliding windows; `Module.hops` has the work of a hop.

    phases: whether rows behind strides that a hop is no multiple of are kept for several windows. Raises UsageError
    for an input that does not exist, ModelError where windows cannot slide or where it saves nothing.
    """
    known = {port.name for signature in module.signatures for port in signature.inputs}
    for request in requests:
        if request.input not in known:
            names = ", ".join(f"'{port.name}'" for s in module.signatures for port in s.inputs)
            raise UsageError(f"--slide {request.input}: the model's inputs are {names}")
    for signature in module.signatures:
        if any(port.name == request.input for port in signature.inputs for request in requests):
            module = _slid(module, signature, requests, operators, phases)
    return verify(module, "slide_inputs")


def _slid(
    module: Module, signature: Signature, requests: Sequence[WindowRequest], operators: Operators, phases: bool
) -> Module:
    function = module.function(signature.function)
    slides = {
        port.name: slide_of(module, port, r) for port in signature.inputs for r in requests if r.input == port.name
    }
    ports = tuple(replace(port, slide=slides.get(port.name)) for port in signature.inputs)
    _check_function(module, signature)
    inputs = {
        value: Track(
            port.slide.axis,
            port.type.max_shape[port.slide.axis],
            port.slide.hop,
            0,
            port.type.max_shape[port.slide.axis],
        )
        for value, port in zip(function.inputs, ports, strict=False)
        if port.slide is not None
    }
    cone = cone_of(function, inputs, Recognition(module.constants, operators, module.path, phases))
    macs = {node.id: macs_of(node) for node in walk(function.body) if isinstance(node, Op)}
    layers = layers_of(function, cone, macs)
    check_saving(module, layers)
    builder = GraphBuilder(module, operators)
    newest = {
        value: builder.value(port.name, port.invoke_type)
        for value, port in zip(function.inputs, ports, strict=False)
        if port.slide is not None
    }
    counter = COUNTER if len(module.signatures) == 1 else f"{COUNTER} of {signature.key}"
    changed = replace(signature, inputs=ports, counter=counter)
    origin = next((node.origin for node in function.body.nodes), Origin(0, function.name, 0, ""))
    slid = Rewrite(function, cone, builder, origin).run(module, newest, counter, changed.pushes)
    signatures = tuple(changed if s is signature else s for s in module.signatures)
    windows = max(cone.tracks[value].period for value in (*inputs, *cone.caches))
    hop = HopWork(signature.key, layers, cache_bytes(cone), phases=windows)
    return replace(slid, signatures=signatures, hops=(*slid.hops, hop))


def cache_bytes(cone: Cone) -> int:
    def row_bytes(value: Value) -> int:
        return value.type.bytes // cone.tracks[value].rows

    return sum(
        cone.tracks[value].period * (end - first) * row_bytes(value) for value, (first, end) in cone.caches.items()
    )


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


def _check_function(module: Module, signature: Signature) -> None:
    """Raises ModelError where the signature's function cannot take rows instead of windows."""
    function = module.function(signature.function)
    calls = {node.function for f in module.functions for node in walk(f.body) if isinstance(node, Call)}
    reason = ""
    if function.state:
        listed = ", ".join(f"'{name}'" for name in function.state)
        reason = f"the model keeps state of its own ({listed}), which each whole window would advance once"
    elif sum(s.function == function.name for s in module.signatures) > 1 or function.name in calls:
        reason = f"'{function.name}' is shared with another signature or function"
    if reason:
        raise ModelError([Problem(Location(module.path), f"--slide: {reason}")])


def check_saving(module: Module, layers: Sequence[LayerWork]) -> None:
    """Raises ModelError where a hop computes as much as a whole window; names what stops the reuse."""
    if any(layer.row_wise and layer.computed < layer.rows for layer in layers if layer.macs) or (
        not any(layer.macs for layer in layers) and any(layer.computed < layer.rows for layer in layers)
    ):
        return
    stop = next((layer for layer in layers if not layer.row_wise), layers[0] if layers else None)
    where, rule = Location(module.path), "--slide saves nothing: no operator reads the input"
    if stop is not None:
        where = Location(module.path, stop.subgraph, "", stop.operator, stop.name)
        rule = f"--slide saves nothing: {stop.name} combines rows of the whole window"
        if stop.row_wise:
            rule = f"--slide saves nothing: padding reaches all {stop.rows} rows of {stop.name} in each window"
    raise ModelError([Problem(where, rule, "Run the whole window, or train the model without padding along time")])
