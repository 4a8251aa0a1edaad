"""The architecture, held by cheap tests: who may import whom, how long a file may be, what stands where."""

from __future__ import annotations

import ast
import graphlib
import re
import statistics
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from support.repository import FILES, FOLDERS, PYTHON, ROOT, C, page_named, sources, syntax, tracked_files
from tflmgen.kernels import OPERATORS

PACKAGE = ROOT / "codegen" / "tflmgen"

COMPILER = (
    "version errors options user_files user_cache",
    "architectures ir kernels frontend reference passes settings memory explore backend proof plugins graph_compiler",
)
"""The compiler's rooms and root modules in the order of the data flow: each imports only what stands before it."""

ON_TOP = (
    "frontend.onnx sources applications compiler",
    "terminal toolchain hardware project input_sets emulators compare",
    "conversion tensorflow_worker quantize gradients tokenizers report actions api sweep",
    "failure plugin commands cli __main__",
)
"""What stands on the compiler, which knows nothing of it, in the same order."""

UNITS = [unit for line in COMPILER + ON_TOP for unit in line.split()]
SUB_ROOMS = (
    *("ir.graph", "ir.kernel", "ir.streams", "ir.program"),
    *(f"kernels.{room}" for room in ("specification", "numeric", "ranges", "costs", "operators")),
    *("frontend.model_graph", "frontend.tflite"),
)
"""Rooms in a room, each with exports of its own; modules of the room around them go in and out freely."""

ROOMS = [
    room
    for unit in UNITS
    for room in (unit, *(room for room in SUB_ROOMS if room.startswith(f"{unit}.")))
    if (PACKAGE / room.replace(".", "/")).is_dir()
]

ROOT_FILES = 12

MOST_EXPORTS = 30
"""Names that a room exports at most."""

CHECKER_KNOWS = {"errors", "ir", "reference"}
REFERENCE_KNOWS = {"errors", "ir", "frontend", "user_cache", "version"}

ONLY_IN = {
    "jinja2": {"backend"},
    "flatbuffers": {"frontend"},
    "google": {"frontend.onnx", "tensorflow_worker"},
    "onnx": {"frontend.onnx"},
    "onnx_ir": {"frontend.onnx"},
    "onnxruntime": {"frontend.onnx"},
    "torch": {"frontend.onnx"},
    "tensorflow": {"tensorflow_worker"},
    "keras": {"tensorflow_worker"},
    "h5py": {"tensorflow_worker"},
    "tflite": {"frontend"},
    "jsonschema": {"hardware"},
    "elftools": {"emulators"},
    "rich": {"terminal"},
    "typer": {"commands", "failure"},
    "tflite_micro": {"tensorflow_worker"},
    "ai_edge_litert": set[str](),
    "pandas": {"api"},
    "PIL": {"input_sets"},
    "pytest": {"api"},
    "typing_extensions": {"api"},
    "dask": {"sweep"},
    "distributed": {"sweep"},
    "fsspec": {"sweep"},
    "pyarrow": {"sweep"},
    "optuna": {"sweep"},
    "platformio": set[str](),
    "serial": {"emulators"},
    "tomli": {"applications"},
    "tree_sitter": {"proof"},
    "tree_sitter_c": {"proof"},
}
"""Packages that only these units may import; PlatformIO runs as a process of its own."""

LONGEST = 400
MEDIAN = 120

LONGEST_FUNCTION, LONGER_FUNCTIONS = 40, 5
"""Lines of a function, signature and docstring included, and how many may have more."""

