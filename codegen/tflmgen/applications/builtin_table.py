"""The built-ins by name."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.applications.custom_builtin import operator
from tflmgen.applications.decision_builtins import argmax, debounce, smooth
from tflmgen.applications.signal_builtins import logmel, mfcc, microfrontend, normalize, rms, spectrogram
from tflmgen.applications.stage_body import Builtin

BUILTINS: Mapping[str, Builtin] = {
    "argmax": argmax,
    "debounce": debounce,
    "logmel": logmel,
    "mfcc": mfcc,
    "microfrontend": microfrontend,
    "normalize": normalize,
    "operator": operator,
    "rms": rms,
    "smooth": smooth,
    "spectrogram": spectrogram,
}
