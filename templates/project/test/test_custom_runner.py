"""Unity's result format, without downloading Unity."""

import contextlib
import os
import signal
from pathlib import Path

from platformio.public import UnityTestRunner


class CustomTestRunner(UnityTestRunner):
    EXTRA_LIB_DEPS = None

    def configure_build_env(self, env):
        return env

    def setup(self):
        self._renode().unlink(missing_ok=True)

    def teardown(self):
        """End Renode: PlatformIO ends the program that it has started, which is but Renode's launcher."""
        with contextlib.suppress(OSError, ValueError):
            process = int(self._renode().read_text(encoding="utf-8"))
            os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows has the latter only

    def _renode(self):
        """Where Renode writes its process's number, if the board's test runs in it."""
        return Path(self.project_config.get("platformio", "build_dir"), "renode.pid")
