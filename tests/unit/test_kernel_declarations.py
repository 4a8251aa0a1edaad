"""Declarations of kernels: one for each header of an instruction set, in the module of its name."""

from __future__ import annotations

import re
from importlib import import_module

import numpy as np
import pytest
from support import dsp_cases
from support.emulated_kernels import M55, kernels_for
from support.repository import ROOT, sources
from tflmgen.kernels import choice
from tflmgen.kernels.declaration import KernelDeclaration, declarations

KERNELS = ROOT / "firmware" / "kernels"
DECLARATIONS = [declaration for declaration in declarations() if declaration.instructions != "portable"]
INCLUDE = re.compile(r'#include "(\w+\.h)"')


def ids(declaration: KernelDeclaration) -> str:
    return declaration.header


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=ids)
def test_the_module_has_the_name_of_the_header(declaration: KernelDeclaration) -> None:
    name = declaration.header.removesuffix(".h")
    assert import_module(f"tflmgen.kernels.{declaration.instructions}.{name}").KERNEL is declaration


@pytest.mark.parametrize("declaration", declarations(), ids=ids)
def test_headers_exist(declaration: KernelDeclaration) -> None:
    assert [header for header in declaration.headers if not (KERNELS / header).is_file()] == []


def test_every_header_is_declared_once_or_included_by_one_that_is() -> None:
    declared = [header for declaration in DECLARATIONS for header in declaration.headers]
    assert len(declared) == len(set(declared))
    reached, waiting = set(declared), list(declared)
    while waiting:
        new = set(INCLUDE.findall((KERNELS / waiting.pop()).read_text(encoding="utf-8"))) - reached
        reached |= new
        waiting += new
    assert {path.name for path in KERNELS.iterdir() if re.search(r"_(dsp|mve|thumb)\.h$", path.name)} <= reached


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=ids)
def test_a_declaration_says_all_there_is_to_know(declaration: KernelDeclaration) -> None:
    assert declaration.computes
    assert declaration.costs
    assert declaration.cases


def test_families_of_costs_have_one_declaration() -> None:
    families = [family for declaration in declarations() for family in declaration.costs]
    assert len(families) == len(set(families))


def test_nothing_but_its_declaration_brings_a_kernel_in() -> None:
    """No module outside its instruction set's folder imports what makes a kernel."""
    headers = "|".join(declaration.header.removesuffix(".h") for declaration in DECLARATIONS)
    imports = re.compile(rf"tflmgen\.kernels\.(dsp|mve|thumb)\.({headers}) import")
    outside = [path for path in sources(("codegen",), ".py") if path.parent.name not in ("dsp", "mve", "thumb")]
    assert [path.name for path in outside if imports.search(path.read_text(encoding="utf-8"))] == []


def test_selection_knows_a_kernel_by_its_declaration_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    case, _ = dsp_cases.lookup(np.random.default_rng(0))
    assert kernels_for(case, M55)[0].header == "lookup_mve.h"
    others = tuple(declaration for declaration in declarations() if declaration.header != "lookup_mve.h")
    monkeypatch.setattr(choice, "declarations", lambda: others)
    assert kernels_for(case, M55)[0].header == "lookup.h"
