"""Marks of tests that need a program which may be missing. In CI, which installs them all, such tests run and fail."""

from __future__ import annotations

import os
import shutil

import pytest


def requires(program: str) -> pytest.MarkDecorator:
    """Skips where a program is not installed, unless the environment variable CI says that it has to be."""
    missing = shutil.which(program) is None and not os.environ.get("CI")
    return pytest.mark.skipif(missing, reason=f"needs {program}")


requires_compiler = requires("arm-none-eabi-gcc")
requires_qemu = requires("qemu-system-arm")
