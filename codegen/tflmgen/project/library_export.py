"""Exports the generated library in the layout of a build system, with an example."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tflmgen.backend import render
from tflmgen.compiler import Compilation
from tflmgen.errors import TflmgenError
from tflmgen.hardware import Board
from tflmgen.options import Format
from tflmgen.project.assemble import LIBRARY, Project
from tflmgen.project.folder import Content, write_folder
from tflmgen.project.folder_lock import exclusive_folder
from tflmgen.version import VERSION

LICENSES = ("LICENSE", "LICENSE-EXCEPTION")
HOMEPAGE = "homepage"


class LicenseMissingError(TflmgenError):
    """The installation lacks the licence files that exports must contain."""


def license_files() -> dict[str, bytes]:
    """The licence and its exception for generated code, by file name."""
    return {name: _license(name).encode() for name in LICENSES}


def homepage() -> str:
    """URL of the project's home page; empty if the metadata has none."""
    try:
        urls = distribution("tflmgen").metadata.get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    labelled = (url.partition(",") for url in urls)
    return next((address.strip() for label, _, address in labelled if label.strip().lower() == HOMEPAGE), "")


def _license(name: str) -> str:
    try:
        text = distribution("tflmgen").read_text(f"licenses/{name}")
    except PackageNotFoundError:
        text = None
    source = Path(__file__).parents[2] / name  # of a source tree that is not installed
    if text is None and source.is_file():
        text = source.read_text(encoding="utf-8")
    if text is None:
        raise LicenseMissingError(f"this installation of tflmgen lacks its {name}: install it again")
    return text


PRINTED = 16
"""Largest number of output elements that an example prints."""

ONLY_IN_PROJECTS = frozenset({"include/tflmgen/board.h", "include/tflmgen/serve.h"})
"""Headers of the firmware that the model itself does not need."""

ARDUINO_NAME = 63
"""Largest number of characters in an Arduino library's name."""


@dataclass(frozen=True, slots=True)
class Export:
    """Files of an export by path. `files` are generated; `examples` are written once and then belong to the user."""

    name: str
    format: Format
    files: Mapping[str, bytes]
    examples: Mapping[str, bytes]


def export(compilation: Compilation, project: Project, board: Board, form: Format) -> Export:
    """Export of a model compiled for `board`; `project` is its project as `build` assembles it."""
    core = dict(_library(compilation, project))
    values = {
        "name": compilation.name,
        "NAME": compilation.name.upper(),
        "version": VERSION,
        "model": "".join(c if c.isprintable() else "?" for c in Path(compilation.module.path).name),
        "sources": sorted(path for path in core if path.endswith(".c")),
        "entries": compilation.sources.entries,
        "reentrant": compilation.sources.is_reentrant,
        "arena_bytes": compilation.program.arena_bytes,
        "printed": PRINTED,
        "format": form.value,
        "folder": form.value.replace("-", "_"),
        "board": board,
        "arduino_name": _arduino_name(compilation.name),
        "numeric_version": re.match(r"[\d.]*\d", VERSION)[0],  # type: ignore[index]
        "homepage": homepage(),
        "api": _api(core[f"include/{compilation.name}.h"].decode(), compilation.name),
        "first_output": re.escape(next((t.port.name for e in compilation.sources.entries for t in e.outputs), "")),
    }

    def render_template(template: str) -> bytes:
        return render(f"export/{template}.j2", **values).encode()

    files, examples = _FORMATS[form].lay_out(core, compilation.name, render_template)
    return Export(
        compilation.name, form, {**files, "README.md": render_template("README.md"), **license_files()}, examples
    )


def next_step(form: Format) -> str:
    """Instruction for the use of an exported library, a sentence."""
    return _FORMATS[form].next_step


def write_export(exported: Export, directory: Path) -> tuple[str, ...]:
    """Writes the export to `directory`; returns the files kept with the user's changes. See folder.write_folder()."""
    about = {"tflmgen": VERSION, "name": exported.name}
    content = Content(exported.format.value, exported.files, {}, exported.examples, about)
    with exclusive_folder(directory):
        return write_folder(content, directory)


def _library(compilation: Compilation, project: Project) -> Iterator[tuple[str, bytes]]:
    """The model, its kernels and plug-ins: include/... and src/..."""
    model = f"lib/{compilation.name}/"
    for path, data in project.files:
        if path.startswith(model) and path.endswith((".c", ".h")):
            yield path.removeprefix(model), data
        elif path.startswith(f"{LIBRARY}/"):
            name = path.removeprefix(f"{LIBRARY}/")
            if name in compilation.plugin_files or (name.startswith("include/") and name not in ONLY_IN_PROJECTS):
                yield name, data


Files = Mapping[str, bytes]
Make = Callable[[str], bytes]


Layout = Callable[[Files, str, Make], tuple[Files, Files]]
"""The library, the model's name and what renders a template -> generated files, and examples of the user's."""


