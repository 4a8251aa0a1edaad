"""A platform's builder as PlatformIO's own are: its own tools and upload actions, soft-float flags for bare metal."""

import sys
from pathlib import Path

from SCons.Script import AlwaysBuild, Default, DefaultEnvironment

env = DefaultEnvironment()
env.Replace(
    AR="arm-none-eabi-ar",
    AS="arm-none-eabi-as",
    CC="arm-none-eabi-gcc",
    CXX="arm-none-eabi-g++",
    RANLIB="arm-none-eabi-ranlib",
    SIZETOOL="arm-none-eabi-size",
    ARFLAGS=["rc"],
    PROGNAME="firmware",
    PROGSUFFIX=".elf",
)
if not env.get("PIOFRAMEWORK"):
    processor = ["-mthumb", f"-mcpu={env.BoardConfig().get('build.cpu')}"]
    env.Append(
        CCFLAGS=["-Os", "-ffunction-sections", "-fdata-sections", "-Wall", "-nostdlib", *processor],
        LINKFLAGS=["-Os", "-Wl,--gc-sections,--relax", "--specs=nano.specs", "--specs=nosys.specs", *processor],
        LIBS=["c", "gcc", "m", "stdc++", "nosys"],
    )
elf = env.BuildProgram()


def upload(source, env, **_):
    port = env.subst("$UPLOAD_PORT")
    if not port:
        sys.stderr.write("no probe\n")
        return 1
    text = f"{Path(str(source[0])).name} to {port} by {env.subst('$UPLOAD_PROTOCOL')}\n"
    Path(env.subst("$PROJECT_DIR"), "uploaded").write_text(text)
    return 0


AlwaysBuild(env.Alias("upload", elf, env.VerboseAction(upload, "Uploading $SOURCE")))
Default(env.Alias("buildprog", elf))
