"""Quantises every float model with If or While of the corpus, runs it on the host and on boards, and counts.

    python tests/quantized_corpus_sweep.py RESULTS.jsonl [--only PART] [--costs] [--jobs 2]

RESULTS gets one line of JSON for each model. Models that it has already are not run again, so that the sweep can be
stopped at any time and goes on where it was; delete a line to repeat its model. The summary is of all lines.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from support.corpus import CORPUS
from support.quantized_corpus import (
    BOARDS,
    board_result,
    float_conversions_in_loops,
    float_models,
    quantized_entry,
    reasons_for_float,
)
from tflmgen.commands.quantize import board_of, measured_costs
from tflmgen.options import OutputOptions, SourceOptions
from tflmgen.terminal import Console

MAX_FLOAT_LOOPS = 0.1
"""Share of the models that may convert to float32 in each iteration."""

COUNTED = ("mps2_an386", "mps2_an385_m0")
"""Boards whose instructions are counted: a core with an FPU, and one without."""

TARGET, LEAST_INSTRUCTIONS = 0.55, 5000
"""Instructions in int8 for each of float32's that are wished for, and in float32 from which a model is no toy."""

Record = dict[str, Any]


def swept(name: str, boards: tuple[str, ...], costs: bool) -> Record:
    """What is known of one model: never raises, the record has the error."""
    record: Record = {"model": name, "boards": {}}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        os.chdir(folder)
        try:
            _sweep(name, boards, costs, Path(folder), record)
        except BaseException as error:  # one model must not end the sweep
            record["error"] = f"{type(error).__name__}: {error}"[:2000]
            record["trace"] = traceback.format_exc()[-3000:]
        os.chdir("/")
    record["seconds"] = round(time.monotonic() - began, 1)
    return record


def _sweep(name: str, boards: tuple[str, ...], costs: bool, folder: Path, record: Record) -> None:
    entry = quantized_entry(name, folder)
    worst = min((e.sqnr_db for e in entry.result.evaluation.outputs), default=0.0)
    source = CORPUS / f"{name}.tflite"
    record |= {
        "reference": entry.reference,
        "in_loops": float_conversions_in_loops(entry.model),
        "conversions": dict(entry.result.quantized.conversions),
        "in_float": reasons_for_float(entry.result),
        "unreached": [str(unreached) for unreached in entry.result.calibration.unreached],
        "sqnr_db": worst,
        "branch_agreement": entry.result.evaluation.branch_agreement,
        "bytes": [source.stat().st_size, entry.file.stat().st_size],
    }
    for board in boards:
        try:
            record["boards"][board] = asdict(board_result(entry, board))
        except AssertionError as error:
            record["boards"][board] = {"error": str(error)[:2000]}
    sets, console = entry.result.data.everything, Console(OutputOptions(quiet=True))
    for board_to_count in filter(None, map(board_of, COUNTED if costs else ())):
        counted = measured_costs(source, entry.file, board_to_count, sets, SourceOptions(), console)
        record.setdefault("costs", {})[board_to_count.id] = counted


def summary(records: Iterable[Record]) -> list[str]:
    """Counts of all records, and a line for each model that is not as it should be."""
    records = list(records)
    lines = [f"{len(records)} models, {sum('error' in r for r in records)} not quantised"]
    for board in BOARDS:
        own = [r["boards"][board] for r in records if board in r["boards"]]
        good = [r for r in own if "error" not in r]
        exact, near = sum(r["exact"] for r in good), sum(r["near"] for r in good)
        lines.append(f"{board}: {len(good)} of {len(own)} pass; outputs: {exact} bit for bit, {near} after float")
    references = [r["reference"] for r in records if "reference" in r]
    lines += [f"{references.count(name)} against {name}" for name in sorted(set(references))]
    known = [r for r in records if "in_loops" in r]
    converting = [r for r in known if r["in_loops"]]
    lines.append(f"{len(known) - len(converting)} of {len(known)} without DEQUANTIZE in an iteration")
    lines += [f"  {r['model']}: {r['in_loops']} DEQUANTIZE; {'; '.join(r['in_float'])}" for r in converting]
    for r in records:
        if "error" in r:
            lines.append(f"  {r['model']}: {r['error'].splitlines()[0]}")
        lines += [f"  {r['model']} on {b}: {v['error'][:300]}" for b, v in r["boards"].items() if "error" in v]
    return lines + [line for board in COUNTED for line in costs_on(board, records)]


def costs_on(board: str, records: list[Record]) -> Iterator[str]:
    """Instructions in float32 and int8 on a board, those models first that gain least."""
    rows = []
    for r in records:
        if (costs := r.get("costs", {}).get(board)) is not None:
            before, after = (costs[side]["instructions"] for side in ("before", "after"))
            rows.append((after / max(before, 1), before, after, r["model"]))
    for name, own in (
        ("all", rows),
        (f"{LEAST_INSTRUCTIONS:,} and more", [r for r in rows if r[1] >= LEAST_INSTRUCTIONS]),
    ):
        yield f"{board}, {name}: {sum(r[0] <= TARGET for r in own)} of {len(own)} take at most {TARGET} of float32"
    for ratio, before, after, model in sorted(rows, reverse=True):
        yield f"  {model}: {before:,} to {after:,}, {ratio:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", default="", help="part of the models' names")
    parser.add_argument("--boards", default=",".join(BOARDS))
    parser.add_argument("--costs", action="store_true", help="flash, RAM and instructions, too")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    path: Path = arguments.results.resolve()
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {record["model"] for record in records}
    models = [name for name in float_models() if name not in done and arguments.only in name]
    with ProcessPoolExecutor(arguments.jobs) as pool, path.open("a") as file:
        boards = tuple(arguments.boards.split(","))
        for finished in as_completed(pool.submit(swept, name, boards, arguments.costs) for name in models):
            records.append(finished.result())
            file.write(json.dumps(records[-1]) + "\n")
            file.flush()
            print(f"{len(records)}: {records[-1]['model']}, {records[-1]['seconds']} s", file=sys.stderr)
    print("\n".join(summary(records)))
    converting = sum(bool(r.get("in_loops")) for r in records)
    failed = any("error" in r or any("error" in v for v in r["boards"].values()) for r in records)
    return 1 if failed or converting > MAX_FLOAT_LOOPS * len(records) else 0


if __name__ == "__main__":
    raise SystemExit(main())
