"""report.html: what plan.json says, as pictures and tables in one page that needs no network.

In: plan.json's contents. Out: the page's text.
Decided here: what the pictures show; no figure is computed that plan.json lacks.
"""

from tflmgen.report.dead_channels import dead_channel_lines
from tflmgen.report.page import report_html

__all__ = [
    "dead_channel_lines",
    "report_html",
]
