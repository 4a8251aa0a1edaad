"""For every C function of a declared kernel, cases whose layer gets it: drawn at random until each has some."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module

import numpy as np
import pytest
from tflmgen.ir.kernel.call import Kernel, Overlap
from tflmgen.ir.types import TensorType
from tflmgen.kernels.declaration import Cases, KernelDeclaration, declarations

from support import dsp_cases, float_cases, int16_cases
from support.emulated_kernels import M0, M4, M55, RV32, Machine, chain_of, kernels_for
from support.kernel_harness import Array, Case, Tensor, broken_rules, claims, facing
from support.kernel_program import KERNELS
from support.padded_cases import explicitly_padded
from support.recurrent_sizes import lstm, svdf_in

CaseInputs = tuple[Case, Sequence[Array | None]]
Make = Callable[[np.random.Generator], CaseInputs]
Chosen = tuple[Case, Sequence[Array | None], Kernel, Overlap | None]

CASES = 2
"""Cases of each function, at least."""

MAX_DRAWS = 4000
MACHINES = {"dsp": M4, "mve": M55, "thumb": M0, "rv32m": RV32}

DECLARATIONS = tuple(declaration for declaration in declarations() if declaration.instructions in MACHINES)
"""The kernels for instruction sets."""


@cache
def functions_by_header(variant: str) -> dict[str, frozenset[str]]:
    """C functions of an instruction set's kernels that generated code may call, by header: those that no other one
    calls, or that are named as their header.

    They are in the header whose line defines them, be it by a macro of another one.
    """
    headers = "".join(f'#include "{path.name}"\n' for path in sorted(KERNELS.glob("*.h")))
    chain = chain_of(MACHINES[variant])
    command = [chain.compiler, f"--specs={chain.specs}", "-E", *MACHINES[variant].flags, f"-I{KERNELS}", "-"]
    text = subprocess.run(command, input=headers, capture_output=True, text=True, check=True).stdout
    mentioned = Counter(re.findall(r"(?<!struct )\btflmgen_\w+", text))
    functions: dict[str, frozenset[str]] = {}
    for part in re.split(r'^# \d+ "', text, flags=re.MULTILINE):
        header = part.split('"')[0].split("/")[-1]
        defined = re.findall(r"\b(tflmgen_\w+)\s*\([^(){};]*\bconst struct \w+ \*\s*\w+\)\s*{", part)
        own = f"tflmgen_{header.removesuffix('.h')}_s8"
        names = {n for n in defined if re.search(rf"_{variant}(_|$)", n) and (mentioned[n] == 1 or n == own)}
        functions[header] = functions.get(header, frozenset()) | names
    return {header: names for header, names in functions.items() if names}


def functions_of(declaration: KernelDeclaration) -> frozenset[str]:
    by_header = functions_by_header(declaration.instructions)
    return frozenset().union(*(by_header.get(header, frozenset()) for header in declaration.headers))


def scaled(make: Make) -> Make:
    """The layers of `make` with scales of all magnitudes, mostly of much the same one in all channels."""

    def scaled_case(rng: np.random.Generator) -> CaseInputs:
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

    return scaled_case


def narrow_add(rng: np.random.Generator) -> CaseInputs:
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


PITCHES = ((3, 7), (7, 15), (15, 31), (31, 63), (63, 127))
"""Widths of the planes of a depthwise convolution, by what they are rounded up to."""

GENERATORS: dict[str, Make] = {
    "add": dsp_cases.add,
    "average_pool2d": dsp_cases.average_pool2d,
    "batch_matmul": dsp_cases.batch_matmul,
    "conv2d": dsp_cases.conv2d,
    "conv2d_beyond": partial(dsp_cases.conv2d, beyond=True),
    "conv2d_dot": dsp_cases.conv2d_dot,
    "conv2d_f32": partial(float_cases.whole, partial(float_cases.wide, operator="CONV_2D")),
    "conv2d_s16": int16_cases.conv2d,
    "deep_pixels": partial(dsp_cases.conv2d, windows=((1, 1),), depths=(145, 160, 176)),
    "depthwise3x3": dsp_cases.depthwise3x3,
    "depthwise_conv2d_s16": int16_cases.depthwise_conv2d,
    "depthwise_filters": dsp_cases.depthwise_filters,
    "depthwise_line": dsp_cases.depthwise_line,
    "depthwise_window": dsp_cases.depthwise_window,
    "fully_connected": dsp_cases.fully_connected,
    "fully_connected_f32": partial(float_cases.whole, float_cases.deep),
    "fully_connected_few": dsp_cases.fully_connected_few,
    "fully_connected_s16": int16_cases.fully_connected,
    "fully_connected_small": dsp_cases.fully_connected_small,
    "grouped": dsp_cases.grouped,
    "lookup": dsp_cases.lookup,
    "lstm": lstm,
    "max_pool2d": dsp_cases.max_pool2d,
    "mul": dsp_cases.mul,
    "narrow_add": narrow_add,
    "planes": scaled(lambda rng: dsp_cases.depthwise3x3(rng, PITCHES, 8)),
    "pointwise": dsp_cases.pointwise,
    "slide": partial(dsp_cases.conv2d, windows=((3, 3), (3, 3), (1, 3), (2, 3), (4, 3)), depths=(16, 32, 48, 64)),
    "svdf_int16": svdf_in("int16"),
    "svdf_int8": svdf_in("int8"),
    "transpose_conv": dsp_cases.transpose_conv,
    "transpose_conv_s16": int16_cases.transpose_conv,
    "winograd": dsp_cases.winograd,
}
"""What declarations name, also with scaled_ or padded_ before it."""


def generator(name: str) -> Make:
    for prefix, change in (("scaled_", scaled), ("padded_", padded)):
        if name.startswith(prefix):
            return change(GENERATORS[name.removeprefix(prefix)])
    return GENERATORS[name]


def machine_of(declaration: KernelDeclaration, cases: Cases) -> Machine:
    machine = MACHINES[declaration.instructions]
    return replace(machine, target=replace(machine.target, winograd=cases.winograd, optimize=cases.optimize))


def chosen_for(
    declaration: KernelDeclaration, functions: Collection[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Chosen]:
    """CASES of each of the functions, with the kernels that call them; AssertionError names those without."""
    rng = np.random.default_rng(1)
    missing = Counter(dict.fromkeys(sorted(functions), CASES))
    sources = [(cases, generator(name)) for cases in declaration.cases for name in cases.layers.split()]
    for draw, (cases, make) in enumerate(itertools.islice(itertools.cycle(sources), MAX_DRAWS)):
        if not missing:
            return
        machine = machine_of(declaration, cases)
        with monkeypatch.context() as patch:
            if cases.in_turn:
                module = import_module(f"tflmgen.kernels.{cases.in_turn}")
                patch.setattr(module, "SHIFTS", (module.SHIFTS[draw // len(sources) % len(module.SHIFTS)],))
            case, values = make(rng)
            if broken_rules(case):
                continue
            kernels = kernels_for(case, machine)
        candidates = [(k, o) for k in kernels for o in (None, *claims(k))]
        names = {facing(kernel, overlap).function for kernel, overlap in candidates} & missing.keys()
        yield from ((case, values, k, o) for k, o in candidates if facing(k, o).function in names)
        missing -= Counter(names)
    raise AssertionError(f"no case of {', '.join(missing)}")
