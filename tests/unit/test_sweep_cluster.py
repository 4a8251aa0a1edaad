"""`tflmgen sweep` on a Dask cluster: complete, once each, after SIGKILL of a worker and of the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from support.processes import survivors
from support.repository import ROOT
from support.sweep_environment import interpreter, requires_dask

pytestmark = requires_dask

SLOW = f"""
import importlib.util, time
spec = importlib.util.spec_from_file_location("ds_cnn", {str(ROOT / "examples" / "sweep" / "ds_cnn_space.py")!r})
ds_cnn = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ds_cnn)
BOARDS = ["nucleo_f446re"]
def candidates():
    return [{{"width": width, "depth": 1, "kernel": 3}} for width in range(4, 4 + NUMBER)]
def build(**parameters):
    time.sleep(0.2)
    return ds_cnn.build(**parameters)
score = ds_cnn.score
"""


def _command(folder: Path, *words: str, number: int = 6) -> list[str]:
    (folder / "space.py").write_text(SLOW.replace("NUMBER", str(number)), encoding="utf-8")
    return [str(interpreter()), "-m", "tflmgen", "sweep", "space.py", "-o", "rows.parquet", "--workers", "2", *words]


def _rows(folder: Path) -> list[dict[str, Any]]:
    """All rows as they are in the files, by a reader of its own."""
    code = "import sys, json, pyarrow.dataset as d; t = d.dataset(sys.argv[1], partitioning='hive').to_table()"
    code += "; print(json.dumps(t.to_pylist()))"
    done = subprocess.run(
        [str(interpreter()), "-c", code, "rows.parquet"], cwd=folder, capture_output=True, text=True, check=True
    )
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def _run(folder: Path, *words: str, number: int = 6) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "80"}
    command = _command(folder, *words, number=number)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_rows_pages_and_a_second_run(tmp_path: Path) -> None:
    for name in (".scratch/mine", ".lock"):  # files of the user's, whatever their names
        path = tmp_path / "rows.parquet" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine", encoding="utf-8")
    first = _run(tmp_path, "--report", "page.html", "--cache", "cache")
    assert first.returncode == 0, first.stderr
    assert max(map(len, first.stdout.splitlines())) <= 80
    assert "6 rows computed" in first.stdout
    rows = _rows(tmp_path)
    assert Counter(row["status"] for row in rows) == {"ok": 6}
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(row["task"] in page for row in rows)
    assert all(f"page-builds/{path.name}" in page for path in (tmp_path / "page-builds").iterdir())
    again = json.loads(_run(tmp_path, "--json").stdout)
    schema = json.loads((ROOT / "schema" / "sweep.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(again)
    assert (again["rows"], again["computed"], again["statuses"]) == (6, 0, {"ok": 6})
    other = json.loads(_run(tmp_path, "--json", "--cache", "cache", "-o", "other.parquet").stdout)
    assert other["computed"] == 6
    assert all(row["cached"] for row in other["pareto"])
    assert not (tmp_path / "rows.parquet" / ".tflmgen-sweep").exists()
    assert all((tmp_path / "rows.parquet" / name).read_text() == "mine" for name in (".scratch/mine", ".lock"))


def test_a_cluster_of_the_users(tmp_path: Path) -> None:
    """A scheduler and a worker that were started by Dask's own commands compute the rows, and go on afterwards."""
    dask = [str(interpreter()), "-m", "dask"]
    file = ["--scheduler-file", "cluster.json", "--no-dashboard"]
    with (
        subprocess.Popen(
            [*dask, "scheduler", "--port", "0", *file], cwd=tmp_path, stderr=subprocess.DEVNULL
        ) as scheduler,
        subprocess.Popen([*dask, "worker", *file], cwd=tmp_path, stderr=subprocess.DEVNULL) as worker,
    ):
        try:
            _until((tmp_path / "cluster.json").exists)
            address = json.loads((tmp_path / "cluster.json").read_text(encoding="utf-8"))["address"]
            done = _run(tmp_path, "--scheduler", address, number=2)
            assert done.returncode == 0, done.stderr
            assert (scheduler.poll(), worker.poll()) == (None, None)
        finally:
            worker.terminate()
            scheduler.terminate()
    assert Counter(row["status"] for row in _rows(tmp_path)) == {"ok": 2}


def test_what_is_no_scheduler(tmp_path: Path) -> None:
    done = _run(tmp_path, "--scheduler", "host")
    assert done.returncode == 2
    assert "--scheduler host" in done.stderr
    assert "tcp://host:8786" in done.stderr


def _below(process: int) -> list[tuple[int, str]]:
    """Processes that descend from one, with their command lines."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    children: dict[int, list[tuple[int, str]]] = {}
    for line in listed.splitlines():
        pid, parent, words = line.split(None, 2)
        children.setdefault(int(parent), []).append((int(pid), words))
    queue, family = [process], []
    while queue:
        for child in children.get(queue.pop(), []):
            family.append(child)
            queue.append(child[0])
    return family


def _until(condition: Any, seconds: float = 90.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.2)


def test_no_row_is_lost_or_doubled_by_kills(tmp_path: Path) -> None:
    number = 50
    with subprocess.Popen(_command(tmp_path, "--quiet", number=number), cwd=tmp_path) as client:

        def workers() -> list[int]:
            tasks = {p for p, words in _below(client.pid) if "task_process" in words}
            return [p for p, _ in _below(client.pid) if tasks & {child for child, _ in _below(p)} and p not in tasks]

        _until(lambda: len(workers()) == 2)
        os.kill(workers()[0], signal.SIGKILL)
        _until(lambda: [*tmp_path.glob("rows.parquet/board=*/part-*")])
        family = [p for p, _ in _below(client.pid)]
        client.kill()
        client.wait()
    _until(lambda: not survivors(family, seconds=0))
    had = len(_rows(tmp_path))
    assert 0 < had < number
    resumed = _run(tmp_path, "--json", number=number)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["computed"] == number - had
    rows = _rows(tmp_path)
    assert Counter(row["status"] for row in rows) == {"ok": number}
    assert len({row["task"] for row in rows}) == len(rows)
    assert not (tmp_path / "rows.parquet" / ".tflmgen-sweep").exists()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--options", "fast"), 2, "is not KEY=VALUE"),
        (("--boards", "nowhere"), 1, "nowhere"),
        (("--memory", "much"), 2, "--memory much"),
        (("-o", "space.py"), 1, "results are a folder"),
        (("-o", "nowhere://rows"), 1, "nowhere://rows: cannot be opened"),
        (("--cache", "space.py"), 1, "space.py: cannot be written"),
    ],
)
def test_bad_words_are_refused(tmp_path: Path, words: tuple[str, ...], code: int, text: str) -> None:
    done = _run(tmp_path, *words)
    assert done.returncode == code
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_the_workers_quietly(tmp_path: Path) -> None:
    command = _command(tmp_path, number=50)
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_heed_ctrl_c
    ) as client:
        _until(lambda: any("task_process" in words for _, words in _below(client.pid)))
        os.killpg(client.pid, signal.SIGINT)
        _, errors = client.communicate(timeout=60)
    assert (client.returncode, errors) == (130, "interrupted\n")


def _heed_ctrl_c() -> None:
    """Shells let what runs in the background ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_damaged_file_of_rows_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet" / "board=nucleo_f446re" / "part-1.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 and no more")
    done = _run(tmp_path)
    assert done.returncode == 1
    assert "part-1.parquet: cannot be read" in done.stderr
    assert "internal" not in done.stderr
