"""Branches of a file that can be reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tflmgen.frontend import Model


def branches_of(model: Model, entries: Sequence[int]) -> Iterator[tuple[tuple[int, int], int]]:
    """((subgraph, operator), number of branches) of each If, Case and While that can be reached."""
    pending, seen = list(entries), set(entries)
    while pending:
        subgraph = model.subgraphs[pending.pop()]
        for op in subgraph.operators:
            options = op.options or {}
            if op.name in ("IF", "WHILE", "STABLEHLO_WHILE"):
                yield (subgraph.index, op.index), 2
            if op.name == "STABLEHLO_CASE":
                yield (subgraph.index, op.index), len(options["branch_subgraph_indices"])
            callees = [v for k, v in options.items() if k.endswith("subgraph_index") and k != "init_subgraph_index"]
            callees += list(options.get("branch_subgraph_indices") or ())
            callees += [options["subgraph"]] if op.name == "CALL" else []
            for callee in callees:
                if callee not in seen:
                    seen.add(callee)
                    pending.append(callee)
