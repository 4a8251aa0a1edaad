"""The report's section on the backward pass: what it keeps of the forward pass, and what it computes again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.training_models import recurrent_network, separable_network
from tflmgen.compiler import estimate_model
from tflmgen.frontend.tflite import Model, write_model
from tflmgen.gradients import derive_training_model
from tflmgen.gradients.tape import KEEP_ALL
from tflmgen.gradients.training_model import TrainingOptions
from tflmgen.gradients.update_step import StepOptions
from tflmgen.hardware import load_board
from tflmgen.options import BuildOptions, Loss, OptimizerName
from tflmgen.report.page import report_html
from tflmgen.report.steps import TIMES, Plan, PlanSteps
from tflmgen.report.training import backward_pass


def _plan(model: Model, folder: Path, **limits: Any) -> Plan:
    """The plan of a model, trained within limits of what is kept if there are some."""
    file = folder / "net.tflite"
    if limits:
        options = TrainingOptions(Loss.MSE, StepOptions(OptimizerName.SGD, 0.1), **limits)
        model = derive_training_model(model, options).model
    file.write_bytes(write_model(model))
    return estimate_model(file, load_board("mps2_an386").target, BuildOptions())


def _bytes(part: object) -> list[int]:
    assert isinstance(part, list)
    return [value.bytes for value in part if value.bytes >= 1000]


def test_layers_that_are_kept_and_computed_again(tmp_path: Path) -> None:
    """Each value has 16 channels, 8,000 bytes."""
    model = separable_network(16, 2)
    keeps_all = backward_pass(plan := _plan(model, tmp_path, kept_limit=KEEP_ALL), PlanSteps(plan))
    assert _bytes(keeps_all["kept_values"])[:4] == [8000] * 4
    assert keeps_all["values_again"] == []
    plan = _plan(model, tmp_path, kept_limit=24_000)
    keeps_less = backward_pass(plan, PlanSteps(plan))
    assert len(_bytes(keeps_less["kept_values"])) < len(_bytes(keeps_all["kept_values"]))
    assert _bytes(keeps_less["values_again"])[:2] == [8000] * 2
    page = report_html(plan, load_board("mps2_an386"))
    assert "These are computed again" in page
    assert "bytes of the forward pass are kept for it" in page


@pytest.mark.parametrize("limit", [KEEP_ALL, 0])
def test_rows_of_loops(limit: int, tmp_path: Path) -> None:
    plan = _plan(recurrent_network(40), tmp_path, loop_limit=limit)
    values = backward_pass(plan, PlanSteps(plan))
    assert isinstance(values["kept_values"], list)
    types = [value.type.partition(" ")[2] for value in values["kept_values"] if value.name.startswith("stored")]
    assert types
    assert all((int(text.partition(TIMES)[0]) == 40) == (limit > 0) for text in types)
    assert bool(values["values_again"]) == (limit == 0)


def test_other_models_have_no_backward_pass(tmp_path: Path) -> None:
    plan = _plan(recurrent_network(4), tmp_path)
    assert backward_pass(plan, PlanSteps(plan))["border"] is None
    assert "The backward pass" not in report_html(plan, load_board("mps2_an386"))
