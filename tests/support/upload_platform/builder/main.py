"""As a builder of PlatformIO's own: tools and upload actions of its own, soft-float flags for bare metal."""

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
        LIBS=["c", "gcc", "m", "stdc++"],
    )
elf = env.BuildProgram()
upload = env.VerboseAction("echo uploaded $SOURCE to $UPLOAD_PORT by $UPLOAD_PROTOCOL", "Uploading $SOURCE")
AlwaysBuild(env.Alias("upload", elf, upload))
Default(env.Alias("buildprog", elf))
