"""Operations of a graph that reach beyond it: TensorFlow would run them when a source is loaded or compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry

from tflmgen.tensorflow_worker.loaded_source import SourceError
from tflmgen.user_files import MEGABYTE, MODEL_LIMIT, read_limited, read_text_limited

TEXT_GRAPH_LIMIT = 256 * MEGABYTE
"""Bytes of the largest graph that is read as text, which takes some ten times as much memory."""

_REACHING = re.compile(
    r"ReadFile|WriteFile|MatchingFiles|.*PyFunc\w*|.*Dataset\w*|InitializeTableFromTextFile\w*|.*Summary\w*"
    r"|DecodeProto\w*|EncodeProto\w*|GenerateVocabRemapping|LoadAndRemap\w*|FileSystemSetConfiguration|Debug\w*"
    r"|_?Send|_?Recv|Xla(Launch|Send|Recv)\w*"
)
"""Operations without a state that read or write files, call Python, or talk to other processes."""

_STATES = re.compile(
    r"_?Var(iable(V2|Shape)?|Handles?Op|IsInitializedOp)|(Temporary|DestroyTemporary)Variable|DisableCopyOnRead"
    r"|_?ReadVariable\w+|Assign\w*|Resource\w+|Scatter\w+|IsVariableInitialized|Destroy\w+Op|_?If|_?While|Case"
    r"|(Stateful)?PartitionedCall|TensorArray\w*|Stack(V2|Push\w*|Pop\w*|Close\w*)?|Random(?!\w*Queue)\w+|Stateful\w+"
    r"|Multinomial|(Parameterized)?TruncatedNormal|Rng\w+|NonDeterministicInts|\w*SeedGenerator|StatelessRandomGetAlg"
    r"|(All|Uniform|LogUniform|LearnedUnigram|ThreadUnsafeUnigram)CandidateSampler|SampleDistortedBoundingBox(V2)?"
    r"|Assert|CheckNumerics(V2)?|NoOp|_Arg|_Retval|Print(V2)?|(Anonymous)?(Mutable)?(Dense)?HashTable\w*|LookupTable\w+"
    r"|InitializeTable(V2)?|Empty|DeepCopy|GuaranteeConst|DeviceIndex|IsResourceHandleRefCounting"
    r"|MakeWeakResourceHandle|XlaCallModule|CudnnRNN\w*"
)
"""Operations with a state that is the graph's own: variables, calls, lists, tables in memory, random numbers."""

_SAVES = re.compile(r"Save(V2|Slices)?|DistributedSave|MergeV2Checkpoints")
"""Operations of a saver that write files; a SavedModel has them beside what it computes."""

_RESTORES = re.compile(r"Restore\w*|ShardedFilename\w*")


def check_graph(graph_def: Any, restores: bool = False) -> None:
    """Raises SourceError for an operation that reaches beyond the graph; `restores`: but for reading variables."""
    for node in _nodes(graph_def):
        if restores and _RESTORES.fullmatch(node.op):
            continue
        definition = op_def_registry.get(node.op)
        is_foreign = definition is not None and definition.is_stateful and not _STATES.fullmatch(node.op)
        prints = node.op == "PrintV2" and node.attr["output_stream"].s.startswith(b"file:")
        if is_foreign or prints or _REACHING.fullmatch(node.op) or _RESTORES.fullmatch(node.op):
            raise SourceError(
                f"its node '{node.name}' ({node.op}) reaches files, Python or other processes, which a model may not"
            )


def checked_saved_model(folder: Path, scratch: Path) -> Path:
    """A SavedModel for TensorFlow to load: its graphs as they were checked, without what would write checkpoints.

    scratch  empty folder, where the copy is made; variables and assets are links
    """
    message = _read(folder)
    for meta in message.meta_graphs:
        for node in _nodes(meta.graph_def):
            if _SAVES.fullmatch(node.op):
                node.op = "NoOp"
                node.attr.clear()
                node.input[:] = [name for name in node.input if name.startswith("^")]
        check_graph(meta.graph_def, restores=True)
    (scratch / "saved_model.pb").write_bytes(message.SerializeToString())
    for entry in folder.iterdir():
        if not entry.name.startswith(("saved_model.", "fingerprint")):
            (scratch / entry.name).symlink_to(entry.resolve())
    return scratch


def _read(folder: Path) -> Any:
    """The message of a SavedModel, binary or text."""
    message = saved_model_pb2.SavedModel()
    binary, text = folder / "saved_model.pb", folder / "saved_model.pbtxt"
    if (folder / "saved_model.cpb").exists():
        raise SourceError("its saved_model.cpb is in several parts, which are not read")
    try:
        if binary.exists():
            message.ParseFromString(read_limited(binary, MODEL_LIMIT))
        else:
            text_format.Parse(read_text_limited(text, TEXT_GRAPH_LIMIT), message)
    except (DecodeError, text_format.ParseError, ValueError):
        raise SourceError("its saved_model.pb is damaged") from None
    except OSError as error:
        raise SourceError(f"its saved_model.pb cannot be read: {error.strerror or error}") from None
    return message


def _nodes(graph_def: Any) -> Iterator[Any]:
    """Nodes of the graph, and of the functions that it calls."""
    yield from graph_def.node
    for function in graph_def.library.function:
        yield from function.node_def
