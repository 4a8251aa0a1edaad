"""Conversion of a TensorFlow source by the user's options, and the sentences about it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from tflmgen.conversion import ConversionSettings, SourceConversion, TensorFlowSource, convert_source
from tflmgen.errors import TflmgenError, UsageError
from tflmgen.frontend.tflite import CUSTOM, read_model
from tflmgen.kernels import OPERATORS
from tflmgen.options import ConvertOptions, SourceOptions
from tflmgen.plugins import installed_names, load_operators
from tflmgen.sources import shape_options
from tflmgen.terminal import Console
from tflmgen.user_files import MODEL_LIMIT, TEXT_LIMIT, check_writable, read_limited, write_whole


def converted(
    source: TensorFlowSource,
    target: Path,
    options: ConvertOptions,
    shapes: SourceOptions,
    console: Console,
    batch: int = 1,
) -> SourceConversion:
    """Converts to `target`, written once it is proved. Raises UsageError for options of other formats.

    batch  size of the inputs' first dimension where that alone is open
    """
    _check_options(source, options, shapes)
    check_writable(target, source.path, options.calibration)
    settings = ConversionSettings(
        signature=options.signature,
        inputs=_names(options.inputs),
        outputs=_names(options.outputs),
        shapes=shape_options(shapes),
        batch=batch,
        calibration=options.calibration,
        tolerance=options.tolerance,
        keep=options.keep,
        keras_objects=shapes.keras_objects,
        composites=composite_names(options.plugin),
        max_iterations=options.max_iterations,
        digest=digest_of(source, shapes, options.plugin, batch),
    )
    with console.progress(f"Converting {source.path.name}") as progress:
        result = convert_source(source, settings, progress)
    console.refuse_warnings(filter(None, [result.proof.warning]))
    write_whole(target, result.data)
    return result


def _check_options(source: TensorFlowSource, options: ConvertOptions, shapes: SourceOptions) -> None:
    """Raises UsageError for options of other formats, and for paths that are not what they should be."""
    if shapes.constant or shapes.nhwc_inputs:
        raise UsageError(f"--constant and --nhwc-inputs are for ONNX and PyTorch; {source.path} is a {source.title}")
    if source.kind != "graph" and (options.inputs or options.outputs):
        raise UsageError(f"--inputs and --outputs are for frozen graphs; {source.path} is a {source.title}")
    if source.kind != "saved_model" and options.signature is not None:
        raise UsageError(f"--signature is for SavedModels; {source.path} is a {source.title}")
    if source.kind != "keras" and shapes.keras_objects is not None:
        raise UsageError(f"--keras-objects is for Keras files; {source.path} is a {source.title}")
    if shapes.keras_objects is not None and not shapes.keras_objects.is_file():
        raise UsageError(f"--keras-objects {shapes.keras_objects}: there is no such file")
    if options.keep is not None and options.keep.is_file():
        raise UsageError(f"--keep {options.keep} is a file; give a folder")


def composite_names(plugins: Sequence[Path] | None) -> list[str]:
    """Names of custom operators, which composites of these names become: plug-ins' and tflmgen's own."""
    own = [name for name in OPERATORS if name.startswith(CUSTOM)]
    return sorted({name.removeprefix(CUSTOM) for name in (*own, *_added_names(plugins))})


def digest_of(
    source: TensorFlowSource, options: SourceOptions, plugins: Sequence[Path] | None = None, batch: int = 1
) -> str:
    """Digest of a source with the options that its conversion depends on; empty for Python, which may read anything.

    What a Keras file's own classes add follows a "+": the commands after the first may leave their file out.
    """
    if source.kind == "python":
        return ""
    sizes = [*(options.shape or ()), *([str(batch)] if batch != 1 else [])]
    digest = hashlib.sha256("\n".join([*sizes, *_added_names(plugins)]).encode())
    files = sorted(p for p in source.path.rglob("*") if p.is_file()) if source.path.is_dir() else [source.path]
    for file in files:
        digest.update(f"\n{file.relative_to(source.path)}\n".encode())
        digest.update(read_limited(file, MODEL_LIMIT))
    objects = options.keras_objects
    classes = "" if objects is None else f"+{hashlib.sha256(read_limited(objects, TEXT_LIMIT)).hexdigest()[:16]}"
    return digest.hexdigest()[:32] + classes


def is_conversion(path: Path, digest: str) -> bool | None:
    """Whether a file is the conversion of what has this digest; None if it is no conversion of tflmgen's at all."""
    try:
        description = read_model(path).description
    except TflmgenError:
        return None
    if not description.startswith("converted from "):
        return None
    known = description.split()[-1]
    return bool(digest) and digest in (known, known.partition("+")[0])


def _added_names(plugins: Sequence[Path] | None) -> list[str]:
    """Names of the operators of plug-in files and installed packages, with the prefix CUSTOM:."""
    return sorted({*installed_names(), *(operator.name for operator in load_operators(plugins or (), ()))})


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]
