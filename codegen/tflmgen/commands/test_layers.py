"""tflmgen test --layers: where a firmware first computes something else than its reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflmgen.commands.test import MismatchError, sets_of
from tflmgen.compare import (
    HOST_BUILD,
    Case,
    Expected,
    Layer,
    LayerDifference,
    NoReferenceError,
    OracleError,
    Tolerance,
    compared,
    first_difference,
    junit_xml,
    last_of_each,
    read_layers,
    tflm_tensors,
    with_layers,
)
from tflmgen.compare import NAME as TFLM
from tflmgen.compiler import Compilation
from tflmgen.emulators import Vectors, check_session_options, run_sets, running
from tflmgen.errors import UsageError
from tflmgen.frontend import SubGraph, read_model
from tflmgen.options import BuildOptions, Emulator, OutputOptions, SessionOptions
from tflmgen.project import (
    HOST,
    Board,
    check_writable,
    compile_for,
    load_board,
    plan_for,
    require_compiler,
    write_whole,
)
from tflmgen.terminal import Column, Console, Table

Array = NDArray[Any]

REGIONS = ("then_subgraph_index", "else_subgraph_index", "cond_subgraph_index", "body_subgraph_index")
"""Options of the operators that enter a subgraph in TFLite Micro."""


@dataclass(frozen=True, slots=True)
class SetOfLayers:
    """One set's comparison: how many values were compared, of how many, and the first that differs."""

    set: str
    reference: str
    compared: int
    shown: int
    difference: LayerDifference | None


def layers_command(
    model: Path,
    board_name: str,
    vectors_path: Path | None,
    tolerance: Tolerance,
    junit: Path | None,
    options: BuildOptions,
    session: SessionOptions,
    output: OutputOptions,
) -> None:
    """Compare what each operator of the firmware computes with a reference; exit code 1 where something differs."""
    console = Console(output)
    board = load_board(board_name)
    check_session_options(board, session)
    if session.port is not None:
        raise UsageError(
            "--layers needs a firmware of its own, which the board at --port doesn't run: leave --port out"
        )
    if junit is not None:
        check_writable(junit)
    with console.progress(f"Planning {model.name}"):
        plain = compile_for(model, board, options)
    if not all(port.type.is_static for s in plain.module.signatures for port in (*s.inputs, *s.outputs)):
        raise UsageError(f"{model}: --layers needs fixed shapes, and this model's are known at run time only")
    require_compiler(board)
    vectors = sets_of(model, vectors_path, plain.module.signatures, session.signature)
    shown, emulator = _shown(plain, board, vectors, options, session, console)
    sets, why_not = _compare(model, plain, board, vectors, shown, tolerance, options, session, console)
    _report(console, model, board, emulator, sets, why_not)
    if junit is not None:
        cases = [Case(f"set {one.set}, operators against {one.reference}", str(one.difference or "")) for one in sets]
        write_whole(
            junit, junit_xml(f"{model.name} on {board.id}", cases, [("board", board.id), ("emulator", emulator)])
        )
    wrong = sum(one.difference is not None for one in sets)
    if wrong:
        raise MismatchError(f"{model}: FAILED: {wrong} of {len(sets)} sets differ")


def _shown(
    plain: Compilation,
    board: Board,
    vectors: Vectors,
    options: BuildOptions,
    session: SessionOptions,
    console: Console,
) -> tuple[list[list[Layer]], str]:
    """The values that each set's operators wrote, and where they ran."""
    with console.progress("Planning again, with its layers"):
        compilation = with_layers(plain, options)
    with running(compilation, board, options, session, console) as run:
        with console.progress("Starting") as progress:
            results = run_sets(run.session, plain.module.signatures, vectors.sets, vectors.stateful, progress)
        emulator = run.session.emulator
    narrowed = plain.module.narrowed
    return [read_layers(plain.program, result.invocation.layers, narrowed) for result in results], emulator


def _compare(
    model: Path,
    plain: Compilation,
    board: Board,
    vectors: Vectors,
    shown: Sequence[Sequence[Layer]],
    tolerance: Tolerance,
    options: BuildOptions,
    session: SessionOptions,
    console: Console,
) -> tuple[list[SetOfLayers], str]:
    """Each set beside TFLite Micro, or the host build where that can't be used, and why it can't."""
    try:
        with console.progress(f"Running {TFLM}"):
            expected = _tflm(model, plain, vectors, shown, session.timeout)
        name, why_not, layers = TFLM, "", [last_of_each(one) for one in shown]
    except OracleError as error:
        why_not = str(error)
        if board.is_host:
            raise NoReferenceError(f"{model}: nothing to compare with. {TFLM}: {error}") from error
        alone = replace(session, emulator=Emulator.AUTO)
        host, _ = _shown(plan_for(model, HOST, options), HOST, vectors, options, alone, console)
        name, layers = HOST_BUILD, [list(one) for one in shown]
        expected = [_by_key(mine, theirs) for mine, theirs in zip(shown, host, strict=True)]
    sets = []
    for number, (mine, theirs) in enumerate(zip(layers, expected, strict=True)):
        label = vectors.sets[number].label
        pairs = compared(mine, theirs)
        found = first_difference(pairs, tolerance)
        sets.append(SetOfLayers(f"{number}: {label}" if label else str(number), name, len(pairs), len(mine), found))
    return sets, why_not


