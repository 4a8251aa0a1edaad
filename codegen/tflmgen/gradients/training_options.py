"""The user's options of a training model as typed values."""

from __future__ import annotations

import math

from tflmgen.errors import UsageError
from tflmgen.gradients.adapters import ADAPTERS
from tflmgen.gradients.optimizers import OPTIMIZERS
from tflmgen.gradients.training_model import TrainingOptions
from tflmgen.gradients.update_step import StepOptions
from tflmgen.gradients.weight_choice import WeightChoice
from tflmgen.options import OptimizerName, TrainOptions

INPUT = "input"
"""A learning rate that is an input."""


def parse_training_options(options: TrainOptions) -> TrainingOptions:
    """Raises UsageError for options that contradict each other, and for a learning rate that is no number."""
    if (options.loss is None) == (options.loss_output is None):
        raise UsageError("training needs either --loss or --loss-output")
    if options.loss is None and options.target_output is not None:
        raise UsageError("--target-output names the output that --loss is of")
    if options.portable and options.check_gradients:
        raise UsageError("--portable leaves out all checks, --check-gradients too")
    for name, norm in (("clip-norm", options.clip_norm), ("global-clip-norm", options.global_clip_norm)):
        if norm is not None and not (0 < norm < math.inf):
            raise UsageError(f"--{name} requires a number greater than 0")
    step = StepOptions(
        options.optimizer,
        _rate(options.learning_rate, options.optimizer),
        options.l2,
        options.clip_norm,
        options.global_clip_norm,
        options.accumulate,
    )
    adapter = _adapter_rank(options.adapter)
    trainable = (*(options.trainable or ()), *(ADAPTERS if adapter else ()))
    weights = WeightChoice(trainable, tuple(options.freeze or ()), options.last, options.biases)
    return TrainingOptions(
        options.loss,
        step,
        weights,
        options.target_output,
        options.loss_output,
        options.signature,
        options.batch,
        options.max_iterations,
        options.portable,
        options.check_gradients,
        adapter,
    )


def _adapter_rank(text: str | None) -> int | None:
    """Rank of the adapters; None without any."""
    if text is None:
        return None
    kind, _, rank = text.partition(":")
    if kind != "lora" or not rank.isdecimal() or int(rank) < 1:
        raise UsageError(f"--adapter {text}: requires lora:RANK, such as lora:4")
    return int(rank)


def _rate(text: str | None, optimizer: OptimizerName) -> float | None:
    if text == INPUT:
        return None
    try:
        rate = OPTIMIZERS[optimizer].rate if text is None else float(text)
    except ValueError:
        rate = math.nan
    if not 0 <= rate < math.inf:
        raise UsageError(f"--learning-rate {text}: requires a number of at least 0, or input")
    return rate
