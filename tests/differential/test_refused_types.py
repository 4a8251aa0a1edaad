"""refused_types.json is what LiteRT takes and tflmgen refuses now; `python tests/litert_types.py` writes it anew."""

from __future__ import annotations

import json

import pytest
from litert_types import ROWS, refused

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is the reference")

RECORDED = json.loads(ROWS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["ARG_MAX", "SQRT"])
def test_a_sample(name: str) -> None:
    assert refused({name}).get(name) == RECORDED.get(name)


@pytest.mark.sweep
def test_every_operator() -> None:
    assert refused(set()) == RECORDED
