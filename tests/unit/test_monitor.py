from __future__ import annotations

import struct

import pytest
from support.commands import tflmgen
from tflmgen.emulators.link import FAULT, REFUSED, REPLY, Frame, Request, encode
from tflmgen.emulators.port_watcher import PortWatcher
from tflmgen.emulators.serial_port import LARGEST_FRAME, PortError, find_port, first_wait

FAULTED = encode(Frame(FAULT, 0, struct.pack("<5I", 5, 0x8000100, 0x8000200, 0x8200, 0xF0000000)))


def watch(*pieces: bytes) -> list[str]:
    watcher = PortWatcher()
    lines = [line for piece in pieces for line in watcher.feed(piece)]
    return lines + watcher.flush()


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"hello\r\nworld", ["hello", "world"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"tab\there \x1b[0m \xff\n", ["tab\there \\x1b[0m \\xff"]),
        (encode(Frame(Request.INVOKE | REPLY, 7, b"x" * 13)), ["[reply to INVOKE, number 7, 13 bytes]"]),
        (encode(Frame(Request.WRITE, 8, b"~}" * 9)), ["[request WRITE, number 8, 18 bytes]"]),
        (encode(Frame(REFUSED, 9, b"\x03")), ["[request 9 refused, reason 03]"]),
        (encode(Frame(0x30, 9, b"")), ["[request type 0x30, number 9, 0 bytes]"]),
        (b"before" + FAULTED[:9] + FAULTED, ["before", "[9 bytes of a damaged frame]"]),
    ],
)
def test_what_comes_is_shown(data: bytes, lines: list[str]) -> None:
    assert watch(data)[: len(lines)] == lines
    assert watch(*(data[i : i + 1] for i in range(len(data))))[: len(lines)] == lines


def test_a_fault_is_shown_with_its_registers() -> None:
    (line,) = watch(FAULTED)
    assert line == ("[fault: exception 0x00000005, pc 0x08000100, lr 0x08000200, cfsr 0x00008200, address 0xf0000000]")


def test_text_after_a_damaged_frame_is_shown_again() -> None:
    lines = watch(b"\x7e" + b"x" * LARGEST_FRAME + b"text\n")
    assert lines == [f"[{LARGEST_FRAME + 1} bytes of a damaged frame]", "text"]


def test_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    class Port:
        device, description, vid = "/dev/ttyACM0", "STM32 STLink", 0x0483

    assert find_port("COM3") == "COM3"
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: [Port])
    assert find_port(None) == "/dev/ttyACM0"
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: [Port, Port])
    with pytest.raises(
        PortError, match=r"more than one board found: name its --port\. Ports here: /dev/ttyACM0 \(STM32"
    ):
        find_port(None)
    monkeypatch.setattr("serial.tools.list_ports.comports", list)
    with pytest.raises(PortError, match=r"no board found.*This computer has no serial port"):
        find_port(None)


def test_one_source_of_the_baud_rate() -> None:
    finished = tflmgen("monitor", "--port", "COM3", "--board", "nucleo_f446re", "--baud", "9600")
    assert finished.code == 2
    assert "--board tells the baud rate: leave --baud out" in finished.err


def test_slow_ports_are_waited_for_longer() -> None:
    frame = 10 * 518 / 9600
    assert first_wait(9600) > 2 * frame
    assert first_wait(115200) < 1
