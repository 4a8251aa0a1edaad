"""The generated library in the form in which others' build systems take libraries in, with an example that runs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tflmgen import __version__
from tflmgen.backend import render
from tflmgen.compiler import Compilation
from tflmgen.options import Format
from tflmgen.project.assemble import LIBRARY, Project
from tflmgen.project.board import Board
from tflmgen.project.distribution import homepage, license_files
from tflmgen.project.folder import Content, write_folder

PRINTED = 16
"""Elements of an output that an example prints, at most."""

ONLY_IN_PROJECTS = frozenset({"include/tflmgen/board.h", "include/tflmgen/serve.h"})
"""Headers of the firmware around the model."""

ARDUINO_NAME = 63
"""Characters of an Arduino library's name, at most."""


@dataclass(frozen=True, slots=True)
class Export:
    """Files by path: `files` are generated, `examples` are written where absent and the user's from then on."""

    name: str
    format: Format
    files: Mapping[str, bytes]
    examples: Mapping[str, bytes]


def export(compilation: Compilation, project: Project, board: Board, form: Format) -> Export:
    """The library of a model that was compiled for `board`; `project` is the one that `build` makes of it."""
    core = dict(_library(compilation, project))
    values = {
        "name": compilation.name,
        "NAME": compilation.name.upper(),
        "version": __version__,
        "model": "".join(c if c.isprintable() else "?" for c in Path(compilation.module.path).name),
        "sources": sorted(path for path in core if path.endswith(".c")),
        "entries": compilation.sources.entries,
        "printed": PRINTED,
        "format": form.value,
        "board": board,
        "arduino_name": _arduino_name(compilation.name),
        "numeric_version": re.match(r"[\d.]*\d", __version__)[0],  # type: ignore[index]
        "homepage": homepage(),
        "api": _api(core[f"include/{compilation.name}.h"].decode(), compilation.name),
        "first_output": re.escape(next((t.port.name for e in compilation.sources.entries for t in e.outputs), "")),
    }

    def made(template: str) -> bytes:
        return render(f"export/{template}.j2", **values).encode()

    files, examples = _FORMATS[form](core, compilation.name, made)
    return Export(compilation.name, form, {**files, "README.md": made("README.md"), **license_files()}, examples)


def write_export(exported: Export, directory: Path) -> tuple[str, ...]:
    """Write to `directory`; the files that are kept as the user has made them. See folder.write_folder()."""
    about = {"tflmgen": __version__, "name": exported.name}
    return write_folder(Content(exported.format.value, exported.files, {}, exported.examples, about), directory)


def _library(compilation: Compilation, project: Project) -> Iterator[tuple[str, bytes]]:
    """The model, its kernels and plug-ins: include/... and src/..."""
    model = f"lib/{compilation.name}/"
    for path, data in project.files:
        if path.startswith(model) and path.endswith((".c", ".h")):
            yield path.removeprefix(model), data
        elif path.startswith(f"{LIBRARY}/"):
            own = path.removeprefix(f"{LIBRARY}/")
            if own in compilation.plugin_files or (own.startswith("include/") and own not in ONLY_IN_PROJECTS):
                yield own, data


Files = Mapping[str, bytes]
Make = Callable[[str], bytes]


def _plain(core: Files, name: str, made: Make) -> tuple[Files, Files]:
    del name
    return {**core, "Makefile": made("plain/Makefile")}, {"examples/main.c": made("main.c")}


def _cmake(core: Files, name: str, made: Make) -> tuple[Files, Files]:
    del name
    return {**core, "CMakeLists.txt": made("cmake/CMakeLists.txt")}, {"examples/main.c": made("main.c")}


def _platformio(core: Files, name: str, made: Make) -> tuple[Files, Files]:
    example = f"examples/{name}"
    return (
        {**core, "library.json": made("platformio/library.json")},
        {f"{example}/src/main.c": made("main.c"), f"{example}/platformio.ini": made("platformio/example.ini")},
    )


def _zephyr(core: Files, name: str, made: Make) -> tuple[Files, Files]:
    files = {f"zephyr/{file}": made(f"zephyr/{file}") for file in ("module.yml", "CMakeLists.txt", "Kconfig")}
    sample = f"samples/{name}"
    return (
        {**core, **files},
        {
            f"{sample}/src/main.c": made("main.c"),
            **{
                f"{sample}/{file}": made(f"zephyr/sample/{file}")
                for file in ("CMakeLists.txt", "prj.conf", "sample.yaml")
            },
        },
    )


def _esp_idf(core: Files, name: str, made: Make) -> tuple[Files, Files]:
    files = {file: made(f"esp_idf/{file}") for file in ("CMakeLists.txt", "idf_component.yml")}
    example = f"examples/{name}"
    return (
        {**core, **files},
        {
            f"{example}/CMakeLists.txt": made("esp_idf/example/CMakeLists.txt"),
            f"{example}/main/CMakeLists.txt": made("esp_idf/example/main/CMakeLists.txt"),
            f"{example}/main/main.c": made("main.c"),
        },
    )


def _arduino(core: Files, name: str, made: Make) -> tuple[Files, Files]:
    """All in src/, the one folder that Arduino compiles and searches."""
    files = {f"src/{path.partition('/')[2]}": data for path, data in core.items()}
    example = _arduino_name(name)
    return (
        {
            **files,
            "library.properties": made("arduino/library.properties"),
            "keywords.txt": made("arduino/keywords.txt"),
        },
        {f"examples/{example}/{example}.ino": made("arduino/example.ino")},
    )


def _api(header: str, name: str) -> dict[str, list[str]]:
    """What the model's header declares."""
    functions = re.findall(rf"^[a-z][\w ]*[ *]({name}\w*)\(", header, re.MULTILINE)
    constants = re.findall(rf"^#define ({name.upper()}_\w+) ", header, re.MULTILINE)
    return {"functions": functions, "constants": constants}


def _arduino_name(name: str) -> str:
    """The name of the library and of its sketch: begins with a letter or digit, and not like Arduino's own."""
    reserved = not name[0].isalnum() or name.lower().startswith("arduino")
    return (f"tflmgen_{name}" if reserved else name)[:ARDUINO_NAME]


_FORMATS: Mapping[Format, Callable[[Files, str, Make], tuple[Files, Files]]] = {
    Format.PLATFORMIO: _platformio,
    Format.ARDUINO: _arduino,
    Format.CMAKE: _cmake,
    Format.ZEPHYR: _zephyr,
    Format.ESP_IDF: _esp_idf,
    Format.PLAIN: _plain,
}
