"""Branches and loops to which nodes of a graph with control flow of version 1 belong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from tflmgen.tensorflow_worker.graph_functions import full_name, node_name
from tflmgen.tensorflow_worker.loaded_source import SourceError

Condition = tuple[str, bool]
"""A predicate's tensor, "name:0", and the side that is taken."""
Place = tuple[frozenset[Condition], tuple[str, ...]]
"""Conditions under which a node runs, and the frames of the loops that it is in, outermost first."""


class UnstructuredError(Exception):
    """The graph's control flow is none that conds and while_loops make."""

    @property
    def refusal(self) -> SourceError:
        """The error for the source's owner."""
        cause = next(iter(str(self).splitlines()), "")
        rule = f"its control flow of version 1 is none that tf.cond and tf.while_loop make: {cause}"
        return SourceError(rule, "Make it of these, or of tf.compat.v1.case")


@dataclass(frozen=True)
class LoopVariable:
    """A loop variable by the names of its nodes; empty: it has none. `next_value` is a tensor."""

    enter: str
    merge: str
    next_value: str
    switch: str = ""
    exits: tuple[str, ...] = ()


@dataclass
class MergedLoop:
    """A frame: its LoopCond, and its variables in the graph's order."""

    condition: str = ""
    variables: list[LoopVariable] = field(default_factory=list)


