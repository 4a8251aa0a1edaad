"""Advice on making the model smaller, derived from the plan's figures, with the bytes saved."""

from __future__ import annotations

from collections.abc import Iterator

from tflmgen.kernels import traits_of
from tflmgen.report.occupancy import Occupancy
from tflmgen.report.steps import Json, Plan, PlanSteps
from tflmgen.terminal import count

LEAST_SHARE = 0.02
"""Smallest saving that is mentioned, as a fraction of the arena or of the weights."""

LAYERS = 3
"""Layers and peaks that the advice names at most."""


def advice(steps: PlanSteps, occupancy: Occupancy) -> list[str]:
    """Sentences on arena, flash and copies, in this order; within each, the largest effect first."""
    return [*_arena(steps, occupancy), *_flash(steps), *_copies(steps.plan)]


def binding(occupancy: Occupancy, step: int) -> list[Json]:
    """Buffers that are live at a step, the largest first."""
    return sorted((occupancy.buffers[n] for n in occupancy.live[step]), key=lambda b: (-b["bytes"], b["offset"]))


def _arena(steps: PlanSteps, occupancy: Occupancy) -> Iterator[str]:
    arena = steps.plan["arena"]
    if not arena["bytes"]:
        return
    tensors = [n for n in occupancy.live[arena["peak_step"]] if occupancy.buffers[n]["tensors"]]
    halves = sorted((occupancy.peak_with_half(n), n) for n in tensors)
    effective = [(peak, n) for peak, n in halves if occupancy.peak - peak >= LEAST_SHARE * occupancy.peak]
    for peak, number in effective[:LAYERS]:
        buffer = occupancy.buffers[number]
        yield (
            f"Half the size of '{steps.short(buffer['name'])}' ({count(buffer['bytes'])} bytes) would leave "
            f"{count(peak)} bytes at the fullest step instead of {count(occupancy.peak)}."
        )
    for port in _images(steps, [occupancy.buffers[number] for _, number in effective]):
        yield f"'{port['name']}' is an input: --push-rows {port['name']} takes it row by row, if convolutions read it."
    if not effective:
        yield (
            f"No single buffer binds the arena: {len(occupancy.fullest)} of {len(occupancy.bytes)} steps need all "
            f"{count(occupancy.peak)} bytes, or come close. Narrower layers on the whole would help."
        )
    if steps.plan["options"]["optimize"] != "ram" and any(_is_windowed(s) for s in steps.by_index.values()):
        yield "--optimize ram looks for chains of convolutions and pools to compute row by row, at some cost in time."
    gap = arena["bytes"] - arena["lower_bound"]
    if gap > 0:
        yield (
            f"The packing is {count(gap)} bytes above the lower bound for this order of operators: no placement can "
            "save more than these."
        )
    floats = sum(b["bytes"] for b in binding(occupancy, arena["peak_step"]) if _is_float(b))
    if floats >= LEAST_SHARE * arena["bytes"]:
        yield f"{count(floats)} bytes at the fullest step are float32: quantised to int8 they would be a quarter."


def _images(steps: PlanSteps, buffers: list[Json]) -> Iterator[Json]:
    """Model inputs of four dimensions in these buffers."""
    at_entry = {entry["index"] for entry in steps.entries}
    begins = {b["offset"] for b in buffers if any(first in at_entry for first, _ in b["ranges"])}
    for signature in steps.plan["signatures"]:
        yield from (p for p in signature["inputs"] if p["offset"] in begins and len(p["shape"]) == 4)


def _is_windowed(step: Json) -> bool:
    """Whether row streaming supports the operator (docs/use/streams.md)."""
    return traits_of(step.get("name", "")).window is not None


def _is_float(buffer: Json) -> bool:
    return bool(buffer["tensors"]) and all(t["type"].startswith("float32") for t in buffer["tensors"])


def _flash(steps: PlanSteps) -> Iterator[str]:
    total = steps.plan["weights"]["bytes"]
    layers = sorted((s for s in steps.by_index.values() if s["weights_bytes"]), key=lambda s: -s["weights_bytes"])
    large = [s for s in layers[:LAYERS] if s["weights_bytes"] >= 0.1 * total]
    if len(layers) > LAYERS and large:
        listed = ", ".join(f"{steps.title(s['index'])} at step {s['index']}" for s in large)
        part = 100 * sum(s["weights_bytes"] for s in large) / total
        yield f"Of the weights, {part:.0f} % belong to {len(large)} of {len(layers)} steps: {listed}."
    if steps.plan["options"]["optimize"] in ("balanced", "speed"):
        yield "--optimize size has the compiler prefer small code, at the price of instructions."


def _copies(plan: Plan) -> Iterator[str]:
    repeated = sum(c["bytes"] for c in plan["copies"] if c["per"] == "iteration")
    if repeated:
        yield f"{count(repeated)} bytes are copied in each iteration of a loop; the table of copies says why."
