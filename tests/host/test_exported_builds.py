"""Exported libraries in the build systems that they are for, or in stand-ins of these: the examples run."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from support.commands import write_two_signatures
from support.exported import STAND_INS, check_printed, expected_lines, exported, run
from support.model_writer import ModelWriter
from support.repository import ROOT
from support.tools import requires, requires_compiler

GATE = ROOT / "examples" / "gate.tflite"
LSTM = ROOT / "examples" / "lstm_sequences.tflite"
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")

requires_cmake = requires("cmake")
requires_make = requires("make")


@pytest.fixture(params=["gate", "lstm_sequences", "two"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """int8 with an If; float32 with a While; two signatures."""
    if request.param == "two":
        return write_two_signatures(tmp_path / "two.tflite")
    return ROOT / "examples" / f"{request.param}.tflite"


@requires_make
def test_plain(model: Path, tmp_path: Path) -> None:
    folder = exported(model, "plain", tmp_path)
    run("make", "-s", f"CFLAGS=-O2 -std=c99 {' '.join(WARNINGS)}", cwd=folder)
    check_printed(run(folder / "example"), expected_lines(model))


@requires_make
def test_an_input_that_comes_row_by_row(tmp_path: Path) -> None:
    folder = exported(GATE, "plain", tmp_path, "--push-rows", "frame")
    run("make", "-s", f"CFLAGS=-O2 -std=c99 {' '.join(WARNINGS)}", cwd=folder)
    check_printed(run(folder / "example"), expected_lines(GATE))


def write_frame_and_offsets(path: Path) -> Path:
    """sum = exp(frame) + exp(offsets), images of 3 x 2."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    names = ("frame", "offsets", "f", "o", "sum")
    frame, offsets, *raised, total = (graph.tensor(name, "float32", [1, 3, 2, 1]) for name in names)
    graph.operator("EXP", [frame], [raised[0]])
    graph.operator("EXP", [offsets], [raised[1]])
    graph.operator("ADD", raised, [total])
    graph.inputs, graph.outputs = [frame, offsets], [total]
    path.write_bytes(writer.finish())
    return path


@requires_make
@pytest.mark.parametrize(
    ("options", "writes_before_rows"), [(("--push-rows", "frame"), 1), (("--slide", "frame=1,1"), 0)]
)
def test_further_inputs_are_whole_before_rows_and_come_with_each_hop(
    options: tuple[str, str], writes_before_rows: int, tmp_path: Path
) -> None:
    """As docs/use/streams.md and docs/use/windows.md ask of users."""
    model = write_frame_and_offsets(tmp_path / "shifted.tflite")
    folder = exported(model, "plain", tmp_path, *options)
    before, _, loop = (folder / "examples" / "main.c").read_text(encoding="utf-8").partition("do {")
    write = "memset(shifted_input_offsets()"
    assert (before.count(write), loop.count(write)) == (writes_before_rows, 1 - writes_before_rows)
    run("make", "-s", f"CFLAGS=-O2 -std=c99 {' '.join(WARNINGS)}", cwd=folder)
    check_printed(run(folder / "example"), expected_lines(model))


@requires_make
def test_a_library_of_several_instances(tmp_path: Path) -> None:
    folder = exported(LSTM, "plain", tmp_path, "--reentrant")
    run("make", "-s", f"CFLAGS=-O2 -std=c99 {' '.join(WARNINGS)}", cwd=folder)
    check_printed(run(folder / "example"), expected_lines(LSTM))


@requires_make
def test_plain_as_a_library(tmp_path: Path) -> None:
    """`make lib`, within a program that is built by other means; a second one does nothing."""
    folder = exported(GATE, "plain", tmp_path)
    run("make", "-s", "lib", f"CFLAGS=-O2 -std=c99 {' '.join(WARNINGS)}", cwd=folder)
    assert not (folder / "example").exists()
    library = (f"-I{folder / 'include'}", f"-L{folder}", "-lgate", "-lm")
    run("gcc", folder / "examples" / "main.c", *library, "-o", tmp_path / "program")
    check_printed(run(tmp_path / "program"), expected_lines(GATE))
    assert "up to date" in run("make", "lib", cwd=folder) or "Nothing to be done" in run("make", "lib", cwd=folder)
    (folder / "include" / "gate.h").touch()
    assert "gate.o" in run("make", "lib", cwd=folder)
    run("make", "-s", "clean", cwd=folder)
    assert not list(folder.rglob("*.[ao]"))