def _tflm(
    model: Path, plain: Compilation, vectors: Vectors, shown: Sequence[Sequence[Layer]], timeout: float
) -> list[dict[int, Expected]]:
    """TFLite Micro's tensors of the names and shapes of each set's last values, by their places among these."""
    graphs = read_model(model).subgraphs
    found = []
    for number, layers in enumerate(shown):
        places, tensors = [], []
        for place, layer in enumerate(last_of_each(layers)):
            named = [t for t in graphs[layer.origin.subgraph].tensors if t.name == layer.tensor]
            ran = _is_in_place(layer, graphs)
            if ran and len(named) == 1 and tuple(named[0].shape) == layer.shape:
                places.append(place)
                tensors.append((layer.origin.subgraph, named[0].index))
        before = vectors.sets[: number + 1] if vectors.stateful else vectors.sets[number : number + 1]
        arena = int(plain.plan["arena"]["bytes"]) + sum(layer.array.nbytes for layer in layers)
        arrays = tflm_tensors(model, before, arena, timeout, tensors)
        found.append({place: Expected(array) for place, array in zip(places, arrays, strict=True)})
    return found


def _is_in_place(layer: Layer, graphs: Sequence[SubGraph]) -> bool:
    """Whether TFLite Micro has run the operator too: passes may take it out of a branch or loop that isn't entered."""
    if layer.regions is None or layer.origin.subgraph == 0:
        return True
    operators = (graphs[region.subgraph].operators[region.operator] for region in layer.regions)
    return any((op.options or {}).get(name) == layer.origin.subgraph for op in operators for name in REGIONS)


def _by_key(mine: Sequence[Layer], theirs: Sequence[Layer]) -> dict[int, Expected]:
    """What the other run wrote for the same operator, tensor, iteration and, in a function, call."""
    known: dict[object, Expected] = {}
    calls: Counter[object] = Counter()
    for layer in theirs:
        known[layer.key, calls[layer.key]] = Expected(layer.array, layer.narrowed)
        calls[layer.key] += 1
    calls.clear()
    found = {}
    for place, layer in enumerate(mine):
        key = layer.key, calls[layer.key]
        calls[layer.key] += 1
        if key in known:
            found[place] = known[key]
    return found


def _report(
    console: Console, model: Path, board: Board, emulator: str, sets: Sequence[SetOfLayers], why_not: str
) -> None:
    wrong = [one for one in sets if one.difference]
    console.json(
        {
            "model": model.name,
            "board": board.id,
            "emulator": emulator,
            "why_not_tflm": why_not or None,
            "sets": [_set_json(one) for one in sets],
            "passed": not wrong,
        }
    )
    where = emulator if board.is_host else f"{board.id} in {emulator}"
    rows = [
        (one.set, one.reference, f"{one.compared} of {one.shown}", "differs" if one.difference else "ok")
        for one in sets
    ]
    columns = (
        Column("set", least=16),
        Column("compared with", least=10, wraps=True),
        Column("values", numeric=True),
        Column("result"),
    )
    console.table(Table(f"{model.name} on {where}, operator by operator", columns, rows))
    if why_not:
        console.line(f"{TFLM} not: {why_not}")
    if wrong:
        console.line(f"first difference: {wrong[0].difference}")
    else:
        console.line(f"passed: all {sum(one.compared for one in sets)} values that were compared agree")


def _set_json(one: SetOfLayers) -> dict[str, Any]:
    first = one.difference
    return {
        "set": one.set,
        "reference": one.reference,
        "compared": one.compared,
        "shown": one.shown,
        "first": {
            "subgraph": first.layer.origin.subgraph,
            "subgraph_name": first.layer.origin.subgraph_name,
            "operator": first.layer.origin.operator,
            "operator_name": first.layer.origin.operator_name,
            "tensor": first.layer.tensor,
            "iterations": list(first.layer.iterations),
            "index": list(first.index),
            "expected": first.expected,
            "actual": first.actual,
            "wrong": first.count,
            "elements": first.total,
        }
        if first
        else None,
    }
