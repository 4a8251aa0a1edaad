"""The built-in `operator`: a custom operator of a plug-in, whose C function is the stage."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.applications.glue_graph import GlueGraph
from tflmgen.applications.stage_body import Body, StageContext
from tflmgen.frontend import CUSTOM
from tflmgen.ir import DType, Quantization, TensorType


def operator(context: StageContext) -> Body:
    """The operator `name` on the stage's inputs as they come. Its one output is like the first input by default."""
    context.check_settings(("name", "type", "shape", "scale", "zero_point", "options"))
    settings, first = context.stage.settings, context.types[0]
    name, options = settings.get("name"), settings.get("options", {})
    if not isinstance(name, str) or not name:
        context.file.fail(context.key("name"), "is the name of a plug-in's operator (--plugin FILE)")
    if not isinstance(options, dict):
        context.file.fail(context.key("options"), "is a table of the operator's options")
    types = {dtype.label: dtype for dtype in DType if dtype is not DType.INT4}
    dtype, shape = types.get(settings.get("type", first.dtype.label)), settings.get("shape", [*first.max_shape])
    if dtype is None:
        context.file.fail(context.key("type"), f"is an element type: {', '.join(types)}")
    if not isinstance(shape, list) or not all(type(dim) is int and 0 < dim < 1 << 31 for dim in shape):
        context.file.fail(context.key("shape"), "is a list of dimensions of at least 1, as in [1, 10]")
    quantization = first.quantization if dtype is first.dtype and "scale" not in settings else None
    if "scale" in settings:
        low, high = dtype.limits if not dtype.is_float else (0, 0)
        scale = context.number("scale", None, 1e-30, 1e30)
        quantization = Quantization((scale,), (context.whole("zero_point", 0, int(low), int(high)),))
    wanted, result = tuple(context.types), TensorType(dtype, tuple(shape), quantization)

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        output = graph.tensor(name, result)
        graph.graph.operator(f"{CUSTOM}{name}", inputs, [output], options or None)
        return [output]

    return Body(wanted, ("output",), build)
