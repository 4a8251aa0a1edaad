"""The process that runs an ONNX model or a PyTorch program on input sets, given a folder.

The folder has model.onnx, request.json and inputs.npz (s{k}_{n}_in_{i}: set, invoke, input; constant_{name}). The
process writes answer.json and outputs.npz (s{k}_{n}_out_{j}; trace_{name}).
ONNX Runtime runs the model where it is installed and knows its operators, else the evaluator of the package onnx does,
which is given less time: it answers for the sets that it has run till then.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from tflmgen.frontend.onnx.onnx_file import torch_runner
from tflmgen.frontend.onnx.onnx_program import ONNX_EVALUATOR
from tflmgen.frontend.onnx.open_results import has_open_results, operands_to_look_at

Evaluate = Callable[[Mapping[str, Any]], Sequence[Any]]
Run = Callable[[Sequence[Mapping[str, Any]]], Sequence[Sequence[Any]]]
"""Function from the named inputs of consecutive invokes to their outputs."""


class OpenResultError(Exception):
    """The source's framework defines no result for these inputs."""


def main(folder: Path) -> None:
    """Answers the request in the folder."""
    request = json.loads((folder / "request.json").read_text())
    with np.load(folder / "inputs.npz", allow_pickle=False) as file:
        arrays = dict(file)
    constants = {name.removeprefix("constant_"): a for name, a in arrays.items() if name.startswith("constant_")}
    model = onnx.load(folder / "model.onnx")
    if request["asks"] == "trace":
        values = _traced(model, request["trace"], {**_named(request, arrays, 0, 0), **constants})
        _answer(folder, {}, {f"trace_{name}": array for name, array in values.items()})
        return
    title, run = _torch_runner(request, model) if request["torch"] else _onnx_runner(model, request["by_definition"])
    rows_of: list[Sequence[Sequence[Any]]] = []
    open_sets: list[int] = []

    def answer() -> None:
        rows = {f"s{k}_{n}": row for k, ran in enumerate(list(rows_of)) for n, row in enumerate(ran)}
        results = {f"{place}_out_{j}": np.asarray(array) for place, row in rows.items() for j, array in enumerate(row)}
        ran = [bool(rows) for rows in list(rows_of)]
        outputs = max(map(len, rows.values()), default=0)
        _answer(folder, {"title": title, "ran": ran, "open": list(open_sets), "outputs": outputs}, results)

    with _ended_in_time(request["evaluator_seconds"] if title == ONNX_EVALUATOR else None, answer):
        for k, invokes in enumerate(request["invokes"]):
            try:
                rows = run([{**_named(request, arrays, k, n), **constants} for n in range(invokes)])
            except OpenResultError:
                open_sets.append(k)
                rows = []
            except Exception as error:
                # A runtime may raise any exception. The model may not allow the inputs of this set.
                print(f"{title}: {error}", file=sys.stderr)
                rows = []
            rows_of.append(rows)


@contextlib.contextmanager
def _ended_in_time(seconds: float | None, answer: Callable[[], None]) -> Iterator[None]:
    """Answers after the body, or ends the process after so many seconds with what it has done till then."""
    first = threading.Lock()

    def end() -> None:
        if first.acquire(blocking=False):
            answer()
            os._exit(0)

    timer = threading.Timer(seconds or 0, end)
    timer.daemon = True
    if seconds is not None:
        timer.start()
    yield
    if first.acquire(blocking=False):
        answer()
    else:
        timer.join()


def _answer(folder: Path, answer: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    np.savez(folder / "outputs.npz", **results)
    (folder / "answer.json").write_text(json.dumps(answer))


def _named(request: Mapping[str, Any], arrays: Mapping[str, Any], number: int, invoke: int) -> dict[str, Any]:
    return {name: arrays[f"s{number}_{invoke}_in_{i}"] for i, name in enumerate(request["names"])}


def _onnx_runner(model: onnx.ModelProto, by_definition: bool) -> tuple[str, Run]:
    """Runs a model, which has no state."""
    title, evaluate = _where_defined(model) if by_definition else _evaluator(model)
    return title, lambda invokes: [evaluate(feeds) for feeds in invokes]


def _evaluator(model: onnx.ModelProto) -> tuple[str, Evaluate]:
    with contextlib.suppress(ImportError):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except Exception as error:
            # Exceptions of ONNX Runtime for models that it does not support have no common class.
            print(f"ONNX Runtime: {error}", file=sys.stderr)
        else:
            return "ONNX Runtime", lambda feeds: session.run(None, dict(feeds))
    return _defined(model)


def _defined(model: onnx.ModelProto) -> tuple[str, Evaluate]:
    evaluator = ReferenceEvaluator(model)
    return ONNX_EVALUATOR, lambda feeds: list(evaluator.run(None, dict(feeds)))


def _where_defined(model: onnx.ModelProto) -> tuple[str, Evaluate]:
    """ONNX's evaluator, which raises OpenResultError for inputs for which ONNX defines no result."""
    title, evaluate = _defined(model)

    def evaluate_defined(feeds: Mapping[str, Any]) -> Sequence[Any]:
        if has_open_results(model, _traced(model, operands_to_look_at(model), feeds)):
            raise OpenResultError
        return evaluate(feeds)

    return title, evaluate_defined


def _torch_runner(request: Mapping[str, Any], model: onnx.ModelProto) -> tuple[str, Run]:
    """Runs a program, which is `model` in ONNX; by definition, with an error for inputs with an open result."""
    torch_run = torch_runner(Path(request["torch"]))

    def run(invokes: Sequence[Mapping[str, Any]]) -> Sequence[Sequence[Any]]:
        if request["by_definition"] and any(_is_open_in_torch(model, feeds) for feeds in invokes):
            raise OpenResultError
        order, types = request["order"], request["types"]
        rows = torch_run(
            [[feeds[name].astype(types[name] or feeds[name].dtype) for name in order] for feeds in invokes]
        )
        return [[a.astype(np.float32) if a.dtype.kind == "f" else a for a in row] for row in rows]

    return "PyTorch", run


def _is_open_in_torch(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> bool:
    try:
        values = _traced(model, operands_to_look_at(model, is_torch=True), feeds)
    except Exception as error:
        # ONNX Runtime may raise any exception. What PyTorch computes then counts as defined.
        print(f"ONNX: {error}", file=sys.stderr)
        return False
    return has_open_results(model, values, is_torch=True)


def _traced(model: onnx.ModelProto, names: Sequence[str], feeds: Mapping[str, Any]) -> dict[str, Any]:
    """The values of these names for one set."""
    known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer} | dict(feeds)
    computed = [name for name in names if name not in known]
    traced = onnx.ModelProto()
    traced.CopyFrom(model)
    del traced.graph.output[:]
    traced.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in computed)
    if computed:
        _, evaluate = _evaluator(traced)
        known |= dict(zip(computed, evaluate(feeds), strict=True))
    return {name: np.asarray(known[name]) for name in names}


if __name__ == "__main__":
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        main(Path(sys.argv[1]))
