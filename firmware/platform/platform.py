# SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output
"""PlatformIO development platform of tflmgen's boards.

Everything here goes through PlatformIO's public package mechanism: a package whose version is ``symlink://FOLDER`` is
linked instead of downloaded, as ``platform_packages = owner/name@symlink://FOLDER`` in platformio.ini does. Where the
registry's own package is already installed, nothing is overridden.
"""

import json
import re
import shutil
import socket
import sys
import tempfile
from pathlib import Path

from platformio import __registry_mirror_hosts__
from platformio.exception import UserSideException
from platformio.platform.base import PlatformBase
from semantic_version import SimpleSpec, Version

ARM = "arm-none-eabi-"
TOOLCHAIN = "toolchain-gccarmnoneeabi"
SCONS = "tool-scons"
SCONS_PY = """\
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "scons-local"))
import SCons.Script

SCons.Script.main()
"""


class TflmgenPlatform(PlatformBase):
    def configure_default_packages(self, options, targets):
        self._use_scons_of_pip()
        self._use_toolchain_on_path()
        return super().configure_default_packages(options, targets)

    def _use_scons_of_pip(self):
        """Satisfy PlatformIO Core's own need for "platformio/tool-scons" with the SCons that pip installed.

        Core runs the package's scons.py under its own Python. The registry's package is SCons' "scons-local"; this is
        made from the SCons beside Core, as a copy, since other PlatformIO installations share the core folder.
        """
        from platformio.dependencies import get_core_dependencies
        from platformio.package.manager.core import get_core_package_dir

        if get_core_package_dir(SCONS, auto_install=False):
            return
        wanted = get_core_dependencies()[SCONS]
        version = _scons_package_version()
        if version is None or Version(version) not in SimpleSpec(wanted):
            _require_registry(wanted)
            return
        folder = Path(self.config.get("platformio", "core_dir"), "tflmgen", f"{SCONS}-{version}")
        if not folder.is_dir():
            _make_scons_package(folder, version)
        self.packages[SCONS] = {"owner": "platformio", "version": f"symlink://{folder.as_posix()}"}

    def _use_toolchain_on_path(self):
        """arm-none-eabi-gcc from PATH where there is one, else PlatformIO's own."""
        spec = self.packages[TOOLCHAIN]
        if "://" not in str(spec.get("version", "")):  # else the user names one in platform_packages
            spec["optional"] = shutil.which(f"{ARM}gcc") is not None or not self._builds_for_arm()

    def _builds_for_arm(self):
        """Whether some environment's board has an Arm core; of others PlatformIO has no compiler that fits."""
        boards = {self.config.get(s, "board", "") for s in self.config.sections() if s.startswith("env:")}
        folder = Path(self.get_dir(), "boards")
        files = [folder / f"{board}.json" for board in boards if (folder / f"{board}.json").is_file()]
        return any(json.loads(f.read_text(encoding="utf-8"))["build"].get("toolchain") == ARM for f in files)

    def get_boards(self, id_=None):
        result = super().get_boards(id_)
        for board in [result] if id_ else result.values():
            _add_qemu_debug_tool(board)
        return result

    def configure_debug_session(self, debug_config):
        debug_config.load_cmds = []  # QEMU's -kernel has loaded the firmware


def _scons_package_version():
    """PlatformIO's version number of the SCons beside it: SCons X.Y.Z is X.XYYZZ.0. None without SCons."""
    try:
        import SCons
    except ImportError:
        return None
    numbers = [int(n) for n in re.findall(r"\d+", SCons.__version__)[:3]]
    major, minor, patch = [*numbers, 0, 0][:3]
    return f"{major}.{major}{minor:02d}{patch:02d}.0"


def _make_scons_package(folder, version):
    import SCons

    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        new = Path(temporary, folder.name)
        source = Path(SCons.__file__).parent
        shutil.copytree(source, new / "scons-local/SCons", ignore=shutil.ignore_patterns("__pycache__", "docbook"))
        (new / "scons.py").write_text(SCONS_PY, encoding="utf-8")
        manifest = {
            "name": SCONS,
            "version": version,
            "description": "SCons software construction tool, from PyPI",
            "homepage": "https://www.scons.org",
            "license": "MIT",
            "system": "*",
        }
        (new / "package.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")
        try:
            new.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another build made it meanwhile
                raise


def _require_registry(wanted):
    """Say what is missing, instead of a minute's silence and an empty error."""
    try:
        socket.getaddrinfo(f"api.{__registry_mirror_hosts__[0]}", 443)
    except OSError as error:
        match = re.search(r"\d\.(\d+?)(\d\d)(\d\d)\.", wanted)
        pin = "=={}.{}.{}".format(*map(int, match.groups())) if match else ""
        raise UserSideException(
            "PlatformIO's registry cannot be reached, and this PlatformIO Core needs SCons. Install it from PyPI:\n"
            f"  {sys.executable} -m pip install 'scons{pin}'"
        ) from error


def _add_qemu_debug_tool(board):
    command = board.get("build.qemu.command", None)
    if not command or board.get("debug.tools.qemu", None):
        return
    server = {"executable": command[0], "arguments": [*command[1:], "-gdb", "tcp::1234", "-S", "-kernel", "$PROG_PATH"]}
    board.update("debug.tools", {"qemu": {"default": True, "onboard": True, "server": server}})
