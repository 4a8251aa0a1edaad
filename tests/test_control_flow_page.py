"""docs/understand/control-flow.md shows the C that the generator prints; `pytest --update-golden` writes it anew."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from support.listings import main_function
from support.repository import ROOT, page_named
from tflmgen.compiler import compile_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

PAGE = page_named("control-flow")
SMALL = runpy.run_path(str(ROOT / "examples" / "make_control_flow.py"))
GRU = runpy.run_path(str(ROOT / "examples" / "make_gru.py"))
MODELS: dict[str, Callable[[], bytes]] = {
    "choice": SMALL["choice_model"],
    "swap": SMALL["swap_model"],
    "gru": GRU["make_model"],
}


def function_of(name: str, folder: Path) -> str:
    """The C function that runs a model."""
    path = folder / f"{name}.tflite"
    path.write_bytes(MODELS[name]())
    target = Target("cortex-m4", frozenset({"dsp", "fpu"}))
    return main_function(compile_model(path, target, BuildOptions()).sources.files[f"src/{name}.c"])


@pytest.mark.parametrize("name", MODELS)
def test_listing(name: str, tmp_path: Path, update_golden: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    block = re.compile(rf"(?<=<!-- {name} -->\n```c\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
    listing = function_of(name, tmp_path)
    if update_golden:
        page = block.sub(lambda _: listing, page, count=1)
        PAGE.write_text(page, encoding="utf-8")
    shown = block.search(page)
    assert shown is not None
    assert shown[1] == listing
