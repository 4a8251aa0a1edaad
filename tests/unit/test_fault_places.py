"""The faults of `fault_injection` have a place to be put: whoever rewrites the line rewrites the fault."""

from __future__ import annotations

import pytest
from fault_injection import FAULTS, Fault
from support.repository import ROOT


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault.kind.split(":")[0]))
def test_a_fault_has_one_place(fault: Fault) -> None:
    assert fault.place(ROOT).is_file()
