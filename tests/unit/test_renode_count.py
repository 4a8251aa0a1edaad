from __future__ import annotations

from pathlib import Path

import pytest
from tflmgen.emulators.invoke_cost import CountError
from tflmgen.emulators.link import Invoked
from tflmgen.emulators.renode import RenodeCounter

DONE = Invoked(status=0, stack_bytes=0, stack_room=0, cycles=0)


def test_invokes_for_single_rows_count_together(tmp_path: Path) -> None:
    output = tmp_path / "executed"
    counter = RenodeCounter((), output)
    output.write_text("100 350 ")
    assert counter.measure(0, [], DONE, None).instructions == 250
    output.write_text("100 350 1000 1600 2000 2001 ")
    assert counter.measure(0, [], DONE, None).instructions == 601
    with pytest.raises(CountError, match="Renode has recorded no invoke"):
        counter.measure(0, [], DONE, None)
