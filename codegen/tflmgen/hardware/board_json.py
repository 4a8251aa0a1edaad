"""board.json as checked data: its schema, and what holds for every text in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from tflmgen.hardware.board_files import BoardError, read_board_file
from tflmgen.user_files import parse_json, text_of

LONGEST_TEXT = 500
"""Characters of the longest text; a title or a note is one line of some document."""


def read_board_json(folder: Path) -> dict[str, Any]:
    """Contents of a folder's board.json. Raises BoardError with every violation of the schema, each with its place."""
    path = folder / "board.json"
    try:
        data = parse_json(text_of(read_board_file(folder, path.name)))
    except ValueError as error:
        raise BoardError(f"{path}: {error}") from error
    broken = list(_text_problems(data, "$"))
    errors = sorted(_validator().iter_errors(data), key=lambda error: error.json_path)
    broken += [f"{error.json_path}: {_sentence(error)}" for error in errors]
    if broken:
        raise BoardError("\n".join(f"{path}: {problem}" for problem in broken))
    checked: dict[str, Any] = data
    return checked


@cache
def _validator() -> Any:
    jsonschema = import_module("jsonschema")  # slow to import, and not needed for --help
    schema = parse_json(files("tflmgen.schema").joinpath("board.json").read_bytes())
    base = jsonschema.Draft202012Validator
    # 4096.0 is an integer of JSON schema, but would be written to C and linker scripts as it is.
    integers = base.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return jsonschema.validators.extend(base, type_checker=integers)(schema)


def _sentence(error: Any) -> str:
    """Sentence for a violation, with the field's own description where it violates a pattern."""
    wanted = f", which is to be {error.schema['description']}" if "description" in error.schema else ""
    return f"{error.message[:LONGEST_TEXT]}{wanted}"


def _text_problems(value: object, place: str) -> Iterator[str]:
    """Texts that are not one line of printable characters: they stand in comments, scripts and settings."""
    if isinstance(value, str):
        if not value.isprintable():
            yield f"{place}: {value[:LONGEST_TEXT]!r} has a line break or a character that cannot be printed"
        elif len(value) > LONGEST_TEXT:
            yield f"{place}: a text of {len(value):,} characters; at most {LONGEST_TEXT} are taken"
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _text_problems(item, f"{place}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _text_problems(item, f"{place}[{index}]")
