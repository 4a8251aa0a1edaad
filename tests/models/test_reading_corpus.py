"""The reader on real files: every valid model of the corpus is read, no bad one gives anything but a ModelError."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.corpus import CORPUS, corpus_models, malformed_models, requires_corpus
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite.reader import read_model

READER_REFUSES = frozenset(
    """
    all_zero_1k buffer_index_oob buffer_offset_wrap buffer_too_big custom_without_name empty_file graph_output_oob
    header_only huge_arena_3gb huge_shape_int32 if_then_oob litert_sparse_tensor litert_string_input_model
    litert_test_model_broken negative_dim no_buffers no_subgraphs per_channel_count root_offset_huge scale_negative
    scale_zero schema_version_2 self_loop tensor_index_minus2 tensor_index_oob_input truncated_half two_writers
    type_unknown_77 unknown_builtin_9999 while_body_oob writes_constant wrong_identifier zero_point_oob
    """.split()  # noqa: SIM905
)
"""Faults that need no knowledge of operators; the importer and ops/ refuse the others."""


@requires_corpus
def test_every_model_is_read() -> None:
    for path in corpus_models():
        model = read_model(path)
        assert model.subgraphs[0].operators, path


@requires_corpus
@pytest.mark.parametrize("entry", malformed_models(), ids=lambda entry: Path(entry["path"]).stem)
def test_a_bad_file_is_read_or_refused(entry: dict[str, Any]) -> None:
    path = CORPUS / entry["path"]
    try:
        read_model(path)
        refusal = None
    except ModelError as error:
        refusal = str(error)
    if refusal is not None:
        assert all(line.startswith(f"{path}: ") for line in refusal.splitlines())
    assert refusal is not None or path.stem not in READER_REFUSES
