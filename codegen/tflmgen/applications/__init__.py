"""Applications: several models, front ends and glue as one Model of the file format, before anything is planned.

In: paths of models or of an application. Out: a Model with what all of them compute.
Decided here: names of models in one library, when stages of an application run, and what built-ins compute.
"""

from tflmgen.applications.app_file import Application, read_application
from tflmgen.applications.decision_thresholds import (
    SCORES,
    SmoothingStage,
    ThresholdErrors,
    smoothed_scores,
    smoothing_stages,
)
from tflmgen.applications.decision_timeline import DecisionTimeline, Event, StageRuns, timeline_of
from tflmgen.applications.expected_decisions import Expectation, Verdict, compared, read_expectations
from tflmgen.applications.program_source import is_application, is_timeline, library_stem, read_program

__all__ = [
    "SCORES",
    "Application",
    "DecisionTimeline",
    "Event",
    "Expectation",
    "SmoothingStage",
    "StageRuns",
    "ThresholdErrors",
    "Verdict",
    "compared",
    "is_application",
    "is_timeline",
    "library_stem",
    "read_application",
    "read_expectations",
    "read_program",
    "smoothed_scores",
    "smoothing_stages",
    "timeline_of",
]
