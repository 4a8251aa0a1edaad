"""The graph: a Module of functions, blocks and nodes in SSA form, with If, While and Call as regions.

In: types. Out: a Module and its parts.
Decided here: what a graph consists of.
"""

from tflmgen.ir.graph.module import (
    Block,
    Call,
    EntryPoint,
    Function,
    If,
    Module,
    Narrowed,
    Node,
    Op,
    Origin,
    Port,
    Removed,
    Slide,
    StagePart,
    StageWindow,
    Value,
    Variable,
    While,
    blocks_of,
    definitions_in,
    operands_of,
    uses_in,
    walk,
)

__all__ = [
    "Block",
    "Call",
    "EntryPoint",
    "Function",
    "If",
    "Module",
    "Narrowed",
    "Node",
    "Op",
    "Origin",
    "Port",
    "Removed",
    "Slide",
    "StagePart",
    "StageWindow",
    "Value",
    "Variable",
    "While",
    "blocks_of",
    "definitions_in",
    "operands_of",
    "uses_in",
    "walk",
]
