"""A core with Arduino's main() and as much of Serial as the link uses."""

from pathlib import Path

from SCons.Script import DefaultEnvironment

env = DefaultEnvironment()
folder = Path(env.PioPlatform().get_dir())
PROCESSOR = ["-mthumb", f"-mcpu={env.BoardConfig().get('build.cpu')}"]
env.Append(
    CCFLAGS=["-Os", *PROCESSOR],
    CXXFLAGS=["-std=gnu++14", "-fno-rtti", "-fno-exceptions"],
    CPPDEFINES=[("ARDUINO", 10810)],
    CPPPATH=[str(folder / "arduino")],
    LINKFLAGS=[*PROCESSOR, "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--no-warn-rwx-segments"],
    LIBS=["c", "m"],
)
env.Append(LIBS=[env.BuildLibrary("$BUILD_DIR/core", str(folder / "arduino"))])
