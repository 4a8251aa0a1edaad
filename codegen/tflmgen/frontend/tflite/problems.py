"""Collects all problems of one file with their locations, so that a single run reports all of them."""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.errors import Location, ModelError, Problem

Complain = Callable[..., None]
"""(rule, advice="") -> None: records a problem at the location bound to the function."""

_MAX_LISTED = 100
"""Problems of a file that one error lists."""


class ProblemList:
    """Problems of one model file; `model` is its path as the user wrote it."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._problems: list[Problem] = []

    def add(self, rule: str, advice: str = "") -> None:
        """Records a rule that the file breaks; the reader goes on, to find others."""
        self._problems.append(Problem(Location(self._model), rule, advice))

    def located(
        self,
        subgraph: tuple[int, str],
        operator: tuple[int, str] | None = None,
        tensor: tuple[int, str] | None = None,
    ) -> Complain:
        """Function that records problems at this location; each part is (index, name)."""
        operator_index, operator_name = operator or (None, "")
        tensor_index, tensor_name = tensor or (None, "")
        location = Location(self._model, *subgraph, operator_index, operator_name, tensor_index, tensor_name)
        return lambda rule, advice="": self._problems.append(Problem(location, rule, advice))

    def raise_if_any(self) -> None:
        """Raises ModelError with the first 100 problems and the number of further ones."""
        if not self._problems:
            return
        omitted = len(self._problems) - _MAX_LISTED
        ending = [Problem(Location(self._model), f"and {omitted} more problems")] if omitted > 0 else []
        raise ModelError(self._problems[:_MAX_LISTED] + ending)
