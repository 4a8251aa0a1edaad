"""The kernels' headers together, as a model that uses all of them includes them."""

from __future__ import annotations

import subprocess

from support.kernel_program import KERNELS, WARNINGS


def test_all_headers_in_one_file() -> None:
    text = "".join(f'#include "{header.name}"\n' for header in sorted(KERNELS.glob("*.h"))) + "int used;\n"
    command = ["gcc", *WARNINGS, f"-I{KERNELS}", "-x", "c", "-fsyntax-only", "-"]
    built = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
