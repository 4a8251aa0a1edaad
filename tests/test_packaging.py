"""What is installed: every package and resource of the tree, and the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.repository import ROOT

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
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the tree, unpacked."""
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
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


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
