"""Windows of stages: rows pushed into variables, whether a window is complete, and when a sliding stage computes a hop.

A stage that runs for every hop once its window is complete computes hops from the first push on, so that it never needs
a whole window. One that may miss hops (`when` with `catch_up = "keep"`) goes on from its last run if the window has
moved by one hop since, and computes a whole window otherwise. `passes/sliding/` rewrites the branches accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.applications.glue_graph import INT, GlueGraph, Initials
from tflmgen.frontend.tflite import ModelBuilder
from tflmgen.ir import TensorType
from tflmgen.ir.graph import StageWindow
from tflmgen.kernels import Comparison


@dataclass(frozen=True, slots=True)
class GlueWindow:
    """A window along an axis that takes `rows` rows at a time.

    every     hops between two runs
    restarts  it begins anew after a call in which `when` was false
    """

    type: TensorType
    axis: int
    rows: int
    every: int
    restarts: bool

    @property
    def count(self) -> int:
        """Rows of the whole window."""
        return self.type.max_shape[self.axis]

    @property
    def pushes(self) -> int:
        """Pushes that complete the window."""
        return -(-self.count // self.rows)

    @property
    def hop(self) -> int:
        """Rows by which the window moves from one run to the next."""
        return self.rows * self.every

    def of_rows(self, count: int) -> TensorType:
        """The window's type with `count` rows along its axis."""
        shape = self.type.max_shape
        return self.type.with_shape((*shape[: self.axis], count, *shape[self.axis + 1 :]))


@dataclass(frozen=True, slots=True)
class Pushed:
    """Source of the rows that are pushed into a window.

    rows   tensor of the new rows
    fresh  whether there are new ones; None: always
    when   the stage's condition; None: it has none
    """

    rows: int
    fresh: int | None
    when: int | None


class WindowGlue:
    """The variables of one stage's window. name: of the stage."""

    def __init__(
        self, builder: ModelBuilder, main: GlueGraph, initials: Initials, name: str, window: GlueWindow
    ) -> None:
        self._builder, self._main, self._initials = builder, main, initials
        self.name, self.window = name, window

    def variable(self, name: str) -> str:
        """Name of a variable of this window in the model."""
        return f"{self.name}/{name}"

    def moved(self, variable: str, count: int, pushed: Pushed) -> int:
        """Pushes the rows into a variable of the last `count` rows; its new contents."""
        main, type_ = self._main, self.window.of_rows(count)
        name = self._initials.add(self.variable(variable), type_)
        old = main.read(name, type_)
        if pushed.fresh is None:
            moved = self._shifted(main, old, pushed.rows)
        else:
            then, orelse = GlueGraph(self._builder, f"{name}/moved"), GlueGraph(self._builder, f"{name}/kept")
            for graph in (then, orelse):
                graph.graph.inputs = [graph.tensor("window", type_), graph.tensor("rows", main.type_of(pushed.rows))]
            then.graph.outputs = [self._shifted(then, *then.graph.inputs)]
            orelse.graph.outputs = [orelse.graph.inputs[0]]
            (moved,) = main.branch(pushed.fresh, (old, pushed.rows), then, orelse, [name])
        main.assign(name, moved)
        return moved

    def _shifted(self, graph: GlueGraph, old: int, rows: int) -> int:
        converted = graph.converted(rows, self.window.of_rows(self.window.rows))
        assert converted is not None
        return graph.shifted(old, converted, self.window.axis)

    def complete(self, pushed: Pushed) -> int:
        """Whether all rows of the window have come."""
        main, name = self._main, self._initials.add(self.variable("window/pushes"), INT)
        pushes, limit = main.read(name, INT), main.integers([self.window.pushes])
        count = main.minimum(main.add(pushes, self._step(pushed), type_=INT), limit, type_=INT)
        if self.window.restarts and pushed.when is not None:
            count = main.mul(count, main.cast(pushed.when, type_=INT), type_=INT)
        main.assign(name, count)
        return main.compared(Comparison.GREATER_EQUAL, count, self.window.pushes)

    def _step(self, pushed: Pushed) -> int:
        main = self._main
        return main.integers([1]) if pushed.fresh is None else main.cast(pushed.fresh, type_=INT)

    def hops(self, pushed: Pushed, counter: str) -> int | None:
        """Whether a stage that computes each hop computes one in this call; None: always.

        counter  variable that counts calls in which the stage could run, up to `every`; it is up to date
        """
        main, every = self._main, self.window.every
        flags = [flag for flag in (pushed.fresh, pushed.when) if flag is not None]
        runs = None if not flags else flags[0] if len(flags) == 1 else main.both(*flags)
        if every == 1:
            return runs
        # Pushes until the next hop: such that the call which completes the window computes one if it runs.
        start = self.window.pushes - 1
        name = self._initials.add(self.variable("phase"), INT, start % every)
        phase = main.read(name, INT)
        step = main.mul(self._step(pushed), main.integers([every - 1]), type_=INT)
        following = self._wrapped(main.add(phase, step, type_=INT))
        if self.window.restarts and pushed.when is not None:
            seen = main.read(counter, INT)
            anew = self._wrapped(main.sub(main.integers([start % every + every]), seen, type_=INT))
            holds = main.cast(pushed.when, type_=INT)
            change = main.mul(main.sub(following, anew, type_=INT), holds, type_=INT)
            following = main.add(anew, change, type_=INT)
        main.assign(name, following)
        due = main.compared(Comparison.EQUAL, phase, 0)
        return due if runs is None else main.both(due, runs)

    def _wrapped(self, value: int) -> int:
        """The remainder of a value from 0 to 2 * every - 1; TFLite Micro has no FLOOR_MOD of int32."""
        main, every = self._main, self.window.every
        turns = main.cast(main.compared(Comparison.GREATER_EQUAL, value, every), type_=INT)
        return main.sub(value, main.mul(turns, main.integers([every]), type_=INT), type_=INT)

    def for_gaps(self, pushed: Pushed, runs: int) -> StageWindow:
        """The window of a stage that may miss hops: a variable is 0 if the next push makes a hop since its last run."""
        main, name = self._main, self._initials.add(self.variable("left"), INT, -1)
        below = main.sub(main.read(name, INT), self._step(pushed), type_=INT)
        stays = main.maximum(below, main.integers([-1]), type_=INT)
        ran = main.cast(runs, type_=INT)
        rest = main.sub(main.integers([self.window.every - 1]), stays, type_=INT)
        main.assign(name, main.add(stays, main.mul(rest, ran, type_=INT), type_=INT))
        return self._described("", name)

    def for_each_hop(self, pushed: Pushed) -> StageWindow:
        """The window of a stage that computes each hop: a variable holds the rows of one."""
        self.moved("newest", self.window.hop, pushed)
        return self._described(self.variable("newest"), "")

    def _described(self, newest: str, left: str) -> StageWindow:
        window, invokes = self.window, self.window.pushes + 2 * self.window.every
        whole = self.variable("window")
        return StageWindow(self.name, "", -1, whole, window.axis, window.hop, newest, left, invokes)
