"""The C text of a tokenizer's tables, which firmware/text/tflmgen_tokenizer.h reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import accumulate

from tflmgen.tokenizers.tokenizer_file import Tokenizer

HEADER = "tflmgen_tokenizer.h"
_COLUMNS = 16
"""Numbers in a line of an array."""
OUR_BEGINNING = "/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */\n"
"""First line of every file that is written, by which those of an earlier time are known."""


def table_files(tokenizer: Tokenizer, name: str) -> Mapping[str, str]:
    """Contents of NAME.h, NAME.c and the header with the functions, by file name. `name` is a C identifier."""
    guard = f"{name.upper()}_H"
    declaration = (
        f"{OUR_BEGINNING}/* The tokenizer `{name}`, of {len(tokenizer.texts)} tokens. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        f'#include "{HEADER}"\n\nextern const struct tflmgen_tokenizer {name};\n\n#endif\n'
    )
    functions = files("tflmgen.firmware").joinpath("text").joinpath(HEADER).read_text(encoding="utf-8")
    return {f"{name}.h": declaration, f"{name}.c": _source(tokenizer, name), HEADER: functions}


def _source(tokenizer: Tokenizer, name: str) -> str:
    texts = tokenizer.texts
    offsets = [0, *accumulate(map(len, texts))]
    levels = {score: rank for rank, score in enumerate(sorted(set(tokenizer.scores)))}
    first: dict[bytes, int] = {}
    for token, text in enumerate(texts):
        first.setdefault(text, token)
    ordered = [first[text] for text in sorted(first) if text]
    tokens_of_bytes = [first.get(b"<0x%02X>" % byte, 0) for byte in range(256)]
    arrays = [
        ("uint32_t", f"{name}_offsets", offsets),
        ("uint8_t", f"{name}_texts", list(b"".join(texts)) or [0]),
        ("uint16_t", f"{name}_ranks", [levels[score] for score in tokenizer.scores]),
        ("uint16_t", f"{name}_sorted", ordered),
        ("uint16_t", f"{name}_bytes", tokens_of_bytes),
    ]
    space = first.get(b" ", -1)
    places = [array for _, array, _ in arrays]
    fields = ", ".join([str(len(texts)), *places[:4], str(len(ordered)), *places[4:], str(tokenizer.begin), str(space)])
    body = "\n\n".join(_array(*array) for array in arrays)
    table = f"const struct tflmgen_tokenizer {name} = {{{fields}}};"
    return f'{OUR_BEGINNING}#include "{name}.h"\n\n/* clang-format off */\n{body}\n/* clang-format on */\n\n{table}\n'


def _array(type_: str, name: str, values: Sequence[int]) -> str:
    rows = [", ".join(map(str, values[i : i + _COLUMNS])) for i in range(0, len(values), _COLUMNS)]
    lines = "".join(f"    {row},\n" for row in rows)
    return f"static const {type_} {name}[{len(values)}] = {{\n{lines}}};"
