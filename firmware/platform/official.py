# SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output
"""Builds the project on one of PlatformIO's own platforms, for its uploaders and debuggers.

On bare metal the firmware is the local platform's: the same start-up code, linker script, UART and flags. With the
Arduino framework the core does all that, and only the link over its serial port is added.
"""

import json
from pathlib import Path

from SCons.Script import DefaultEnvironment

env = DefaultEnvironment()
folder = Path(env.subst("$PROJECT_DIR"), "platform")
if "arduino" in env.get("PIOFRAMEWORK", []):
    env.Append(CPPPATH=["$PROJECT_DIR/lib/tflmgen/include"])
    env.BuildSources("$BUILD_DIR/arduino", str(folder / "arduino"))
else:
    local = json.loads((folder / "boards" / f"{env.GetProjectOption('custom_board')}.json").read_text(encoding="utf-8"))
    for name in ("cpu_flags", "toolchain", "specs", "header_flags"):
        env.BoardConfig().update(f"build.{name}", local["build"][name])
    env.Replace(CC=f"{local['build']['toolchain']}gcc", LDSCRIPT_PATH="board.ld")
    env.Append(LIBPATH=[str(folder / "ldscripts")])
    env.SConscript(str(folder / "builder/frameworks/baremetal.py"))
