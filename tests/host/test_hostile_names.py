"""Names of model files, tensors, signatures and subgraphs with every character that C, shells and build files know."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from support.commands import tflmgen
from support.exported import STAND_INS, exported, run
from support.model_writer import ModelWriter
from support.tools import requires
from tflmgen.backend.c_text import comment

WARNINGS = ("-Wall", "-Wextra", "-Wtrigraphs", "-Werror")
EVIL = (
    "a*\\ ;int b; ",
    "*/ int b; /*",
    "\\",
    "??/",
    "x\\\n#error",
    'q"; exit(1); "',
    "%s%n %",
    "${HOME} $(touch pwned) `touch pwned`",
    "{{ 7 * 7 }} {% raw %}",
    "\u2028\u202e\u00e9\U0001f600",
    "\x1b[2J\x07\x00",
    "<b>&amp;</b> ]]> -->",
)
FILES = {
    "plain": "$(touch pwned) `touch pwned`.tflite",
    "cmake": "q\"u'ote;touch pwned;${X}.tflite",
    "zephyr": "&& touch pwned #\\.tflite",
    "esp-idf": "-o {{ 7 }} %s.tflite",
    "arduino": "no.tflite",
    "platformio": "\u00e9 \u4e2d\u6587 \U0001f600.tflite",
    "cmsis-pack": "<a>&amp; ]]> -->.tflite",
    "keil": "null: [x]\n- y.tflite",
    "iar": "a*\\ ;int b;.tflite",
    "stm32cubeide": "features.tflite",
}


def test_comments_end_where_they_are_to_end() -> None:
    texts = [
        *EVIL,
        *(a + b for a in ("*", "/", "\\", "?", "??", "\n") for b in ("/", "\\", "*", "??/", "*/", "/*/", "*\\*/")),
    ]
    for text in texts:
        assert not re.search(r"\*/|/\*|\\|\?\?/|[^ -~]", comment(text)), text


def write_evil(path: Path) -> Path:
    """Two signatures whose names, and all others, are of EVIL."""
    writer = ModelWriter()
    for number in range(2):
        graph = writer.subgraph(EVIL[number])
        names = EVIL[number * 6 : number * 6 + 6]
        tensors = [graph.tensor(name, "float32", [1, 3]) for name in names[:3]]
        graph.operator("NEG", [tensors[0]], [tensors[1]])
        graph.operator("ABS", [tensors[1]], [tensors[2]])
        graph.inputs, graph.outputs = [tensors[0]], [tensors[2]]
        writer.signature(names[3], {names[4]: tensors[0]}, {names[5]: tensors[2]}, number)
    path.write_bytes(writer.finish())
    return path


def check_text_files(folder: Path) -> None:
    """Files that build systems read are well formed, whatever the names."""
    for path in folder.rglob("*"):
        if path.suffix in (".pdsc", ".ipcf", ".xml"):
            ElementTree.fromstring(path.read_text(encoding="utf-8"))
        elif path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".properties":
            assert all("=" in line for line in path.read_text(encoding="utf-8").splitlines())
        elif path.suffix in (".yml", ".yaml"):
            assert not re.search(r"name: (no|null|on|yes|true)$", path.read_text(encoding="utf-8"), re.MULTILINE)


def compile_library(folder: Path, form: str, objects: Path) -> None:
    """By the format's own build system where it is there, and by hand otherwise."""
    flags = f"-DCMAKE_C_FLAGS={' '.join(WARNINGS)}"
    if form == "plain" and shutil.which("make"):
        run("make", "-s", f"CFLAGS=-O1 -std=c99 {' '.join(WARNINGS)}", cwd=folder)
        run(folder / "example")
    elif form in ("cmake", "zephyr", "esp-idf") and shutil.which("cmake"):
        (source,) = {"cmake": [folder], "zephyr": folder.glob("samples/*"), "esp-idf": folder.glob("examples/*")}[form]
        environment = {**os.environ, "IDF_PATH": str(STAND_INS / "esp_idf")}
        run("cmake", "-S", source, "-B", objects, flags, f"-DZephyr_DIR={STAND_INS / 'zephyr'}", env=environment)
        run("cmake", "--build", objects)
    else:
        include = folder / ("src" if form == "arduino" else "include")
        objects.mkdir()
        sources = [str(path) for path in sorted(folder.rglob("*.c"))]
        run("gcc", "-std=c99", "-O1", *WARNINGS, f"-I{include}", "-c", *sources, cwd=objects)


@requires("gcc")
@pytest.mark.parametrize("form", FILES)
def test_every_format_takes_every_name(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = write_evil(tmp_path / FILES[form])
    folder = exported(model, form, tmp_path)
    check_text_files(folder)
    compile_library(folder, form, tmp_path / "objects")
    assert not list(tmp_path.rglob("pwned"))


HEADERS = ("features", "endian", "alloca", "stdio", "sched", "unistd", "bits", "error", "values", "tflmgen", "m")


@requires("gcc")
def test_no_header_hides_one_of_the_c_library(tmp_path: Path) -> None:
    """Headers of all names beside one another, found first; as C and C++, and included before and after others."""
    includes = []
    for name in HEADERS:
        model = write_evil(tmp_path / f"{name}.tflite")
        folder = tmp_path / f"library-{name}"
        finished = tflmgen("export", model, "--format", "plain", "-o", folder)
        assert finished.code == 0, finished.err
        includes.append(f"-I{folder / 'include'}")
    names = [path.stem for name in HEADERS for path in (tmp_path / f"library-{name}").glob("include/*_model.h")]
    ours = "".join(f"#include <{name}.h>\n" for name in names)
    theirs = (
        "#include <stdint.h>\n#include <stdlib.h>\n#include <sys/types.h>\n#include <unistd.h>\n#include <sched.h>\n"
    )
    uses = "".join(f"const void *use_{n} = &{n};\n" for n in names)
    also = "".join(f"#include <{name.removesuffix('_model')}.h>\n" for name in names)
    for number, text in enumerate((ours + theirs, theirs + ours, theirs + also + ours, also + ours + theirs)):
        (tmp_path / f"{number}.c").write_text(text + uses, encoding="utf-8")
        for language in ("c", "c++") if shutil.which("g++") else ("c",):
            compiler = ("gcc", "-std=c99", "-pedantic") if language == "c" else ("g++",)
            run(
                *compiler,
                "-D_GNU_SOURCE",
                *WARNINGS,
                "-fsyntax-only",
                f"-x{language}",
                *includes,
                tmp_path / f"{number}.c",
            )
    for name in HEADERS:
        sources = sorted((tmp_path / f"library-{name}" / "src").glob("*.c"))
        subprocess.run(
            ["gcc", "-std=c99", "-pedantic", "-fsyntax-only", *WARNINGS, *includes, *map(str, sources)], check=True
        )
