"""Custom operators that others add: Python files given on the command line, and installed packages.

In: paths and entry points. Out: Operators for the table.
Decided here: how faults of a plug-in are reported as the plug-in's.
"""

from tflmgen.plugins.plugin_loader import installed_names, load_operators

__all__ = [
    "installed_names",
    "load_operators",
]
