# SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output
import shutil

from SCons.Script import COMMAND_LINE_TARGETS, AlwaysBuild, Builder, Default, DefaultEnvironment

env = DefaultEnvironment()
board = env.BoardConfig()
host = board.get("build.cpu") == "host"


def first_program(*names):
    path = env["ENV"].get("PATH")
    return next((n for n in names if shutil.which(n, path=path)), names[0])


prefix = board.get("build.toolchain", "")
env.Replace(
    AR=prefix + "gcc-ar",
    AS=prefix + "as",
    CC=prefix + "gcc",
    CXX=prefix + "g++",
    GDB=first_program(prefix + "gdb", "gdb-multiarch"),
    OBJCOPY=prefix + "objcopy",
    RANLIB=prefix + "gcc-ranlib",
    SIZETOOL=prefix + "size",
    ARFLAGS=["rc"],
    SIZEPROGREGEXP=r"^(?:\.text|\.data|\.rodata|\.tflmgen_weights|\.ARM\.exidx)\s+(\d+).*",
    SIZEDATAREGEXP=r"^(?:\.data|\.bss|\.tflmgen_state|\.tflmgen_zero_state|\.tflmgen_arena(?:_\d+)?)\s+(\d+).*",
    SIZECHECKCMD="$SIZETOOL -A -d $SOURCES",
    SIZEPRINTCMD="$SIZETOOL -B -d $SOURCES",
    PROGNAME="firmware",
    PROGSUFFIX=".elf",
)
env.Append(
    BUILDERS={
        "ElfToBin": Builder(
            action=env.VerboseAction("$OBJCOPY -O binary $SOURCES $TARGET", "Building $TARGET"), suffix=".bin"
        )
    }
)

elf = "$BUILD_DIR/${PROGNAME}.elf" if "nobuild" in COMMAND_LINE_TARGETS else env.BuildProgram()
program = elf if host else env.ElfToBin("$BUILD_DIR/${PROGNAME}", elf)
if not host and "nobuild" not in COMMAND_LINE_TARGETS:
    env.Depends(program, "checkprogsize")
AlwaysBuild(env.Alias("nobuild", program))
buildprog = env.Alias("buildprog", program, program)
size = env.Alias("size", elf, env.VerboseAction("$SIZEPRINTCMD", "Calculating size $SOURCE"))
AlwaysBuild(size)

# exec and upload run the firmware in the emulator, as those of PlatformIO's `native` platform do.
emulator = [*board.get("build.qemu.command", []), "-kernel"]
env.SetDefault(RUNNER=[] if host else emulator, UPLOADCMD="$RUNNER $SOURCE")
run = env.VerboseAction("$UPLOADCMD", "Running $SOURCE")
env.AddPlatformTarget("exec", elf, run, "Run in the emulator")
AlwaysBuild(env.Alias("upload", elf, run))

Default([buildprog, size])
