"""PlatformIO's own platforms take SCons and the compiler from the registry; here they come from this computer."""

import importlib.util
from pathlib import Path

from platformio.platform.base import PlatformBase

LOCAL = Path(__file__).resolve().parents[1] / "platform" / "platform.py"
specification = importlib.util.spec_from_file_location("local_platform", LOCAL)
local = importlib.util.module_from_spec(specification)
specification.loader.exec_module(local)


class Upload_stand_inPlatform(PlatformBase):  # noqa: N801
    _use_scons_of_pip = local.TflmgenPlatform._use_scons_of_pip

    def configure_default_packages(self, options, targets):
        self._use_scons_of_pip()
        return super().configure_default_packages(options, targets)
