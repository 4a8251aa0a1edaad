"""Writes tests/differential/refused_types.json: element types that LiteRT takes and tflmgen refuses, found by trying.

    PYTHONPATH=codegen:tests python tests/litert_types.py [OPERATOR...]

Without names it tries every operator with a kernel, which takes an hour or so; with names it replaces their rows.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from differential.test_differential import FAMILIES
from support.case_models import model_bytes
from support.differential import draw
from support.type_trials import LiteRt, Trial, built, dump, variants

ROWS = Path(__file__).with_name("differential") / "refused_types.json"


def trials(names: set[str], draws: int = 1) -> Iterator[Trial]:
    """Files of these operators, or of all, each combination of types once; `draws` cases of each type of a family."""
    seen: Counter[tuple[str, ...]] = Counter()
    for family in FAMILIES:
        if names and family.operator not in names:
            continue
        for dtype in family.types:
            rng = np.random.default_rng([9, *dtype.encode()])
            for _ in range(draws):
                case, values = draw(family, dtype, rng)
                case = case.without_state
                fed = [value for value in values[: len(case.inputs)] if value is not None]
                for trial in variants(family.operator, model_bytes(case), fed):
                    key = (trial.operator, str(trial.has_scales), *trial.types)
                    seen[key] += 1
                    if seen[key] == 1:
                        yield trial


def refused(names: set[str], draws: int = 1) -> dict[str, dict[str, list[str]]]:
    """Operator -> operands whose types were changed -> types that LiteRT takes and tflmgen refuses."""
    litert = LiteRt()
    taken: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for trial in trials(names, draws):
        known = taken[trial.operator, trial.group]
        if not known.get(trial.dtype):
            complaint = built(trial)
            if not complaint:
                known[trial.dtype] = True
            elif litert.takes(trial):
                known.setdefault(trial.dtype, False)
    litert.close()
    rows: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for (operator, group), types in taken.items():
        missing = sorted(dtype for dtype, builds in types.items() if not builds)
        if missing:
            rows[operator][group] = missing
    return rows


def main() -> None:
    names = set(sys.argv[1:])
    before = json.loads(ROWS.read_text(encoding="utf-8")) if names else {}
    rows = {**{name: row for name, row in before.items() if name not in names}, **refused(names)}
    ROWS.write_text(dump(rows), encoding="utf-8")
    print(sum(len(types) for row in rows.values() for types in row.values()), "pairs")


if __name__ == "__main__":
    main()
