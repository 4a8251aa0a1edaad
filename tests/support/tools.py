"""Marks of tests that need a program which may be missing. In CI, which installs them all, such tests run and fail."""

from __future__ import annotations

import os
import shutil

import pytest
from tflmgen.project.toolchain import find_renode


def may_lack(*programs: str) -> bool:
    """Whether none of these programs is installed, and the environment variable CI doesn't say that one has to be."""
    return not any(map(shutil.which, programs)) and not os.environ.get("CI")


def requires(*programs: str) -> pytest.MarkDecorator:
    """Skips where none of these programs is installed, but not in CI."""
    return pytest.mark.skipif(may_lack(*programs), reason=f"needs {programs[0]}")


requires_compiler = requires("arm-none-eabi-gcc")
requires_qemu = requires("qemu-system-arm")
requires_renode = pytest.mark.skipif(find_renode() is None, reason="needs Renode")
"""A real one, which no package index has: .ci/setup cannot bring it, so CI may lack it."""
