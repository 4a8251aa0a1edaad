"""The architecture, held by cheap tests: who may import whom, how long a file may be, what stands where."""

from __future__ import annotations

import ast
import graphlib
import statistics
import sys
from pathlib import Path

import pytest
from support.repository import FOLDERS, PYTHON, ROOT, C, sources, tracked_files

PACKAGE = ROOT / "codegen" / "tflmgen"

LAYERS = (
    "errors types kernel c_names options",
    "tflite ops graph",
    "importer passes select schedule liveness storage",
    "arena.place streams lower arena.check emit plan compiler",
    "board project platformio emulator",
    "commands cli __main__",
)
ORDER = [unit for layer in LAYERS for unit in layer.split()]
"""The boundaries, each a module or a whole package, in the order of the data flow (docs/architecture.md).

None imports a later one, not even through the modules that stand between them and are not listed.
"""

CHECKER_KNOWS = {"arena.check_rows", "arena.segments", "errors", "graph", "kernel", "program", "types"}
OPERATORS_KNOW = {"kernel", "types"}

ONLY_IN = {
    "jinja2": {"render"},
    "flatbuffers": {"tflite"},
    "tflite": {"tflite"},
    "jsonschema": {"board"},
    "elftools": {"emulator"},
    "rich": {"console"},
    "typer": {"cli", "commands", "failure", "option_groups", "typer_classes"},
    "tflite_micro": {"oracle"},
    "ai_edge_litert": set[str](),
    "platformio": set[str](),
    "serial": {"emulator"},
}
"""Packages that only these modules may import; PlatformIO runs as a process of its own."""

LONGEST = 400
MEDIAN = 120

RESOURCES = ("boards", "firmware", "schema", "templates")


def unit_of(module: str) -> str:
    """A boundary of ORDER, else the module or package directly in tflmgen."""
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


def reached_from(unit: str) -> set[str]:
    """The modules that a boundary imports, directly or not. The root (the version alone) is nothing."""
    seen: set[str] = set()
    pending = [module for module in MODULES if unit_of(module) == unit]
    while pending:
        for imported in MODULES[pending.pop()] & MODULES.keys() - seen - {"tflmgen"}:
            seen.add(imported)
            pending.append(imported)
    return seen


def test_every_boundary_is_there() -> None:
    assert not [unit for unit in ORDER if not is_module(f"tflmgen.{unit}")]


@pytest.mark.parametrize("unit", ORDER)
def test_boundaries_import_earlier_ones_only(unit: str) -> None:
    later = ORDER[ORDER.index(unit) + 1 :]
    assert not {module for module in reached_from(unit) if unit_of(module) in later}


def test_modules_import_each_other_in_no_circle() -> None:
    sorter = graphlib.TopologicalSorter(
        {module: {m for m in imports if m in MODULES and m != module} for module, imports in MODULES.items()}
    )
    sorter.prepare()


def test_the_checker_shares_no_code_with_what_it_checks() -> None:
    assert {module.removeprefix("tflmgen.") for module in reached_from("arena.check")} <= CHECKER_KNOWS


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
