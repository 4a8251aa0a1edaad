"""build_native() runs no program of other sources, headers or compilers than those that are there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import native
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
    assert first.is_relative_to(cache_folder("tests-native"))
    for header in ("runtime/tflmgen.h", "runtime/tflmgen/serve.h", "kernels/common.h"):
        before = native.build_native(sources, flags=("-O0",))
        with (firmware / header).open("a", encoding="utf-8") as file:
            file.write("/* changed */\n")
        assert native.build_native(sources, flags=("-O0",)) != before
    monkeypatch.setattr(native, "_version", lambda _: "another")
    assert native.build_native(sources, flags=("-O0",)) != before
