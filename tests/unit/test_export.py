"""Exported libraries on paper: the same C everywhere, metadata by the rules of each format, edits that survive."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import tflmgen, write_two_signatures
from support.exported import exported
from support.repository import ROOT
from tflmgen import __version__
from tflmgen.hardware.board import HOST
from tflmgen.options import BuildOptions, Format
from tflmgen.project.firmware_build import plan_for, project_of
from tflmgen.project.library_export import _arduino_name, export

GATE = ROOT / "examples" / "gate.tflite"
FORMATS = [form.value for form in Format]

ARDUINO_CATEGORIES = {
    "Display",
    "Communication",
    "Signal Input/Output",
    "Sensors",
    "Device Control",
    "Timing",
    "Data Storage",
    "Data Processing",
    "Other",
}
"""The Arduino library specification's."""


def test_the_library_is_the_same_in_every_format(tmp_path: Path) -> None:
    project = dict(project_of(plan_for(GATE, HOST, BuildOptions()), HOST, BuildOptions()).files)
    for form in FORMATS:
        folder = exported(GATE, form, tmp_path)
        files = {path.name: path.read_bytes() for path in folder.rglob("*.[ch]") if "main.c" not in path.name}
        for path, data in project.items():
            name = path.rsplit("/", 1)[-1]
            if path.startswith("lib/gate/") and path.endswith((".c", ".h")):
                assert files[name].endswith(data), (form, path)
        assert {"tflmgen.h", "tflmgen_flash.h", "tflmgen_values.h"} <= files.keys()
        assert not {"serve.h", "board.h", "serve.c"} & files.keys()
        included = {h for data in files.values() for h in re.findall(rb'#include "(?:tflmgen/)?([\w.]+)"', data)}
        assert {h.decode() for h in included} <= files.keys()


@pytest.mark.parametrize("form", FORMATS)
def test_edited_examples_survive_and_the_rest_is_written_anew(form: str, tmp_path: Path) -> None:
    folder = exported(GATE, form, tmp_path)
    example = next(path for path in sorted(folder.rglob("*")) if path.name in ("main.c", "gate.ino"))
    example.write_text("mine", encoding="utf-8")
    stale = folder / "README.md"
    stale.write_text("old", encoding="utf-8")
    exported(GATE, form, tmp_path)
    assert example.read_text(encoding="utf-8") == "mine"
    assert stale.read_text(encoding="utf-8") != "old"


def test_arduino_metadata_by_the_specification(tmp_path: Path) -> None:
    folder = exported(GATE, "arduino", tmp_path)
    lines = (folder / "library.properties").read_text(encoding="utf-8").splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    required = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "architectures"}
    assert required <= properties.keys()
    assert re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.\- ]{0,62}", properties["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:[-+][\w.+-]+)?", properties["version"])
    assert properties["category"] in ARDUINO_CATEGORIES
    assert properties["includes"] == f"{properties['name']}.h"
    assert (folder / "src" / properties["includes"]).is_file()
    assert not [path for path in folder.iterdir() if path.suffix in (".c", ".h", ".cpp")]
    (sketch,) = folder.glob("examples/*/*.ino")
    assert sketch.stem == sketch.parent.name