class BranchMap:
    """Places of all nodes; raises UnstructuredError if there are none.

    A Merge of more than two values becomes a tree of Merges of two, which `nodes` gets.
    """

    def __init__(self, nodes: dict[str, Any]) -> None:
        self._nodes = nodes
        self._places: dict[str, Place] = {}
        self._levels: dict[str, dict[tuple[Any, ...], int]] = {}
        self._keys: dict[str, tuple[Any, ...]] = {}
        self._groups: dict[tuple[Any, ...], list[str]] = {}
        self.loops: dict[str, MergedLoop] = {}
        self._exits: dict[str, str] = {}
        self._returns = self._returns_by_frame()
        self._indexed = {node_name(name) for node in nodes.values() for name in node.input if name.endswith(":1")}
        self._numbers: dict[tuple[str, str], int | None] = {}
        for name in self._in_order():
            self._places[name] = self._place_of(nodes[name])
            self._count_levels(name)
        self._find_loops()

    def place(self, name: str) -> Place:
        """Branches and loops around a node."""
        return self._places[name]

    def frame_of_exit(self, name: str) -> str:
        """Name of the loop that an Exit node leaves."""
        return self._exits[name]

    def group(self, merge: str) -> tuple[str, list[str]]:
        """The predicate of a Merge, and all Merges of the same cond."""
        key = self._keys[merge]
        return str(key[0]), self._groups[key]

    def merged(self, merge: str, side: bool) -> str:
        """The Merge's operand on a side of its predicate."""
        (predicate, taken), operands = self._keys[merge][:2], self._merged_by(merge)
        decided = [name for name in operands if (predicate, taken) in self._conditions_of(name)]
        return next(name for name in operands if (name in decided) == (side == taken))

    def on_side(self, merge: str, side: bool) -> frozenset[Condition]:
        """Conditions of the nodes that belong to a side of a Merge's If."""
        predicate, taken, others = self._keys[merge][:3]
        return frozenset({(predicate, side)} | (others if side != taken else set()))

    def is_indexed(self, merge: str) -> bool:
        """Whether the number of the operand that arrives is read."""
        return merge in self._indexed

    def number(self, merge: str, operand: str) -> int | None:
        """The number of an operand; None for one that is a Merge of several of them."""
        return self._numbers.get((merge, operand), self._merged_by(merge).index(operand))

    def _merged_by(self, merge: str) -> list[str]:
        return [str(name) for name in self._nodes[merge].input if not name.startswith("^")]

    def canonical(self, name: str, side: bool) -> Condition:
        """A side of a predicate by the tensor that it is another name, or the opposite, of."""
        node = self._nodes[node_name(name)]
        while node.op in ("Identity", "LogicalNot"):
            side = side != (node.op == "LogicalNot")
            name = node.input[0]
            node = self._nodes[node_name(name)]
        return full_name(name), side

    def _in_order(self) -> list[str]:
        """Names of nodes, operands first; back edges of loops do not count."""
        order, seen = [], set()
        for root in self._nodes:
            pending = [(root, False)]
            while pending:
                name, is_done = pending.pop()
                if is_done:
                    order.append(name)
                elif name not in seen:
                    seen.add(name)
                    pending.append((name, True))
                    pending += [(source, False) for source in self._sources(name)]
        return order

    def _sources(self, name: str) -> list[str]:
        """Nodes that a node waits for: in a loop's body that of this iteration, after it the whole body."""
        names = [node_name(source) for source in self._nodes[name].input]
        if self._nodes[name].op == "Merge":
            names = [source for source in names if self._nodes[source].op != "NextIteration"]
        elif self._nodes[name].op == "Exit":
            names += self._returns.get(self._frame_of(self._nodes[name]), [])
        return names

    def _returns_by_frame(self) -> dict[str, list[str]]:
        """The NextIterations of each frame."""
        returns: dict[str, list[str]] = {}
        for node in filter(self._is_loop_merge, self._nodes.values()):
            names = [node_name(name) for name in node.input]
            returns.setdefault(self._frame_of(node), []).extend(
                name for name in names if self._nodes[name].op == "NextIteration"
            )
        return returns

    def _frame_of(self, node: Any) -> str:
        """The frame of a loop's Merge, or of what follows one; empty if there is none."""
        while node.op in ("Exit", "Switch", "Identity"):
            node = self._nodes[node_name(node.input[0])]
        entering = [self._nodes[node_name(name)] for name in node.input]
        return next((n.attr["frame_name"].s.decode() for n in entering if n.op == "Enter"), "")

    def _place_of(self, node: Any) -> Place:
        sources = [name for name in node.input if self._is_forward(node, name)]
        conditions = frozenset[Condition]().union(*(self._conditions_of(name) for name in sources))
        frames = max((self._places[node_name(name)][1] for name in sources), key=len, default=())
        if node.op == "Enter":
            return conditions, (*frames, node.attr["frame_name"].s.decode())
        if node.op == "Exit":
            if not frames:
                raise UnstructuredError(f"'{node.name}' leaves no loop")
            return conditions, frames[:-1]
        if node.op == "Merge" and not self._is_loop_merge(node):
            return self._merged_place(node, frames)
        return conditions, frames

    def _is_forward(self, node: Any, name: str) -> bool:
        return bool(node.op != "Merge" or self._nodes[node_name(name)].op != "NextIteration")

    def _is_loop_merge(self, node: Any) -> bool:
        return node.op == "Merge" and any(self._nodes[node_name(name)].op == "NextIteration" for name in node.input)

    def _conditions_of(self, name: str) -> frozenset[Condition]:
        """Conditions under which a tensor has a value: those of its node, and the side of a Switch."""
        node = self._nodes[node_name(name)]
        conditions = self._places[node.name][0]
        if node.op != "Switch" or name.startswith("^") or self._nodes[node_name(node.input[1])].op == "LoopCond":
            return conditions
        return conditions | {self.canonical(node.input[1], full_name(name).endswith(":1"))}

    def _merged_place(self, node: Any, frames: tuple[str, ...]) -> Place:
        self._pair(node)
        first, second = (self._conditions_of(name) for name in self._merged_by(node.name))
        decided = [p for p, side in first if (p, not side) in second]
        if len(decided) == 1:
            common = frozenset(c for c in first | second if c[0] != decided[0])
            self._keys[node.name] = (decided[0], True, frozenset(), common, frames)
            return common, frames
        # At most one of the two values arrives: whether the only condition of `first` alone holds says which.
        if len(first - second) != 1:
            first, second = second, first
        if decided or len(first - second) != 1 or not second - first:
            raise UnstructuredError(f"no predicate decides '{node.name}'")
        self._keys[node.name] = (*next(iter(first - second)), second - first, first & second, frames)
        return first & second, frames

    def _pair(self, node: Any) -> None:
        """Makes a Merge one of two values: two that one predicate decides become a Merge of their own, and so on."""
        operands = self._merged_by(node.name)
        while len(operands) > 2:
            sets = {name: self._conditions_of(name) for name in operands}
            pairs = [p for p in combinations(operands, 2) if len({c for c, _ in sets[p[0]] ^ sets[p[1]]}) == 1]
            if not pairs:
                raise UnstructuredError(f"no predicate decides '{node.name}'")
            inner = type(node)(name=f"{node.name}/{len(operands)}", op="Merge", input=pairs[0])
            copy = type(node)(name=node.name, op="Merge", input=[inner.name])
            copy.input.extend(name for name in node.input if name not in pairs[0])
            self._numbers |= {(inner.name, name): self.number(node.name, name) for name in pairs[0]}
            self._numbers |= {(node.name, name): self.number(node.name, name) for name in operands}
            self._numbers[node.name, inner.name] = None
            self._indexed |= {inner.name} if self.is_indexed(node.name) else set()
            self._nodes[inner.name], self._nodes[node.name] = inner, copy
            self._places[inner.name] = self._place_of(inner)
            self._count_levels(inner.name)
            node, operands = copy, self._merged_by(node.name)

    def _count_levels(self, name: str) -> None:
        """Puts a Merge into the group of those with its predicate that do not depend on one another."""
        levels: dict[tuple[Any, ...], int] = {}
        for source in self._sources(name):
            for key, level in self._levels[source].items():
                levels[key] = max(levels.get(key, 0), level)
        if name in self._keys:
            key = self._keys[name]
            levels = {**levels, key: levels.get(key, 0) + 1}
            self._keys[name] = (*key, levels[key])
            self._groups.setdefault(self._keys[name], []).append(name)
        self._levels[name] = levels

    def _find_loops(self) -> None:
        readers: dict[str, list[str]] = {}
        for node in self._nodes.values():
            for name in node.input:
                readers.setdefault(node_name(name), []).append(node.name)
        for node in self._nodes.values():
            frames = self._places[node.name][1]
            if node.op == "LoopCond":
                self.loops.setdefault(frames[-1], MergedLoop()).condition = node.name
            elif self._is_loop_merge(node):
                self.loops.setdefault(frames[-1], MergedLoop()).variables.append(self._variable(node, readers))
        for frame, loop in self.loops.items():
            if not loop.condition:
                raise UnstructuredError(f"the loop '{frame}' has no condition")
            self._exits |= {name: frame for variable in loop.variables for name in variable.exits}

    def _variable(self, merge: Any, readers: Mapping[str, Sequence[str]]) -> LoopVariable:
        """The variable of a loop's Merge."""
        sources = [self._nodes[node_name(name)] for name in merge.input if not name.startswith("^")]
        enters = [node for node in sources if node.op == "Enter"]
        returns = [node for node in sources if node.op == "NextIteration"]
        switches = [name for name in readers.get(merge.name, ()) if self._is_loop_switch(name)]
        exits = [name for switch in switches for name in self._exits_behind(switch, readers)]
        if (len(enters), len(returns)) != (1, 1) or len(switches) > 1:
            raise UnstructuredError(f"'{merge.name}' is no loop variable")
        return LoopVariable(enters[0].name, merge.name, returns[0].input[0], next(iter(switches), ""), tuple(exits))

    def _exits_behind(self, name: str, readers: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """The Exits of what a loop's Switch gives, which gradients pass through Identity."""
        for reader in map(self._nodes.__getitem__, readers.get(name, ())):
            if node_name(reader.input[0]) != name or reader.input[0].endswith(":1"):
                continue
            if reader.op == "Exit":
                yield reader.name
            elif reader.op == "Identity":
                yield from self._exits_behind(reader.name, readers)

    def _is_loop_switch(self, name: str) -> bool:
        node = self._nodes[name]
        return bool(node.op == "Switch" and self._nodes[node_name(node.input[1])].op == "LoopCond")
