"""Comparison of a lowered source at each command that reads one, remembered in the user's cache.

Whoever lowers a source by another way than `convert` asks here what the source means: ONNX Runtime, PyTorch, or the
evaluator of the package onnx. What differs is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tflmgen.frontend.onnx import OnnxProgram, file_of_source
from tflmgen.frontend.tflite import Model, write_model
from tflmgen.options import SourceOptions
from tflmgen.sources.data_proof import ProofSettings, prove
from tflmgen.sources.model_source import is_lowered, read_source, source_program
from tflmgen.sources.onnx_source import OnnxSource
from tflmgen.sources.proof_result import Proof
from tflmgen.sources.source_entry import SourceEntry, SourcePort
from tflmgen.user_cache import cache_folder, write_cached
from tflmgen.user_files import MODEL_LIMIT, read_limited
from tflmgen.version import VERSION

ADVICE = "Nothing was built. --validate off asks nobody"
EFFORTS = {
    "quick": ProofSettings(seconds=1.0, first=4.0, advice=ADVICE),
    "full": ProofSettings(seconds=8.0, first=60.0, advice=ADVICE),
}
"""Efforts of --validate. A set of 8 million multiply-accumulates takes about 0.04 s."""
LARGEST = 1 << 26
"""Elements of a tensor up to which a source is run."""
NARROW_TOLERANCE = 0.02
"""Tolerance where PyTorch computes in float16, whose step is 0.001, through some tens of layers."""
RUNNERS = ("onnx", "onnxruntime", "torch")
"""Packages whose versions a comparison depends on."""
_UNSUPPORTED: dict[str, Proof] = {}
"""Sources of this process of which nothing was compared: another process may find more time, or another runner."""


def read_compared(path: Path, options: SourceOptions) -> tuple[Model, Proof | None]:
    """The Model of a file of any known format, and how it compares with its source; None for a .tflite file.

    Raises ModelError for a bad file, and for a source whose lowering differs.
    """
    model = read_source(path, options)
    return model, compared(path, options, model, "quick") if is_lowered(path) else None


def compared(
    path: Path, options: SourceOptions, model: Model, effort: str, report: Callable[[str], None] = lambda _: None
) -> Proof:
    """Comparison of a source with the Model that it was lowered to; with the effort "off", a note that there was none.

    Raises ModelError where it differs.
    """
    if effort == "off":
        return Proof(unsupported="nobody was asked what it means (--validate off)")
    if any(math.prod(tensor.shape) > LARGEST for graph in model.subgraphs for tensor in graph.tensors):
        return Proof(unsupported="its tensors are larger than any microcontroller's")
    program = source_program(path, options)
    digest = _digest(program, model, options, effort)
    if digest in _UNSUPPORTED:
        return _UNSUPPORTED[digest]
    place = cache_folder("source_proof") / f"{digest}.json"
    with suppress(OSError, ValueError, TypeError, KeyError):
        return _from_json(json.loads(place.read_text(encoding="utf-8")))
    report(f"Comparing with {path.name}")
    proof = prove_lowered(program, model, options, EFFORTS[effort])
    if proof.unsupported:
        _UNSUPPORTED[digest] = proof
    else:
        write_cached(place, json.dumps(_to_json(proof)))
    return proof


def keep_verdict(data: bytes, source: Path, proof: Proof) -> None:
    """Keeps how a converted file compares with its source, for commands that take the file."""
    text = f"converted from {source.name}, {proof.text[0].lower()}{proof.text[1:]}"
    write_cached(_verdict_file(hashlib.sha256(data).hexdigest()), json.dumps({"text": text, "warning": proof.warning}))


def kept_verdict(sha256: str) -> Mapping[str, str] | None:
    """Verdict that keep_verdict() kept of the file with this digest: a sentence, and a warning or nothing."""
    with suppress(OSError, ValueError):
        entry = json.loads(_verdict_file(sha256).read_text(encoding="utf-8"))
        return {key: str(entry[key]) for key in ("text", "warning")} if isinstance(entry, dict) else None
    return None


def _verdict_file(sha256: str) -> Path:
    return cache_folder("converted") / f"{sha256[:32]}.json"


def prove_lowered(program: OnnxProgram, model: Model, options: SourceOptions, settings: ProofSettings) -> Proof:
    """The comparison itself. Raises ModelError where the Model differs from the program."""
    entry = entry_of(model)
    runner = OnnxSource(program, [port.name for port in entry.inputs], options.nhwc_inputs)
    if program.is_torch and program.other_floats:
        # PyTorch computes in the types that became float32; of ONNX, the model in float32 is run.
        settings = replace(settings, tolerance=max(settings.tolerance, NARROW_TOLERANCE))
    return prove(model, [entry], runner, runner.is_stateful, settings)


def entry_of(model: Model) -> SourceEntry:
    """The one entry of a lowered source, with the ports of the file."""
    (signature,) = model.signatures
    tensors = model.subgraphs[signature.subgraph].tensors
    inputs, outputs = (
        tuple(SourcePort(name, tensors[place].type_name, tensors[place].shape) for name, place in side)
        for side in (signature.inputs, signature.outputs)
    )
    return SourceEntry(signature.key, inputs, outputs)


def _digest(program: OnnxProgram, model: Model, options: SourceOptions, effort: str) -> str:
    """A hash of all that the comparison follows from."""
    digest = hashlib.sha256(f"{VERSION} {effort} {bool(program.torch)} {options.nhwc_inputs}".encode())
    for name in RUNNERS:
        with suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}".encode())
    for room in ("sources", "reference"):
        for path in sorted((Path(__file__).parents[1] / room).rglob("*.py")):
            digest.update(path.read_bytes())
    digest.update(hashlib.sha256(program.onnx).digest())
    if program.torch:  # two programs may have one export, and faults of the export are what is looked for
        digest.update(hashlib.sha256(read_limited(file_of_source(Path(program.torch)), MODEL_LIMIT)).digest())
    digest.update(repr([(key, array.tolist()) for key, array in sorted(program.constants.items())]).encode())
    digest.update(hashlib.sha256(write_model(model)).digest())
    return digest.hexdigest()[:32]


def _to_json(proof: Proof) -> dict[str, object]:
    return {**asdict(proof), "errors": [[*key, error] for key, error in proof.errors.items()]}


def _from_json(entry: Mapping[str, object]) -> Proof:
    texts = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    errors = {(key, output): error for key, output, error in entry["errors"]}  # type: ignore[attr-defined]
    return Proof(**{**texts, "errors": errors})  # type: ignore[arg-type]
