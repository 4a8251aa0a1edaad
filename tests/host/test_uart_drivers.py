"""UART drivers that no QEMU machine runs, and the others, against models of their registers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.repository import ROOT
from tflmgen.hardware.board import Board, list_boards

RUNTIME = ROOT / "firmware" / "platform" / "runtime"
MODELS = ("stm32v1", "stm32v2", "stm32_lpuart", "pl011", "nrf_uarte", "nrf51", "esp32", "imx_lpuart")
BAUD_IN_SETUP = ("nrf_uarte", "nrf51")
"""Their baud rate is a code of the chip's, which board.json's uart.setup writes."""

BAUD_OF_BOOT_LOADER = {"esp32": 115200}
"""Their baud rate is what the chip's boot loader has set."""

BAUDRATE = {"nrf_uarte": {115200: 0x01D60000}, "nrf51": {115200: 0x01D7E000}}
"""Product specifications, register BAUDRATE."""

USED = sorted({(b.uart.driver, b.uart.clock, b.uart.baud) for b in list_boards() if b.uart and b.uart.driver in MODELS})

PROGRAM = """\
#include "uart_models.h"
#include "uart_{driver}.c"

int main() {{
  const uint8_t bytes[] = {{0x7E, 0x00, 0xFF, 0x55, 0xAA}};
  arriving.assign(bytes, bytes + sizeof bytes);
  tflmgen_uart_init();
  for (uint8_t byte : bytes) {{
    require(tflmgen_uart_get() == byte, "another byte than the one that came");
    tflmgen_uart_put(byte);
    tflmgen_uart_put(uint8_t(~byte));
  }}
  require(sent.size() == 2 * sizeof bytes, "number of bytes sent");
  for (size_t i = 0; i < sizeof bytes; i++)
    require(sent[2 * i] == bytes[i] && sent[2 * i + 1] == uint8_t(~bytes[i]), "another byte than the one to send");
  std::printf("%f\\n", bit_clocks);
}}
"""


@pytest.mark.parametrize(("driver", "clock", "baud"), USED)
def test_driver_moves_bytes_at_its_rate(driver: str, clock: int, baud: int, tmp_path: Path) -> None:
    config = {"BASE": "0u", "CLOCK": f"{clock}u", "BAUD": f"{baud}u"}
    text = "".join(f"#define TFLMGEN_UART_{name} {value}\n" for name, value in config.items())
    (tmp_path / "tflmgen_board_config.h").write_text(text, encoding="utf-8")
    (tmp_path / "main.cpp").write_text(PROGRAM.format(driver=driver), encoding="utf-8")
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-no-pie", "-fno-pie"]
    command += [f"-DMODEL_{driver.upper()}", f"-I{tmp_path}", f"-I{RUNTIME}", f"-I{ROOT / 'tests' / 'support'}"]
    built = subprocess.run(
        [*command, str(tmp_path / "main.cpp"), "-o", str(tmp_path / "main")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=False, timeout=20)
    assert ran.returncode == 0, ran.stdout
    if driver in BAUD_OF_BOOT_LOADER:
        assert baud == BAUD_OF_BOOT_LOADER[driver]
    elif driver not in BAUD_IN_SETUP:
        assert clock / float(ran.stdout) == pytest.approx(baud, rel=0.01)


@pytest.mark.parametrize(
    "board", [b for b in list_boards() if b.uart and b.uart.driver in BAUD_IN_SETUP], ids=lambda board: board.id
)
def test_baud_rate_of_nordic_boards_is_in_their_setup(board: Board) -> None:
    assert board.uart
    (setup,) = (r for r in board.uart.setup if r.address == board.uart.base + 0x524)
    assert setup.set == BAUDRATE[board.uart.driver][board.uart.baud]


def test_every_driver_is_modelled_or_runs_in_qemu() -> None:
    drivers = {path.stem.removeprefix("uart_") for path in RUNTIME.glob("uart_*.c")}
    emulated = {board.uart.driver for board in list_boards() if board.qemu and board.uart}
    assert drivers == set(MODELS) | emulated
