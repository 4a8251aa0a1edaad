"""Wait states by size against those that `bench` found by running MLPerf Tiny's models."""

from __future__ import annotations

from typing import Any

import pytest
from support.repository import ROOT
from tflmgen.actions.board_fit import BoardFit, fit_of
from tflmgen.hardware.board import load_board
from tflmgen.hardware.flash_timing import estimated_waits
from tflmgen.options import BuildOptions
from tflmgen.project.firmware_build import estimated_plan
from tflmgen.terminal import three_digits

BENCHED = {
    "nucleo_f446re": {"kws": 1.092, "ic": 1.111, "ad": 1.244},
    "nucleo_l4r5zi": {"kws": 1.267, "ic": 1.265, "ad": 1.585},
    "nucleo_f767zi": {"kws": 1.002, "ic": 1.017, "ad": 1.173},
    "bluepill_f103c8": {"kws": 1.170, "ic": 1.203, "ad": 1.224},
}
"""Board -> model -> cycles with waits over cycles without, by `bench --flash-of BOARD` on an emulated core."""

LAYERS: dict[str, tuple[tuple[int, int], ...]] = {
    # (weights in bytes, multiply-accumulates) of layers
    "kws": ((2560, 320000), *((576, 72000), (4096, 512000)) * 4, (768, 768)),
    "ic": (
        (432, 442368),
        *((2304, 2359296),) * 2,
        (4608, 1179648),
        (9216, 2359296),
        (18432, 1179648),
        (36864, 2359296),
    ),
    "ad": ((81920, 81920), *((16384, 16384),) * 4, (1024, 1024), (1024, 1024), *((16384, 16384),) * 3, (81920, 81920)),
}
CYCLES_PER_MAC = {"kws": 1.39, "ic": 1.22, "ad": 1.45}


def step(weights: int, macs: int, cycles: float, has_window: bool) -> dict[str, Any]:
    window = {"window": {"size": [3, 3]}} if has_window else {}
    return {"weights_bytes": weights, "macs": macs, "expected": {"cycles": round(cycles)}, **window}


@pytest.mark.parametrize("board", BENCHED)
@pytest.mark.parametrize("model", LAYERS)
def test_waits_are_near_those_of_bench(board: str, model: str) -> None:
    timing = load_board(board).flash
    assert timing is not None
    # Cycles of Cortex-M3 are about three times those of M4 for convolutions.
    per_mac = CYCLES_PER_MAC[model] * (2.9 if board == "bluepill_f103c8" else 1)
    cycles = sum(macs * per_mac for _, macs in LAYERS[model])
    steps = [step(weights, macs, macs * per_mac, macs > weights) for weights, macs in LAYERS[model]]
    waits = sum(estimated_waits(timing, layer) for layer in steps)
    assert (cycles + waits) / cycles == pytest.approx(BENCHED[board][model], rel=0.2)


def test_digits() -> None:
    assert [three_digits(x) for x in (0.0123456, 3.147, 22.465, 231.519, 1234.5, 99.96)] == [
        "0.0123", "3.15", "22.5", "232", "1,230", "100",
    ]  # fmt: skip


def test_time_is_at_the_rated_clock() -> None:
    def fit(name: str) -> BoardFit:
        board = load_board(name)
        return fit_of(board, estimated_plan(ROOT / "examples" / "gate.tflite", board, BuildOptions()))

    rated, emulated, host = fit("nucleo_f446re"), fit("mps2_an386"), fit("host")
    assert (rated.clock, rated.wait_states) == (180_000_000, 5)
    assert (emulated.clock, emulated.wait_states) == (25_000_000, None)
    assert (host.clock, host.milliseconds) == (None, None)
    assert rated.cycles == emulated.cycles
    assert rated.cycles is not None
    assert emulated.milliseconds == round(rated.cycles / 25_000, 3)
    assert rated.milliseconds is not None
    assert 1.05 < rated.milliseconds / (rated.cycles / 180_000) < 1.3