@dataclass(frozen=True, slots=True)
class _ExportFormat:
    """Layout of files for one build system, and the user's next step; templates/export/ has a folder for each."""

    lay_out: Layout
    next_step: str


def _listed_in(file: str, template: str) -> Layout:
    """Layout of include/, src/ and one file that lists them; braces in its path stand for the model's name."""

    def lay_out(core: Files, name: str, make: Make) -> tuple[Files, Files]:
        return {**core, file.format(name): make(template)}, {"examples/main.c": make("main.c")}

    return lay_out


def _platformio(core: Files, name: str, make: Make) -> tuple[Files, Files]:
    example = f"examples/{name}"
    return (
        {**core, "library.json": make("platformio/library.json")},
        {f"{example}/src/main.c": make("main.c"), f"{example}/platformio.ini": make("platformio/example.ini")},
    )


def _zephyr(core: Files, name: str, make: Make) -> tuple[Files, Files]:
    files = {f"zephyr/{file}": make(f"zephyr/{file}") for file in ("module.yml", "CMakeLists.txt", "Kconfig")}
    sample = f"samples/{name}"
    return (
        {**core, **files},
        {
            f"{sample}/src/main.c": make("main.c"),
            **{
                f"{sample}/{file}": make(f"zephyr/sample/{file}")
                for file in ("CMakeLists.txt", "prj.conf", "sample.yaml")
            },
        },
    )


def _esp_idf(core: Files, name: str, make: Make) -> tuple[Files, Files]:
    files = {file: make(f"esp_idf/{file}") for file in ("CMakeLists.txt", "idf_component.yml")}
    example = f"examples/{name}"
    return (
        {**core, **files},
        {
            f"{example}/CMakeLists.txt": make("esp_idf/example/CMakeLists.txt"),
            f"{example}/main/CMakeLists.txt": make("esp_idf/example/main/CMakeLists.txt"),
            f"{example}/main/main.c": make("main.c"),
        },
    )


def _arduino(core: Files, name: str, make: Make) -> tuple[Files, Files]:
    """Arduino layout: all files in src/, the only folder that Arduino compiles and searches."""
    files = {f"src/{path.partition('/')[2]}": data for path, data in core.items()}
    example = _arduino_name(name)
    return (
        {
            **files,
            "library.properties": make("arduino/library.properties"),
            "keywords.txt": make("arduino/keywords.txt"),
        },
        {f"examples/{example}/{example}.ino": make("arduino/example.ino")},
    )


def _api(header: str, name: str) -> dict[str, list[str]]:
    """Functions and constants declared by the model's header."""
    functions = re.findall(rf"^[a-z][\w ]*[ *]({name}\w*)\(", header, re.MULTILINE)
    constants = re.findall(rf"^#define ({name.upper()}_\w+) ", header, re.MULTILINE)
    return {"functions": functions, "constants": constants}


def _arduino_name(name: str) -> str:
    """Name of the library and its sketch: starts with a letter or digit, and does not clash with Arduino's."""
    reserved = not name[0].isalnum() or name.lower().startswith("arduino")
    return (f"tflmgen_{name}" if reserved else name)[:ARDUINO_NAME]


_FORMATS: Mapping[Format, _ExportFormat] = {
    Format.PLATFORMIO: _ExportFormat(_platformio, "Copy it into your project's lib/."),
    Format.ARDUINO: _ExportFormat(_arduino, "Copy it into your sketchbook's libraries/."),
    Format.CMAKE: _ExportFormat(
        _listed_in("CMakeLists.txt", "cmake/CMakeLists.txt"), "Add it with add_subdirectory()."
    ),
    Format.ZEPHYR: _ExportFormat(_zephyr, "Name it in EXTRA_ZEPHYR_MODULES."),
    Format.ESP_IDF: _ExportFormat(_esp_idf, "Copy it into your project's components/."),
    Format.CMSIS_PACK: _ExportFormat(
        _listed_in("tflmgen.{}.pdsc", "cmsis_pack/package.pdsc"),
        "Add it with cpackget add, or in µVision's Pack Installer.",
    ),
    Format.KEIL: _ExportFormat(
        _listed_in("{}.clayer.yml", "keil/layer.clayer.yml"),
        "Name its .clayer.yml under layers: in your .cproject.yml.",
    ),
    Format.IAR: _ExportFormat(
        _listed_in("{}.ipcf", "iar/connection.ipcf"),
        "Copy it beside your project, and add its .ipcf as a project connection.",
    ),
    Format.STM32CUBEIDE: _ExportFormat(
        _listed_in("{}_settings.xml", "stm32cubeide/settings.xml"),
        "Copy it into your project, import the settings, and add its src/ as a source location.",
    ),
    Format.PLAIN: _ExportFormat(_listed_in("Makefile", "plain/Makefile"), "Add its sources to your build."),
}