def test_arduino_keywords_are_what_the_header_declares(tmp_path: Path) -> None:
    folder = exported(GATE, "arduino", tmp_path)
    lines = (folder / "keywords.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if not line.startswith("#")]
    kinds = {kind: {word for word, k in pairs if k == kind} for kind in ("KEYWORD1", "KEYWORD2", "LITERAL1")}
    assert sum(map(len, kinds.values())) == len(pairs)
    assert kinds["KEYWORD2"] == {"gate_input", "gate_output", "gate_invoke", "gate_reset"}
    header = (folder / "src" / "gate.h").read_text(encoding="utf-8")
    assert {"GATE_INPUT_BYTES", "GATE_OUTPUT_SCALE"} <= kinds["LITERAL1"]
    assert all(f"#define {word} " in header for word in kinds["LITERAL1"])


def test_arduino_url_is_the_address_in_the_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none where there is none: a page of somebody else's would mislead."""
    for address in ("https://example.org/tflmgen", ""):
        monkeypatch.setattr("tflmgen.project.library_export.homepage", lambda address=address: address)
        folder = exported(GATE, "arduino", tmp_path / str(bool(address)))
        urls = re.findall(r"^url=(.*)$", (folder / "library.properties").read_text(encoding="utf-8"), re.MULTILINE)
        assert urls == ([address] if address else [])


@pytest.mark.parametrize("form", FORMATS)
def test_the_licence_and_its_exception_come_along(form: str, tmp_path: Path) -> None:
    folder = exported(GATE, form, tmp_path)
    for name in ("LICENSE", "LICENSE-EXCEPTION"):
        assert (folder / name).read_bytes() == (ROOT / name).read_bytes()
        assert f"`{name}`" in (folder / "README.md").read_text(encoding="utf-8")


def test_names_that_arduino_keeps_for_itself() -> None:
    assert _arduino_name("gate") == "gate"
    assert _arduino_name("Arduino_model") == "tflmgen_Arduino_model"
    assert _arduino_name("_1x1") == "tflmgen__1x1"
    assert len(_arduino_name("x" * 80)) == 63


def load(path: Path) -> Any:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_zephyr_metadata_by_its_schemas(tmp_path: Path) -> None:
    folder = exported(GATE, "zephyr", tmp_path)
    module = load(folder / "zephyr" / "module.yml")
    assert module == {"name": "gate", "build": {"cmake": "zephyr", "kconfig": "zephyr/Kconfig"}, "samples": ["samples"]}
    assert (folder / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    kconfig = (folder / module["build"]["kconfig"]).read_text(encoding="utf-8")
    option = re.findall(r"^config (\w+)$", kconfig, re.MULTILINE)
    assert option == ["TFLMGEN_GATE"]
    sample = folder / module["samples"][0] / "gate"
    assert "CONFIG_TFLMGEN_GATE=y" in (sample / "prj.conf").read_text(encoding="utf-8")
    described = load(sample / "sample.yaml")
    assert described["sample"].keys() == {"name", "description"}
    (test,) = described["tests"].values()
    assert test.keys() == {"tags", "harness", "harness_config"}
    assert test["harness_config"]["type"] == "one_line"
    assert re.fullmatch(test["harness_config"]["regex"][0], "scores: 127 -128 -128 -128 -128")


def test_esp_idf_metadata_by_its_schema(tmp_path: Path) -> None:
    manifest = load(exported(GATE, "esp-idf", tmp_path) / "idf_component.yml")
    assert manifest["version"] == __version__
    assert manifest.keys() == {"version", "description", "license", "dependencies"}
    assert manifest["license"] == "Apache-2.0"
    assert manifest["dependencies"] == {"idf": {"version": ">=4.4"}}


def test_platformio_metadata(tmp_path: Path) -> None:
    folder = exported(GATE, "platformio", tmp_path)
    library = json.loads((folder / "library.json").read_text(encoding="utf-8"))
    assert "license" not in library, "PlatformIO would download SPDX's list to check it"
    assert library["build"]["flags"] == [
        "-ffp-contract=off",
        "-fno-delete-null-pointer-checks",
        "-DTFLMGEN_FLAGS_GIVEN",
    ]
    assert (folder / library["build"]["includeDir"] / library["headers"]).is_file()
    for example in library["examples"]:
        assert all((folder / example["base"] / name).is_file() for name in example["files"])


def test_a_strange_file_name_stays_in_its_place(tmp_path: Path) -> None:
    model = tmp_path / 'a"b\n# c.tflite'
    model.write_bytes(GATE.read_bytes())
    compilation = plan_for(model, HOST, BuildOptions(name="gate"))
    project = project_of(compilation, HOST, BuildOptions(name="gate"))
    manifest = export(compilation, project, HOST, Format.ESP_IDF).files["idf_component.yml"].decode()
    assert 'a\\"b?# c.tflite' in manifest
    plain = replace(compilation, module=replace(compilation.module, path="gate.tflite"))
    for form in Format:
        if form is not Format.ESP_IDF:
            files = export(compilation, project, HOST, form).files
            usual = export(plain, project, HOST, form).files
            assert {p for p in files if files[p] != usual[p]} == {"README.md"}


@pytest.mark.parametrize(("form", "place"), [("arduino", "src/tflmgen"), ("cmake", "include/tflmgen")])
def test_plug_ins_come_along(form: str, place: str, tmp_path: Path) -> None:
    erfinv = ROOT / "examples" / "erfinv"
    folder = exported(erfinv / "erfinv.tflite", form, tmp_path, "--plugin", str(erfinv / "erfinv.py"))
    assert (folder / place / "erfinv.h").read_bytes() == (erfinv / "erfinv.h").read_bytes()


def test_what_the_command_says(tmp_path: Path) -> None:
    model = write_two_signatures(tmp_path / "two.tflite")
    done = tflmgen("export", model, "--format", "cmake", "-o", tmp_path / "out")
    assert done.code == 0
    assert "two as portable C" in done.out
    assert "add_subdirectory()" in done.out
    done = tflmgen("export", model, "--format", "cmake", "-o", tmp_path / "out", "--json")
    assert done.json["export"]["format"] == "cmake"
    assert "CMakeLists.txt" in done.json["export"]["files"]


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    done = tflmgen("export", GATE, "--format", "esp-idf", "--board", "mps2_an386", "-o", tmp_path / "out")
    assert (done.code, done.err) == (
        2,
        "Usage error: --format esp-idf is for processors that take portable C: leave --board out\n",
    )
    done = tflmgen("export", GATE, "--format", "cmake", "-b", "disco_f407vg", "--place", "arena=CCM")
    assert (done.code, done.err[:12]) == (2, "Usage error:")
    assert tflmgen("export", GATE, "--format", "bazel", "-o", tmp_path / "out").code == 2
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "README.md").write_text("mine", encoding="utf-8")
    done = tflmgen("export", GATE, "--format", "plain", "-o", tmp_path / "taken")
    assert done.code == 1
    assert "taken: is not empty, and not of tflmgen's making" in done.err
