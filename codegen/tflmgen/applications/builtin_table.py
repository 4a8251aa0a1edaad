"""The built-ins by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tflmgen.applications.app_file import dimensions, element_type
from tflmgen.applications.decision_builtins import argmax, debounce, smooth
from tflmgen.applications.glue_graph import GlueGraph
from tflmgen.applications.signal_builtins import logmel, mfcc, microfrontend, normalize, rms, spectrogram
from tflmgen.applications.stage_body import Builtin, StageBody, StageContext
from tflmgen.frontend.tflite import CUSTOM
from tflmgen.ir import Quantization, TensorType


def operator(context: StageContext) -> StageBody:
    """The operator `name` on the stage's inputs as they come. Its one output is like the first input by default."""
    context.check_settings(("name", "type", "shape", "scale", "zero_point", "options"))
    settings, first = context.stage.settings, context.types[0]
    name, options = settings.get("name"), settings.get("options", {})
    if not isinstance(name, str) or not name:
        context.file.fail(context.key("name"), "is the name of a plug-in's operator (--plugin FILE)")
    if not isinstance(options, dict):
        context.file.fail(context.key("options"), "is a table of the operator's options")
    dtype = element_type(context.file, context.key("type"), settings.get("type", first.dtype.label))
    shape = dimensions(context.file, context.key("shape"), settings.get("shape", [*first.max_shape] or [1]))
    quantization = first.quantization if dtype is first.dtype and "scale" not in settings else None
    if "scale" in settings:
        low, high = dtype.limits if not dtype.is_float else (0, 0)
        scale = context.number("scale", None, 1e-30, 1e30)
        quantization = Quantization((scale,), (context.whole("zero_point", 0, int(low), int(high)),))
    wanted, result = tuple(context.types), TensorType(dtype, shape, quantization)

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        output = graph.tensor(name, result)
        graph.graph.operator(f"{CUSTOM}{name}", inputs, [output], options or None)
        return [output]

    return StageBody(wanted, ("output",), build)


BUILTINS: Mapping[str, Builtin] = {
    "argmax": argmax,
    "debounce": debounce,
    "logmel": logmel,
    "mfcc": mfcc,
    "microfrontend": microfrontend,
    "normalize": normalize,
    "operator": operator,
    "rms": rms,
    "smooth": smooth,
    "spectrogram": spectrogram,
}
