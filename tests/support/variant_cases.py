"""For every function of a fast kernel, cases whose layer gets it: drawn at random until each has some."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import pytest
from tflmgen.ir.kernel import Kernel, Overlap
from tflmgen.ir.types import TensorType
from tflmgen.kernels.dsp import depthwise3x3_dsp

from support import dsp_cases, int16_cases
from support.emulated_kernels import M0, M4, M55, Machine, kernels_for
from support.kernel_harness import KERNELS, Array, Case, Tensor, broken_rules, claims, facing
from support.padded_cases import explicitly_padded
from support.recurrent_sizes import lstm, svdf_in

Made = tuple[Case, Sequence[Array | None]]
Make = Callable[[np.random.Generator], Made]
Chosen = tuple[Case, Sequence[Array | None], Kernel, Overlap | None]

CASES = 2
"""Cases of each function, at least."""

MOST_DRAWS = 4000
MACHINES = {"dsp": M4, "mve": M55, "thumb": M0}


@dataclass(frozen=True)
class Family:
    """Functions of an instruction set whose names the pattern matches, and what makes cases of theirs.

    ordered: the module that tries `SHIFTS` in turn, of which layers rarely reach the last ones: each is tried alone
    allowed: bytes of weights for Winograd's minimal filtering
    optimize: as --optimize
    """

    variant: str
    pattern: str
    makers: tuple[Make, ...]
    ordered: ModuleType | None = None
    allowed: int = 0
    optimize: str = "speed"

    @property
    def machine(self) -> Machine:
        machine = MACHINES[self.variant]
        return replace(machine, target=replace(machine.target, winograd=self.allowed, optimize=self.optimize))

    def has(self, function: str) -> bool:
        return re.fullmatch(f"tflmgen_{self.pattern}", function) is not None

    def functions(self) -> frozenset[str]:
        return frozenset(filter(self.has, fast_functions(self.variant)))


def fast_functions(variant: str) -> frozenset[str]:
    """What generated code may call of the kernels for an instruction set: the functions that no other one calls."""
    headers = "".join(f'#include "{path.name}"\n' for path in sorted(KERNELS.glob("*.h")))
    command = ["arm-none-eabi-gcc", "-E", "-P", *MACHINES[variant].flags, f"-I{KERNELS}", "-"]
    text = subprocess.run(command, input=headers, capture_output=True, text=True, check=True).stdout
    defined = re.findall(r"\b(tflmgen_\w+)\s*\([^(){};]*\bconst struct \w+ \*\s*\w+\)\s*{", text)
    mentioned = Counter(re.findall(r"(?<!struct )\btflmgen_\w+", text))
    return frozenset(name for name in defined if re.search(rf"_{variant}(_|$)", name) and mentioned[name] == 1)


def scaled(make: Make) -> Make:
    """The layers of `make` with scales of all magnitudes, mostly of much the same one in all channels."""

    def made(rng: np.random.Generator) -> Made:
        case, values = make(rng)
        x, w = case.inputs[:2]
        assert x is not None
        assert w is not None
        weights = w.type.quantization
        assert weights is not None
        scales = np.array(weights.scales)
        if rng.random() < 0.7 and len(scales) > 1:
            scales = scales.max() * rng.uniform(0.55, 1, len(scales))
        scales *= 2.0 ** -rng.uniform(0.5, 11) * _scale(case.outputs[0]) / (_scale(x.type) * scales.max())
        other = replace(w.type, quantization=replace(weights, scales=tuple(scales.tolist())))
        return replace(case, inputs=(x, Tensor(other, w.data), *case.inputs[2:])), values

    return made


def narrow_add(rng: np.random.Generator) -> Made:
    """Sums whose output may have a smaller scale than what is added."""
    case, values = dsp_cases.add(rng)
    output = case.outputs[0]
    return replace(case, outputs=(_scaled_to(output, _scale(output) * 2.0 ** -rng.uniform(0, 5)),)), values


def _scaled_to(kind: TensorType, scale: float) -> TensorType:
    assert kind.quantization is not None
    return replace(kind, quantization=replace(kind.quantization, scales=(scale,)))


def _scale(kind: TensorType) -> float:
    assert kind.quantization is not None
    return kind.quantization.scale


def padded(make: Make) -> Make:
    """Pools of `make` over padding that counts as zeros."""
    return lambda rng: explicitly_padded(rng, make(rng), zeros=True)[0]


CONV = (scaled(dsp_cases.conv2d), scaled(dsp_cases.conv2d), scaled(dsp_cases.grouped))
POINTWISE = scaled(dsp_cases.pointwise)
PITCHES = ((3, 7), (7, 15), (15, 31), (31, 63), (63, 127))
"""Widths of the planes of a depthwise convolution, by what they are rounded up to."""

PLANES = (scaled(lambda rng: dsp_cases.depthwise3x3(rng, PITCHES, 8)),)
WINDOWS = (scaled(dsp_cases.depthwise_window), scaled(dsp_cases.depthwise3x3))
MATRIX = (scaled(dsp_cases.fully_connected),)
SUMS = (narrow_add,)
SVDF = (svdf_in("int8"), svdf_in("int16"))
POOLS = {
    "average_pool2d": (dsp_cases.average_pool2d, padded(dsp_cases.average_pool2d)),
    "max_pool2d": (dsp_cases.max_pool2d, padded(dsp_cases.max_pool2d)),
}

FAMILIES = (
    Family("dsp", r"conv2d_(split_)?dsp(?!_compact)\w*_s8", (*CONV, POINTWISE)),
    Family("dsp", r"conv2d_groups_dsp_s8", (dsp_cases.grouped, scaled(dsp_cases.grouped))),
    Family("dsp", r"transpose_conv_dsp_s8", (dsp_cases.transpose_conv,)),
    Family("dsp", r"conv2d_dsp_compact\w*_s8", CONV, optimize="size"),
    Family("dsp", r"conv2d_dot_dsp_s8", (dsp_cases.conv2d_dot,)),
    Family("dsp", r"conv2d_winograd_dsp\w*_s8", (dsp_cases.winograd,), allowed=1 << 20),
    Family("dsp", r"depthwise3x3_(pairs_)?dsp_\w+_s8", PLANES, depthwise3x3_dsp),
    Family("dsp", r"depthwise_(window|nine)_dsp_s8", WINDOWS),
    Family("dsp", r"fully_connected_dsp\w*_s8", MATRIX),
    Family("dsp", r"add_(rows_)?dsp_s8", SUMS),
    Family("dsp", r"mul_dsp_s8", (dsp_cases.mul,)),
    Family("dsp", r"svdf_dsp_\w+", SVDF),
    Family("dsp", r"lstm_dsp_s8", (lstm,)),
    Family("dsp", r"conv2d_s16_dsp\w*", (int16_cases.conv2d,)),
    Family("dsp", r"depthwise_conv2d_s16_dsp", (int16_cases.depthwise_conv2d,)),
    Family("dsp", r"fully_connected_s16_dsp", (int16_cases.fully_connected,)),
    Family("mve", r"conv2d_(groups_|windows_)?mve_\w+_s8", CONV),
    Family("mve", r"transpose_conv_mve_\w+_s8", (dsp_cases.transpose_conv,)),
    Family("mve", r"depthwise_\w+_mve_\w+_s8", (*PLANES, *WINDOWS)),
    Family("mve", r"batch_matmul_mve_\w+_s8", (dsp_cases.batch_matmul,)),
    Family("mve", r"fully_connected_mve_\w+_s8", MATRIX),
    Family("mve", r"add_mve_s8", SUMS),
    Family("mve", r"mul_mve_s8", (dsp_cases.mul,)),
    Family("mve", r"lookup_mve_s8", (dsp_cases.lookup,)),
    Family("mve", r"svdf_mve_\w+", SVDF),
    Family("mve", r"lstm_mve_s8", (lstm,)),
    *(Family(v, rf"{name}_(zeros_)?{v}_s8", makers) for name, makers in POOLS.items() for v in ("dsp", "mve")),
    Family("thumb", r"conv2d_(pixel_)?thumb_\w+_s8", CONV),
    Family("thumb", r"transpose_conv_thumb_\w+_s8", (dsp_cases.transpose_conv,)),
    Family("thumb", r"depthwise_(direct_)?thumb_\w+_s8", (*PLANES, *WINDOWS)),
    Family("thumb", r"fully_connected_(few_)?thumb_\w+_s8", MATRIX),
    Family("thumb", r"add_(rows_)?thumb_s8", SUMS),
    Family("thumb", r"mul_thumb_s8", (dsp_cases.mul,)),
    Family("thumb", r"svdf_thumb_\w+", SVDF),
    Family("thumb", r"lstm_thumb_s8", (lstm,)),
)


def chosen_for(family: Family, functions: Collection[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Chosen]:
    """CASES of each of the functions, with the kernels that call them; AssertionError names those without."""
    rng = np.random.default_rng(1)
    missing = Counter(dict.fromkeys(sorted(functions), CASES))
    shifts = family.ordered.SHIFTS if family.ordered else ()
    makers = family.makers
    for draw in range(MOST_DRAWS):
        if not missing:
            return
        if family.ordered:
            wanted = [s for s in shifts if any(re.search(rf"(?<!\d){s}(?!\d)", name) for name in missing)] or shifts
            monkeypatch.setattr(family.ordered, "SHIFTS", (wanted[draw // len(makers) % len(wanted)],))
        case, values = makers[draw % len(makers)](rng)
        if broken_rules(case):
            continue
        kernels = kernels_for(case, family.machine)
        found = [(k, o) for k in kernels for o in (None, *claims(k))]
        names = {facing(kernel, overlap).function for kernel, overlap in found} & missing.keys()
        yield from ((case, values, k, o) for k, o in found if facing(k, o).function in names)
        missing -= Counter(names)
    raise AssertionError(f"no case of {', '.join(missing)}")
