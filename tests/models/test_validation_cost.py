"""Quick validation of a model of Visual Wake Words' size takes at most a second of CPU."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from support.corpus import corpus_models, requires_corpus
from tflmgen import compiler, graph_compiler
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions
from tflmgen.reference import validated

SECONDS = 1.0
MODEL = "mlperf_vww_int8"


@requires_corpus
def test_quick_validation_costs_at_most_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a build with validation does more, without a result in the cache."""
    spent: list[float] = []

    def timed(*arguments: Any) -> Any:
        start = time.process_time()
        result = validated(*arguments)
        spent.append(time.process_time() - start)
        return result

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(graph_compiler, "validated", timed)
    (path,) = (path for path in corpus_models() if path.stem == MODEL)
    (proof,) = compiler.compile_model(path, Target("host"), BuildOptions()).plan["proof"]
    print(f"{proof['text']}: {spent} s of CPU")
    assert proof["equal"] >= 12
    assert spent[0] <= SECONDS
