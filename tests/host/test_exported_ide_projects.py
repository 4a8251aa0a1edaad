"""Exports for IDEs: their project files are well formed, and what they list compiles and covers the library."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import write_two_signatures
from support.exported import check_printed, expected_lines, exported, run
from support.repository import ROOT
from support.tools import requires, requires_compiler

GATE = ROOT / "examples" / "gate.tflite"
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")

Listed = tuple[list[Path], list[Path]]
"""Sources and include folders that a project file names."""


def pack_contents(folder: Path) -> Listed:
    (description,) = folder.glob("*.pdsc")
    files = ET.parse(description).getroot().findall("components/component/files/file")
    sources = [file.attrib["name"] for file in files if file.get("category") == "sourceC" and file.get("attr") is None]
    includes = [file.attrib["name"] for file in files if file.get("category") == "include"]
    assert all((folder / file.attrib["name"]).exists() for file in files)
    return [folder / source for source in sources], [folder / include for include in includes]


def layer_contents(folder: Path) -> Listed:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    (path,) = folder.glob("*.clayer.yml")
    layer: Any = yaml.safe_load(path.read_text(encoding="utf-8"))["layer"]
    assert set(layer) == {"type", "description", "groups"}
    (group,) = layer["groups"]
    return [folder / file["file"] for file in group["files"]], [folder / include for include in group["add-path"]]


def connection_contents(folder: Path) -> Listed:
    (path,) = folder.glob("*.ipcf")
    root = ET.parse(path).getroot()
    assert (root.tag, root.get("version"), root.get("name")) == ("iarProjectConnection", "1.2", path.stem)

    def located(texts: list[ET.Element]) -> list[Path]:
        """Paths of a project beside a copy of the folder under the model's name."""
        parts = [(element.text or "").split("/", 2) for element in texts]
        assert all(part[:2] == ["$PROJ_DIR$", path.stem] for part in parts)
        return [folder / part[2] for part in parts]

    return located(root.findall("files/group/path")), located(root.findall("includePath/path"))


def cdt_contents(folder: Path) -> Listed:
    """What Eclipse CDT has after "Import Settings" and the source location that the README names."""
    (path,) = folder.glob("*_settings.xml")
    root = ET.parse(path).getroot()
    assert root.tag == "cdtprojectproperties"
    (section,) = root
    assert section.get("name") == "org.eclipse.cdt.internal.ui.wizards.settingswizards.IncludePaths"
    name = path.stem.removesuffix("_settings")
    assert {language.get("name") for language in section} >= {"C Source File", "C++ Source File", "GNU C", "GNU C++"}
    for language in section:
        (include,) = language
        assert include.attrib == {"workspace_path": "true"}
        assert include.text == f"/${{ProjName}}/{name}/include"
    assert f"`{name}/src`" in (folder / "README.md").read_text(encoding="utf-8")
    return list(folder.glob("src/**/*.c")), [folder / "include"]


READERS: dict[str, Callable[[Path], Listed]] = {
    "cmsis-pack": pack_contents,
    "keil": layer_contents,
    "iar": connection_contents,
    "stm32cubeide": cdt_contents,
}


