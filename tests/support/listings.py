"""Generated C as pages show it."""

from __future__ import annotations

import re


def main_function(source: str) -> str:
    """The C function of the main subgraph, without the structs that hold the numbers of its calls."""
    function = source[source.index("/* Subgraph 'main' */") :].partition("\n}\n")[0] + "\n}\n"
    return re.sub(r"^( *)static const struct \w+ \w+ = \{\n(?:.*\n)*?\1\};\n", "", function, flags=re.MULTILINE)
