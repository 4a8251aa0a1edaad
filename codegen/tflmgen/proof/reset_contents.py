"""Contents of the state after the statements of a reset, followed byte by byte."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tflmgen.proof.c_syntax import elements

_FILL = r"memset\(STATE,0,(\d+)\);"
_COPY = r"memcpy\(STATE(?:\+(\d+))?,initial_state(?:\+(\d+))?,(\d+|sizeofinitial_state)\);"


def image_after(statements: Sequence[str], state: str, size: int, plan: str) -> bytes:
    """Contents of a state of `size` bytes after statements of a reset, whatever was there before.

    Raises ValueError for a statement that does something else or leaves the state, and where bytes stay as they were.

    statements  as words of C. state: where it begins, as C. plan: the source that has the array initial_state
    """
    initial = _initial(plan)
    contents, is_set = np.zeros(size, np.uint8), np.zeros(size, bool)
    where = re.escape(state.replace(" ", ""))
    for statement in statements:
        text = statement.replace(" ", "")
        fill, copy = (re.fullmatch(pattern.replace("STATE", where), text) for pattern in (_FILL, _COPY))
        if fill:
            start, data = 0, np.zeros(int(fill[1]), np.uint8)
        elif copy:
            start, origin = int(copy[1] or 0), int(copy[2] or 0)
            count = int(copy[3]) if copy[3].isdigit() else len(initial)
            data = initial[origin : origin + count]
            if len(data) != count:
                raise ValueError("a reset reads past the initial state")
        else:
            raise ValueError("a reset does something else")
        if start + len(data) > size:
            raise ValueError("a reset writes past the state")
        contents[start : start + len(data)] = data
        is_set[start : start + len(data)] = True
    if not is_set.all():
        raise ValueError("a reset leaves bytes of the state as they were")
    return contents.tobytes()


def _initial(plan: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    matches = re.findall(r"static const uint8_t initial_state\[(\d+)\] = \{([^}]*)\};", plan)
    if not matches:
        return np.zeros(0, np.uint8)
    ((count, body),) = matches
    initial = elements(body, np.dtype("|u1")).astype(np.uint8)
    if len(initial) != int(count):
        raise ValueError("'initial_state' has another number of elements")
    return initial
