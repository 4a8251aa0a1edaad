"""The C, hand-written and generated, before three compilers and cppcheck."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.repository import ROOT, page_named, tracked_files
from support.sampling import sampled
from support.tools import may_lack
from tflmgen.architectures.arm import ARM
from tflmgen.compiler import compile_model
from tflmgen.hardware.board import HOST, list_boards, load_board
from tflmgen.options import BuildOptions, Optimize
from tflmgen.project.assemble import write
from tflmgen.project.firmware_build import plan_for, project_of

FIRMWARE = ROOT / "firmware"
CLANG_FORMAT = Path(sys.executable).with_name("clang-format")
TESTS = ROOT / "tests"
KERNELS = sorted((FIRMWARE / "kernels").glob("*.h"))
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O2", "-c")
BOARDS = {board.id: board for board in (*list_boards(), load_board("host"))}
PROCESSORS = {board.cpu_flags: board.id for board in BOARDS.values() if board.architecture is ARM}
OTHERS = {board.cpu_flags: board.id for board in BOARDS.values() if board.architecture not in (ARM, HOST.architecture)}
COMPILERS = [
    *(("gcc", "host"), ("clang", "host")),
    *(("arm-none-eabi-gcc", id) for id in PROCESSORS.values()),
    *((chain.compiler, id) for id in OTHERS.values() if (chain := BOARDS[id].architecture.toolchain)),
]


def run(*command: str | Path) -> None:
    if may_lack(str(command[0])):
        pytest.skip(f"needs {command[0]}")
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_c_has_one_style() -> None:
    """.clang-format, and lines that fit; blocks of assembly made of macros are laid out by hand."""
    files = [path for path in tracked_files() if path.suffix in {".c", ".h", ".cpp"} and TESTS not in path.parents]
    run(CLANG_FORMAT, "--dry-run", "-Werror", *files)
    assert not [path for path in files for line in path.read_text(encoding="utf-8").splitlines() if len(line) > 120]


@pytest.mark.parametrize("board", ["host", "mps2_an386", "mps3_an547"])
def test_generated_c_has_that_style_too(board: str, tmp_path: Path) -> None:
    """All of it but arrays of data; examples with loops, branches, streams and state."""
    for model in sorted(
        path for path in (ROOT / "examples").rglob("*.tflite") if path.parent.name not in ("erfinv", "quantize")
    ):
        for optimize in Optimize.BALANCED, Optimize.RAM:
            sources = compile_model(model, BOARDS[board].target, BuildOptions(optimize=optimize)).sources
            for path, text in sources.files.items():
                (tmp_path / f"{model.stem}-{optimize.value}-{Path(path).name}").write_text(text, encoding="utf-8")
    files = [*sorted(tmp_path.glob("*.[ch]")), *sorted((TESTS / "golden").rglob("*.[ch]"))]
    assert any("case 0:" in path.read_text(encoding="utf-8") for path in files)
    run(CLANG_FORMAT, f"--style=file:{ROOT / '.clang-format'}", "--dry-run", "-Werror", *files)


def write_library(folder: Path, board: str) -> Path:
    """The example's generated library beside the kernels, as in a project, and a file that includes every kernel."""
    sources = compile_model(ROOT / "examples" / "gate.tflite", BOARDS[board].target, BuildOptions()).sources
    for path, text in sources.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "include" / "tflmgen").symlink_to(FIRMWARE / "kernels")
    lines = [f'#include "tflmgen/{header.name}"\n' for header in KERNELS]
    (folder / "src" / "kernels.c").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_library(tmp_path_factory.mktemp("example"), "host")


def includes(folder: Path) -> tuple[str, ...]:
    return (f"-I{folder / 'include'}", f"-I{FIRMWARE / 'runtime'}")


@pytest.mark.parametrize(("compiler", "board"), COMPILERS)
def test_compilers_accept_the_generated_c(compiler: str, board: str, tmp_path: Path) -> None:
    folder = write_library(tmp_path, board)
    for path in sorted((folder / "src").glob("*.c")):
        flags = (*BOARDS[board].cpu_flags, *BOARDS[board].header_flags)
        run(compiler, *flags, *WARNINGS, *includes(folder), path, "-o", path.with_suffix(".o"))


@pytest.mark.parametrize("board", sampled(["mps3_an547", "mps2_an386", "mps2_an385_m0"], 3))
def test_each_kernel_header_stands_alone_on_each_core(board: str) -> None:
    for header in KERNELS:
        run("arm-none-eabi-gcc", *BOARDS[board].cpu_flags, *WARNINGS, "-fsyntax-only", "-xc", header)


@pytest.mark.parametrize("board", ["mps2_an385_m0", "mps2_an386", "mps3_an547"])
def test_kernels_compile_without_optimisation(board: str, tmp_path: Path) -> None:
    """As for a debugger: their assembly then has fewer registers."""
    source = tmp_path / "all.c"
    source.write_text("".join(f'#include "{header}"\n' for header in KERNELS))
    options = ("-O0", "-fkeep-static-functions", "-c", "-o", tmp_path / "all.o")
    run("arm-none-eabi-gcc", *BOARDS[board].cpu_flags, *WARNINGS, *options, source)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("interface", [1, 3])
