# SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output
from SCons.Script import DefaultEnvironment

env = DefaultEnvironment()
board = env.BoardConfig()
folder = f"{env.subst('$PROJECT_DIR')}/platform"
host = board.get("build.cpu") == "host"
processor = board.get("build.cpu_flags", [])

env.Append(
    ASFLAGS=processor,
    ASPPFLAGS=["-x", "assembler-with-cpp"],
    CCFLAGS=[
        *processor,
        *board.get("build.header_flags", []),
        "-g",
        "-fstack-usage",
        "-Wall",
        "-Wextra",
        "-ffunction-sections",
        "-fdata-sections",
        "-fno-math-errno",
    ],
    CFLAGS=["-std=c99"],
    CXXFLAGS=["-fno-rtti", "-fno-exceptions", "-fno-threadsafe-statics"],
    CPPDEFINES=[("F_CPU", "$BOARD_F_CPU")],
    CPPPATH=["$PROJECT_DIR/lib/tflmgen/include"],
    LINKFLAGS=[*processor, "-Wl,--gc-sections"],
    LIBS=["m"],
)
if not host:
    env.Append(
        LINKFLAGS=[
            "-nostartfiles",
            # One dash: an upload environment takes the platform's own --specs out.
            f"-specs={board.get('build.specs')}",
            "-Wl,--fatal-warnings",
            "-Wl,--no-warn-rwx-segments",
            # Not by $BUILD_DIR, which begins with the project's path: the linker reads commas and % as something else.
            "-Wl,-Map,${TARGET.base}.map",
        ],
        LIBS=["c", "gcc"],
        CPPDEFINES=[
            ("TFLMGEN_ARENA_SECTION", env.StringifyMacro(".tflmgen_arena")),
            ("TFLMGEN_STATE_SECTION", env.StringifyMacro(".tflmgen_state")),
            ("TFLMGEN_ZERO_STATE_SECTION", env.StringifyMacro(".tflmgen_zero_state")),
            ("TFLMGEN_WEIGHTS_SECTION", env.StringifyMacro(".tflmgen_weights")),
        ],
    )

# The runtime goes in as objects, not as an archive: link-time optimisation may not drop what only the linker script or
# newlib's own objects refer to.
runtime = env.Clone()
runtime.Append(CCFLAGS=["-Os", "-fno-lto"])
runtime.BuildSources("$BUILD_DIR/runtime", f"{folder}/runtime")
