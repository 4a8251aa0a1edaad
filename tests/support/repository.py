"""The repository as tests see it: its folders and the files that belong to it."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = (".ci", "boards", "codegen", "docs", "examples", "firmware", "schema", "templates", "tests")
"""Every folder at the top; a new one needs a reason."""

FILES = (
    "CHANGELOG.md CONTRIBUTING.md LICENSE LICENSE-EXCEPTION README.md action.yml mkdocs.yml pyproject.toml "
    ".clang-format .gitattributes .gitignore"
)
"""Every file at the top, with spaces between."""

PYTHON = ("codegen", "tests", "examples", "firmware", "templates")
C = ("firmware", "templates", "tests")


def sources(folders: tuple[str, ...], *suffixes: str) -> list[Path]:
    """Every file below `folders` that ends like this, by path."""
    paths = (path for folder in folders for suffix in suffixes for path in (ROOT / folder).rglob(f"*{suffix}"))
    return sorted(path for path in paths if "__pycache__" not in path.parts)


@cache
def syntax(path: Path) -> ast.Module:
    """The syntax tree of a file that does not change while tests run."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def tracked_files() -> tuple[Path, ...]:
    """What git knows of; the test is skipped outside of a git work tree."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git work tree")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return tuple(ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file())


def page_named(name: str) -> Path:
    """The page of the documentation with this name, on whichever shelf it stands."""
    (page,) = (ROOT / "docs").rglob(f"{name}.md")
    return page
