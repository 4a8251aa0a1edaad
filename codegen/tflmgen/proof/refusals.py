"""A proof that cannot be carried out is a refusal: errors of its own arithmetic say that the plan is none."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from tflmgen.errors import InternalError, TflmgenError

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def refusing(check: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """`check`, whose plain exceptions (IndexError, OverflowError ...) are InternalErrors."""

    @wraps(check)
    def checked(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        try:
            return check(*arguments, **named)
        except (TflmgenError, MemoryError):
            raise
        except Exception as error:
            kind = type(error).__name__
            raise InternalError(f"{check.__name__} cannot follow what it is to prove: {kind}: {error}") from error

    return checked
