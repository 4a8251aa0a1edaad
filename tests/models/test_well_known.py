"""The made networks are what they stand for: their layers are those of the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.corpus import CORPUS, requires_corpus
from support.well_known import MADE
from tflmgen.frontend.tflite.reader import read_model


def layers(path: Path) -> list[tuple[str, list[tuple[int, ...]]]]:
    """Each operator with the shapes of its operands and results."""
    (graph,) = read_model(path).subgraphs
    return [
        (operator.name, [graph.tensors[i].shape for i in (*operator.inputs, *operator.outputs) if i >= 0])
        for operator in graph.operators
    ]


@requires_corpus
@pytest.mark.parametrize("name", MADE)
def test_made_networks_have_the_layers_of_the_real_ones(name: str, tmp_path: Path) -> None:
    made = tmp_path / "made.tflite"
    made.write_bytes(MADE[name]())
    assert layers(made) == layers(CORPUS / "real" / f"{name}.tflite")
