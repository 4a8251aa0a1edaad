"""examples/gitlab.yml: its scripts after the installation do what it says, each in a fresh shell and a clean folder."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from support.repository import ROOT
from support.tools import requires, requires_compiler, requires_qemu

GATE = ROOT / "examples" / "gate"
TEMPLATE = ROOT / "examples" / "gitlab.yml"


def job() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    return dict(yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))[".tflmgen"])


def run_script(part: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a script as GitLab's runner does: its lines in one shell that stops at the first failure."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        **job()["variables"],
        **variables,
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", "\n".join(job()[part])]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


Notes = list[tuple[str, str, str]]
"""Path, token and text of each comment."""


@pytest.fixture
def gitlab() -> Iterator[tuple[str, Notes]]:
    """Address of a stand-in for GitLab's API, and the comments that it received."""
    notes: Notes = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            notes.append((self.path, self.headers["PRIVATE-TOKEN"], parse_qs(text)["body"][0]))
            self.send_response(201)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            del format, arguments

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v4", notes
        server.shutdown()
        thread.join()


def test_every_variable_is_used_and_named_by_the_page() -> None:
    contents = job()
    page = (ROOT / "docs" / "use" / "ci.md").read_text(encoding="utf-8")
    scripts = "\n".join(line for part in ("before_script", "script", "after_script") for line in contents[part])
    for name in contents["variables"]:
        assert f'"${name}"' in scripts
    for name in ("TFLMGEN_MODEL", "TFLMGEN_VECTORS", "TFLMGEN_BASELINE", "TFLMGEN_ALLOW", "TFLMGEN_TOKEN"):
        assert name in page


@pytest.mark.emulator
@requires_compiler
@requires_qemu
@requires("curl")
def test_the_scripts(tmp_path: Path, gitlab: tuple[str, Notes]) -> None:
    address, notes = gitlab
    model = {"TFLMGEN_MODEL": f"{GATE}.tflite", "TFLMGEN_VECTORS": f"{GATE}.npz"}
    request = {"CI_API_V4_URL": address, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7", "TFLMGEN_TOKEN": "t"}
    first = run_script("script", tmp_path, **model)
    assert first.returncode == 0, first.stderr
    assert first.stdout.endswith("No baseline - nothing is compared\n")
    assert (tmp_path / "tflmgen-test.xml").is_file()
    assert run_script("after_script", tmp_path, **request).returncode == 0
    assert not notes
    bench = json.loads((tmp_path / "tflmgen-bench.json").read_text(encoding="utf-8"))
    bench["per_invoke"]["worst"]["instructions"] -= 100
    (tmp_path / "main.json").write_text(json.dumps(bench), encoding="utf-8")
    grown = run_script("script", tmp_path, **model, TFLMGEN_BASELINE="main.json")
    assert grown.returncode == 1, grown.stdout
    assert run_script("after_script", tmp_path, **{**request, "CI_MERGE_REQUEST_IID": ""}).returncode == 0
    assert not notes, "outside of merge requests there is nothing to comment"
    commented = run_script("after_script", tmp_path, **request)
    assert commented.returncode == 0, commented.stderr
    ((path, token, text),) = notes
    assert (path, token) == ("/api/v4/projects/5/merge_requests/7/notes", "t")
    assert text.rstrip("\n") == (tmp_path / "tflmgen-diff.md").read_text(encoding="utf-8").rstrip("\n")
    assert "instructions" in text
