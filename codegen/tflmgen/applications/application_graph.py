"""Makes one Model of an application: stages in the order of their data, conditions as IFs, windows as variables."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np

from tflmgen.applications.app_file import AppInput, Application, AppStage
from tflmgen.applications.conditions import Condition, Element, ElementComparison, Logical, parse_condition
from tflmgen.applications.glue_graph import BOOL, INT, GlueGraph, Initials
from tflmgen.applications.stage_body import Builtin, StageBody, StageContext, model_body
from tflmgen.applications.window_glue import GlueWindow, Pushed, WindowGlue
from tflmgen.errors import ModelError
from tflmgen.frontend.onnx import file_of_source
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import StagePart, StageWindow
from tflmgen.kernels import Comparison

RAN = "ran"
"""Output of every stage: whether it ran in this call."""


def compose(app: Application, read: Callable[[Path], Model], builtins: Mapping[str, Builtin]) -> Model:
    """The application as a Model of one signature. Raises ModelError with line and key of what does not fit."""
    return _Composer(app, read, builtins).model()


class _Composer:
    def __init__(self, app: Application, read: Callable[[Path], Model], builtins: Mapping[str, Builtin]) -> None:
        self._app, self._file, self._builtins = app, app.file, builtins
        self._conditions = {s.name: self._parsed(s) for s in app.stages if s.when}
        self._models = {s.name: self._read(s, read) for s in app.stages if s.model is not None}
        self._builder = ModelBuilder(name=str(app.file.path))
        self._main, self._initials = GlueGraph(self._builder, "application"), Initials()
        self._values: dict[str, dict[str, int]] = {}
        self._ran: dict[str, int | None] = {}
        self._windows: list[StageWindow] = []

    def model(self) -> Model:
        parts = [self._part(stage) for stage in self._ordered()]
        for unread in (i for i in self._app.inputs if i.name not in self._values):
            self._file.fail(f"input.{unread.name}", "is read by no stage")
        outputs = self._outputs()
        graph = self._main.graph
        graph.inputs = [self._values[i.name][""] for i in self._app.inputs]
        graph.outputs = [tensor for _, tensor in outputs]
        inputs = list(zip([i.name for i in self._app.inputs], graph.inputs, strict=True))
        moved = self._initials.write(self._main)
        self._builder.signature("step", graph, inputs, outputs)
        model = self._builder.model()
        stages = tuple(
            replace(part, operators=range(part.operators.start + moved, part.operators.stop + moved)) for part in parts
        )
        digest = hashlib.sha256(repr((model.subgraphs, model.signatures)).encode()).hexdigest()
        notes = tuple(dict.fromkeys(note for model in self._models.values() for note in model.notes))
        windows = tuple(self._windows)
        return Model(model.name, digest, "", model.subgraphs, model.signatures, windows, stages, notes)

    def _part(self, stage: AppStage) -> StagePart:
        """Adds the stage; where it is."""
        graphs, operators = self._builder.subgraphs, self._main.graph.operators
        before = len(graphs), len(operators)
        self._stage(stage)
        return StagePart(
            stage.name, range(before[0], len(graphs)), self._main.graph.index, range(before[1], len(operators))
        )

    def _read(self, stage: AppStage, read: Callable[[Path], Model]) -> Model:
        assert stage.model is not None
        key = f"stage.{stage.name}.model"
        if not file_of_source(stage.model).is_file():
            self._file.fail(key, f"there is no file {stage.model}")
        try:
            return read(stage.model)
        except ModelError as error:
            place = self._file.place(key)
            raise ModelError(
                replace(p, where=replace(p.where, model=f"{place}: {p.where.model}")) for p in error.problems
            ) from None

    def _parsed(self, stage: AppStage) -> Condition:
        try:
            return parse_condition(stage.when)
        except ValueError as error:
            advice = 'Comparisons such as "vad.scores[1] > 0.6", joined by and, or, not'
            self._file.fail(f"stage.{stage.name}.when", str(error), advice)

    def _ordered(self) -> list[AppStage]:
        """Stages behind those that they read."""
        stages = {stage.name: stage for stage in self._app.stages}
        inputs = {i.name for i in self._app.inputs}
        graph: dict[str, list[str]] = {}
        for stage in self._app.stages:
            sources = [(text.partition(".")[0], "input") for text in stage.inputs]
            if stage.name in self._conditions:
                sources += [(e.stage, "when") for e in _elements(self._conditions[stage.name])]
            for name, key in sources:
                if name not in stages and name not in inputs:
                    known = ", ".join((*sorted(inputs), *stages))
                    self._file.fail(f"stage.{stage.name}.{key}", f"there is no '{name}'; there are {known}")
            graph[stage.name] = [name for name, _ in sources if name in stages]
        try:
            return [stages[name] for name in TopologicalSorter(graph).static_order()]
        except CycleError as error:
            names = list(reversed(error.args[1]))
            self._file.fail(f"stage.{names[0]}", "reads its own outputs: " + " -> ".join(names))

    def _stage(self, stage: AppStage) -> None:
        body = self._body(stage)
        if len(stage.inputs) != len(body.wanted):
            rule = f"has {len(stage.inputs)} tensors, and the stage takes {len(body.wanted)}"
            self._file.fail(f"stage.{stage.name}.input", rule)
        window = self._window(stage, body)
        first = window.of_rows(window.rows) if window is not None else body.wanted[0]
        sources = [
            self._source(stage, text, wanted)
            for text, wanted in zip(stage.inputs, (first, *body.wanted[1:]), strict=True)
        ]
        for source, wanted in zip(sources, (first, *body.wanted[1:]), strict=True):
            if wanted is not None:
                self._check_conversion(stage, source, wanted)
        fresh = self._fresh([text.partition(".")[0] for text in stage.inputs])
        when = self._condition(stage) if stage.when else None
        runs = self._conjunction([fresh, when])
        if window is None:
            runs = self._runs_every(stage, runs)
            outputs = self._run(stage, body, sources, runs)
        else:
            outputs, runs = self._windowed(stage, body, window, sources, Pushed(sources[0], fresh, when))
        self._values[stage.name] = dict(zip(body.outputs, outputs, strict=True))
        self._ran[stage.name] = runs

    def _windowed(
        self, stage: AppStage, body: StageBody, window: GlueWindow, sources: Sequence[int], pushed: Pushed
    ) -> tuple[list[int], int]:
        """The outputs of a stage with a window, and whether it runs."""
        glue = WindowGlue(self._builder, self._main, self._initials, stage.name, window)
        operands = [glue.moved("window", window.count, pushed), *sources[1:]]
        runs = self._runs_every(stage, self._conjunction([pushed.fresh, pushed.when, glue.complete(pushed)]))
        assert runs is not None
        if not stage.reuses:
            return self._run(stage, body, operands, runs), runs
        key = f"stage.{stage.name}.slide"
        if window.hop >= window.count:
            rule = f"a run takes {window.hop} new rows, and the window has {window.count}: there is nothing to reuse"
            self._file.fail(key, rule, "Set reuse = false")
        if (stage.when and not stage.restarts) or body.keeps_state:
            slide = glue.for_gaps(pushed, runs)
            branch = len(self._builder.subgraphs)
            outputs = self._run(stage, body, operands, runs)
        else:
            slide = glue.for_each_hop(pushed)
            hops = glue.hops(pushed, f"{stage.name}/every")
            branch = len(self._builder.subgraphs)
            outputs = self._run_hops(stage, body, operands, hops, runs)
        self._windows.append(replace(slide, place=self._file.place(key), subgraph=branch))
        return outputs, runs

    def _body(self, stage: AppStage) -> StageBody:
        if stage.model is not None:
            return model_body(self._file, stage, self._models[stage.name], self._builder)
        if stage.builtin not in self._builtins:
            known = ", ".join(sorted(self._builtins))
            self._file.fail(f"stage.{stage.name}", f"there is no built-in '{stage.builtin}'; there are {known}")
        types = tuple(self._type(stage, text) for text in stage.inputs)
        context = StageContext(self._file, stage, types, self._app.period, self._initials)
        return self._builtins[stage.builtin](context)

    def _type(self, stage: AppStage, text: str) -> TensorType:
        """Type of what a built-in reads."""
        port = next((i for i in self._app.inputs if i.name == text), None)
        if port is None or text in self._values:
            return self._main.type_of(self._value(f"stage.{stage.name}.input", text))
        if port.dtype is None or port.shape is None:
            self._file.fail(f"input.{text}", f"needs a type and a shape, since {stage.builtin} takes any")
        return TensorType(port.dtype, port.shape, port.quantization)

    def _source(self, stage: AppStage, text: str, wanted: TensorType | None) -> int:
        port = next((i for i in self._app.inputs if i.name == text), None)
        if port is not None and text not in self._values:
            self._values[text] = {"": self._input(port, wanted)}
            self._ran[text] = None
        return self._value(f"stage.{stage.name}.input", text)

    def _input(self, port: AppInput, wanted: TensorType | None) -> int:
        dtype = port.dtype or (wanted.dtype if wanted else None)
        shape = port.shape or (wanted.max_shape if wanted else None)
        if dtype is None or shape is None:
            self._file.fail(f"input.{port.name}", "needs a type and a shape")
        quantization = port.quantization
        if quantization is None and wanted is not None and wanted.dtype is dtype:
            quantization = wanted.quantization
        return self._main.tensor(port.name, TensorType(dtype, shape, quantization))

    def _value(self, key: str, text: str) -> int:
        """The tensor of NAME or NAME.OUTPUT."""
        name, _, output = text.partition(".")
        values = self._values.get(name)
        if values is None:
            self._file.fail(key, f"there is no '{name}'")
        if output == RAN and output not in values:
            ran = self._ran[name]
            return self._main.constant([True], DType.BOOL) if ran is None else ran
        if output in values:
            return values[output]
        if output or len(values) != 1:
            self._file.fail(key, f"'{text}' is not an output; '{name}' has {', '.join(values)}")
        return next(iter(values.values()))

    def _fresh(self, names: Sequence[str]) -> int | None:
        """Whether any of these ran; None: always."""
        flags = [self._ran[name] for name in dict.fromkeys(names)]
        if any(flag is None for flag in flags):
            return None
        return reduce(self._main.either, (flag for flag in flags if flag is not None))

    def _conjunction(self, conditions: Sequence[int | None]) -> int | None:
        flags = [condition for condition in conditions if condition is not None]
        if not flags:
            return None
        return reduce(self._main.both, flags)

    def _condition(self, stage: AppStage) -> int:
        return self._logical(f"stage.{stage.name}.when", self._conditions[stage.name])

    def _logical(self, key: str, condition: Condition) -> int:
        if isinstance(condition, Logical):
            terms = [self._logical(key, term) for term in condition.terms]
            return self._main.logical(condition.connective, terms)
        element = condition.element if isinstance(condition, ElementComparison) else condition
        if element.stage not in self._values:
            self._file.fail(key, f"'{element.stage}' is not read by a stage before this one")
        tensor = self._value(key, f"{element.stage}.{element.output}" if element.output else element.stage)
        type_ = self._main.type_of(tensor)
        scalar = self._main.element(tensor, self._place(key, element, type_))
        if isinstance(condition, ElementComparison):
            if type_.dtype is DType.BOOL:
                self._file.fail(key, f"'{element.stage}.{element.output}' is a bool: write it without a comparison")
            return self._main.compared(condition.comparison, scalar, condition.number)
        if type_.dtype is not DType.BOOL:
            self._file.fail(key, f"'{element.stage}' is {type_}, and needs a comparison with a number")
        return scalar

    def _place(self, key: str, element: Element, type_: TensorType) -> int:
        """Place of an element in the flattened tensor; one index counts along the flattened tensor, too."""
        shape = type_.max_shape if len(element.index) != 1 else (type_.elements,)
        if not element.index and type_.elements == 1:
            return 0
        if len(element.index) != len(shape) or any(i >= dim for i, dim in zip(element.index, shape, strict=True)):
            written = f"[{', '.join(map(str, element.index))}]" if element.index else "all of it"
            named = ".".join(filter(None, (element.stage, element.output)))
            self._file.fail(key, f"{written} is not an element of '{named}', which is {type_}")
        return int(np.ravel_multi_index(element.index, shape))

    def _window(self, stage: AppStage, body: StageBody) -> GlueWindow | None:
        if stage.slide is None:
            return None
        axis, hop = stage.slide
        type_, key = body.wanted[0], f"stage.{stage.name}.slide"
        if type_ is None or not -len(type_.shape) <= axis < len(type_.shape):
            self._file.fail(key, f"the stage's first input is {type_ or 'of any shape'}, and has no axis {axis}")
        axis %= len(type_.shape)
        if hop >= type_.max_shape[axis]:
            rule = f"a call brings {hop} of {type_}, whose axis has {type_.max_shape[axis]}: no window to slide"
            self._file.fail(key, rule, "Leave out slide, or set the window of a builtin")
        return GlueWindow(type_, axis, hop, stage.every, stage.restarts)

    def _runs_every(self, stage: AppStage, runs: int | None) -> int | None:
        """Whether the stage runs, of calls in which it could: in the first of so many; None: always."""
        if stage.every == 1:
            return runs
        main, name = self._main, self._initials.add(f"{stage.name}/every", INT)
        seen = main.read(name, INT)
        step = main.integers([1]) if runs is None else main.cast(runs, type_=INT)
        counted = main.add(seen, step, type_=INT)
        below = main.cast(main.compared(Comparison.LESS, counted, stage.every), type_=INT)
        main.assign(name, main.mul(counted, below, type_=INT))
        first = main.compared(Comparison.EQUAL, seen, 0)
        return first if runs is None else main.both(first, runs)

    def _run(self, stage: AppStage, body: StageBody, sources: Sequence[int], runs: int | None) -> list[int]:
        """The stage's outputs; those of a stage that may be skipped are kept in variables."""
        main, timer = self._main, []
        if body.hold:
            since = self._initials.add(f"{stage.name}/since", INT, body.hold)
            above = main.add(main.read(since, INT), main.integers([1]), type_=INT)
            timer = [main.minimum(above, main.integers([body.hold]), type_=INT)]
        if runs is None:
            results = self._built(main, body, sources, timer)
        else:
            results = self._branches(stage, body, sources, timer, runs)
        if timer:
            main.assign(f"{stage.name}/since", results.pop())
        return results

    def _branches(
        self, stage: AppStage, body: StageBody, sources: Sequence[int], timer: Sequence[int], runs: int
    ) -> list[int]:
        main = self._main
        then, orelse = (GlueGraph(self._builder, f"{stage.name}{end}") for end in ("", "/skipped"))
        operands = [*sources, *timer]
        taken = [then.tensor(f"{stage.name}/{i}", main.type_of(v)) for i, v in enumerate(operands)]
        then.graph.outputs = self._built(then, body, taken[: len(sources)], taken[len(sources) :])
        names = [
            self._initials.add(f"{stage.name}.{name}", then.type_of(tensor), body.initial.get(name))
            for name, tensor in zip(body.outputs, then.graph.outputs, strict=False)
        ]
        types = [then.type_of(tensor) for tensor in then.graph.outputs]
        kept = [main.read(name, type_) for name, type_ in zip(names, types, strict=False)]
        operands += kept
        then.graph.inputs = [*taken, *(then.tensor(f"{n}/last", t) for n, t in zip(names, types, strict=False))]
        orelse.graph.inputs = [orelse.tensor(f"{stage.name}/{i}", main.type_of(v)) for i, v in enumerate(operands)]
        last, timers = orelse.graph.inputs[len(taken) :], orelse.graph.inputs[len(sources) : len(taken)]
        orelse.graph.outputs = [*last, *timers]
        results = main.branch(runs, operands, then, orelse, [*names, *(["since"] if timer else [])])
        for name, result in zip(names, results, strict=False):
            main.assign(name, result)
        return results

    def _run_hops(
        self, stage: AppStage, body: StageBody, sources: Sequence[int], hops: int | None, runs: int
    ) -> list[int]:
        """The outputs of a stage that computes in calls with a hop, and gives what it computes where it runs."""
        main, names = self._main, [f"{stage.name}.{name}" for name in body.outputs]
        then, orelse = (GlueGraph(self._builder, f"{stage.name}{end}") for end in ("", "/no hop"))
        complete, waits = (GlueGraph(self._builder, f"{stage.name}/{end}") for end in ("complete", "incomplete"))
        taken = [then.tensor(f"{stage.name}/{i}", main.type_of(v)) for i, v in enumerate(sources)]
        results = self._built(then, body, taken, ())
        types = [then.type_of(tensor) for tensor in results]
        for name, type_ in zip(names, types, strict=True):
            self._initials.add(name, type_)
        last = [main.read(name, type_) for name, type_ in zip(names, types, strict=True)]
        for graph, place in ((complete, 0), (waits, len(types))):
            graph.graph.inputs = [graph.tensor(f"{i}", type_) for i, type_ in enumerate((*types, *types))]
            graph.graph.outputs = graph.graph.inputs[place : place + len(types)]
        flag = then.tensor("runs", BOOL)
        before = [then.tensor(f"{name}/last", type_) for name, type_ in zip(names, types, strict=True)]
        then.graph.inputs = [*taken, flag, *before]
        then.graph.outputs = then.branch(flag, (*results, *before), complete, waits, names)
        operands = [*sources, runs, *last]
        orelse.graph.inputs = [orelse.tensor(f"{stage.name}/{i}", main.type_of(v)) for i, v in enumerate(operands)]
        orelse.graph.outputs = orelse.graph.inputs[len(sources) + 1 :]
        always = main.constant([True], DType.BOOL)
        outputs = main.branch(always if hops is None else hops, operands, then, orelse, names)
        for name, output in zip(names, outputs, strict=True):
            main.assign(name, output)
        return outputs

    def _built(self, graph: GlueGraph, body: StageBody, sources: Sequence[int], timer: Sequence[int]) -> list[int]:
        converted = [
            source if wanted is None else graph.converted(source, wanted)
            for source, wanted in zip(sources, body.wanted, strict=True)
        ]
        return body.build(graph, [*(c for c in converted if c is not None), *timer])

    def _check_conversion(self, stage: AppStage, source: int, wanted: TensorType) -> None:
        own = self._main.type_of(source)
        is_same = own.dtype is wanted.dtype and None in (own.quantization, wanted.quantization)
        mixes = (own.quantization is None) != (wanted.quantization is None)
        is_float = DType.FLOAT32 in (own.dtype, wanted.dtype)
        if own.elements != wanted.elements or (mixes and not is_same and not is_float):
            rule = f"is {own}, and the stage takes {wanted}"
            self._file.fail(f"stage.{stage.name}.input", rule, "Types are converted, sizes and scales unknown are not")

    def _outputs(self) -> list[tuple[str, int]]:
        """(name, tensor) of the whole's outputs."""
        listed = list(self._app.outputs)
        if not listed:
            read = {text.partition(".")[0] for stage in self._app.stages for text in stage.inputs}
            for stage in self._app.stages:
                if stage.name not in read:
                    listed += [f"{stage.name}.{output}" for output in self._values[stage.name]]
            listed += [f"{s.name}.{RAN}" for s in self._app.stages if self._ran[s.name] is not None]
        for text in listed:
            if listed.count(text) > 1:
                self._file.fail("outputs", f"has '{text}' twice")
        taken = {self._values[i.name][""] for i in self._app.inputs}
        outputs = []
        for text in listed:
            tensor = self._value("outputs", text)
            if tensor in taken or self._main.graph.tensors[tensor].data is not None:
                tensor = self._main.copied(tensor)
            taken.add(tensor)
            outputs.append((text, tensor))
        return outputs


def _elements(condition: Condition) -> list[Element]:
    if isinstance(condition, Logical):
        return [element for term in condition.terms for element in _elements(term)]
    return [condition.element if isinstance(condition, ElementComparison) else condition]
