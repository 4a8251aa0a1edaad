"""The made networks are what they stand for: their layers are those of the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.corpus import CORPUS, requires_corpus
from support.well_known import NETWORKS
from tflmgen.frontend.tflite.reader import read_model


def layers(path: Path) -> list[tuple[str, list[tuple[int, ...]]]]:
    """Each operator with the shapes of its operands and results."""
    (graph,) = read_model(path).subgraphs
    return [
        (operator.name, [graph.tensors[i].shape for i in (*operator.inputs, *operator.outputs) if i >= 0])
        for operator in graph.operators
    ]


@requires_corpus
@pytest.mark.parametrize("name", NETWORKS)
def test_made_networks_have_the_layers_of_the_real_ones(name: str, tmp_path: Path) -> None:
    path = tmp_path / "made.tflite"
    path.write_bytes(NETWORKS[name]())
    assert layers(path) == layers(CORPUS / "real" / f"{name}.tflite")