MOST_NAMING = 51
NAMES_OPERATORS = {
    "the proof's own account of layers, which shares nothing with the operator table": (
        "proof.layer_numbers proof.table_arrays"
    ),
    "data about other programs: the file format": "frontend.tflite.names frontend.tflite.operator_versions",
    "the reference's estimate of work, by kind of operator": "reference.work_budget",
    "the rewriter of Models: RESHAPE, which rules add": "frontend.model_graph.model_rewrite",
    "importer of control flow and of dimensions known at run time: recognises and makes operators": (
        "frontend.bidirectional frontend.import_block frontend.lstm_loops "
        "frontend.tensor_forms frontend.import_build frontend.import_row_found frontend.import_row_readers "
        "frontend.import_row_windows frontend.stablehlo_operators frontend.tensor_lists frontend.unsigned_tensors "
        "frontend.wide_tiles"
    ),
    "faults of another runtime: slices that TFLite Micro plans with a wrong size": "compare.oracle",
    "names that other frameworks give to operators": "commands.operators",
    "Circle: its own operators, and those that they become": "frontend.tflite.circle",
    "ONNX front end: makes operators": (
        "frontend.onnx.element_graph frontend.onnx.integer_operators frontend.onnx.layer_graph "
        "frontend.onnx.layout_graph frontend.onnx.lower_direct frontend.onnx.merged_layers "
        "frontend.onnx.move_graph frontend.onnx.quantized_tensors"
    ),
    "passes: functions of numbers and rows as operators spell them out": "passes.element_forms passes.row_forms",
    "passes that make certain operators of others": (
        "passes.fuse_lookups passes.matrix_products passes.mixed_depthwise passes.normalization passes.permutation "
    ),
    "passes that look for certain operators: batches of SPACE_TO_BATCH_ND, masks of SCATTER_ND": (
        "passes.dilation passes.row_stores"
    ),
    "sliding windows: makes the operators that cut, join and add tensors": "passes.sliding.graph_builder",
    "sources: decoders of checkpoints, whose graph is made here": "sources.decoder_graph",
    "applications: glue between models, and built-in stages made of operators": (
        "applications.glue_graph applications.text_generation"
    ),
    "quantisation: operators with weights, conversions, and operators that others stand in for": (
        "quantize.equalization quantize.exact_ends quantize.fake_quantization "
        "quantize.float_rules quantize.integer_forms quantize.integer_rules quantize.list_rows quantize.saturation"
    ),
}
"""Why -> the modules that name operators outside DECLARE_OPERATORS; all others ask for traits (kernels/traits.py)."""

DECLARE_OPERATORS = {
    "kernels.operators.": "the operator table: the declaration of each operator, a family a file",
    "reference.definitions.": (
        "each operator's meaning, written a second time on purpose: builds are compared with it, so that it may share "
        "neither code nor traits with the table (CHECKER_KNOWS, REFERENCE_KNOWS); a family a file, too"
    ),
    "gradients.": (
        "each operator's gradient, a family a file, which is made of operators, too, as losses, updates and the loops "
        "that go back are: the compiler below knows nothing of gradients, so that the table cannot have them"
    ),
}
"""Where operators are declared, which takes their names, and why it may be there."""

RESOURCES = ("boards", "firmware", "schema", "templates")


def unit_of(module: str) -> str:
    """The room or root module; of the package itself, ''. ONNX's front end is a room of its own in frontend/."""
    words = module.split(".")[1:]
    return ".".join(words[: 1 + (words[:2] == ["frontend", "onnx"])])


def room_of(module: str) -> str:
    """The innermost room, or ''."""
    words = module.split(".")[1:]
    return max((room for room in ROOMS if words[: room.count(".") + 1] == room.split(".")), key=len, default="")


def folder_of(room: str) -> Path:
    return PACKAGE / room.replace(".", "/")


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imports_of(path: Path) -> set[str]:
    """What a file imports, wherever in it; also by import_module() of a literal name."""
    imported = set()
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {f"{node.module}.{a.name}" for a in node.names if is_module(f"{node.module}.{a.name}")} or {
                node.module
            }
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            imported |= {
                first.value
                for first in node.args[:1]
                if isinstance(first, ast.Constant) and isinstance(first.value, str)
            }
    return imported


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@cache
def modules() -> dict[str, set[str]]:
    return {module_of(path): imports_of(path) for path in sources(("codegen",), ".py")}


