"""The pages as a site, and the notebook: both are made as a reader makes them, where the extras are installed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import tflmgen
from support.repository import ROOT
from support.tools import requires

SECTIONS = ["Start", "Use", "Understand", "Contribute"]


def _dead_links(site: Path) -> list[str]:
    """Links and pictures of pages that lead nowhere."""
    dead = []
    for page in site.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8")):
            target = site / link.lstrip("/") if link.startswith("/") else page.parent / link
            if ":" not in link and not target.exists():
                dead.append(f"{page.relative_to(site)}: {link}")
    return dead


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs the extra docs")
def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "use" / "python-reference" / "index.html").read_text(encoding="utf-8")
    public = {name for name in tflmgen.__all__ if not name.startswith("__")}
    assert public <= set(re.findall(r'id="tflmgen\.(\w+)"', page))
    assert "Kernel" not in page or "c_type" not in page
    navigation = re.findall(r'class="md-nav__title"[^>]*>\s*(?:<span[^>]*></span>)?\s*(\w+)', page)
    assert [title for title in navigation if title in SECTIONS] == SECTIONS
    assert 'data-md-color-scheme="slate"' in page
    transcript = (tmp_path / "start" / "getting-started" / "index.html").read_text(encoding="utf-8")
    assert '<span class="gp">' in transcript
    assert "\\|" not in (tmp_path / "use" / "commands" / "index.html").read_text(encoding="utf-8")
    assert not _dead_links(tmp_path)
    for described in ("RAM of activations and scratch memory", "An array per input name"):
        assert described in page


@requires("cc", "gcc", "clang")
@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("nbclient", "ipykernel", "pandas")), reason="needs the extra notebook"
)
def test_the_notebook_runs() -> None:
    nbformat = pytest.importorskip("nbformat")
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "examples" / "notebook" / "memory.ipynb", as_version=4)
    resources = {"metadata": {"path": str(ROOT / "examples" / "notebook")}}
    NotebookClient(notebook, timeout=120, resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    html = [output["data"].get("text/html", "") for output in outputs if "data" in output]
    assert "bytes of arena" in html[0]
    assert "<rect " in html[0]
    assert "<table" in html[2]
    assert "scores" in outputs[-1]["data"]["text/plain"]
