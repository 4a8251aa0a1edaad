"""Writes docs/understand/mutation-score.md anew: the campaign of mutants, with what the proof says of each.

PYTHONPATH=tests python -m mutation_page
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from support.mutation_campaign import LONG, Score, kinds, score
from support.repository import ROOT

PAGE = ROOT / "docs" / "understand" / "mutation-score.md"

SCALE: Mapping[str, tuple[int, int]] = {
    "plan": (3000, 160),
    "lowering": (4000, 160),
    "packing": (1, 8),
    "emission": (5000, 40),
    "passes": (2000, 12),
}
"""Kind -> (first seed, originals): random programs, or layers or models of each kind."""

WHAT = {
    "plan": "a place of a Program is off, exchanged or shared, a copy missing",
    "lowering": "a Program whose places are right computes something else",
    "packing": "bytes of packed weights, biases or multipliers are others",
    "emission": "the C text has another number, statement or name",
    "passes": "a graph is well formed and computes something else than the file",
}

HEAD = """# Mutation score

How good is the proof? A campaign corrupts what each stage of a build makes, as a fault of that stage would, and asks
the proof of [each build](proof.md). This page is made by the campaign:

```console
$ PYTHONPATH=tests python -m mutation_page
```

A mutant is **rejected** if the build would end with an error, or shown to be **equivalent** by other means than the
proof, or has **survived**. The score is the share of rejected ones among those that are not equivalent. Seeds are
fixed: the same tree gives the same table. CI runs a sample (`tests/property/test_mutation_score.py`).

"""

EQUIVALENT = f"""\
Some mutants are no faults: two homes exchanged everywhere are as good as before, a RELU behind a RELU does nothing.
They are run to show it: a Program byte by byte in a simulator, on memory that starts as noise; packed constants at sums
of products over the whole range; a graph on {LONG.sets} input sets, a sample, or on as many as \
{LONG.seconds:.0f} s of work admit.
Of some graphs the passes make the same as of the original.
"""


def page(scores: Mapping[str, Score]) -> str:
    lines = ["| Kind | Mutants | Rejected | Equivalent | Survived | Score |", "|---|--:|--:|--:|--:|--:|"]
    total = Score()
    for kind, result in scores.items():
        lines.append(_row(kind, result))
        total.mutants += result.mutants
        total.rejected += result.rejected
        total.equivalent += result.equivalent
        total.survivors += result.survivors
    lines.append(_row("all", total))
    kinds_text = "\n".join(f"- **{kind}**: {text}" for kind, text in WHAT.items())
    shown = ["| Kind | Shown by | Mutants |", "|---|---|--:|"]
    for kind, result in scores.items():
        shown += [f"| {kind} | {method} | {count:,} |" for method, count in sorted(result.equivalent.items())]
    survivors = [f"- {kind}: `{text}`" for kind, result in scores.items() for text in result.survivors]
    parts = ["\n".join(lines), kinds_text, "## Equivalent mutants", EQUIVALENT.strip(), "\n".join(shown)]
    parts += ["## Survivors", _survivors(survivors)]
    return HEAD + "\n\n".join(parts) + "\n"


def _row(kind: str, result: Score) -> str:
    share = 100 * result.rejected / max(1, result.differing)
    numbers = (result.mutants, result.rejected, result.equivalent.total(), len(result.survivors))
    return f"| {kind} | {' | '.join(f'{n:,}' for n in numbers)} | {share:.1f} % |"


def _survivors(survivors: list[str]) -> str:
    if not survivors:
        return "None."
    reason = (
        "Validation runs twelve input sets, sixty of a small model. These mutants differ from their file on others, "
        "by a rounding of one element or where few inputs lead, or no set shows anything of them:"
    )
    return "\n".join([*textwrap.wrap(reason, 120), "", *survivors])


def main() -> None:
    scores = {}
    for kind in kinds():
        scores[kind] = score(kind, *SCALE[kind])
        print(f"{kind}: {scores[kind].mutants} mutants, {len(scores[kind].survivors)} survived", flush=True)
    PAGE.write_text(page(scores), encoding="utf-8")


if __name__ == "__main__":
    main()
