"""Transfer functions on intervals: values that an operator can give, from those that its inputs can have.

In: intervals of inputs. Out: intervals of outputs.
Decided here: how far an interval may widen.
"""

from tflmgen.kernels.ranges.intervals import Integers, Interval, channels_of, of_array, whole

__all__ = ["Integers", "Interval", "channels_of", "of_array", "whole"]
