"""Collects what is wrong with one file, each with its place, so that a single run reports all of it."""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.errors import Location, ModelError, Problem

Complain = Callable[..., None]
"""(rule, advice="") -> None: notes a problem at a place that the function knows."""

_MOST = 100


class ProblemList:
    """The problems of the model file `model`, the path as the user gave it."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._problems: list[Problem] = []

    def add(self, rule: str, advice: str = "") -> None:
        self._problems.append(Problem(Location(self._model), rule, advice))

    def at(
        self,
        subgraph: tuple[int, str],
        operator: tuple[int, str] | None = None,
        tensor: tuple[int, str] | None = None,
    ) -> Complain:
        """Notes problems at a place given as (index, name) pairs."""
        operator_index, operator_name = operator or (None, "")
        tensor_index, tensor_name = tensor or (None, "")
        where = Location(self._model, *subgraph, operator_index, operator_name, tensor_index, tensor_name)
        return lambda rule, advice="": self._problems.append(Problem(where, rule, advice))

    def raise_if_any(self) -> None:
        """Raises ModelError with the first hundred problems and the number of the others."""
        if not self._problems:
            return
        rest = len(self._problems) - _MOST
        more = [Problem(Location(self._model), f"and {rest} more problems")] if rest > 0 else []
        raise ModelError(self._problems[:_MOST] + more)
