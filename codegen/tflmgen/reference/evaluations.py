"""Every operator that the reference evaluates."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.reference import (
    axis_reductions,
    element_moves,
    elementwise_binary,
    elementwise_unary,
    fourier_transforms,
    image_resizing,
    matrix_rows,
    probability_rows,
    recurrent_layers,
    rows_in_use,
    signal_operators,
    type_conversions,
    weighted_sums,
    window_pools,
)
from tflmgen.reference.operation import Evaluation

EVALUATIONS: Mapping[str, Evaluation] = {
    **elementwise_binary.EVALUATIONS,
    **elementwise_unary.EVALUATIONS,
    **type_conversions.EVALUATIONS,
    **weighted_sums.EVALUATIONS,
    **window_pools.EVALUATIONS,
    **matrix_rows.EVALUATIONS,
    **axis_reductions.EVALUATIONS,
    **probability_rows.EVALUATIONS,
    **element_moves.EVALUATIONS,
    **image_resizing.EVALUATIONS,
    **rows_in_use.EVALUATIONS,
    **recurrent_layers.EVALUATIONS,
    **signal_operators.EVALUATIONS,
    **fourier_transforms.EVALUATIONS,
}
