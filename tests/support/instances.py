"""C that runs two instances of a re-entrant library in turns, beside the same model as a library of one instance.

Both get the same pseudo-random inputs; of each invoke a hash of its status, its outputs and their shapes is kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from tflmgen.backend.c_api import ApiEntry, ApiTensor
from tflmgen.backend.c_library import Sources
from tflmgen.backend.handle import Handle

SINGLE, MANY = "single", "many"
"""Names of the two libraries."""

STEPS = 40
"""Invokes of each instance."""

_HELPERS = """
static uint32_t seed;
static uint32_t successes;
static uint32_t draw(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) % limit;
}
static uint32_t hashed(uint32_t hash, const void *data, uint32_t bytes)
{
    const uint8_t *const at = (const uint8_t *)data;
    for (uint32_t i = 0; i < bytes; ++i) {
        hash = (hash ^ at[i]) * 16777619u;
    }
    return hash;
}
"""

_COMPARED = """
static uint32_t expected[2][{steps}], got[2][{steps}];
static many_t instances[2];
static uint8_t arenas[2][(MANY_ARENA_BYTES + 15) / 16 * 16 + 16] __attribute__((aligned(16)));

/* Invokes that differ. */
static uint32_t compare(void)
{{
    uint32_t differences = 0;
    for (uint32_t k = 0; k < 2; ++k) {{
        single_reset();
        for (uint32_t i = 0; i < {steps}; ++i) {{
            seed = 1000 * k + i;
            expected[k][i] = step_single(i);
        }}
        if (many_init(&instances[k], arenas[k]) != TFLMGEN_OK) {{
            return {steps};
        }}
    }}
    for (uint32_t i = 0; i < {steps}; ++i) {{
        for (uint32_t k = 0; k < 2; ++k) {{
            seed = 1000 * k + i;
            got[k][i] = step_many(&instances[k], i);
        }}
    }}
    for (uint32_t i = 0; i < {steps}; ++i) {{
        differences += got[0][i] != expected[0][i] ? 1u : 0u;
        differences += got[1][i] != expected[1][i] ? 1u : 0u;
    }}
    return differences;
}}
"""


def comparison(single: Sources, many: Sources) -> str:
    """C up to a function compare(), which returns how many invokes differ; `successes` counts those with outputs."""
    text = [f'#include "{SINGLE}.h"\n#include "{MANY}.h"\n', _HELPERS]
    text += _step(SINGLE, Handle(), single.entries)
    text += _step(MANY, Handle(f"{MANY}_t"), many.entries)
    return "\n".join([*text, _COMPARED.format(steps=STEPS)])


def _step(name: str, handle: Handle, entries: tuple[ApiEntry, ...]) -> Iterator[str]:
    """step_NAME(): draws inputs, invokes one signature after the other, and returns the hash."""
    yield f"static uint32_t step_{name}({handle.parameters('uint32_t number')})\n{{"
    yield "    uint32_t hash = 2166136261u;"
    yield f"    switch (number % {len(entries)}u) {{"
    for place, entry in enumerate(entries):
        yield f"    case {place}: {{"
        for tensor in entry.inputs:
            yield from _draw(name, handle, tensor)
        yield f"        const tflmgen_status status = {name}{entry.invoke}({handle.arguments()});"
        yield "        hash = hashed(hash, &status, sizeof status);\n        if (status != TFLMGEN_OK) {"
        yield "            return hash;\n        }\n        ++successes;"
        for tensor in entry.outputs:
            yield from _hash(name, handle, tensor)
        yield "        break;\n    }"
    yield "    default:\n        break;\n    }\n    return hash;\n}\n"


def _draw(name: str, handle: Handle, tensor: ApiTensor) -> Iterator[str]:
    call = f"{name}{tensor.function}({handle.arguments()})"
    yield f"        for (uint32_t i = 0; i < {tensor.items}u; ++i) {{"
    yield f"            {call}[i] = ({tensor.c_type})draw({2 if tensor.is_bool else 4});\n        }}"
    if tensor.rows and tensor.rows.is_shape:
        yield f"        int32_t shape_{tensor.macro}[] = {{{tensor.shape}}};"
        for dim in tensor.rows.dims:
            yield f"        shape_{tensor.macro}[{dim.axis}] = (int32_t)(1 + draw({dim.max_extent}));"
        yield f"        {name}{tensor.rows.function}({handle.arguments(f'shape_{tensor.macro}')});"
    elif tensor.rows:
        rows = f"(int32_t)(1 + draw({tensor.rows.max_rows}))"
        yield f"        {name}{tensor.rows.function}({handle.arguments(rows)});"


def _hash(name: str, handle: Handle, tensor: ApiTensor) -> Iterator[str]:
    data = f"{name}{tensor.function}({handle.arguments()})"
    if not tensor.rows:
        yield f"        hash = hashed(hash, {data}, {tensor.port.type.bytes}u);"
        return
    shape = f"{name}{tensor.rows.function}({handle.arguments()})"
    rank = len(tensor.port.type.max_shape)
    yield f"        hash = hashed(hash, {shape}, {rank}u * sizeof(int32_t));"
    used = " * ".join(f"(uint32_t){shape}[{dim.axis}]" for dim in tensor.rows.dims)
    yield f"        hash = hashed(hash, {data}, {tensor.rows.bytes}u * {used});"