@requires_make
@requires_compiler
def test_plain_for_a_board(tmp_path: Path) -> None:
    folder = exported(GATE, "plain", tmp_path, "--board", "mps3_an547")
    run("make", "-s", cwd=folder)
    assert "cortex-m55" in (folder / "README.md").read_text(encoding="utf-8")
    flags = run("arm-none-eabi-readelf", "-A", folder / "libgate.a")
    assert "Tag_MVE_arch: MVE Integer and FP" in flags


@requires_cmake
def test_cmake_alone(model: Path, tmp_path: Path) -> None:
    folder = exported(model, "cmake", tmp_path)
    build = tmp_path / "build"
    run("cmake", "-S", folder, "-B", build, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_C_FLAGS={' '.join(WARNINGS)}")
    run("cmake", "--build", build)
    run("ctest", "--test-dir", build, "--output-on-failure")
    check_printed(run(build / f"{model.stem}_example"), expected_lines(model))


APPLICATION = """\
cmake_minimum_required(VERSION 3.13)
project(application LANGUAGES C CXX)
add_subdirectory(library)
add_executable(application main.cpp)
target_link_libraries(application PRIVATE tflmgen::gate)
"""

MAIN = """\
#include <gate.h>
#include <cstdio>
#include <cstring>

int main() {
  std::memset(gate_input(), 0, GATE_INPUT_BYTES);
  if (gate_invoke() != TFLMGEN_OK) return 1;
  const int8_t *scores = gate_output();
  std::printf("scores:");
  for (int i = 0; i < GATE_OUTPUT_ELEMENTS; ++i) std::printf(" %d", scores[i]);
  std::printf("\\n");
}
"""


@requires_cmake
@requires("g++")
def test_cmake_within_a_program_in_cpp(tmp_path: Path) -> None:
    shutil.copytree(exported(GATE, "cmake", tmp_path), tmp_path / "app" / "library")
    (tmp_path / "app" / "CMakeLists.txt").write_text(APPLICATION, encoding="utf-8")
    (tmp_path / "app" / "main.cpp").write_text(MAIN, encoding="utf-8")
    run("cmake", "-S", tmp_path / "app", "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    check_printed(run(tmp_path / "build" / "application"), expected_lines(GATE))


PACKAGE_USER = """\
cmake_minimum_required(VERSION 3.13)
project(application LANGUAGES C CXX)
find_package(gate 0.1 REQUIRED)
add_executable(application main.cpp)
target_link_libraries(application PRIVATE tflmgen::gate)
"""


@requires_cmake
@requires("g++")
def test_cmake_installed_and_found(tmp_path: Path) -> None:
    folder = exported(GATE, "cmake", tmp_path)
    run("cmake", "-S", folder, "-B", tmp_path / "library")
    run("cmake", "--build", tmp_path / "library")
    run("cmake", "--install", tmp_path / "library", "--prefix", tmp_path / "installed")
    shutil.rmtree(folder)
    installed = {path.name for path in (tmp_path / "installed").rglob("*") if path.is_file()}
    assert {"libgate.a", "gate.h", "tflmgen.h", "LICENSE", "LICENSE-EXCEPTION"} <= installed
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "CMakeLists.txt").write_text(PACKAGE_USER, encoding="utf-8")
    (tmp_path / "app" / "main.cpp").write_text(MAIN, encoding="utf-8")
    prefix = f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}"
    run("cmake", "-S", tmp_path / "app", "-B", tmp_path / "build", prefix)
    run("cmake", "--build", tmp_path / "build")
    check_printed(run(tmp_path / "build" / "application"), expected_lines(GATE))