@pytest.fixture(params=["gate", "lstm_sequences", "two"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """int8 with an If; float32 with a While; two signatures."""
    if request.param == "two":
        return write_two_signatures(tmp_path / "two.tflite")
    return ROOT / "examples" / f"{request.param}.tflite"


@requires("gcc")
@pytest.mark.parametrize("form", READERS)
def test_the_example_with_what_the_project_lists(form: str, model: Path, tmp_path: Path) -> None:
    folder = exported(model, form, tmp_path)
    sources, includes = READERS[form](folder)
    assert sorted(sources) == sorted(folder.glob("src/**/*.c"))
    paths = [f"-I{include}" for include in includes]
    program = tmp_path / "program"
    run("gcc", "-std=c99", *WARNINGS, *paths, *sources, folder / "examples" / "main.c", "-lm", "-o", program)
    check_printed(run(program), expected_lines(model))


@requires_compiler
@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize(
    ("board", "core", "flags"),
    [
        ("microbit", "Cortex-M0", ("-mcpu=cortex-m0", "-mthumb", "-mfloat-abi=soft")),
        ("mps2_an386", "Cortex-M4", ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")),
    ],
)
def test_for_a_processor(form: str, board: str, core: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    folder = exported(GATE, form, tmp_path, "--board", board)
    sources, includes = READERS[form](folder)
    for source in sources:
        paths = [f"-I{include}" for include in includes]
        run("arm-none-eabi-gcc", *flags, "-std=c99", "-O2", *WARNINGS, *paths, "-c", source, "-o", tmp_path / "a.o")
    if form == "cmsis-pack":
        root = ET.parse(folder / "tflmgen.gate.pdsc").getroot()
        (component,) = root.findall("components/component")
        (required,) = root.findall(f"conditions/condition[@id='{component.get('condition')}']/require")
        assert required.attrib == {"Dcore": core}


RESTRICTED, VERSION = r"[-_A-Za-z0-9]+", r"[0-9]+\.[0-9]+\.[0-9]+"
PACK_CHILDREN = {"vendor", "name", "description", "url", "license", "releases", "taxonomy", "conditions", "components"}
PACK_PATTERNS = {
    ".": {"schemaVersion": r"1\.7\.[0-9]+"},
    "releases/release": {"version": VERSION},
    "taxonomy/description": {"Cclass": r"\S.{0,30}\S"},
    "conditions/condition": {"id": r".+"},
    "conditions/condition/require": {"Dcore": r"Cortex-M(0|0\+|1|3|4|7|23|33|35P|55|85)"},
    "components/component": {
        "Cclass": r"\S.{0,30}\S",
        "Cgroup": r"\S.{0,30}\S",
        "Csub": r".{0,32}",
        "Cversion": VERSION,
        "condition": r".+",
    },
    "components/component/files/file": {
        "category": "doc|include|header|sourceC",
        "name": r".+",
        "attr": "template",
        "select": r".+",
    },
}
"""Element -> its attributes and the patterns of their types, as PACK.xsd 1.7.7 declares them."""


@pytest.mark.parametrize("board", ["host", "microbit", "mps2_an386", "mps3_an547"])
@pytest.mark.parametrize("name", ["gate", "a_name_of_more_characters_than_a_component_may_have"])
def test_the_pack_follows_the_schema(name: str, board: str, tmp_path: Path) -> None:
    """The types of PACK.xsd for all that the description uses; packchk and the schema itself are not at hand."""
    folder = exported(GATE, "cmsis-pack", tmp_path, "--name", name, "--board", board, "--validate", "off")
    root = ET.parse(folder / f"tflmgen.{name}.pdsc").getroot()
    tags = [child.tag for child in root]
    assert set(tags) <= PACK_CHILDREN
    assert len(tags) == len(set(tags)), "the schema takes each once"
    for tag in ("vendor", "name"):
        assert re.fullmatch(RESTRICTED, root.findtext(tag) or "")
    for path, patterns in PACK_PATTERNS.items():
        for element in root.findall(path):
            attributes = {key: value for key, value in element.attrib.items() if not key.startswith("{")}
            assert set(attributes) <= set(patterns)
            assert all(re.fullmatch(patterns[key], value) for key, value in attributes.items()), attributes


def test_the_pack_has_what_the_format_requires(tmp_path: Path) -> None:
    """The required elements and attributes of the Open-CMSIS-Pack specification; packchk itself is not run."""
    folder = exported(GATE, "cmsis-pack", tmp_path)
    (path,) = folder.glob("*.pdsc")
    root = ET.parse(path).getroot()
    assert root.tag == "package"
    assert root.get("schemaVersion")
    assert {"name", "vendor", "description", "url", "releases"} <= {child.tag for child in root}
    assert path.name == f"{root.findtext('vendor')}.{root.findtext('name')}.pdsc"
    assert len(root.findtext("description") or "") <= 256
    (release,) = root.findall("releases/release")
    (component,) = root.findall("components/component")
    assert {"Cclass", "Cgroup", "Cversion"} <= component.attrib.keys()
    assert component.get("Cversion") == release.get("version")
    assert component.get("condition") is None, "portable C is for every processor"
    assert {"description", "files"} <= {child.tag for child in component}
    assert (folder / (root.findtext("license") or "none")).is_file()
