"""tflmgen accuracy: models on labelled samples, beside each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.actions import invoke_sets
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.compare import ClassAccuracy, NumberAccuracy, class_accuracy, number_accuracy, predicted_classes
from tflmgen.errors import UsageError
from tflmgen.input_sets import Vectors, labels_of_samples, read_input_sets
from tflmgen.ir.graph import Port
from tflmgen.options import BuildOptions
from tflmgen.sources import class_labels
from tflmgen.terminal import Column, Table, count

Array = NDArray[Any]

LARGEST_CLASS = 10_000
"""Classes of a model at most, of which the confusion is counted."""
MOST_CLASSES = 20
"""Classes of which a confusion matrix is printed; --json has those of any number."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A model's accuracy. `name`: the file's."""

    name: str
    accuracy: ClassAccuracy | NumberAccuracy


def accuracy_command(models: Sequence[PreparedModel], inputs: Path, labels_of: str) -> None:
    """Runs each model on the samples and compares the first output with the labels.

    labels_of  a .npy file, the name of an array in the .npz of the inputs, or a column of their .csv
    """
    console = models[0].console
    labels = labels_of_samples(inputs, labels_of)
    scored = [_scored(model, inputs, labels) for model in models]
    names = _class_names(models[0].path, models[0].options)
    console.json({"inputs": inputs.name, "samples": len(labels), "models": [_json(model) for model in scored]})
    first = scored[0].accuracy
    if isinstance(first, NumberAccuracy):
        titles = ("mean error", "RMS", "most", "R2")
        columns = (Column("model", min_width=16), *(Column(title, numeric=True) for title in titles))
        console.table(Table(_title(inputs, labels), columns, [_number_row(model) for model in scored]))
        return
    columns = (Column("model", min_width=16), Column("top-1", numeric=True), Column("wrong", numeric=True))
    console.table(Table(_title(inputs, labels), columns, [_class_row(model) for model in scored]))
    console.table(_per_class(scored, names))
    for model in scored:
        assert isinstance(model.accuracy, ClassAccuracy)
        if len(model.accuracy.confusion) <= MOST_CLASSES:
            console.table(_confusion(model.name, model.accuracy, names))


def _scored(model: PreparedModel, inputs: Path, labels: Array) -> Scored:
    path, session = model.path, model.session
    planned = model.planned_to_run(inputs)
    signatures = planned.compilation.module.signatures
    vectors = read_input_sets(inputs, signatures, session.signature, False, planned.frozen.places, session.real)
    _check_count(inputs, vectors, labels)
    port = signatures[vectors.sets[0].signature].outputs[0]
    outputs = [
        _real(result.outputs[0], port) for result in invoke_sets(planned, vectors, session, model.console).results
    ]
    if labels.dtype.kind in "iub" and labels.ndim == 1:
        return Scored(path.name, _classes(path, outputs, labels.astype(np.int64)))
    if any(not np.isfinite(array).all() for array in outputs):
        raise UsageError(f"{path}: output '{port.name}' has values that are infinite or no numbers")
    if any(array.size != labels[0].size for array in outputs):
        sizes = f"{outputs[0].size} elements, and a label has {labels[0].size}"
        raise UsageError(f"{path}: output '{port.name}' has {sizes}. Labels of classes are integers, one a sample")
    return Scored(path.name, number_accuracy(outputs, list(labels)))


def _classes(path: Path, outputs: Sequence[Array], labels: NDArray[np.int64]) -> ClassAccuracy:
    if any(not np.isfinite(array).all() for array in outputs if array.dtype.kind == "f"):
        raise UsageError(f"{path}: a score is infinite or no number")
    predicted = predicted_classes(outputs)
    classes = max(outputs[0].size, 2, int(predicted.max()) + 1)
    if predicted.min() < 0 or classes > LARGEST_CLASS:
        span = f"{predicted.min()} to {classes - 1}"
        raise UsageError(f"{path}: its classes are {span}, and may be 0 to {LARGEST_CLASS - 1}")
    if labels.min() < 0 or labels.max() >= classes:
        raise UsageError(f"{path}: labels are {labels.min()} to {labels.max()}, and it has {classes} classes from 0 on")
    return class_accuracy(predicted, labels, classes)


def _real(array: Array, port: Port) -> Array:
    """Real numbers of an output; integers that stand for nothing else stay."""
    quantization = port.type.quantization
    if array.dtype.kind not in "iu" or quantization is None or quantization.scale <= 0:
        return array
    return (array.astype(np.float64) - quantization.zero_point) * quantization.scale


def _check_count(inputs: Path, vectors: Vectors, labels: Array) -> None:
    if len(labels) != len(vectors.sets):
        raise UsageError(f"{inputs} has {len(vectors.sets)} input sets, and there are {len(labels)} labels")


def _class_names(model: Path, options: BuildOptions) -> tuple[str, ...]:
    names = class_labels(model, options.labels or ())
    return next(iter(names.values()), ())


def _title(inputs: Path, labels: Array) -> str:
    return f"{count(len(labels))} samples of {inputs.name}"


def _class_row(model: Scored) -> tuple[str, ...]:
    assert isinstance(model.accuracy, ClassAccuracy)
    total = int(model.accuracy.confusion.sum())
    return model.name, f"{model.accuracy.top_1:.2%}", count(total - int(np.trace(model.accuracy.confusion)))


def _number_row(model: Scored) -> tuple[str, ...]:
    a = model.accuracy
    assert isinstance(a, NumberAccuracy)
    return model.name, *(f"{value:.4g}" for value in (a.mean_absolute, a.root_mean_square, a.largest, a.r2))


def _per_class(scored: Sequence[Scored], names: Sequence[str]) -> Table:
    accuracies = [model.accuracy for model in scored if isinstance(model.accuracy, ClassAccuracy)]
    columns = [Column("class", min_width=8), Column("samples", numeric=True)]
    for model in scored:
        columns += [Column(f"{model.name} recall", numeric=True), Column("precision", numeric=True, priority=2)]
    rows = []
    largest = max((a.confusion for a in accuracies), key=len)
    for label in range(len(largest)):
        row = [_name(label, names), count(int(largest[label].sum()))]
        for accuracy in accuracies:
            known = label < len(accuracy.confusion)
            row += [_share(accuracy.recall[label]), _share(accuracy.precision[label])] if known else ["-", "-"]
        rows.append(row)
    return Table("Each class", tuple(columns), rows)


def _confusion(name: str, accuracy: ClassAccuracy, names: Sequence[str]) -> Table:
    classes = range(len(accuracy.confusion))
    columns = (Column("label", min_width=8), *(Column(_name(c, names), numeric=True) for c in classes))
    rows = [[_name(label, names), *(str(n) if n else "" for n in accuracy.confusion[label])] for label in classes]
    return Table(f"{name}: samples by label (row) and given class (column)", columns, rows)


def _name(number: int, names: Sequence[str]) -> str:
    return names[number] if number < len(names) else str(number)


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1%}"


def _json(model: Scored) -> dict[str, Any]:
    accuracy = model.accuracy
    if isinstance(accuracy, NumberAccuracy):
        errors = {
            "mean_absolute": accuracy.mean_absolute,
            "root_mean_square": accuracy.root_mean_square,
            "largest": accuracy.largest,
            "r2": None if math.isnan(accuracy.r2) else accuracy.r2,
        }
        return {"model": model.name, "top_1": None, "confusion": None, "errors": errors}
    return {"model": model.name, "top_1": accuracy.top_1, "confusion": accuracy.confusion.tolist(), "errors": None}
