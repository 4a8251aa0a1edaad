"""The plan of a compiled model as frozen records: operators, buffers of the arena, signatures, sizes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tflmgen.api.records import Records
from tflmgen.project import peak_operator, state_bytes


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output of a signature.

    Attributes:
        name: Name in the model file.
        dtype: Element type, as numpy calls it: `int8`, `float32`.
        shape: Dimensions; the largest one where a dimension is dynamic.
        is_dynamic: Whether a dimension is known at run time only.
        scale: Real value of one step of a quantised tensor; None for others.
        zero_point: Quantised value of the real number 0; None for others.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_dynamic: bool
    scale: float | None
    zero_point: int | None


@dataclass(frozen=True, slots=True)
class Signature:
    """An entry point of the model: its key, and its inputs and outputs in the file's order."""

    key: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator as it is computed.

    Attributes:
        step: Number of the step in the schedule.
        subgraph: Index of its subgraph in the file.
        operator: Index of the operator in that subgraph.
        name: TFLite's name of it, such as `CONV_2D`.
        outputs: Types of its outputs, such as `int8[1,4]`.
        kernel: C function that computes it; None for a view, which takes no code.
        variant: How the kernel computes it, such as `dsp`.
        macs: Multiply-accumulates of one execution.
        weights_bytes: Bytes of constants in flash that it is the first to read.
        cycles: Estimated cycles of one execution; None where the cost model has no estimate.
    """

    step: int
    subgraph: int
    operator: int
    name: str
    outputs: tuple[str, ...]
    kernel: str | None
    variant: str
    macs: int
    weights_bytes: int
    cycles: int | None


@dataclass(frozen=True, slots=True)
class Buffer:
    """A place in memory, and when it is in use.

    Attributes:
        name: Its tensors, or what it is scratch memory of.
        memory: What `offset` counts from: `arena` or `state`.
        offset: Bytes from the start of that memory.
        bytes: Size in bytes.
        ranges: First and last step of each range of steps in which it holds something.
    """

    name: str
    memory: str
    offset: int
    bytes: int
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The static plan of a compiled model. Sizes are in bytes.

    Attributes:
        model: Name of the model's file.
        board: Id of the board.
        arena_bytes: RAM of activations and scratch memory.
        lower_bound_bytes: Least arena of any placement for this schedule.
        state_bytes: RAM that is kept between invokes.
        weights_bytes: Constants in flash.
        macs: Multiply-accumulates of one invoke: every branch once, loops as often as they are known to run.
        peak_step: A step at which the most bytes of the arena are live.
        peak_operator: Description of the operator there.
        operators: What is computed, in the order of the schedule.
        buffers: What lies where in memory.
        signatures: Entry points with their inputs and outputs.
        notes: What the user should know, a sentence each.
        proofs: What was proved of this build, a sentence each.
    """

    model: str
    board: str
    arena_bytes: int
    lower_bound_bytes: int
    state_bytes: int
    weights_bytes: int
    macs: int
    peak_step: int
    peak_operator: str
    operators: Records[Operator]
    buffers: Records[Buffer]
    signatures: tuple[Signature, ...]
    notes: tuple[str, ...]
    proofs: tuple[str, ...]
    _json: Mapping[str, Any] = field(repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """All of the plan, as plan.json has it (schema/plan.json). A copy, for json.dumps()."""
        return copy.deepcopy(dict(self._json))


def plan_of(plan: Mapping[str, Any]) -> Plan:
    """The records of a plan.json."""
    arena = plan["arena"]
    return Plan(
        plan["model"]["path"],
        plan["board"],
        arena["bytes"],
        arena["lower_bound"],
        state_bytes(plan),
        plan["weights"]["bytes"],
        plan["macs"]["computed"],
        arena["peak_step"],
        peak_operator(plan),
        Records(_operator(step) for step in plan["steps"] if step["kind"] == "operator"),
        Records(_buffer(buffer) for buffer in plan["buffers"]),
        tuple(Signature(s["key"], _tensors(s["inputs"]), _tensors(s["outputs"])) for s in plan["signatures"]),
        tuple(plan["notes"]),
        tuple(part["text"] for part in plan["proof"]),
        plan,
    )


def _operator(step: Mapping[str, Any]) -> Operator:
    expected = step.get("expected")
    return Operator(
        step["index"],
        step["subgraph"],
        step["operator"],
        step["name"],
        tuple(step["outputs"]),
        step["kernel"],
        step["variant"],
        step["macs"],
        step.get("weights_bytes", 0),
        expected["cycles"] if expected else None,
    )


def _buffer(buffer: Mapping[str, Any]) -> Buffer:
    ranges = tuple((first, last) for first, last in buffer["ranges"])
    return Buffer(buffer["name"], buffer["memory"], buffer["offset"], buffer["bytes"], ranges)


def _tensors(ports: Iterable[Mapping[str, Any]]) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(p["name"], p["dtype"], tuple(p["shape"]), bool(p["dynamic"]), p["scale"], p["zero_point"]) for p in ports
    )
