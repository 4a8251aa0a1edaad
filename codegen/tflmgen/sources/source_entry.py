"""Entry points of a source, with their inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourcePort:
    """An input or output of the source; shape: -1 where it is known at run time only, None without a rank."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None

    @property
    def text(self) -> str:
        """Element type and shape, as in "float32[1,?]"."""
        dims = "..." if self.shape is None else ",".join("?" if dim < 0 else str(dim) for dim in self.shape)
        return f"{self.dtype}[{dims}]"


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """An entry point of the source, with its ports in the source's order."""

    key: str
    inputs: tuple[SourcePort, ...]
    outputs: tuple[SourcePort, ...]
