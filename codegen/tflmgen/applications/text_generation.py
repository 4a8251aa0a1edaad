"""The built-in `generate`: a decoder that writes text, as a Model of two signatures.

step(token, position) is the decoder itself. generate(prompt, length, count) is a While over it in TFLite's operators:
tokens of the prompt are fed, then those that the loop chooses; status says what is wrong with a prompt. Caches need no
reset: a decoder sees no row behind its position.

Sampling: logits are divided by the temperature, the largest `top_k` are kept, of these the fewest whose probabilities
add up to `top_p` (Holtzman et al., "The curious case of neural text degeneration", 2020), and one is drawn. A
repetition penalty divides positive logits of tokens that occurred, and multiplies negative ones (Keskar et al., "CTRL",
2019).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tflmgen.applications.app_file import AppFile, Application, AppStage
from tflmgen.applications.glue_graph import BOOL, INT, GlueGraph, Initials
from tflmgen.applications.stage_body import StageContext, model_body
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.ir import DType, TensorType

GENERATE = "generate"
"""Name of the built-in, and of its second signature."""

STATUS_TEXTS = ("done", "the prompt is empty", "the prompt is longer than the context", "a token is out of range")
"""Meanings of the output `status`, by its number."""

_SETTINGS = ("decoder", "context", "temperature", "top_k", "top_p", "penalty", "stop", "seed")
_MOST_STOPS = 64
"""Tokens that may end a text."""


def is_generator(app: Application) -> bool:
    """Whether an application is a decoder that writes text."""
    return any(stage.builtin == GENERATE for stage in app.stages)


@dataclass(frozen=True, slots=True)
class _Sampling:
    """The choice of a token; temperature 0: the most likely one. top_k: of so many; top_p 1 and penalty 1: not used."""

    temperature: float
    top_k: int
    top_p: float
    penalty: float
    stops: tuple[int, ...]
    seed: int


def generator_model(app: Application, read: Callable[[Path], Model]) -> Model:
    """The Model of such an application. Raises ModelError with line and key of what does not fit."""
    (stage,) = app.stages
    return _Generator(app.file, stage, read).model()


class _Generator:
    def __init__(self, file: AppFile, stage: AppStage, read: Callable[[Path], Model]) -> None:
        self._file, self._key = file, f"stage.{stage.name}"
        context = StageContext(file, stage, (), None, Initials())
        context.check_settings(_SETTINGS)
        self._builder = ModelBuilder(name=str(file.path))
        self._decoder = self._read(stage, read)
        self._body = model_body(file, replace(stage, model=Path(self._decoder.name)), self._decoder, self._builder)
        self._vocabulary, self._logits = self._checked()
        self._context = context.whole("context", None, 2, 1 << 16)
        self._sampling = self._read_sampling(context)

    def model(self) -> Model:
        """The Model of both signatures."""
        step = GlueGraph(self._builder, "step")
        token, position = (step.tensor(name, INT) for name in ("token", "position"))
        logits = step.copied(self._step(step, token, position))
        step.graph.inputs, step.graph.outputs = [token, position], [logits]
        self._builder.signature("step", step.graph, [("token", token), ("position", position)], [("logits", logits)])
        self._generate()
        model = self._builder.model()
        digest = hashlib.sha256(repr((model.subgraphs, model.signatures)).encode()).hexdigest()
        return replace(model, sha256=digest, notes=self._decoder.notes)

    def _read(self, stage: AppStage, read: Callable[[Path], Model]) -> Model:
        key, path = f"{self._key}.decoder", stage.model
        assert path is not None
        if not path.is_file():
            self._file.fail(key, f"there is no file {path}")
        try:
            return read(path)
        except ModelError as error:
            place = self._file.place(key)
            raise ModelError(
                replace(p, where=replace(p.where, model=f"{place}: {p.where.model}")) for p in error.problems
            ) from None

    def _checked(self) -> tuple[int, int]:
        """Number of logits, and place of their output. A decoder of other inputs is refused."""
        key, types = f"{self._key}.decoder", self._body.wanted
        integers = (DType.INT32, DType.INT64)
        if len(types) != 2 or any(t is None or t.elements != 1 or t.dtype not in integers for t in types):
            listed = ", ".join(map(str, types)) or "none"
            self._file.fail(key, f"a decoder has two inputs of one integer, token and position; these are {listed}")
        entry = self._decoder.subgraphs[self._decoder.signatures[0].subgraph if self._decoder.signatures else 0]
        sizes = [
            (tensor.dtype is DType.FLOAT32 or tensor.quantization is not None) * int(np.prod(tensor.shape))
            for tensor in (entry.tensors[i] for i in entry.outputs)
        ]
        if max(sizes, default=0) < 2:
            self._file.fail(key, "a decoder has an output of logits, a real number for each token")
        return max(sizes), sizes.index(max(sizes))

    def _read_sampling(self, context: StageContext) -> _Sampling:
        stops = context.stage.settings.get("stop", [])
        if not isinstance(stops, list) or any(type(i) is not int or not 0 <= i < self._vocabulary for i in stops):
            self._file.fail(context.key("stop"), f"is a list of tokens from 0 to {self._vocabulary - 1}")
        if len(stops) > _MOST_STOPS:
            self._file.fail(context.key("stop"), f"has more than {_MOST_STOPS} tokens")
        return _Sampling(
            context.number("temperature", 1.0, 0.0, 100.0),
            context.whole("top_k", self._vocabulary, 1, self._vocabulary),
            context.number("top_p", 1.0, 1e-6, 1.0),
            context.number("penalty", 1.0, 0.01, 100.0),
            tuple(stops),
            context.whole("seed", 1, 0, (1 << 31) - 1),
        )

    # -- the loop

    def _generate(self) -> None:
        main = GlueGraph(self._builder, GENERATE)
        prompt = main.tensor("prompt", _integers(self._context))
        length, count = (main.tensor(name, INT) for name in ("length", "count"))
        status = self._status(main, prompt, length)
        wanted = main.minimum(
            main.maximum(count, main.integers([0]), type_=INT), main.integers([self._context]), type_=INT
        )
        whole = main.minimum(main.add(length, wanted, type_=INT), main.integers([self._context]), type_=INT)
        is_good = main.op("EQUAL", (status, main.integers([0])), BOOL)
        total = _chosen(main, is_good, whole, main.integers([0]), INT)
        state = [main.integers([0]), prompt, total, length]
        if self._sampling.penalty != 1:
            state.append(main.constant(np.zeros(self._vocabulary), DType.BOOL))
        results = self._loop(main, state)
        tokens, total = main.copied(results[1]), main.copied(results[2])
        main.graph.inputs, main.graph.outputs = [prompt, length, count], [tokens, total, status]
        inputs = list(zip(("prompt", "length", "count"), main.graph.inputs, strict=True))
        outputs = list(zip(("tokens", "total", "status"), main.graph.outputs, strict=True))
        self._builder.signature(GENERATE, main.graph, inputs, outputs)

    def _status(self, main: GlueGraph, prompt: int, length: int) -> int:
        """The place of what is wrong in STATUS_TEXTS, int32[1]."""
        flags = replace(_integers(self._context), dtype=DType.BOOL)
        places = main.integers(np.arange(self._context))
        below = main.op("LESS", (prompt, main.integers([0])), flags)
        above = main.op("GREATER_EQUAL", (prompt, main.integers([self._vocabulary])), flags)
        wrong = main.op("LOGICAL_OR", (below, above), flags)
        counted = main.op("LOGICAL_AND", (wrong, main.op("LESS", (places, length), flags)), flags)
        is_wrong = main.op("REDUCE_ANY", (counted, main.integers([0])), BOOL, keep_dims=True)
        status = _chosen(main, is_wrong, main.integers([3]), main.integers([0]), INT)
        is_long = main.op("GREATER", (length, main.integers([self._context])), BOOL)
        status = _chosen(main, is_long, main.integers([2]), status, INT)
        is_empty = main.op("LESS", (length, main.integers([1])), BOOL)
        return _chosen(main, is_empty, main.integers([1]), status, INT)

    def _loop(self, main: GlueGraph, state: Sequence[int]) -> list[int]:
        types = [main.type_of(tensor) for tensor in state]
        condition, body = (GlueGraph(self._builder, f"{GENERATE}/{name}") for name in ("condition", "body"))
        for graph in (condition, body):
            graph.graph.inputs = [graph.tensor(f"{i}", type_) for i, type_ in enumerate(types)]
        place, _, total, _ = condition.graph.inputs[:4]
        following = condition.add(place, condition.integers([1]), type_=INT)
        condition.graph.outputs = [condition.op("LESS", (following, total), BOOL)]
        body.graph.outputs = self._iteration(body, main, list(body.graph.inputs))
        results = [main.tensor(f"after/{i}", type_) for i, type_ in enumerate(types)]
        options = {"cond_subgraph_index": condition.graph.index, "body_subgraph_index": body.graph.index}
        main.graph.operator("WHILE", state, results, options)
        return results

    def _iteration(self, body: GlueGraph, main: GlueGraph, state: list[int]) -> list[int]:
        """Feeds the token at a place, and writes the one behind it, unless the prompt has it."""
        place, tokens, total, length, *seen = state
        token = body.op("GATHER", (tokens, place), INT, axis=0)
        logits = body.shaped(self._step(body, token, place, main), (self._vocabulary,))
        if seen:
            numbers = body.integers(np.arange(self._vocabulary))
            own = body.op("EQUAL", (numbers, token), body.type_of(seen[0]))
            seen = [body.op("LOGICAL_OR", (seen[0], own), body.type_of(seen[0]))]
            logits = self._penalized(body, logits, seen[0])
        following = body.add(place, body.integers([1]), type_=INT)
        is_prompt = body.op("LESS", (following, length), BOOL)
        prompted = body.op("GATHER", (tokens, following), INT, axis=0)
        chosen = _chosen(body, is_prompt, prompted, self._sampled(body, logits), INT)
        tokens = body.op("DYNAMIC_UPDATE_SLICE", (tokens, chosen, following), body.type_of(tokens))
        if self._sampling.stops:
            stops = body.integers(self._sampling.stops)
            equal = body.op("EQUAL", (chosen, stops), TensorType(DType.BOOL, (len(self._sampling.stops),)))
            is_stop = body.op("REDUCE_ANY", (equal, body.integers([0])), BOOL, keep_dims=True)
            ends = body.both(is_stop, body.op("LOGICAL_NOT", (is_prompt,), BOOL))
            total = _chosen(body, ends, body.add(following, body.integers([1]), type_=INT), total, INT)
        else:
            total = body.copied(total)
        return [following, tokens, total, body.copied(length), *seen]

    def _step(self, graph: GlueGraph, token: int, position: int, main: GlueGraph | None = None) -> int:
        """Adds the decoder; its logits as real numbers. Initial state that runs once is moved to `main`."""
        wanted = [t for t in self._body.wanted if t is not None]
        inputs = [graph.converted(tensor, type_) for tensor, type_ in zip((token, position), wanted, strict=True)]
        outputs = self._body.build(graph, [tensor for tensor in inputs if tensor is not None])
        if main is not None:
            _move_first_runs(graph, main)
        logits = graph.real(outputs[self._logits])
        assert logits is not None
        return logits

    # -- sampling

    def _penalized(self, graph: GlueGraph, logits: int, seen: int) -> int:
        type_, penalty = graph.type_of(logits), self._sampling.penalty
        smaller = graph.div(logits, graph.floats(penalty), type_=type_)
        larger = graph.mul(logits, graph.floats(penalty), type_=type_)
        flags = replace(type_, dtype=DType.BOOL)
        changed = _chosen(graph, graph.op("GREATER", (logits, graph.floats(0)), flags), smaller, larger, type_)
        return _chosen(graph, seen, changed, logits, type_)

    def _sampled(self, graph: GlueGraph, logits: int) -> int:
        """The token that is chosen, int32[1]."""
        own, count = self._sampling, self._sampling.top_k
        if own.temperature == 0 or count == 1:
            row = graph.shaped(logits, (1, self._vocabulary))
            return graph.place_of_largest(row, graph.integers(1), type_=INT, output_type=2)
        kept = TensorType(DType.FLOAT32, (1, count))
        scaled = graph.div(logits, graph.floats(own.temperature), type_=graph.type_of(logits))
        values = graph.tensor("likeliest", TensorType(DType.FLOAT32, (count,)))
        tokens = graph.tensor("candidates", _integers(count))
        graph.graph.operator("TOPK_V2", [scaled, graph.integers(count)], [values, tokens])
        chances = graph.op("SOFTMAX", (graph.shaped(values, kept.max_shape),), kept, beta=1.0)
        axis = graph.integers(1)
        if own.top_p < 1:
            before = graph.op("CUMSUM", (chances, axis), kept, exclusive=True)
            flags = replace(kept, dtype=DType.BOOL)
            is_kept = graph.op("LESS", (before, graph.floats(own.top_p)), flags)
            chances = _chosen(graph, is_kept, chances, graph.floats(0), kept)
        sums = graph.op("CUMSUM", (chances, axis), kept)
        whole = graph.rows(sums, 1, count - 1, 1)
        drawn = graph.op(
            "RANDOM_UNIFORM", (graph.integers([1, 1]),), replace(kept, shape=(1, 1)), seed=own.seed, seed2=0
        )
        bound = graph.mul(drawn, whole, type_=replace(kept, shape=(1, 1)))
        below = graph.op("LESS_EQUAL", (sums, bound), replace(kept, dtype=DType.BOOL))
        passed = graph.cast(below, type_=TensorType(DType.INT32, (1, count)))
        place = graph.sum(passed, graph.integers([1]), type_=INT, keep_dims=False)
        place = graph.minimum(place, graph.integers([count - 1]), type_=INT)
        return graph.op("GATHER", (tokens, place), INT, axis=0)


def _chosen(graph: GlueGraph, condition: int, yes: int, no: int, type_: TensorType) -> int:
    return graph.op("SELECT_V2", (condition, yes, no), type_)


def _integers(count: int) -> TensorType:
    return TensorType(DType.INT32, (count,))


def _move_first_runs(graph: GlueGraph, main: GlueGraph) -> None:
    """Moves operators that run a subgraph once out of a loop's body: they run before the loop."""
    once = [op for op in graph.graph.operators if op.name == "CALL_ONCE"]
    kept = [op for op in graph.graph.operators if op.name != "CALL_ONCE"]
    graph.graph.operators = [replace(op, index=index) for index, op in enumerate(kept)]
    operators = [*once, *main.graph.operators]
    main.graph.operators = [replace(op, index=index) for index, op in enumerate(operators)]
