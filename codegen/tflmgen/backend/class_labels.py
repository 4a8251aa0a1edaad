"""Names of the classes of outputs, as a header of the library: include/NAME_labels.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflmgen.backend.c_api import ApiEntry, ApiTensor
from tflmgen.backend.rendering import render
from tflmgen.errors import UsageError
from tflmgen.ir import DType
from tflmgen.version import VERSION


@dataclass(frozen=True, slots=True)
class LabelledOutput:
    """An output, and the names of the classes along its last dimension, or of the class whose number it is."""

    tensor: ApiTensor
    labels: tuple[str, ...]

    @property
    def is_number(self) -> bool:
        """Whether the output is the number of a class."""
        shape = self.tensor.port.type.max_shape
        is_integer = self.tensor.port.type.dtype in (DType.INT32, DType.INT64)
        return is_integer and len(shape) <= 1 and shape != (len(self.labels),)


def label_header(entries: Sequence[ApiEntry], name: str, labels: Mapping[str | int, Sequence[str]]) -> dict[str, str]:
    """Path and text of the header for a model called `name`.

    Args:
        labels: Names of classes by the name of an output, or by its number in the first signature; an empty name: the
            only output. No labels: no header.

    Raises:
        UsageError: There is no such output, or an output has another number of classes.
    """
    if not labels:
        return {}
    outputs = [_labelled(entries, output, tuple(names)) for output, names in labels.items()]
    values = {"name": name, "NAME": name.upper(), "version": VERSION, "outputs": outputs}
    return {f"include/{name}_labels.h": render("library/labels.h.j2", **values)}


def _labelled(entries: Sequence[ApiEntry], output: str | int, labels: tuple[str, ...]) -> LabelledOutput:
    if isinstance(output, int):
        tensors = list(entries[0].outputs[output : output + 1])
    else:
        tensors = [tensor for entry in entries for tensor in entry.outputs if output in ("", tensor.port.name)]
    names = ", ".join(dict.fromkeys(tensor.port.name for entry in entries for tensor in entry.outputs))
    if not tensors:
        raise UsageError(f"--labels names output '{output}', which the model does not have. Outputs: {names}")
    if len(tensors) > 1:
        raise UsageError(f"--labels needs the name of an output, as in OUTPUT=FILE. Outputs: {names}")
    labelled = LabelledOutput(tensors[0], labels)
    classes = (tensors[0].port.type.max_shape or (1,))[-1]
    if len(labels) != classes and not labelled.is_number:
        raise UsageError(f"--labels has {len(labels)} names, but '{tensors[0].port.name}' has {classes} classes")
    return labelled
