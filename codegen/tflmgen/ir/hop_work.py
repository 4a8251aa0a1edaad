"""Work of one hop of a sliding window, layer by layer: a record that sliding leaves in the Module."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LayerWork:
    """Rows of one operator's output in one hop.

    subgraph, operator, name  of the file's operator
    rows       of the whole window
    cone       that a hop must compute: new ones, and those that the window's edges touch, as far as they are read
    computed   that it does compute
    macs       multiply-accumulates of the whole window
    row_wise   whether rows are kept apart; else the operator runs on whole tensors, and counts as one row
    """

    subgraph: int
    operator: int
    name: str
    rows: int
    cone: int
    computed: int
    macs: int
    row_wise: bool

    @property
    def cone_macs(self) -> float:
        """Multiply-accumulates of the rows that a hop must compute."""
        return self.macs * self.cone / self.rows

    @property
    def computed_macs(self) -> float:
        """Multiply-accumulates of the rows that a hop computes."""
        return self.macs * self.computed / self.rows


@dataclass(frozen=True, slots=True)
class HopWork:
    """The work of a hop of one signature, or of one stage of an application.

    cache_bytes  of the rows that are kept in the state
    invokes      of an application that complete the window and move it on; 0: the signature has a count of its own
    phases       windows of which rows are kept; 1 if strides divide the hop
    """

    signature: str
    layers: tuple[LayerWork, ...]
    cache_bytes: int
    invokes: int = 0
    phases: int = 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a whole window."""
        return sum(layer.macs for layer in self.layers)

    @property
    def cone_macs(self) -> float:
        """Multiply-accumulates that a hop must compute, all layers together."""
        return sum(layer.cone_macs for layer in self.layers)

    @property
    def computed_macs(self) -> float:
        """Multiply-accumulates that a hop computes, all layers together."""
        return sum(layer.computed_macs for layer in self.layers)
