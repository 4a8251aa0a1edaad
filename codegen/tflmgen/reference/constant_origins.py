"""Constants of a Module against where their names say that they come from: the file's tensors, or their own contents.

A constant called S.T is tensor T of subgraph S, byte for byte. One that a pass has made is called folded.H, where H is
the beginning of the SHA-256 of its bytes. Input sets sample what a constant does; this comparison holds for all inputs,
but says nothing of whether a constant that a pass has made is the right one.
"""

from __future__ import annotations

import hashlib
import re

from tflmgen.errors import InternalError
from tflmgen.frontend.tflite import Model
from tflmgen.ir.graph import Module

_OF_FILE = re.compile(r"(\d+)\.(\d+)")
_OF_CONTENTS = re.compile(r"folded\.([0-9a-f]{32})")


def check_origins(model: Model, module: Module) -> None:
    """Raises InternalError for the first constant whose bytes are not those that its name stands for."""
    for key, data in module.constants.items():
        if (match := _OF_FILE.fullmatch(key)) is not None:
            subgraph, tensor = (int(number) for number in match.groups())
            # Operators that the importer has taken apart have further tensors, behind those of the file.
            if not _is_of_file(model, subgraph, tensor, data):
                raise InternalError(
                    f"{module.path}: validation: the constant of subgraph {subgraph}, tensor {tensor} is not the file's"
                )
        elif (match := _OF_CONTENTS.fullmatch(key)) is not None:
            digest = hashlib.sha256(data).hexdigest()
            if not digest.startswith(match[1]):
                raise InternalError(
                    f"{module.path}: validation: the bytes of constant {key} are not those it was made of"
                )


def _is_of_file(model: Model, subgraph: int, tensor: int, data: bytes) -> bool:
    """True, too, for tensors that the file does not have."""
    if subgraph >= len(model.subgraphs) or tensor >= len(model.subgraphs[subgraph].tensors):
        return True
    contents = model.subgraphs[subgraph].tensors[tensor].data
    return contents is None or contents == data
