"""JSON that users give: finite numbers, one value for each key, and nothing else that Python's reader takes beside."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

LONGEST_INTEGER = 1000
"""Digits of the longest integer: reading takes time that grows with their square."""


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError, with the place or the offending word, if it is none."""
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            parse_int=_short_integer,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is beyond the range of floats")
    return value


def _short_integer(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise ValueError(f"an integer of {len(digits):,} digits")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return values
