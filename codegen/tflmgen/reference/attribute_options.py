"""Attributes of a Module's operators in the words of the schema's options, as the evaluations read them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from tflmgen.ir import Quantization

TANH = 4
"""The schema's number of this activation, which graphs give no name."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "activation": ("fused_activation_function",),
    "stride_height": ("stride_h",),
    "stride_width": ("stride_w",),
    "dilation_height": ("dilation_h_factor",),
    "dilation_width": ("dilation_w_factor",),
    "zeros": ("padding_counts",),
    "rounds_up": ("rounds_halves_up",),
    "keep_dims": ("keep_dims", "keep_num_dims"),
    "asymmetric": ("asymmetric_quantize_inputs",),
    "adjoint_left": ("adj_x",),
    "adjoint_right": ("adj_y",),
    "begin": ("begin_mask",),
    "end": ("end_mask", "end_index"),
    "start": ("start_index",),
    "ellipsis": ("ellipsis_mask",),
    "new_axis": ("new_axis_mask",),
    "shrink_axis": ("shrink_axis_mask",),
    "size": ("block_size", "frame_size"),
    "repeat": ("mode",),
    "values": ("squeeze_dims", "new_shape"),
    "projection_clip": ("proj_clip",),
    "length": ("fft_length",),
    "channels": ("num_channels",),
    "cycles": ("cycles_max",),
    "samples": ("delay_length",),
    "step": ("step", "frame_step", "stacker_step"),
    "left": ("stacker_left_context",),
    "right": ("stacker_right_context",),
    "bits": ("spectral_subtraction_bits",),
    "min_remaining": ("min_signal_remaining",),
    "correction_bits": ("input_correction_bits",),
    "scale": ("output_scale",),
}
"""Name of an attribute -> names of options; all others have the same name."""


def options_of_attributes(attributes: Any) -> Mapping[str, Any]:
    """Options with the same meaning; nested attributes are flattened."""
    return {} if attributes is None else _options(attributes)


@lru_cache(maxsize=4096)
def _options(attributes: Hashable) -> Mapping[str, Any]:
    options: dict[str, Any] = {}
    for field in fields(attributes) if is_dataclass(attributes) else ():
        value = getattr(attributes, field.name)
        if is_dataclass(value) and not isinstance(value, Quantization):
            options |= options_of_attributes(value)
        else:
            options |= {name: _plain(field.name, value) for name in NAMES.get(field.name, (field.name,))}
    return {**options, **_combined(options)}


def _plain(name: str, value: Any) -> Any:
    if name == "activation":
        return TANH if value is None else value.value
    return value.value if isinstance(value, Enum) else value


def _combined(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Options that several attributes make up, or that one makes several of."""
    combined: dict[str, Any] = {}
    if "same" in attributes:
        combined["padding"] = 0 if attributes["same"] else 1
    if "before" in attributes and "after" in attributes:
        combined["explicit_padding"] = tuple(zip(attributes["before"], attributes["after"], strict=True))
    for name in ("smoothing", "one_minus_smoothing"):
        if name in attributes:
            combined[name], combined[f"alternate_{name}"] = attributes[name]
    if "taps" in attributes:
        combined["filter_height"], combined["filter_width"] = attributes["taps"]
    if "strides" in attributes:
        combined |= {f"stride_{letter}": stride for letter, stride in zip("dhw", attributes["strides"], strict=True)}
        combined |= {
            f"dilation_{letter}_factor": step for letter, step in zip("dhw", attributes["dilations"], strict=True)
        }
    return combined
