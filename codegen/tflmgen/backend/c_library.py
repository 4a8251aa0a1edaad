"""The Program as C: a library of a header, the plan as functions, its weights and a descriptor."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflmgen.backend.c_api import ApiEntry, api_entries
from tflmgen.backend.c_text import array_lines, enumerators
from tflmgen.backend.emit_body import Body, BodyWriter
from tflmgen.backend.fault_checks import HEADER, FaultChecks, fault_checks, plan_values
from tflmgen.backend.handle import Handle, Member
from tflmgen.backend.remarks import NO_REMARKS, Remarks
from tflmgen.backend.rendering import render
from tflmgen.backend.state_image import HEADER_BYTES, blob_header, state_image
from tflmgen.ir import NO_CHECKS, DeviceChecks, DType
from tflmgen.ir.kernel import ConstantArray, Memory
from tflmgen.ir.program import Program, Slot
from tflmgen.version import VERSION

_NOT_FINITE = re.compile(r"\b(INFINITY|NAN)\b")
"""Macros of <math.h> that float literals may use."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The generated library: path below its folder -> text; its kernel headers; step -> line of the plan.

    stage_lines: (step of a stream, number of a stage) -> where its calls begin. weights: the constants in flash, with
    their bytes. entries: the functions and macros of each signature.
    fingerprint: 32 bits of the model, the options, the version of tflmgen and the plan's size.
    is_reentrant: whether functions take a handle.
    """

    files: Mapping[str, str]
    headers: tuple[str, ...]
    lines: Mapping[int, int]
    stage_lines: Mapping[tuple[int, int], Sequence[int]]
    weights: Mapping[str, int]
    entries: tuple[ApiEntry, ...]
    fingerprint: int
    is_reentrant: bool = False

    @property
    def weight_bytes(self) -> int:
        """Bytes of all constants in flash."""
        return sum(self.weights.values())


def emit(
    program: Program,
    name: str,
    model_sha256: str,
    options: str,
    progress_hook: bool = False,
    layers: bool = False,
    remarks: Remarks = NO_REMARKS,
    checks: DeviceChecks = NO_CHECKS,
    reentrant: bool = False,
    code_cache: int = 0,
) -> Sources:
    """C for `program`; every public name begins with `name`, a C identifier.

    reentrant: every function takes a handle, a struct with what an instance keeps. layers: the C shows each operator's
    outputs (TFLMGEN_LAYER_LOOP in tflmgen/memory.h). code_cache: as in Target.
    """
    fingerprint = _fingerprint(model_sha256, name, options, program.arena_bytes, program.state_bytes)
    writer = BodyWriter(program, progress_hook, layers, remarks, Handle(f"{name}_t" if reentrant else ""))
    bodies = [body for f in program.functions for body in (*writer.streams(f), writer.function(f))]
    entries = tuple(api_entries(program, writer))
    parts = _plan_parts(program, writer, model_sha256, code_cache)
    faults = fault_checks(checks, program, writer.places.arrays, bool(parts["in_arena"]))
    headers = _headers(writer, entries, bool(parts["bools"]), faults)
    common = _common(program, name, model_sha256, options, entries) | {"fingerprint": fingerprint}
    common |= {"handle": writer.handle, "members": _members(program, writer, entries, faults) if reentrant else []}
    room = writer.handle.arena_room(faults.arena_bytes)
    common |= {"checks": faults if checks.has_any else None, "needed_bytes": room}
    weights = render("library/weights.h.j2", arrays=_arrays(writer), **common)
    plan = {"bodies": bodies, "headers": headers, **parts, **common, **plan_values(faults, writer.handle)}
    source = _plan_source(plan, weights)
    files = {
        f"include/{name}.h": render("library/model.h.j2", **common),
        f"include/{name}_model.h": render("library/header.h.j2", **common),
        f"src/{name}.c": source,
        f"src/{name}_model.c": render("library/descriptor.c.j2", **common),
        f"src/{name}_weights.h": weights,
        "library.json": render("library/library.json.j2", **common),
    }
    return Sources(files, headers, *_step_lines(source, bodies), _sizes(writer), entries, fingerprint, reentrant)


def _plan_source(values: Mapping[str, object], weights: str) -> str:
    """The plan's text, with <math.h> where a literal of it or of the weights is one of that header's macros."""
    source = render("library/plan.c.j2", not_finite=False, **values)
    if _NOT_FINITE.search(source + weights):
        return render("library/plan.c.j2", not_finite=True, **values)
    return source


def constants_alone(program: Program) -> Sources:
    """Sources without files: the constants in flash with their bytes, for a plan that is not written as C."""
    writer = BodyWriter(program, False, False, NO_REMARKS)
    for function in program.functions:
        writer.streams(function)
        writer.function(function)
    return Sources({}, (), {}, {}, _sizes(writer), (), 0)


def _sizes(writer: BodyWriter) -> dict[str, int]:
    return {name: len(array.data) for name, array in writer.places.used.items()}


def _fingerprint(*content: str | int) -> int:
    """First 32 bits of SHA-256 over the version of tflmgen and `content`."""
    return int.from_bytes(hashlib.sha256(repr((VERSION, *content)).encode()).digest()[:4], "big")


def _headers(
    writer: BodyWriter, entries: Sequence[ApiEntry], keeps_bools: bool, faults: FaultChecks
) -> tuple[str, ...]:
    """Headers that the plan's source includes: kernels, the checks of bools in inputs or state, types, and faults."""
    inputs = [tensor for entry in entries for tensor in entry.inputs]
    outputs = [tensor for entry in entries for tensor in entry.outputs]
    checked = {"bools.h"} if keeps_bools or any(tensor.is_bool for tensor in inputs) else set()
    # Dimensions known at run time and constant bools are of the kernels' types, also in a model without kernels.
    typed = any(tensor.rows or tensor.window for tensor in (*inputs, *outputs)) or any(
        a.dtype is DType.BOOL for a in writer.places.used.values()
    )
    types = {"common.h"} if typed else set()
    guarded = {HEADER} if faults.has_guards or faults.crc_when else set()
    return tuple(sorted({*writer.headers, *checked, *types, *guarded}))


