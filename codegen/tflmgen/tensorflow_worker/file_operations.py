"""Operations of a graph that reach beyond it: TensorFlow would run them when a source is loaded or compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from tflmgen.tensorflow_worker.source_error import SourceError
from tflmgen.user_files import MODEL_LIMIT, read_limited

_REACHING = re.compile(
    r"ReadFile|WriteFile|MatchingFiles|.*PyFunc\w*|.*Dataset\w*|.*Reader\w*|.*Iterator\w*"
    r"|InitializeTableFromTextFile\w*|.*Summary\w*|DebugIdentity\w*|DebugNumericSummary\w*|Rpc\w*|TryRpc\w*"
    r"|LoadLibrary|.*(Tpu|TPU)\w*|ConfigureDistributed\w*|CollectiveInitialize\w*|Send|_Send|Recv|_Recv"
)
"""Operations that read or write files, call Python, or talk to other processes."""

_SAVERS = re.compile(r"Save\w*|Restore\w*|MergeV2Checkpoints|ShardedFilename|.*Checkpoint\w*|LoadAndRemap\w*")
"""Operations of a saver, which every SavedModel has beside what it computes."""


def check_graph(graph_def: Any, may_save: bool = False) -> None:
    """Raises SourceError for an operation that reaches beyond the graph; `may_save`: but for a saver's."""
    for node in _nodes(graph_def):
        if _REACHING.fullmatch(node.op) or (_SAVERS.fullmatch(node.op) and not may_save):
            raise SourceError(
                f"its node '{node.name}' ({node.op}) reaches files, Python or other processes, which a model may not"
            )


def check_saved_model(folder: Path) -> None:
    """check_graph() of all graphs in a SavedModel, before TensorFlow loads it."""
    message = saved_model_pb2.SavedModel()
    file = folder / "saved_model.pb"
    if not file.exists():  # the text form, which TensorFlow reads
        return
    try:
        message.ParseFromString(read_limited(file, MODEL_LIMIT))
    except DecodeError:
        raise SourceError("its saved_model.pb is damaged") from None
    except OSError as error:
        raise SourceError(f"its saved_model.pb cannot be read: {error.strerror or error}") from None
    for meta in message.meta_graphs:
        check_graph(meta.graph_def, may_save=True)


def _nodes(graph_def: Any) -> Iterator[Any]:
    """Nodes of the graph, and of the functions that it calls."""
    yield from graph_def.node
    for function in graph_def.library.function:
        yield from function.node_def
