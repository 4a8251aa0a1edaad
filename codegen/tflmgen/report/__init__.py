"""report.html: contents of plan.json as pictures and tables, in one page that needs no network.

In: plan.json's contents. Out: the page's text.
Decided here: the presentation only; every figure comes from plan.json.
"""

from tflmgen.report.box_picture import Detections, grey_levels
from tflmgen.report.notebook_view import notebook_html
from tflmgen.report.page import report_html
from tflmgen.report.quantization_page import quantization_html
from tflmgen.report.removal_texts import dead_channel_lines, note_lines
from tflmgen.report.score_plot import ScoreSeries
from tflmgen.report.sweep_page import sweep_html
from tflmgen.report.time_text import time_words

__all__ = [
    "Detections",
    "ScoreSeries",
    "dead_channel_lines",
    "grey_levels",
    "note_lines",
    "notebook_html",
    "quantization_html",
    "report_html",
    "sweep_html",
    "time_words",
]