def _common(
    program: Program, name: str, model_sha256: str, options: str, entries: tuple[ApiEntry, ...]
) -> dict[str, object]:
    """Template values common to all files of the library."""
    return {
        "name": name,
        "NAME": name.upper(),
        "version": VERSION,
        "sha256": model_sha256,
        "options": options,
        "entries": entries,
        "arena_bytes": program.arena_bytes,
        "state_bytes": program.state_bytes,
        "blob_bytes": HEADER_BYTES + program.state_bytes,
    }


def _plan_parts(program: Program, writer: BodyWriter, model_sha256: str, code_cache: int) -> Mapping[str, object]:
    """Template values of the plan's source besides its functions: weights, offsets, statics and state."""
    image = state_image(program)
    return {
        "code_cache": code_cache,
        "weights": bool(writer.places.used),
        "pointers": _result_pointers(program, writer),
        "bools": _kept_bools(program, writer),
        "in_arena": _enumerators(writer, "arena"),
        "own_bytes": program.arena_sizes[0],
        "further_arenas": _further_arenas(program, writer),
        "in_state": _enumerators(writer, "state"),
        "statics": writer.statics,
        "image": _bytes_lines(image.data) if image.runs else [],
        "state_image": image,
        "initial_state": _bytes_lines(image.flash),
        "initial_bytes": len(image.flash),
        "header": _bytes_lines(blob_header(program, model_sha256)),
        "header_bytes": HEADER_BYTES,
    }


def _enumerators(writer: BodyWriter, memory: Memory, array: int = 0) -> list[str]:
    return enumerators([(f"at_{o.name}", o.offset, o.text) for o in writer.places.offsets(memory, array)])


def _further_arenas(program: Program, writer: BodyWriter) -> list[dict[str, object]]:
    """Arrays of the arena in further memories, where some text uses them."""
    arrays = [
        {"number": number, "bytes": size, "enumerators": _enumerators(writer, "arena", number)}
        for number, size in enumerate(program.arena_sizes)
        if number
    ]
    return [array for array in arrays if array["enumerators"]]


def _arrays(writer: BodyWriter) -> list[dict[str, object]]:
    return [
        {
            "name": writer.places.constant(key),
            "caption": writer.places.caption(key),
            # GCC takes a pointer to its own type of bool, which may alias, for one to another type.
            "c_type": "tflmgen_bool" if array.dtype is DType.BOOL else array.dtype.c_type,
            "count": max(1, len(array.data) * 8 // max(8, array.dtype.bits)),
            "lines": array_lines(array) or ["0"],
        }
        for key, array in writer.places.used.items()
    ]


def _result_pointers(program: Program, writer: BodyWriter) -> list[dict[str, str]]:
    """Static pointers to results whose address varies, since loop variables exchange pointers instead of contents."""
    return [
        {
            "name": writer.result_pointer(function.name, i),
            "initial": writer.places.start(function, access),
        }
        for function in program.functions
        if function.is_entry
        for i, access in enumerate(function.results)
        if isinstance(access.place, Slot)
    ]


def _members(program: Program, writer: BodyWriter, entries: Sequence[ApiEntry], faults: FaultChecks) -> list[Member]:
    """Members of the C struct of a re-entrant library's instance, beside its arena and its state."""
    members = []
    for tensor in (tensor for entry in entries for tensor in (*entry.inputs, *entry.outputs)):
        if tensor.rows and (tensor.rows.is_shape or tensor.role == "output"):
            variable, extents = tensor.rows.variable, tensor.shape.split(", ")
            first = tuple((f"{variable}[{axis}]", extent) for axis, extent in enumerate(extents))
            members.append(Member(f"int32_t {variable}[{len(extents)}]", first))
        elif tensor.rows:
            variable = tensor.rows.variable
            members.append(Member(f"int32_t {variable}", ((variable, str(tensor.rows.max_rows)),)))
    pointers = _result_pointers(program, writer)
    members += [Member(f"void *{p['name']}", ((p["name"], p["initial"]),)) for p in pointers]
    members += [Member(f"uint32_t {name}") for name in writer.statics]
    return members + [Member("bool has_intact_constants")] * (faults.crc_when == "start")


def _kept_bools(program: Program, writer: BodyWriter) -> list[tuple[str, int]]:
    """C expression and number of elements of each bool tensor in the state."""
    kept = (variable.access for variable in program.state)
    return [(writer.places.access(a), a.value.type.elements) for a in kept if a.value.type.dtype is DType.BOOL]


def _bytes_lines(data: bytes) -> list[str]:
    return array_lines(ConstantArray("bytes", DType.UINT8, (len(data),), data))


def _step_lines(source: str, bodies: list[Body]) -> tuple[dict[int, int], dict[tuple[int, int], list[int]]]:
    """Line numbers in the plan's source, from 1: step -> its first line; (step, stage of a stream) -> its calls."""
    numbers: dict[int, int] = {}
    stages: dict[tuple[int, int], list[int]] = {}
    lines = source.splitlines()
    at = 0
    for body in bodies:
        at = lines.index(body.opening, at) + 1
        for offset, line in enumerate(body.lines):
            if line.step is not None:
                numbers.setdefault(line.step, at + offset + 2)
            if line.step is not None and line.stage is not None:
                stages.setdefault((line.step, line.stage), []).append(at + offset + 2)
    return numbers, stages
