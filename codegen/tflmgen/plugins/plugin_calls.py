"""Calls of plug-in methods that report their faults as faults of the plug-in."""

from __future__ import annotations

import re
import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.errors import TflmgenError
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Pieces, Target, View
from tflmgen.kernels.specification import OperatorSpec, Options, Rule, Shape, State

Array = NDArray[Any]

SIGNALLED = (129, 128 + signal.SIGTERM)
"""Exit codes with which the command line leaves on SIGHUP and SIGTERM, in whatever runs then."""


class PluginError(TflmgenError):
    """A faulty plug-in; the text names its file, line and fault."""


def describe_fault(path: Path, error: BaseException) -> str:
    """Text of an exception in a plug-in, with the plug-in's innermost line."""
    plugin_file = path.resolve()
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() == plugin_file:
        return f"{path}: line {error.lineno}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == plugin_file]
    location = f"{path}: line {lines[-1]}" if lines else f"{path}"
    return f"{location}: {type(error).__name__}: {' '.join(str(error).split())}"


def guarded_row(row: OperatorSpec, cls: type, path: Path) -> OperatorSpec:
    """`row` with functions that check their results and raise PluginError for every fault."""
    calls = _Calls(row, cls.__name__, path)
    state = row.state and calls.state
    rules = tuple(calls.rule(rule) for rule in row.rules)
    evaluate = row.evaluate and calls.evaluate
    return replace(
        row,
        attributes=calls.attributes,
        rules=rules,
        infer=calls.infer,
        kernel=calls.kernel,
        state=state,
        evaluate=evaluate,
    )


class _Calls:
    def __init__(self, row: OperatorSpec, name: str, path: Path) -> None:
        self._row = row
        self._name = name
        self._path = path
        self._headers = {file.name for file in row.files}

    def attributes(self, options: Options | None) -> Any:
        """Attributes of the options. ValueError passes: its text is a sentence for the user."""
        try:
            return self._row.attributes(options)
        except ValueError:
            raise
        except KeyError as error:
            raise ValueError(f"the custom options lack {error}") from None
        except (Exception, SystemExit) as error:
            raise self._fault(error) from error

    def rule(self, rule: Rule) -> Rule:
        offence = rule.offence
        guarded = None if offence is None else lambda op: str(self._call(offence, op))
        return Rule(rule.requirement, lambda op: bool(self._call(rule.holds, op)), guarded)

    def infer(self, op: OperatorInstance) -> tuple[Shape | None, ...]:
        shapes = self._call(self._row.infer, op)
        fits = isinstance(shapes, tuple) and len(shapes) == self._row.outputs
        if not fits or not all(s is None or (isinstance(s, tuple) and all(map(_is_dim, s))) for s in shapes):
            raise self._wrong_result(
                "infer", f"a tuple of {self._row.outputs} shapes, each a tuple of int or None", shapes
            )
        return tuple(shapes)

    def state(self, op: OperatorInstance) -> tuple[State, ...]:
        assert self._row.state is not None
        states = self._call(self._row.state, op)
        if not isinstance(states, tuple) or not all(isinstance(s, State) for s in states):
            raise self._wrong_result("state", "a tuple of State", states)
        for state in states:
            if len(state.initial) not in (0, state.type.bytes):
                expected = f"{state.type.bytes} bytes of initial contents for {state.type}"
                raise self._wrong_result("state", expected, f"{len(state.initial)} bytes")
        return states

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
        kernel = self._call(lambda instance: self._row.kernel(instance, target), op)
        if isinstance(kernel, View | Pieces):
            return kernel
        if not isinstance(kernel, Kernel):
            raise self._wrong_result("kernel", "a Kernel or a View", kernel)
        if (
            kernel.header not in self._headers
            and not files("tflmgen.firmware").joinpath(f"kernels/{kernel.header}").is_file()
        ):
            raise self._wrong_result("kernel", "a header that 'files' names", kernel.header)
        if kernel.params is not None:
            self._check_params(kernel.params)
        for operand in kernel.operands:
            count = {Input: len(op.inputs), Output: len(op.outputs)}.get(type(operand))
            if isinstance(operand, Input | Output) and count is not None and not 0 <= operand.index < count:
                raise self._wrong_result(
                    "kernel", f"operands of {len(op.inputs)} inputs and {len(op.outputs)} outputs", operand
                )
        written = {operand.index for operand in kernel.operands if isinstance(operand, Output)}
        if written != set(range(len(op.outputs))):
            raise self._wrong_result("kernel", f"an operand for each of {len(op.outputs)} outputs", sorted(written))
        return kernel

    def _check_params(self, params: object) -> None:
        """Raises PluginError unless all of a struct can be written as C."""
        if not isinstance(params, Params) or not isinstance(params.fields, tuple):
            raise self._wrong_result("kernel", "params of the type Params, with a tuple of fields", params)
        fields = params.fields
        if not all(isinstance(field, tuple) and len(field) == 2 for field in fields):
            raise self._wrong_result("kernel", "params with a tuple of fields, each a name and a value", params)
        for name, value in ((params.struct, 0), *fields):
            if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                raise self._wrong_result("kernel", "params whose names are C's", name)
            if not _is_param(value):
                raise self._wrong_result("kernel", f"a number, or a tuple of numbers, for {name}", value)

    def evaluate(self, op: OperatorInstance, inputs: Sequence[Array | None]) -> Sequence[Array]:
        function = self._row.evaluate
        assert function is not None
        results = self._call(lambda instance: function(instance, inputs), op)
        # An operator that keeps state has a fixed number of inputs, behind which its contents come.
        expected = self._row.outputs + (len(op.inputs) - self._row.inputs[1] if self._row.state else 0)
        if not isinstance(results, Sequence) or not all(isinstance(r, np.ndarray | np.generic) for r in results):
            raise self._wrong_result("evaluate", "a sequence of arrays", results)
        if len(results) != expected:
            raise self._wrong_result("evaluate", f"{expected} arrays", f"{len(results)}")
        for result, type_ in zip(results, op.outputs, strict=False):
            if result.size != type_.elements and type_.is_static:
                raise self._wrong_result("evaluate", f"an output of {type_.elements} elements", list(np.shape(result)))
        return results

    def _call(self, function: Callable[[OperatorInstance], Any], op: OperatorInstance) -> Any:
        try:
            return function(op)
        except TflmgenError:
            raise
        except (Exception, SystemExit) as error:
            raise self._fault(error) from error

    def _fault(self, error: BaseException) -> BaseException:
        """Error to raise for an exception in a method; a signal of the user's is no fault of the plug-in."""
        if isinstance(error, SystemExit) and error.code in SIGNALLED:
            return error
        return PluginError(describe_fault(self._path, error))

    def _wrong_result(self, method: str, expected: str, actual: object) -> PluginError:
        return PluginError(f"{self._path}: {self._name}.{method}() must return {expected}; it returns {actual!r}")


def _is_param(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_param, value))
    if isinstance(value, int | np.integer):
        return -(2**63) <= int(value) < 2**64
    return isinstance(value, float | np.floating | np.bool_)


def _is_dim(value: object) -> bool:
    return type(value) is int and value >= 0
