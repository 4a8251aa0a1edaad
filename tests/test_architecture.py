"""The architecture, held by cheap tests: who may import whom, how long a file may be, what stands where."""

from __future__ import annotations

import ast
import statistics
import sys
from pathlib import Path

import pytest
from support.repository import FOLDERS, PYTHON, ROOT, C, sources, tracked_files

PACKAGE = ROOT / "codegen" / "tflmgen"

LAYERS = (
    "errors types kernel c_names options",
    "tflite ops",
    "graph graph_text subgraphs support variables importer",
    "verify passes",
    "select schedule liveness homes storage",
    "arena.bounds arena.place",
    "program lower arena.check",
    "c_text render emit_body emit",
    "plan compiler",
    "folder toolchain elf board project platformio emulator",
    "option_groups console failure files npz seeded compare oracle junit",
    "budget firmware_build code_size execute references bench_report",
    "commands cli __main__",
)
ORDER = [unit for layer in LAYERS for unit in layer.split()]
"""The boundaries in the order of the data flow (docs/architecture.md), each a module or a whole package.

A module imports only what stands before it. `tflmgen` itself (the version) stands before all.
"""

CHECKER_KNOWS = {"errors", "graph", "program"}
OPERATORS_KNOW = {"kernel", "types"}

ONLY_IN = {
    "jinja2": {"render"},
    "flatbuffers": {"tflite"},
    "tflite": {"tflite"},
    "jsonschema": {"board"},
    "rich": {"console"},
    "typer": {"cli", "failure", "option_groups"},
    "tflite_micro": {"oracle"},
    "ai_edge_litert": set[str](),
    "platformio": set[str](),
}
"""Packages that only these modules may import; PlatformIO runs as a process of its own."""

LONGEST = 400
MEDIAN = 120

RESOURCES = ("boards", "firmware", "schema", "templates")


def unit_of(module: str) -> str:
    """The entry of ORDER that a module belongs to."""
    name = module.removeprefix("tflmgen").removeprefix(".")
    return name if name in ORDER else name.split(".")[0]


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imports_of(path: Path) -> set[str]:
    """What a file imports, wherever in it; also by import_module() of a literal name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{a.name}" for a in node.names if is_module(f"{node.module}.{a.name}")} or {
                node.module
            }
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            found |= {first.value for first in node.args[:1] if isinstance(first, ast.Constant)}
    return found


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


MODULES = {module_of(path): imports_of(path) for path in sources(("codegen",), ".py")}


def test_every_module_has_a_place_in_the_order() -> None:
    homeless = {m for m in MODULES if m not in ("tflmgen", "tflmgen.arena") and unit_of(m) not in ORDER}
    assert not homeless, "say in ORDER, and in docs/architecture.md, where it stands"
    assert not [unit for unit in ORDER if not is_module(f"tflmgen.{unit}")], "ORDER names what is not there"


@pytest.mark.parametrize("module", sorted(m for m in MODULES if m != "tflmgen"))
def test_imports_point_backwards(module: str) -> None:
    own = [m for m in MODULES[module] if m.startswith("tflmgen.") and unit_of(m) != unit_of(module)]
    later = [m for m in own if ORDER.index(unit_of(m)) > ORDER.index(unit_of(module))]
    assert not later


def test_the_checker_shares_no_code_with_what_it_checks() -> None:
    assert {unit_of(m) for m in MODULES["tflmgen.arena.check"] if m.startswith("tflmgen")} <= CHECKER_KNOWS


def test_operators_know_types_and_kernels_only() -> None:
    known = {
        unit_of(m)
        for module, imports in MODULES.items()
        if unit_of(module) == "ops"
        for m in imports
        if "tflmgen." in m
    }
    assert known - {"ops"} <= OPERATORS_KNOW


@pytest.mark.parametrize("package", ONLY_IN)
def test_packages_are_imported_in_their_place_only(package: str) -> None:
    users = {unit_of(module) for module, imports in MODULES.items() if any(m.split(".")[0] == package for m in imports)}
    assert users <= ONLY_IN[package]


def test_third_party_imports_are_declared() -> None:
    known = {*sys.stdlib_module_names, "tflmgen", "numpy", *ONLY_IN}
    assert not {m for imports in MODULES.values() for m in imports if m.split(".")[0] not in known}


def test_no_module_shadows_a_resource_folder() -> None:
    assert not [name for name in RESOURCES if is_module(f"tflmgen.{name}")]


def test_files_are_short() -> None:
    files = sources(PYTHON, ".py") + sources(C, ".c", ".h", ".j2")
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert not {path: length for path, length in lengths.items() if length > LONGEST}
    assert statistics.median(lengths.values()) <= MEDIAN


def test_folders_at_the_top() -> None:
    folders = {path.relative_to(ROOT).parts[0] for path in tracked_files() if path.parent != ROOT}
    assert folders == set(FOLDERS)
