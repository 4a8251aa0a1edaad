"""report.html: what plan.json says, as pictures and tables in one page that needs no network."""

from tflmgen.report.page import report_html

__all__ = ["report_html"]
