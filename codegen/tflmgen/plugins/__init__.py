"""Custom operators that others add: Python files given on the command line, and installed packages.

In: paths and entry points. Out: Operators for the table.
Decided here: the attribution of a plug-in's faults to the plug-in.
"""

from tflmgen.plugins.plugin_loader import installed_names, load_operators
from tflmgen.plugins.plugin_references import references_of

__all__ = [
    "installed_names",
    "load_operators",
    "references_of",
]