@requires_cmake
def test_cmake_within_a_program_installs_nothing_of_its_own(tmp_path: Path) -> None:
    shutil.copytree(exported(GATE, "cmake", tmp_path), tmp_path / "app" / "library")
    program = APPLICATION.replace("main.cpp", "library/examples/main.c")
    (tmp_path / "app" / "CMakeLists.txt").write_text(program, encoding="utf-8")
    run("cmake", "-S", tmp_path / "app", "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    run("cmake", "--install", tmp_path / "build", "--prefix", tmp_path / "installed")
    assert not [path for path in (tmp_path / "installed").rglob("*") if path.is_file()]


TWO_MODELS = """\
#include <gate.h>
#include <lstm_sequences.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    memset(gate_input(), 0, GATE_INPUT_BYTES);
    memset(lstm_sequences_input(), 0, LSTM_SEQUENCES_INPUT_BYTES);
    if (lstm_sequences_invoke() != TFLMGEN_OK || gate_invoke() != TFLMGEN_OK) {
        return 1;
    }
    printf("scores:");
    for (int i = 0; i < GATE_OUTPUT_ELEMENTS; ++i) {
        printf(" %d", gate_output()[i]);
    }
    printf("\\nIdentity:");
    for (int i = 0; i < 16; ++i) {
        printf(" %g", (double)lstm_sequences_output()[i]);
    }
    printf("\\n");
    return 0;
}
"""


@requires_cmake
def test_two_models_in_one_program(tmp_path: Path) -> None:
    application = tmp_path / "app"
    for model in (GATE, LSTM):
        shutil.copytree(exported(model, "cmake", tmp_path / model.stem), application / model.stem)
    lines = ["cmake_minimum_required(VERSION 3.13)", "project(application LANGUAGES C)"]
    lines += [f"add_subdirectory({model.stem})" for model in (GATE, LSTM)]
    lines += ["add_executable(application main.c)"]
    lines += ["target_link_libraries(application PRIVATE tflmgen::gate tflmgen::lstm_sequences)"]
    (application / "CMakeLists.txt").write_text("\n".join(lines), encoding="utf-8")
    (application / "main.c").write_text(TWO_MODELS, encoding="utf-8")
    run("cmake", "-S", application, "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    check_printed(run(tmp_path / "build" / "application"), {**expected_lines(GATE), **expected_lines(LSTM)})


@requires_cmake
@requires_compiler
def test_cmake_for_a_board(tmp_path: Path) -> None:
    folder = exported(GATE, "cmake", tmp_path, "--board", "mps2_an386")
    cross = ("-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_C_COMPILER=arm-none-eabi-gcc")
    library = "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"
    flags = f"-DCMAKE_C_FLAGS=-mcpu=cortex-m4 -mthumb {' '.join(WARNINGS)}"
    run("cmake", "-S", folder, "-B", tmp_path / "build", *cross, library, flags, "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", tmp_path / "build")
    code = run("arm-none-eabi-objdump", "-d", tmp_path / "build" / "libgate.a")
    assert "smlad" in code


@requires_cmake
def test_zephyr_sample(model: Path, tmp_path: Path) -> None:
    folder = exported(model, "zephyr", tmp_path)
    build = tmp_path / "build"
    stand_in = f"-DZephyr_DIR={STAND_INS / 'zephyr'}"
    run("cmake", "-S", folder / "samples" / model.stem, "-B", build, stand_in, f"-DCMAKE_C_FLAGS={' '.join(WARNINGS)}")
    run("cmake", "--build", build)
    check_printed(run(build / "app"), expected_lines(model))


@requires_cmake
def test_esp_idf_example(model: Path, tmp_path: Path) -> None:
    folder = exported(model, "esp-idf", tmp_path)
    build = tmp_path / "build"
    environment = {**os.environ, "IDF_PATH": str(STAND_INS / "esp_idf")}
    flags = f"-DCMAKE_C_FLAGS={' '.join(WARNINGS)}"
    run("cmake", "-S", folder / "examples" / model.stem, "-B", build, flags, env=environment)
    run("cmake", "--build", build)
    check_printed(run(build / "app"), expected_lines(model))


@requires("g++")
def test_arduino_sketch(model: Path, tmp_path: Path) -> None:
    """As Arduino does it: all of src/ compiled, src/ the one folder to search, the sketch as C++ after Arduino.h."""
    folder = exported(model, "arduino", tmp_path)
    (sketch,) = folder.glob("examples/*/*.ino")
    objects = []
    for source in sorted(folder.glob("src/**/*.c")):
        objects.append(tmp_path / f"{source.stem}.o")
        run("gcc", "-Os", "-std=gnu11", *WARNINGS, f"-I{folder / 'src'}", "-c", source, "-o", objects[-1])
    core = STAND_INS / "arduino" / "Arduino.h"
    program = tmp_path / "sketch"
    run("g++", "-include", core, f"-I{folder / 'src'}", "-xc++", sketch, "-xnone", *objects, "-lm", "-o", program)
    check_printed(run(program), expected_lines(model))


@requires_compiler
@pytest.mark.parametrize("level", ["-O2", "-Os"])
def test_the_pragma_does_what_the_flags_do(level: str, tmp_path: Path) -> None:
    """The same instructions as without it and with the flags: no product is fused with a sum."""
    arduino, plain = exported(LSTM, "arduino", tmp_path), exported(LSTM, "plain", tmp_path)
    fpu = ("-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
    compile_only = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", *fpu, level, "-c")
    code = []
    for include, source, flags in (
        (arduino / "src", arduino / "src" / "lstm_sequences.c", ()),
        (
            plain / "include",
            plain / "src" / "lstm_sequences.c",
            ("-ffp-contract=off", "-fno-delete-null-pointer-checks", "-DTFLMGEN_FLAGS_GIVEN"),
        ),
    ):
        run(*compile_only, *flags, f"-I{include}", source, "-o", tmp_path / "one.o")
        code.append(run("arm-none-eabi-objdump", "-d", "--no-show-raw-insn", tmp_path / "one.o").split("\n", 3)[3])
    assert code[0] == code[1]
    assert "vadd.f32" in code[0]
    assert not re.search(r"vfn?m[as]", code[0])


def test_platformio_library(tmp_path: Path) -> None:
    """PlatformIO accepts the manifest, and builds the example within a project for this computer."""
    folder = exported(GATE, "platformio", tmp_path)
    pio = (sys.executable, "-m", "platformio")
    run(*pio, "pkg", "pack", "-o", tmp_path / "gate.tar.gz", folder)
    project = tmp_path / "project"
    run(sys.executable, "-m", "tflmgen", "build", GATE, "--board", "host", "--no-compile", "-o", project)
    shutil.rmtree(project / "lib")
    shutil.copytree(folder, project / "lib" / "gate")
    shutil.copy(folder / "examples" / "gate" / "src" / "main.c", project / "src" / "main.c")
    (project / "platform" / "runtime" / "link_host.c").write_text("typedef int no_link;\n", encoding="utf-8")
    run(*pio, "run", "-d", project)
    check_printed(run(project / ".pio" / "build" / "host" / "firmware.elf"), expected_lines(GATE))


RISC_V_MEMORY = {"__flash": 0x80000000, "__flash_size": 0x200000, "__ram": 0x80200000, "__ram_size": 0x200000}
"""Of QEMU's machine virt, for picolibc's linker script."""


@pytest.mark.emulator
@requires("riscv64-unknown-elf-gcc")
@requires("qemu-system-riscv32")
def test_on_another_architecture(model: Path, tmp_path: Path) -> None:
    """Portable C on RV32IMC, the instruction set of an ESP32-C3."""
    folder = exported(model, "plain", tmp_path)
    processor = ("-march=rv32imc", "-mabi=ilp32", "-O2", "-std=c99", *WARNINGS)
    system = ("--specs=picolibc.specs", "--oslib=semihost", "--crt0=semihost", "-Tpicolibc.ld")
    memory = [f"-Wl,--defsym={name}={value}" for name, value in RISC_V_MEMORY.items()]
    sources = (*sorted(folder.glob("src/*.c")), folder / "examples" / "main.c")
    elf = tmp_path / "example.elf"
    compiler = ("riscv64-unknown-elf-gcc", *processor, *system, *memory)
    run(*compiler, f"-I{folder / 'include'}", *sources, "-lm", "-o", elf)
    machine = ("-machine", "virt", "-bios", "none", "-display", "none", "-serial", "none", "-monitor", "none")
    output = ("-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out")
    check_printed(run("qemu-system-riscv32", *machine, *output, "-kernel", elf), expected_lines(model))


FAST = ("-Ofast", "-O3 -ffast-math", "-O3 -funsafe-math-optimizations", "-O3 -ffinite-math-only -freciprocal-math")


@requires_compiler
@pytest.mark.parametrize("flags", FAST)
@pytest.mark.parametrize("model", [GATE, LSTM], ids=["int8", "float"])
def test_builds_for_speed_alone_are_as_those_at_o3(model: Path, flags: str, tmp_path: Path) -> None:
    """Arduino cores have such flags: the same instructions as without them, of kernels of integers and of floats."""
    source = exported(model, "arduino", tmp_path) / "src" / f"{model.stem}.c"
    fpu = ("-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
    code = []
    for level in ("-O3", flags):
        command = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", *fpu, *level.split(), f"-I{source.parent}")
        run(*command, "-c", source, "-o", tmp_path / "one.o")
        code.append(run("arm-none-eabi-objdump", "-d", "--no-show-raw-insn", tmp_path / "one.o").split("\n", 3)[3])
    assert code[0] == code[1]
