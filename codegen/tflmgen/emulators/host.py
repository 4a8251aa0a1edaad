"""The host as a board: the same generated C, compiled by the host's compiler, served over standard input and output."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from tflmgen.emulators.process import PipeStream, open_pipe
from tflmgen.errors import TflmgenError
from tflmgen.project import read_about
from tflmgen.toolchain import find_host_compiler, run_tool

EXACT = ("-ffp-contract=off", "-fno-math-errno", "-fno-delete-null-pointer-checks")
"""Options without which results may differ. GCC 12 for x86-64 addresses the elements of two widths in an arena from
NULL, takes the accesses for undefined, and drops the call of a function that does nothing else."""

FLAGS = ("-std=c99", "-O2", "-g", "-Wall", "-Wextra", *EXACT)
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


class HostBuildError(TflmgenError):
    """The host's compiler rejects the project; the text is the compiler's."""


def compile_host(project: Path, program: Path, sanitize: bool = False) -> None:
    """Compiles the libraries of the project in folder `project`, with a server of the protocol, to `program`."""
    name = read_about(project).get("name")
    if name is None:
        raise HostBuildError(f"{project}: not a project that tflmgen made")
    libraries = [project / "lib" / "tflmgen", project / "lib" / name]
    sources = [str(path) for library in libraries for path in sorted((library / "src").glob("*.c"))]
    includes = [f"-I{library / 'include'}" for library in libraries]
    link = str(files("tflmgen.firmware").joinpath("runtime/link_host.c"))
    command = [str(find_host_compiler()), *FLAGS, *(SANITIZERS if sanitize else ()), *includes]
    command += [f"-DTFLMGEN_HOST_MODEL={name}_model", *sources, link, "-o", str(program), "-lm"]
    process = run_tool(command)
    if process.returncode != 0:
        raise HostBuildError(f"{project}: {command[0]} cannot compile it\n{process.stderr}")


@contextmanager
def run_host(project: Path, sanitize: bool = False) -> Iterator[PipeStream]:
    """Compiles the project's model into a temporary folder and runs it while the context lasts."""
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        program = Path(folder) / "firmware"
        compile_host(project, program, sanitize)
        with open_pipe([str(program)]) as stream:
            yield stream
