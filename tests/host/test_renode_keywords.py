"""The keyword library of the Renode suites, against the firmware's server on the host behind a socket."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support import tiny
from tflmgen.emulators.host import compile_host
from tflmgen.hardware.board import load_board

X = np.arange(16, dtype=np.int8)
VALUES = np.frombuffer(tiny.VALUES, np.int32)
MODE = np.zeros(1, np.float32)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_project(load_board("mps2_an386"), tmp_path_factory.mktemp("keywords") / "a project")


@pytest.fixture(scope="module")
def program(project: Path) -> Path:
    compile_host(project, project / "server")
    return project / "server"


@pytest.fixture
def keywords(project: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The library as Robot Framework imports it: link.py beside it comes first."""
    monkeypatch.syspath_prepend(str(project / "renode"))
    monkeypatch.delitem(sys.modules, "link", raising=False)
    spec = importlib.util.spec_from_file_location("firmware", project / "renode" / "firmware.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "firmware", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def connected(keywords: ModuleType, program: Path) -> Iterator[ModuleType]:
    port = keywords.free_port()
    server = socket.create_server(("127.0.0.1", port))

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            subprocess.run([str(program)], stdin=connection.fileno(), stdout=connection.fileno(), check=False)

    thread = threading.Thread(target=serve)
    thread.start()
    keywords.connect_to_firmware(str(port), 20)
    yield keywords
    keywords._open.pop().stream.close()
    thread.join(timeout=20)
    server.close()
    assert not thread.is_alive()


def vectors(path: Path, **changes: Any) -> str:
    """Set 0 adds to the state, set 1 increments."""
    arrays: dict[str, Any] = {
        "s0_sig": "accumulate",
        "s0_in_0": VALUES,
        "s0_in_1": MODE,
        "s0_out_0": np.array([tiny.TOTAL], np.int32),
        "s1_sig": "increment",
        "s1_in_0": X,
        "s1_out_0": X + np.int8(1),
    }
    np.savez(path, **(arrays | changes))
    return str(path)


def test_model_is_the_one_that_is_expected(connected: ModuleType) -> None:
    connected.model_should_be("tiny", "2")
    with pytest.raises(AssertionError, match="serves tiny with 2 signatures"):
        connected.model_should_be("other", "2")


def test_outputs_repeat(connected: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    connected.outputs_should_repeat()
    monkeypatch.setattr(connected._open[-1].client, "reset", lambda: None)
    with pytest.raises(AssertionError, match="'accumulate' gives other outputs"):
        connected.outputs_should_repeat()


def test_outputs_equal_the_vectors(connected: ModuleType, tmp_path: Path) -> None:
    connected.outputs_should_equal(vectors(tmp_path / "v.npz"), "0", "0")
    wrong = vectors(tmp_path / "w.npz", s1_out_0=X)
    with pytest.raises(AssertionError, match="set 1, output 0 differs"):
        connected.outputs_should_equal(wrong, "1", "1")


def test_state_is_kept_between_stateful_sets(connected: ModuleType, tmp_path: Path) -> None:
    arrays = {"s1_sig": "accumulate", "s1_in_0": VALUES, "s1_in_1": MODE}
    total = np.array([2 * tiny.TOTAL - 100], np.int32)
    path = vectors(tmp_path / "v.npz", **arrays, s1_out_0=total, stateful=np.array(True))
    connected.outputs_should_equal(path, "0", "0")
    with pytest.raises(AssertionError, match="set 1, output 0 differs"):
        connected.outputs_should_equal(vectors(tmp_path / "w.npz", **arrays, s1_out_0=total), "0", "0")


def test_a_status_is_an_error(connected: ModuleType, tmp_path: Path) -> None:
    refused = np.frombuffer(tiny.mode(tiny.REFUSE), np.float32)
    with pytest.raises(AssertionError, match="'accumulate' returned status 3"):
        connected.outputs_should_equal(vectors(tmp_path / "v.npz", s0_in_1=refused), "0", "0")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_have_tolerances(keywords: ModuleType, tmp_path: Path, dtype: type) -> None:
    expected: NDArray[Any] = np.array([1.0, np.nan, np.inf, 0.0], dtype)
    np.savez(tmp_path / "v.npz", x=expected)
    array = keywords._read_npz(tmp_path / "v.npz")["x"]
    inside, far = expected.copy(), expected.copy()
    inside[0], far[0] = 1.0009765625, 1.01
    assert keywords._equal(array, inside.tobytes(), 0.0, 0.002)
    assert not keywords._equal(array, inside.tobytes(), 0.0, 0.0)
    assert not keywords._equal(array, far.tobytes(), 0.0, 0.002)
    for i, value in enumerate((np.nan, 0.0, -np.inf, np.nan)):
        other = expected.copy()
        other[i] = value
        assert not keywords._equal(array, other.tobytes(), 1.0, 1.0), i


def test_paths_for_the_monitor(keywords: ModuleType) -> None:
    assert keywords.renode_path("@platforms/x.repl") == "@platforms/x.repl"
    assert keywords.renode_path("/a b/c") == r"@/a\ b/c"
