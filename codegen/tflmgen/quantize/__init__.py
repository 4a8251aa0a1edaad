"""Quantisation: calibration on the host build, and the rewrite of a float Model to int8 or int16.

In: a Model and sets of inputs. Out: a quantised Model, and what it costs in accuracy.
Decided here: the type and scale of each tensor, across branches, loops, calls and variables.
"""

from tflmgen.quantize.statistics import Calibration, TensorStatistics

__all__ = ["Calibration", "TensorStatistics"]