def exports_of(room: str) -> list[str]:
    body = ast.parse((folder_of(room) / "__init__.py").read_text(encoding="utf-8")).body
    lists = [n.value for n in body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"]
    return [name for names in lists for name in ast.literal_eval(names)]


def own(imports: set[str]) -> set[str]:
    return {name for name in imports if name.startswith("tflmgen.")}


def test_every_module_is_in_a_room_that_the_order_knows() -> None:
    assert {unit_of(module) for module in modules()} - {""} == set(UNITS)


def test_few_modules_stand_at_the_root() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= ROOT_FILES


@pytest.mark.parametrize("unit", UNITS)
def test_units_import_earlier_ones_only(unit: str) -> None:
    """So the compiler knows nothing of what stands on it."""
    later = UNITS[UNITS.index(unit) + 1 :]
    imports = {name for module, names in modules().items() if unit_of(module) == unit for name in own(names)}
    assert not {name for name in imports if unit_of(name) in later}


def test_a_room_is_entered_by_what_it_exports() -> None:
    inside = [
        f"{module}: {name}"
        for module, names in modules().items()
        for name in own(names)
        if room_of(name) and name != f"tflmgen.{room_of(name)}"
        if unit_of(name).split(".")[0] != unit_of(module).split(".")[0]
    ]
    assert not inside


def test_rooms_export_what_others_import() -> None:
    """Tests import what is inside of a room from its modules. But for sweep/, which users import from, too."""
    folders = tuple(folder for folder in PYTHON if folder != "tests")
    trees = {path: syntax(path) for path in sources(folders, ".py")}
    nodes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    exported = {f"tflmgen.{room}.{name}" for room in set(ROOMS) - {"sweep"} for name in exports_of(room)}
    assert not exported - imported


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_export_few_names(room: str) -> None:
    assert len(exports_of(room)) <= MOST_EXPORTS


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_comes_in_what_goes_out_and_what_it_decides(room: str) -> None:
    text = ast.get_docstring(ast.parse((folder_of(room) / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert re.search(r"\n\nIn: [^\n]+ Out: [^\n]+\nDecided here: ", text)


def test_the_page_has_the_rooms_as_they_are() -> None:
    page = page_named("architecture").read_text(encoding="utf-8").split("## Rooms\n")[1]
    rows = re.findall(r"^\| `([\w/]+)/` \| ([^|]+) \|", page, re.MULTILINE)
    described = [
        (room.replace(".", "/"), (folder_of(room) / "__init__.py").read_text(encoding="utf-8")[3:].split("\n")[0])
        for room in ROOMS
    ]
    assert rows == described


def test_modules_of_one_room_import_each_other_in_no_circle() -> None:
    inside = {
        module: {name for name in names if name in modules() and unit_of(name) == unit_of(module)} - {module}
        for module, names in modules().items()
        if not (module.count(".") == 1 and unit_of(module) in ROOMS)
    }
    graphlib.TopologicalSorter(inside).prepare()


def test_the_checker_shares_no_code_with_what_it_checks() -> None:
    checker = {module: names for module, names in modules().items() if module.startswith("tflmgen.proof")}
    known = {name for names in checker.values() for name in own(names) if name not in modules() or name not in checker}
    assert {unit_of(name) for name in known} <= CHECKER_KNOWS


def test_the_reference_shares_no_code_with_what_it_is_compared_with() -> None:
    """It takes the reader's Model from frontend, and of the types in ir nothing that evaluates."""
    inside = {module: names for module, names in modules().items() if unit_of(module) == "reference"}
    known = {name for names in inside.values() for name in own(names) if unit_of(name) != "reference"}
    assert {unit_of(name) for name in known} <= REFERENCE_KNOWS
    taken = {
        alias.name
        for path in (PACKAGE / "reference").rglob("*.py")
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.ImportFrom) and node.module == "tflmgen.frontend.tflite"
        for alias in node.names
    }
    assert taken <= {"Model", "FileOperator", "FileSignature", "SubGraph", "FileTensor"}


@pytest.mark.parametrize("package", ONLY_IN)
def test_packages_are_imported_in_their_place_only(package: str) -> None:
    users = {
        unit_of(module) for module, imports in modules().items() if any(m.split(".")[0] == package for m in imports)
    }
    assert users <= ONLY_IN[package]


def test_third_party_imports_are_declared() -> None:
    known = {*sys.stdlib_module_names, "tflmgen", "numpy", *ONLY_IN}
    assert not {m for imports in modules().values() for m in imports if m.split(".")[0] not in known}


def test_only_listed_modules_name_operators() -> None:
    """A new one asks for traits instead, what stops naming any leaves the list. Strings may hold several names."""
    naming = {
        module_of(path).removeprefix("tflmgen.")
        for path in sources(("codegen",), ".py")
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if (words := node.value.split()) and all(word in OPERATORS for word in words)
    }
    listed = {module for modules in NAMES_OPERATORS.values() for module in modules.split()}
    assert len(listed) < MOST_NAMING
    assert {module for module in naming if not module.startswith(tuple(DECLARE_OPERATORS))} == listed


@pytest.mark.parametrize("folder", ["codegen", "tests"])
def test_no_two_modules_have_one_name(folder: str) -> None:
    names = Counter(path.name for path in sources((folder,), ".py") if path.name != "__init__.py")
    assert not [name for name, number in names.items() if number > 1]


def test_no_two_public_classes_have_one_name() -> None:
    names = Counter(
        node.name
        for path in sources(("codegen",), ".py")
        for node in syntax(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not [name for name, number in names.items() if number > 1]


def test_no_module_shadows_a_resource_folder() -> None:
    assert not [name for name in RESOURCES if is_module(f"tflmgen.{name}")]


def test_files_are_short() -> None:
    files = sources(PYTHON, ".py") + sources(C, ".c", ".h", ".j2")
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert not {path: length for path, length in lengths.items() if length > LONGEST}
    assert statistics.median(lengths.values()) <= MEDIAN


def test_functions_are_short() -> None:
    lengths = {
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in sources(("codegen",), ".py")
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.FunctionDef)
    }
    longer = {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION}
    assert len(longer) <= LONGER_FUNCTIONS, longer


def test_files_and_folders_at_the_top() -> None:
    tops = {path.relative_to(ROOT).parts[0] for path in tracked_files()}
    assert tops == {*FILES.split(), *FOLDERS}
