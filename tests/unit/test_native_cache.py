"""build_native() runs no program of other sources, headers or compilers than those that are there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support import native
from support.build_cache import cached, prune
from support.pipeline import compile_bytes
from support.repository import ROOT
from tflmgen.user_cache import cache_folder


def test_a_header_that_changes_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    firmware = tmp_path / "firmware"
    for folder in ("kernels", "runtime"):
        shutil.copytree(native.FIRMWARE / folder, firmware / folder)
    monkeypatch.setattr(native, "FIRMWARE", firmware)
    sources = {"m": compile_bytes((ROOT / "examples" / "gate.tflite").read_bytes()).sources("m")}
    first = native.build_native(sources, flags=("-O0",))
    assert first == native.build_native(sources, flags=("-O0",))
    assert first.is_relative_to(cache_folder("tests"))
    for header in ("runtime/tflmgen.h", "runtime/tflmgen/serve.h", "kernels/common.h"):
        before = native.build_native(sources, flags=("-O0",))
        with (firmware / header).open("a", encoding="utf-8") as file:
            file.write("/* changed */\n")
        assert native.build_native(sources, flags=("-O0",)) != before
    monkeypatch.setattr(native, "version", lambda _: "another")
    assert native.build_native(sources, flags=("-O0",)) != before


def test_nothing_is_kept_of_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    def make(folder: Path) -> None:
        attempts.append((folder / "half").write_text("half"))
        assert len(attempts) > 1

    key = ("failing", tmp_path)
    with pytest.raises(AssertionError):
        cached(key, make)
    assert (cached(key, make) / "half").exists()
    cached(key, make)
    assert len(attempts) == 2
    monkeypatch.setenv("CPATH", "/another")
    cached(key, make)
    assert len(attempts) == 3


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    for name, used in (("old", 1), ("older", 0), ("young", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "program").write_bytes(bytes(100))
        os.utime(tmp_path / name, (used, used))
    (tmp_path / "in use").mkdir()
    (tmp_path / "in use" / "program").write_bytes(bytes(1000))
    prune(tmp_path, 1200)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in use", "old", "young"]
    prune(tmp_path, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["in use"]
