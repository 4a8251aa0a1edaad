"""Quantisation: calibration on the host build, and the rewrite of a float Model to int8 or int16.

In: a Model and sets of inputs. Out: a quantised Model, and what it costs in accuracy.
Decided here: the type and scale of each tensor, across branches, loops, calls and variables.
"""

from tflmgen.quantize.calibration import calibrate, measure
from tflmgen.quantize.calibration_data import CalibrationData, read_calibration, split
from tflmgen.quantize.observed_build import ObservedBuild, Watcher, observed_build
from tflmgen.quantize.range_choice import (
    Affine,
    RangeMethod,
    affine_for,
    affine_of,
    choose_range,
    clipped_share,
    sqnr_db,
    squared_error,
)
from tflmgen.quantize.statistics import Calibration, TensorStatistics, Unreached, statistics_of

__all__ = [
    "Affine",
    "Calibration",
    "CalibrationData",
    "ObservedBuild",
    "RangeMethod",
    "TensorStatistics",
    "Unreached",
    "Watcher",
    "affine_for",
    "affine_of",
    "calibrate",
    "choose_range",
    "clipped_share",
    "measure",
    "observed_build",
    "read_calibration",
    "split",
    "sqnr_db",
    "squared_error",
    "statistics_of",
]
