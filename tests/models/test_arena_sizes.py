"""Arenas of real models against what packing alone could reach at best."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from memory_figures import M4, file_bound
from support.corpus import CORPUS, requires_corpus
from support.well_known import NETWORKS, well_known
from tflmgen.compiler import compile_model
from tflmgen.errors import TflmgenError
from tflmgen.frontend.tflite.reader import read_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions, Validate

LARGEST_QUOTIENT = 0.80
"""Of the file's bound, in the geometric mean."""


TINY = 64
"""Bytes below which an arena is not held against its bound: it counts no scratch, such as the gates of an LSTM."""

WITHIN = {
    "mlperf_kws_int8": 8640,
    "mlperf_vww_int8": 37248,
    "mlperf_ic_resnet_int8": 33792,
    "mlperf_ad01_int8": 768,
    "tflm_person_detect": 37248,
}
"""Bytes that well-known models need at most, by rows and pixels that lie over one another."""

UNVALIDATED = BuildOptions(validate=Validate.OFF)
"""What the graph computes makes no difference here."""

M0 = Target("cortex-m0")
M55 = Target("cortex-m55", frozenset({"dsp", "mve", "fpu"}))


def real_models() -> list[Path]:
    """Those of the corpus; none where it is absent."""
    return [CORPUS / entry["path"] for entry in entries() if entry["category"] == "real"]


def entries() -> list[dict[str, Any]]:
    file = CORPUS / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"models": []}
    return [entry for entry in manifest["models"] if (CORPUS / entry["path"]).is_file()]


@requires_corpus
@pytest.mark.parametrize(
    ("target", "part"),
    [
        (M4, slice(None)),
        *((target, slice(first, None, 9)) for first, target in enumerate((Target("generic"), M0, M55))),
        *(pytest.param(target, slice(None), marks=pytest.mark.sweep) for target in (Target("generic"), M0, M55)),
    ],
    ids=["m4", "portable", "m0", "m55", "all portable", "all m0", "all m55"],
)
def test_no_model_without_control_flow_is_above_its_bounds(target: Target, part: slice) -> None:
    """Neither above that of the file nor, where fast kernels have scratch, above that of the graph with the scratch.

    part: of the models; three targets share them, but for the sweep.
    """
    above, compared = {}, 0
    straight = [e for e in entries() if not (e["has_if"] or e["has_while"] or e["has_call"])]
    if target is M4:  # of which the next test has the real models
        straight = [e for e in straight if e["category"] != "real"]
    for entry in straight[part]:
        path = CORPUS / entry["path"]
        try:
            bound, arena = file_bound(read_model(path)), compile_model(path, target, UNVALIDATED).plan["arena"]
        except TflmgenError:
            continue
        compared += bound is not None
        if bound is not None and arena["bytes"] > max(bound, arena["packing_bound"], TINY):
            above[path.stem] = arena["bytes"], bound, arena["packing_bound"]
    assert compared > len(straight[part]) // 2
    assert not above


@pytest.mark.parametrize("target", [Target("generic"), M4], ids=["portable", "m4"])
def test_real_models_stay_below_the_file_bound(target: Target, tmp_path: Path) -> None:
    """Each plan is optimal, or says how far from it it may be."""
    paths = real_models() or [well_known(name, tmp_path) for name in NETWORKS]
    arenas = {path.stem: compile_model(path, target, UNVALIDATED).plan["arena"] for path in paths}
    bounds = {path.stem: file_bound(read_model(path)) for path in paths}
    quotients = {name: arenas[name]["bytes"] / bound for name, bound in bounds.items() if bound}
    assert len(quotients) == len(paths)
    assert not {name: quotient for name, quotient in quotients.items() if quotient > 1}
    assert math.exp(sum(map(math.log, quotients.values())) / len(quotients)) <= LARGEST_QUOTIENT
    assert all(arena["order_proved"] for arena in arenas.values())
    least = 0.9 if target is M4 else 0.8
    assert sum(arena["bytes"] == arena["lower_bound"] for arena in arenas.values()) >= least * len(arenas)


def test_well_known_models_need_little(tmp_path: Path) -> None:
    """By portable kernels; test_arena_goals.py has those of cores."""
    paths = {name: well_known(name, tmp_path) for name in WITHIN}
    sizes = {name: compile_model(paths[name], Target("generic"), UNVALIDATED).plan["arena"]["bytes"] for name in WITHIN}
    assert not {name: size for name, size in sizes.items() if size > WITHIN[name]}
