"""The corpus of models beside the repository, for the tests that need real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"

requires_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the corpus in ../shared/corpus")


def corpus_models() -> list[Path]:
    """Every valid model of the corpus; none where it is absent."""
    return sorted(path for path in CORPUS.glob("*/*.tflite") if path.parent.name != "malformed")


def malformed_models() -> list[dict[str, Any]]:
    """The manifest's malformed entries (path, fault, expect); none where the corpus is absent."""
    return _manifest("malformed")


def corpus_manifest() -> list[dict[str, Any]]:
    """The manifest's entries of valid models; none where the corpus is absent."""
    return _manifest("models")


def _manifest(key: str) -> list[dict[str, Any]]:
    manifest = CORPUS / "manifest.json"
    return list(json.loads(manifest.read_text())[key]) if manifest.exists() else []
