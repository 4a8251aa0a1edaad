"""Names of tensors and nodes in a GraphDef: "node" or "node:0" is a node's first output, "^node" a control input."""

from __future__ import annotations


def full_name(name: str) -> str:
    """Name of a tensor; that of a node stands for its first output."""
    return name if ":" in name else f"{name}:0"


def node_name(name: str) -> str:
    """Name of the node that makes a tensor, or that a control input names."""
    return name.lstrip("^").split(":")[0]
