"""What is installed: every package and resource of the tree, and the command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RESOURCES = ("boards", "firmware", "schema", "templates")
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "tests", "__pycache__", "*.egg-info")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_package_is_listed() -> None:
    code = {
        ".".join(path.parent.relative_to(ROOT / "codegen").parts)
        for path in (ROOT / "codegen" / "tflmgen").rglob("__init__.py")
    }
    listed = project()["tool"]["setuptools"]["packages"]
    assert set(listed) == code | {f"tflmgen.{name}" for name in RESOURCES}
    assert len(listed) == len(set(listed))


def test_the_extras_of_the_readme_exist() -> None:
    assert {"dev", "oracles"} <= set(project()["project"]["optional-dependencies"])


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "tree", ignore=LEFT_OUT)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(folder / "tree"),
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("tflmgen-*.whl")
    return path


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> Path:
    """The wheel, unpacked."""
    with zipfile.ZipFile(wheel_file) as archive:
        archive.extractall(wheel_file.parent / "unpacked")
    return wheel_file.parent / "unpacked"


@pytest.fixture(scope="module")
def installed(wheel_file: Path) -> Path:
    """The Python of a fresh environment with the wheel; what it depends on comes from this environment."""
    folder = wheel_file.parent / "environment"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install", "--no-deps", "--no-index"]
    subprocess.run([*command, str(wheel_file)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def expected_files() -> set[str]:
    """Paths in the wheel of all code and resources."""
    roots = {ROOT / "codegen" / "tflmgen": "tflmgen", **{ROOT / name: f"tflmgen/{name}" for name in RESOURCES}}
    return {
        f"{target}/{path.relative_to(root).as_posix()}"
        for root, target in roots.items()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_wheel_holds_code_and_resources(wheel: Path) -> None:
    files = {path.relative_to(wheel).as_posix() for path in wheel.rglob("*") if path.is_file()}
    assert {name for name in files if ".dist-info/" not in name} == expected_files()


def test_a_wheel_holds_both_licence_files(wheel: Path) -> None:
    assert {path.name for path in wheel.glob("*.dist-info/licenses/*")} == {"LICENSE", "LICENSE-EXCEPTION"}


def test_a_wheel_names_the_command(wheel: Path) -> None:
    (entry_points,) = wheel.glob("*.dist-info/entry_points.txt")
    assert "tflmgen = tflmgen.cli:main" in entry_points.read_text(encoding="utf-8")


def test_an_installed_wheel_works_without_the_tree(wheel: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    script = "import sys, tflmgen.cli; print(tflmgen.__file__); sys.argv = ['tflmgen', 'boards']; tflmgen.cli.main()"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(wheel))
    assert "mps2_an386" in ran.stdout


@pytest.mark.parametrize(
    "checker", [("twine", "check", "--strict"), ("check_wheel_contents",)], ids=lambda c: str(c[0])
)
def test_a_wheel_passes_the_checkers(checker: tuple[str, ...], wheel_file: Path) -> None:
    if find_spec(checker[0]) is None:
        pytest.skip(f"needs {checker[0]}")
    command = [sys.executable, "-m", *checker, str(wheel_file)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_an_installed_wheel_builds_a_model(installed: Path, tmp_path: Path) -> None:
    model = ROOT / "examples" / "gate.tflite"
    program = installed.with_name("tflmgen")
    command = [str(program), "build", str(model), "--board", "mps2_an386", "-o", "out", "--json"]
    built = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["firmware"]["text"] > 0
    example = [str(installed), str(ROOT / "examples" / "python" / "check_budget.py"), str(model), "mps2_an386"]
    ran = subprocess.run(example, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "gate keeps to its budget; CONV_2D has most to compute\n"), ran.stderr
    where = subprocess.run(
        [str(installed), "-c", "import tflmgen; print(tflmgen.__file__)"], capture_output=True, text=True, check=True
    )
    assert where.stdout.startswith(str(installed.parent.parent))


def test_a_program_that_uses_it_is_typed(installed: Path, tmp_path: Path) -> None:
    """mypy --strict on an example, with the types of the installed package; wrong uses are errors."""
    example = (ROOT / "examples" / "python" / "check_budget.py").read_text(encoding="utf-8")
    (tmp_path / "right.py").write_text(example, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(
        "import tflmgen\n"
        "model = tflmgen.compile('m.tflite', optimize='fast')\n"
        "size: str = model.arena_bytes\n"
        "model.plan.arena_bytes = 3\n"
        "model.operators[0].mac\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", str(installed)]
    checked = subprocess.run(
        [*command, "right.py", "wrong.py"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    errors = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert [line.split(": error: ")[0] for line in errors] == [f"wrong.py:{number}" for number in (2, 3, 4, 5)], errors


BESIDE_RENODE = {
    "construct": "2.10.70",
    "psutil": "5.9.3",
    "pyelftools": "0.30",
    "pyyaml": "6.0.2",
    "robotframework": "6.1",
}
"""Versions that renode-test wants of Renode 1.16.1: tests/requirements.txt, and tools/execution_tracer's."""


def test_renode_test_installs_in_the_same_environment() -> None:
    """pip resolves tflmgen beside Renode's own pins, as docs/use/ci.md installs them."""
    section = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("\ndependencies = [", 1)[1].split("]", 1)[0]
    wanted = [Requirement(line) for line in re.findall(r'"([^"]+)"', section)]
    shared = [requirement for requirement in wanted if requirement.name in BESIDE_RENODE]
    assert "pyelftools" in {requirement.name for requirement in shared}
    assert not [str(r) for r in shared if not r.specifier.contains(BESIDE_RENODE[r.name])]
