"""PyTorch programs through torch.onnx: a .pt2 file of torch.export, or a function's module, becomes an ONNX model.

torch.onnx decomposes operators; torch.cond becomes If. What it can't export is its error. It takes buffers for
constants: those that forward() changes become inputs and outputs of a module around the program, and state.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import logging
import random
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import numpy_helper

from tflmgen.errors import Location, ModelError, Problem, reason_of
from tflmgen.frontend.onnx.model_notes import keys_of_outputs, mark_parameters, mark_state, name_outputs
from tflmgen.frontend.onnx.pt2_archive import checked_archive
from tflmgen.frontend.onnx.torch_decompositions import with_exact_operators

TorchRunner = Callable[[Sequence[Sequence[Any]]], list[list[Any]]]
"""Function from the input arrays of consecutive invokes, which begin at the first state, to their outputs."""

EXPORT_SECONDS = 1800.0
"""Wall-clock time that the export of a file may take: its sizes and loops are whatever the file says."""

QUANTISED_OPERATORS = ("torch.ao.quantization.fx._decomposed", "torchao.quantization.pt2e")
"""Modules that know the operators of programs that PT2E quantised; which of them is there depends on the version."""


class _LateError(BaseException):
    """It takes too long. PyTorch catches exceptions of other classes, and goes on."""


@contextlib.contextmanager
def _ended_in_time() -> Iterator[None]:
    """Raises _LateError in a body that takes longer, where this system and this thread have such a bound."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: object) -> None:
        raise _LateError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, EXPORT_SECONDS, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def onnx_of_torch(path: Path, function: str, for_training: bool = False) -> Any:
    """The ONNX ModelProto of a program: of a .pt2 file, or of what a function in a .py file returns.

    for_training  its parameters stay as they are; else what is computed of them alone is computed now

    Raises ModelError with PyTorch's sentence, and the line of the user's file that it is about.
    """
    try:
        silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with warnings.catch_warnings(), silent[0], silent[1]:
            warnings.simplefilter("ignore")
            with contextlib.nullcontext() if function else _ended_in_time():
                torch, program = _exported(path, function)
                return _onnx_with_state(torch, program, for_training)
    except ModelError:
        raise
    except _LateError:
        raise _error(path, f"PyTorch takes more than {EXPORT_SECONDS:g} s to export it to ONNX") from None
    except Exception as error:
        # torch and the user's file may raise any exception; their first lines name the problem. torch.onnx wraps the
        # cause in advice to its own developers.
        cause: BaseException = error
        while type(cause).__module__.startswith("torch.onnx") and cause.__cause__:
            cause = cause.__cause__
        reason = reason_of(cause)
        frames = traceback.extract_tb(error.__traceback__)
        places = [frame for frame in frames if _is_same(frame.filename, path)]
        place = f"{path}:{places[-1].lineno}" if places else str(path)
        rule = f"PyTorch cannot export it to ONNX: {reason}"
        if places and places[-1] is frames[-1]:
            own = "the file" if frames[-1].name == "<module>" else f"{frames[-1].name}()"
            rule = f"{own} raises {type(error).__name__}: {reason}"
        raise ModelError([Problem(Location(place), rule)]) from error


def _exported(path: Path, function: str) -> tuple[Any, Any]:
    """The package torch, which is quiet, and the exported program."""
    torch = importlib.import_module("torch")
    for part in ("torch", "torch.onnx", "torch.export", "torchao"):
        logging.getLogger(part).setLevel(logging.CRITICAL)
    for module in QUANTISED_OPERATORS:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    return torch, _program(torch, path, function) if function else _saved_program(torch, path)


def _saved_program(torch: Any, path: Path) -> Any:
    """The exported program of a .pt2 file. Raises ModelError for what could run code, before PyTorch reads it."""

    def can_read_as_weights(pickled: bytes) -> bool:
        try:
            if pickled:
                torch.load(io.BytesIO(pickled), weights_only=True)
        except Exception:
            return False
        return True

    return torch.export.load(checked_archive(path, can_read_as_weights))


def runner_of(path: Path, function: str) -> TorchRunner:
    """Runs a program by PyTorch."""
    torch, program = _exported(path, function)
    flatten, unflatten = torch.utils._pytree.tree_flatten, torch.utils._pytree.tree_unflatten
    module = program.module()
    initial = {name: value.clone() for name, value in module.named_buffers()}
    examples, structure = flatten(program.example_inputs)

    def run(invokes: Sequence[Sequence[Any]]) -> list[list[Any]]:
        with torch.no_grad():
            for name, value in module.named_buffers():
                value.copy_(initial[name])
            return [outputs(arrays) for arrays in invokes]

    def outputs(arrays: Sequence[Any]) -> list[Any]:
        own = iter(arrays)
        operands = [torch.from_numpy(next(own)) if isinstance(e, torch.Tensor) else e for e in examples]
        positional, named = unflatten(operands, structure)
        results, _ = flatten(module(*positional, **named))
        return [torch.as_tensor(result).detach().numpy().copy() for result in results if result is not None]

    return run