def test_compilers_accept_the_counting_plugin(compiler: str, interface: int) -> None:
    for source in sorted((FIRMWARE / "count").glob("*.c")):
        run(compiler, *WARNINGS, f"-DTFLMGEN_PLUGIN_API={interface}", source, "-o", "/dev/null")


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_public_headers_are_cpp(compiler: str, example: Path, tmp_path: Path) -> None:
    headers = ['"gate.h"', "<tflmgen.h>", "<tflmgen/board.h>", "<tflmgen/serve.h>"]
    (tmp_path / "main.cpp").write_text(
        "".join(f"#include {h}\n" for h in headers) + "int main() { return gate_invoke(); }\n"
    )
    include = (f"-I{FIRMWARE / 'runtime'}", f"-I{example / 'include'}")
    run(compiler, "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *include, tmp_path / "main.cpp")


CPPCHECK = (
    "cppcheck",
    "--std=c99",
    "--enable=warning,performance,portability,information",  # the last tells what it could not read
    *(
        f"--suppress={kind}"
        for kind in ("missingInclude", "missingIncludeSystem", "ConfigurationNotChecked", "unmatchedSuppression")
    ),
    "--inline-suppr",
    "--max-configs=40",
    "--quiet",
    "--error-exitcode=1",
)


def macros_of(board: str) -> list[str]:
    """What the compiler defines of a board's instructions, as options; with them, cppcheck reads no other choice."""
    compiler = "gcc" if BOARDS[board].is_host else "arm-none-eabi-gcc"
    command = [compiler, *BOARDS[board].cpu_flags, "-dM", "-E", "-xc", "-"]
    defined = subprocess.run(command, input="", capture_output=True, text=True, check=True).stdout
    macros = re.findall(r"^#define (__thumb__|__OPTIMIZE\w*|__ARM_\w+|__x86_64__) (\S+)$", defined, re.M)
    return [f"-D{name}={value}" for name, value in macros]


def test_cppcheck_finds_nothing_in_the_firmware(example: Path) -> None:
    run(*CPPCHECK, *includes(example), FIRMWARE)


@pytest.mark.parametrize("board", ["host", "mps2_an385_m0", "mps2_an386", "mps3_an547"])
def test_cppcheck_finds_nothing_in_what_is_generated(board: str, example: Path) -> None:
    """With all kernels, and each choice that they make by the instructions of a core."""
    if may_lack("cppcheck") or may_lack("arm-none-eabi-gcc"):
        pytest.skip("needs cppcheck and arm-none-eabi-gcc")
    run(*CPPCHECK, *macros_of(board), *includes(example), example / "src")


def test_kernels_reach_elements_through_types_that_may_alias() -> None:
    """`tflmgen_f32 *`, not `float *`: the arena holds values of many types, and no build gives -fno-strict-aliasing."""
    plain = re.compile(r"\b(u?int(16|32|64)_t|float|double|bool|int|long|short) \*|, (u?int(16|32|64)_t|float)[,)]")
    code = {k.name: re.sub(r"/\*.*?\*/", "", k.read_text(encoding="utf-8"), flags=re.DOTALL) for k in KERNELS}
    assert not [(name, m[0]) for name, text in code.items() for m in plain.finditer(text)]


STRUCT = re.compile(r"struct (tflmgen_\w+)\s*{([^{}]*)};")
FIELD = re.compile(r"(\w+)(?:\[[^]]*\])*$")
FUNCTION = re.compile(r"\(([^(){};]*const struct tflmgen_\w+ \*[^(){};]*)\)\s*{")


def fields_and_reads(flags: Sequence[str]) -> tuple[set[str], set[str]]:
    """The fields of structs that kernels have as parameters, and those of them that compiled C reads.

    Each field is marked as deprecated, so that the compiler names it wherever it is used. Structs that only assembly
    reads, which are laid out for it by C, are left out.
    """
    includes = "".join(f'#include "{header.name}"\n' for header in KERNELS)
    compiler = ("arm-none-eabi-gcc", *flags)
    expand = [*compiler, "-E", "-P", f"-I{FIRMWARE / 'kernels'}", "-"]
    text = subprocess.run(expand, input=includes, capture_output=True, text=True, check=True).stdout
    taken, by_assembly = set(), set()
    functions = list(FUNCTION.finditer(text))
    for function, end in zip(functions, [*(f.start() for f in functions[1:]), len(text)], strict=True):
        body = text[function.end() : end]
        for struct, name in re.findall(r"const struct (tflmgen_\w+) \*\s*(\w+)", function[1]):
            taken.add(struct)
            if "__asm__" in body and f"{name}->" not in body:
                by_assembly.add(struct)
    fields = set()

    def marked(match: re.Match[str]) -> str:
        if match[1] not in taken - by_assembly:
            return match[0]
        lines = []
        for field in match[2].strip().rstrip(";").split(";"):
            name = f"{match[1]}.{FIELD.findall(field)[0]}"
            fields.add(name)
            lines.append(f'{field} __attribute__((deprecated("{name}")));\n')
        return f"struct {match[1]} {{\n{''.join(lines)}}};"

    check = [*compiler, "-std=c99", "-fsyntax-only", "-Wdeprecated-declarations", "-xc", "-"]
    done = subprocess.run(check, input=STRUCT.sub(marked, text), capture_output=True, text=True, check=True)
    return fields, set(re.findall(r"deprecated: (tflmgen_\w+\.\w+)", done.stderr))


def test_kernels_read_each_field_of_their_params() -> None:
    """Generated code carries every field in flash wherever a compiler does not fold it."""
    if may_lack("arm-none-eabi-gcc"):
        pytest.skip("needs arm-none-eabi-gcc")
    fields_by_board = [
        fields_and_reads(BOARDS[board].cpu_flags) for board in ("mps2_an385_m0", "mps2_an386", "mps3_an547")
    ]
    fields, reads = (set().union(*parts) for parts in zip(*fields_by_board, strict=True))
    assert len(fields) > 500
    assert fields - reads == set()


def test_no_heap_and_no_stdio() -> None:
    forbidden = re.compile(
        r"\b(malloc|calloc|realloc|free|printf|fprintf|sprintf|snprintf|puts)\s*\(|<(stdio|stdlib)\.h>"
    )
    on_the_host = [
        FIRMWARE / "runtime" / "link_host.c",
        *(FIRMWARE / "count").iterdir(),
        *(FIRMWARE / "host").iterdir(),
    ]
    files = [path for path in FIRMWARE.rglob("*.[ch]") if path not in on_the_host]
    assert files
    assert not [path.name for path in files if forbidden.search(path.read_text(encoding="utf-8"))]


def test_public_names_begin_with_tflmgen() -> None:
    function = re.compile(r"^(?:[A-Z_]+ |static inline |extern )?[a-z_0-9]+ \**([a-z_0-9]+)\(", re.MULTILINE)
    names = [n for header in KERNELS for n in function.findall(header.read_text(encoding="utf-8"))]
    assert len(names) > len(KERNELS)
    assert not [n for n in names if not n.startswith(("tflmgen_", "__attribute__"))]


def write_projects(folder: Path, board_id: str) -> list[Path]:
    """A whole project of each example."""
    board, options, projects = BOARDS[board_id], BuildOptions(), []
    for model in sorted((ROOT / "examples").glob("*.tflite")):
        projects.append(folder / model.stem)
        write(project_of(plan_for(model, board, options), board, options), projects[-1])
    assert projects
    return projects


def project_sources(project: Path) -> list[Path]:
    return sorted([*(project / "lib").rglob("*.c"), *(project / "platform" / "runtime").glob("*.c")])


def project_includes(project: Path) -> list[str]:
    return [f"-I{path}" for path in (*(project / "lib").glob("*/include"), project / "platform" / "runtime")]


@pytest.mark.parametrize(("compiler", "board"), [("gcc", "host"), ("arm-none-eabi-gcc", "nucleo_f446re")])
def test_gcc_analyzer_finds_nothing(compiler: str, board: str, tmp_path: Path) -> None:
    analysed = set()
    for project in write_projects(tmp_path, board):
        options = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-fanalyzer", *project_includes(project)]
        for path in project_sources(project):
            text = path.read_text(encoding="utf-8")
            if text in analysed:  # the runtime, which every project has
                continue
            analysed.add(text)
            run(compiler, *BOARDS[board].cpu_flags, *options, "-c", path, "-o", "/dev/null")


def misra_rules(*arguments: str | Path) -> set[str]:
    if may_lack("cppcheck"):
        pytest.skip("needs cppcheck")
    command = ["cppcheck", "--addon=misra", "--std=c99", "--quiet", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return set(re.findall(r"misra-c2012-([0-9.]+)", done.stderr))


def listed_rules() -> set[str]:
    page = page_named("c-quality").read_text(encoding="utf-8")
    return {rule for row in re.findall(r"^\| ([0-9., ]+) \|", page, re.MULTILINE) for rule in row.split(", ")}


def test_deviations_from_misra_are_listed(tmp_path: Path) -> None:
    project = write_projects(tmp_path, "nucleo_f446re")[0]
    rules = misra_rules(*project_includes(project), *project_sources(project), FIRMWARE / "runtime" / "link_host.c")
    assert len(rules) > 10
    assert rules <= listed_rules()


@pytest.mark.sweep
def test_deviations_of_all_kernels_from_misra_are_listed(example: Path) -> None:
    rules = misra_rules(*includes(example), example / "src" / "kernels.c")
    assert len(rules) > 10
    assert rules <= listed_rules()
