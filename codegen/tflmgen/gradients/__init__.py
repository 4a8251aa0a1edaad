"""Training: a float Model as one whose weights are state, with signatures that infer, train and evaluate.

In: a Model, a loss, an optimizer and a choice of weights. Out: a Model, and the list of its weights.
Decided here: which constants train, the gradient of each operator, of branches and of loops, how weights change, and
what the backward pass keeps of the forward one.
"""

from tflmgen.gradients.training_memory import plan_within, training_curve
from tflmgen.gradients.training_model import REQUIRE, TrainingModel, derive_training_model
from tflmgen.gradients.training_options import parse_training_options

__all__ = [
    "REQUIRE",
    "TrainingModel",
    "derive_training_model",
    "parse_training_options",
    "plan_within",
    "training_curve",
]