@contextlib.contextmanager
def _agreeing_versions() -> Iterator[None]:
    """torch.onnx gives a branch in a loop another version of its own domain than the model: its inliner refuses it."""
    inliner = importlib.import_module("onnx_ir.passes.common").InlinePass
    call = inliner.call

    def with_versions_of_model(self: Any, model: Any) -> Any:
        for function in model.functions.values():
            function.opset_imports.update({d: v for d, v in model.opset_imports.items() if d in function.opset_imports})
        return call(self, model)

    inliner.call = with_versions_of_model
    try:
        yield
    finally:
        inliner.call = call


def _exported_to_onnx(torch: Any, program: Any, for_training: bool, **ports: list[str]) -> Any:
    # torch.onnx's optimiser computes with parameters, and stores those once that begin as equal.
    options = {"verbose": False, "optimize": not for_training, **ports}
    with _agreeing_versions():
        return torch.onnx.export(with_exact_operators(torch, program), dynamo=True, **options).model_proto


def _onnx_with_state(torch: Any, program: Any, for_training: bool) -> Any:
    """The ONNX model of an exported program. Buffers that it mutates are state of the model."""
    signature = program.run_decompositions({}).graph_signature
    names = list(dict.fromkeys(signature.buffers_to_mutate.values()))
    keys = keys_of_outputs(torch, program)
    if not names:
        model = _exported_to_onnx(torch, program, for_training)
        mark_parameters(model, _parameters(torch, program))
        name_outputs(model, [entry.name for entry in model.graph.output], keys)
        return model
    if program.example_inputs is None:
        raise ValueError("it mutates buffers, and was saved without example inputs")
    inner = program.module()
    buffers = dict(inner.named_buffers())

    class WithState(torch.nn.Module):  # type: ignore[misc]
        def forward(self, state: tuple[Any, ...], inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
            after = [value.clone() for value in state]
            result = torch.func.functional_call(inner, dict(zip(names, after, strict=True)), inputs, named)
            return tuple(after), result

    examples = (tuple(buffers[name].clone() for name in names), *program.example_inputs)
    stateless = torch.export.export(WithState(), examples)
    before, after = ([f"{kind}.{name}" for name in names] for kind in ("state", "next"))
    # Names of the other outputs are torch.onnx's: those of this program may be other values' there.
    ports = {"input_names": [*before, *signature.user_inputs], "output_names": after}
    model = _exported_to_onnx(torch, stateless, for_training, **ports)
    initial = [numpy_helper.from_array(buffers[name].numpy(), f"state.{name}") for name in names]
    mark_state(model, list(zip(before, after, strict=True)), initial)
    mark_parameters(model, _parameters(torch, program))
    name_outputs(model, [entry.name for entry in model.graph.output if entry.name not in after], keys)
    return model


def _parameters(torch: Any, program: Any) -> dict[str, Any]:
    """Contents of the parameters of a program, by their names."""
    kinds = (torch.float16, torch.float32, torch.float64)
    return {name: v.detach().cpu().numpy() for name, v in program.named_parameters() if v.dtype in kinds}


def _is_same(name: str, path: Path) -> bool:
    return Path(name).name == path.name


def _program(torch: Any, path: Path, function: str) -> Any:
    """The exported program of the module and example inputs that a function returns. Raises ModelError."""
    spec = importlib.util.spec_from_file_location(f"tflmgen_program_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise _error(path, "there is no such file")
    file = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = file  # PyTorch's tracer looks up by name where a function comes from
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with _same_random_numbers(torch):
            spec.loader.exec_module(file)
            make = getattr(file, function, None)
            if not callable(make):
                raise _error(path, f"it has no function '{function}'")
            returned = make()
    finally:
        sys.path.remove(str(path.resolve().parent))
    if not isinstance(returned, tuple) or len(returned) != 2 or not isinstance(returned[0], torch.nn.Module):
        raise _error(path, f"'{function}' returns no pair of an nn.Module and its example inputs")
    module, examples = returned
    inputs = (examples,) if isinstance(examples, torch.Tensor) else tuple(examples)
    return torch.export.export(module.eval(), inputs)


@contextlib.contextmanager
def _same_random_numbers(torch: Any) -> Iterator[None]:
    """Modules begin with random weights, which must be those of the process that the model is compared in, and of the
    next command. Afterwards the caller's generators go on as if nothing had been drawn."""
    states = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


def _error(path: Path, rule: str) -> ModelError:
    return ModelError([Problem(Location(str(path)), rule)])


def source_line(trace: str) -> str:
    """The last line of the user's own files in the trace that torch.onnx keeps of a node: "net.py:12"; else empty."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', trace)
    own = [(name, line) for name, line in frames if "site-packages" not in name and "dist-packages" not in name]
    return f"{Path(own[-1][0]).name}:{own[-1][1]}" if own else ""
