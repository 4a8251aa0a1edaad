"""Noise of values beyond the ranges, measured: held-out samples through a model whose ranges have not seen them.

In the quantised model ranges hold all samples. What unseen ones lose by ending where samples do, held-out samples show
in the same model with the ranges of the others.
"""

from __future__ import annotations

from dataclasses import replace

from tflmgen.quantize.calibration_data import CalibrationData
from tflmgen.quantize.evaluation import Evaluation, run_sets
from tflmgen.quantize.group_ranges import range_choice
from tflmgen.quantize.model_quantization import quantize_model
from tflmgen.quantize.refinement import Refinement
from tflmgen.quantize.type_search import evaluate
from tflmgen.quantize.web_summary import summarize_webs


def saturated_evaluation(best: Refinement, data: CalibrationData) -> Evaluation | None:
    """Errors on held-out samples with the ranges of the others; None where they leave no range by more than a step."""
    if best.held_out is None:
        return None
    webs = summarize_webs(best.quantized, best.calibration, best.held_out)
    if not any(web.leaves_range for web in webs):
        return None
    others = best.held_out[1]
    choice = replace(best.choice, choose_range=range_choice(others, best.method, best.methods, best.room))
    model = quantize_model(best.build.model, others, choice).model
    return evaluate(best.build, run_sets(best.build, data.held_out), model, data.held_out)
