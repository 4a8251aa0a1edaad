"""The passes over the graph, in order. Each is a pure function Module -> Module."""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.ir import verify
from tflmgen.ir.graph import Module
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.specification import Operators
from tflmgen.passes.activation import fuse_activation
from tflmgen.passes.activation_functions import fuse_functions
from tflmgen.passes.affine import fold_affine
from tflmgen.passes.attention import fuse_attention
from tflmgen.passes.branch_code_motion import share_branches, sink
from tflmgen.passes.branches import fold_branches
from tflmgen.passes.common_subexpressions import merge_common, unify_constants
from tflmgen.passes.constant_variables import freeze_variables
from tflmgen.passes.counted_loops import count_trips
from tflmgen.passes.dead_code import prune
from tflmgen.passes.dilation import fuse_dilation
from tflmgen.passes.fold import fold_pass
from tflmgen.passes.functions import inline, resolve_calls, specialize
from tflmgen.passes.fuse_lookups import fuse_lookups
from tflmgen.passes.identities import drop_identities
from tflmgen.passes.loop_invariant_code import hoist
from tflmgen.passes.loop_variables import merge_variables, substitute_invariants, view_after_loop
from tflmgen.passes.matrix_products import fold_into_weights, use_fully_connected
from tflmgen.passes.mixed_depthwise import merge_mixed_depthwise
from tflmgen.passes.move_views import delay_views
from tflmgen.passes.normalization import fuse_normalization
from tflmgen.passes.padding import fuse_padding
from tflmgen.passes.quantization import cancel_quantization, dequantize_late, narrow
from tflmgen.passes.range_pass import SharedAnalysis, range_pass
from tflmgen.passes.row_stores import store_rows
from tflmgen.passes.transposes import fuse_transposes, sink_transposes

Pass = Callable[[Module], Module]


def without_ranges(operators: Operators = OPERATORS) -> tuple[Pass, ...]:
    """All passes except range analysis, for graphs with the operators of a table."""
    return (
        freeze_variables,
        inline,
        unify_constants,
        specialize,
        resolve_calls,
        substitute_invariants,
        dequantize_late,
        fold_pass(operators),
        fold_branches,
        store_rows,
        drop_identities,
        narrow,
        cancel_quantization,
        merge_mixed_depthwise,
        fuse_functions,
        fuse_normalization,
        fuse_lookups,
        use_fully_connected,
        fold_into_weights,
        delay_views,
        fold_affine,
        fuse_activation,
        fuse_transposes,
        fuse_attention,
        sink_transposes,
        fuse_dilation,
        fuse_padding,
        merge_common,
        merge_variables,
        view_after_loop,
        count_trips,
        hoist,
        share_branches,
        sink,
        prune,
    )


def with_ranges(
    multiple: int, operators: Operators = OPERATORS, shared: SharedAnalysis | None = None
) -> tuple[Pass, ...]:
    """All passes; tensors with dead channels keep a multiple of `multiple` channels where possible; 0: keep all.

    shared: the analysis that passes of several multiples start from.
    """
    *passes, last = without_ranges(operators)
    return (*passes, range_pass(multiple, shared), last)


PIPELINE = with_ranges(1)

MAX_ROUNDS = 50
"""Rounds over the pipeline at most; every round but the last changes something, and real models need a handful."""


def narrowed_by_ranges(module: Module, multiple: int, operators: Operators, shared: SharedAnalysis) -> Module:
    """Runs `with_ranges` on a module to which `without_ranges` has nothing to add."""
    pipeline = with_ranges(multiple, operators, shared)
    return run_passes(module, pipeline, settled=len(pipeline) - 2)


def run_passes(module: Module, pipeline: tuple[Pass, ...] = PIPELINE, settled: int = 0) -> Module:
    """Runs rounds of all passes until a round changes nothing. Verifies the graph before, and after each change.

    settled: how many of the first passes change nothing in `module`, so that the first round leaves them out.
    """
    verify(module, "import")
    for number in range(MAX_ROUNDS):
        before = module.functions
        for pass_ in pipeline[0 if number else settled :]:
            after = pass_(module)
            module = module if after is module else verify(after, pass_.__name__)
        if module.functions == before:
            break
    return module
