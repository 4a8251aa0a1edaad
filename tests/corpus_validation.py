"""Validates the graphs of the whole corpus against their files: a line per model, then how many came to what.

PYTHONPATH=tests python -m corpus_validation [quick|full] [PART OF A NAME ...]

It ends with exit code 1 where a graph is found to differ from its file, be it wrong or a false alarm.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.corpus import CORPUS, corpus_manifest
from tflmgen.errors import InternalError, ModelError
from tflmgen.explore.optimised_graphs import optimise
from tflmgen.frontend import find_bounds, import_model
from tflmgen.frontend.tflite import read_model
from tflmgen.ir.kernel import Target
from tflmgen.kernels import Selector
from tflmgen.options import BuildOptions
from tflmgen.passes import claims_of_ranges
from tflmgen.reference import ValidationContext
from tflmgen.reference.validation import validate
from tflmgen.reference.validation_result import EFFORTS, Validation
from tflmgen.settings import parse_options

MOST = 64
"""Bound of dynamic dimensions that the file says nothing of."""


def validation(path: Path, effort: str) -> Validation:
    """Of the graph as a build without options has it, for a processor without vector instructions."""
    model, settings = read_model(path), parse_options(BuildOptions())
    try:
        imported = import_model(model, find_bounds(model, settings.shapes, None))
    except ModelError:
        imported = import_model(model, find_bounds(model, settings.shapes, MOST))
    module = optimise((imported,), Selector(Target("host")), settings)[0]
    return validate(model, module, EFFORTS[effort], claims_of_ranges(module), ValidationContext(imported=imported))


def verdict(entry: Mapping[str, Any], effort: str) -> tuple[str, str]:
    """What the model counts as, and the line's text."""
    try:
        result = validation(CORPUS / str(entry["path"]), effort)
    except ModelError as error:
        return "refused", str(error.problems[0].rule)
    except InternalError as error:
        return "DIFFERENT", str(error)
    if result.unsupported:
        return "not validated", result.text
    return "equal in all sets" if result.equal == result.sets else "equal in all that ran", result.text


def main() -> int:
    words = sys.argv[1:]
    effort = words.pop(0) if words and words[0] in EFFORTS else "quick"
    entries = [e for e in corpus_manifest() if not words or any(word in e["name"] for word in words)]
    verdicts: Counter[str] = Counter()
    for number, entry in enumerate(entries, 1):
        start = time.process_time()
        kind, text = verdict(entry, effort)
        verdicts[kind] += 1
        seconds = time.process_time() - start
        print(f"{number:3} of {len(entries)} {seconds:6.1f} s  {entry['name']}: {kind}; {text}", flush=True)
    print(f"{len(entries)} models, {effort}: {dict(verdicts)}; {time.process_time():.0f} s of CPU")
    return 1 if verdicts["DIFFERENT"] else 0


if __name__ == "__main__":
    sys.exit(main())
