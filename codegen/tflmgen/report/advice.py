"""What would make the model smaller: only what the plan's figures say, with the bytes that it would save."""

from __future__ import annotations

from collections.abc import Iterator

from tflmgen.kernels import traits_of
from tflmgen.report.occupancy import Occupancy
from tflmgen.report.steps import Json, Plan, Steps
from tflmgen.terminal import count

WORTH = 0.02
"""A share of the arena or the weights below which a change is not worth mentioning."""

LAYERS = 3


def advice(steps: Steps, occupancy: Occupancy) -> list[str]:
    """Sentences, the largest effect first in each of: arena, flash, time."""
    return [*_arena(steps, occupancy), *_flash(steps), *_copies(steps.plan)]


def binding(occupancy: Occupancy, step: int) -> list[Json]:
    """The buffers that are live at a step, the largest first."""
    return sorted((occupancy.buffers[n] for n in occupancy.live[step]), key=lambda b: (-b["bytes"], b["offset"]))


def _arena(steps: Steps, occupancy: Occupancy) -> Iterator[str]:
    arena = steps.plan["arena"]
    if not arena["bytes"]:
        return
    tensors = [n for n in occupancy.live[arena["peak_step"]] if occupancy.buffers[n]["tensors"]]
    halves = sorted((occupancy.peak_with_half(n), n) for n in tensors)
    found = [(peak, n) for peak, n in halves if occupancy.peak - peak >= WORTH * occupancy.peak]
    for peak, number in found[:LAYERS]:
        buffer = occupancy.buffers[number]
        yield (
            f"Half the size of '{steps.short(buffer['name'])}' ({count(buffer['bytes'])} bytes) would leave "
            f"{count(peak)} bytes at the fullest step instead of {count(occupancy.peak)}."
        )
    for port in _images(steps, [occupancy.buffers[number] for _, number in found]):
        yield f"'{port['name']}' is an input: --push-rows {port['name']} takes it row by row, if convolutions read it."
    if not found:
        yield (
            f"No single buffer binds the arena: {len(occupancy.fullest)} of {len(occupancy.bytes)} steps need all "
            f"{count(occupancy.peak)} bytes, or come close. Narrower layers on the whole would help."
        )
    if steps.plan["options"]["optimize"] != "ram" and any(_is_windowed(s) for s in steps.by_index.values()):
        yield "--optimize ram looks for chains of convolutions and pools to compute row by row, at some cost in time."
    loose = arena["bytes"] - arena["lower_bound"]
    if loose > 0:
        yield (
            f"The packing is {count(loose)} bytes above the lower bound for this order of operators: no placement can "
            "save more than these."
        )
    floats = sum(b["bytes"] for b in binding(occupancy, arena["peak_step"]) if _is_float(b))
    if floats >= WORTH * arena["bytes"]:
        yield f"{count(floats)} bytes at the fullest step are float32: quantised to int8 they would be a quarter."


def _images(steps: Steps, buffers: list[Json]) -> Iterator[Json]:
    """The inputs of four dimensions that lie in these buffers."""
    at_entry = {entry["index"] for entry in steps.entries}
    begins = {b["offset"] for b in buffers if any(first in at_entry for first, _ in b["ranges"])}
    for signature in steps.plan["signatures"]:
        yield from (p for p in signature["inputs"] if p["offset"] in begins and len(p["shape"]) == 4)


def _is_windowed(step: Json) -> bool:
    """Whether streams are made of such operators (docs/use/streams.md)."""
    return traits_of(step.get("name", "")).window is not None


def _is_float(buffer: Json) -> bool:
    return bool(buffer["tensors"]) and all(t["type"].startswith("float32") for t in buffer["tensors"])


def _flash(steps: Steps) -> Iterator[str]:
    total = steps.plan["weights"]["bytes"]
    layers = sorted((s for s in steps.by_index.values() if s["weights_bytes"]), key=lambda s: -s["weights_bytes"])
    large = [s for s in layers[:LAYERS] if s["weights_bytes"] >= 0.1 * total]
    if len(layers) > LAYERS and large:
        named = ", ".join(f"{steps.title(s['index'])} at step {s['index']}" for s in large)
        part = 100 * sum(s["weights_bytes"] for s in large) / total
        yield f"Of the weights, {part:.0f} % belong to {len(large)} of {len(layers)} steps: {named}."
    if steps.plan["options"]["optimize"] in ("balanced", "speed"):
        yield "--optimize size has the compiler prefer small code, at the price of instructions."


def _copies(plan: Plan) -> Iterator[str]:
    again = sum(c["bytes"] for c in plan["copies"] if c["per"] == "iteration")
    if again:
        yield f"{count(again)} bytes are copied in each iteration of a loop; the table of copies says why."
