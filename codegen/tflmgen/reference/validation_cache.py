"""Results of validations in the user's cache, so that an unchanged build is not validated again."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path

from tflmgen.frontend.tflite import Model
from tflmgen.ir.graph import Module
from tflmgen.reference.range_claims import Claims
from tflmgen.reference.validation import NO_CONTEXT, ValidationContext, validate
from tflmgen.reference.validation_result import EFFORTS, Validation
from tflmgen.user_cache import cache_folder, write_cached
from tflmgen.version import VERSION


def validated(
    model: Model, module: Module, effort: str, claims: Claims, context: ValidationContext = NO_CONTEXT
) -> Validation:
    """validate() with an effort of EFFORTS, or what it found before for the same file, Module and tool.

    What plug-ins compute is in no such hash: nothing is remembered of a model that has their operators.
    """
    if context.custom:
        return validate(model, module, EFFORTS[effort], claims, context)
    place = _cache_file(model, module, effort)
    with suppress(OSError, ValueError, TypeError):
        entry = json.loads(place.read_text(encoding="utf-8"))
        return Validation(**{**entry, "branches": tuple(entry["branches"])})
    result = validate(model, module, EFFORTS[effort], claims, context)
    if result.is_complete:
        write_cached(place, json.dumps(asdict(result)))
    return result


def _cache_file(model: Model, module: Module, effort: str) -> Path:
    """Named by a hash of all that the result follows from."""
    digest = hashlib.sha256(f"{VERSION} {_own_sources()} {effort} {model.sha256}".encode())
    digest.update(repr((module.functions, module.signatures, sorted(module.state.items()))).encode())
    for key in sorted(module.constants):
        digest.update(key.encode())
        digest.update(hashlib.sha256(module.constants[key]).digest())
    return cache_folder("validation") / digest.hexdigest()[:32]


@cache
def _own_sources() -> str:
    """A hash of this room's files: what they evaluate may change between releases."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
