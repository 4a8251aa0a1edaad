"""Builds the project on one of PlatformIO's own platforms, for its uploaders and debuggers.

On bare metal the firmware is the local platform's: the same start-up code, linker script, UART and flags. With the
Arduino framework the core does all that, and only the link over its serial port is added.
"""

import json
from pathlib import Path

Import("env")  # noqa: F821

folder = Path(env.subst("$PROJECT_DIR"), "platform")  # noqa: F821
if "arduino" in env.get("PIOFRAMEWORK", []):  # noqa: F821
    env.Append(CPPPATH=["$PROJECT_DIR/lib/tflmgen/include"])  # noqa: F821
    env.BuildSources("$BUILD_DIR/arduino", str(folder / "arduino"))  # noqa: F821
else:
    local = json.loads((folder / "boards" / f"{env.GetProjectOption('custom_board')}.json").read_text(encoding="utf-8"))  # noqa: F821
    env.BoardConfig().update("build.cpu_flags", local["build"]["cpu_flags"])  # noqa: F821
    env.Replace(CC="arm-none-eabi-gcc", LDSCRIPT_PATH="board.ld")  # noqa: F821
    env.Append(LIBPATH=[str(folder / "ldscripts")])  # noqa: F821
    env.SConscript(str(folder / "builder/frameworks/baremetal.py"))  # noqa: F821
