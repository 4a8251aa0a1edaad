"""The passes over the graph, in order. Each is a pure function Module -> Module in a file of its own."""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.graph import Module
from tflmgen.passes.constant_views import fold_constant_views
from tflmgen.passes.dead import eliminate_dead
from tflmgen.passes.invariant import substitute_invariants
from tflmgen.verify import verify

Pass = Callable[[Module], Module]

PIPELINE: tuple[Pass, ...] = (substitute_invariants, fold_constant_views, eliminate_dead)


def run_passes(module: Module, pipeline: tuple[Pass, ...] = PIPELINE) -> Module:
    """Runs the passes one after another, verifying the graph before the first and after each."""
    verify(module, "import")
    for one in pipeline:
        module = verify(one(module), one.__name__)
    return module
