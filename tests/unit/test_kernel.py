"""What a kernel claims of outputs that lie over inputs."""

from __future__ import annotations

import pytest
from tflmgen.ir.kernel.call import Overlap


@pytest.mark.parametrize(
    ("claim", "allowed"),
    [
        (Overlap(0, 0, 8), [8, 9, 12, 20]),
        (Overlap(0, 0, 8, exact=True), [8]),
        (Overlap(0, 0, 8, behind=True), [-8, -9]),
        (Overlap(0, 0, 8, multiple=4), [8, 12, 20]),
        (Overlap(0, 0, 0), [0, 8, 9, 12, 20]),
    ],
)
def test_distances_that_a_claim_allows(claim: Overlap, allowed: list[int]) -> None:
    assert [ahead for ahead in (-8, -9, -4, 0, 8, 9, 12, 20) if claim.allows(ahead)] == allowed
