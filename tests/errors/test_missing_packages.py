"""A source that does not exist is said before the package that would read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tflmgen.errors import ModelError
from tflmgen.sources import model_source


@pytest.mark.parametrize("name", ["model.onnx", "net.pt2"])
def test_a_missing_file_comes_before_a_missing_package(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_source, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match="there is no such file"):
        model_source.read_source(tmp_path / name)
    (tmp_path / name).touch()
    with pytest.raises(ModelError, match="needs the package"):
        model_source.read_source(tmp_path / name)
