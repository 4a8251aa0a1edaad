"""Sessions with a device that restarts at any byte, on a line with noise: results are those of an undisturbed one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support import tiny
from tflmgen.emulators.host import compile_host
from tflmgen.emulators.process import PipeStream, open_pipe
from tflmgen.emulators.session import RestartError, Session
from tflmgen.hardware.board import load_board


class RestartingLine:
    """A link.Stream to a program that is killed and started again after so many bytes each, amid a frame."""

    def __init__(self, program: Path, after: list[int], noise: float, seed: int) -> None:
        self._program, self._after, self._noise = program, after, noise
        self._random = random.Random(seed)
        self._stack = ExitStack()
        self._stream = self._start()
        self.restarts = 0

    def _start(self) -> PipeStream:
        return self._stack.enter_context(open_pipe([str(self._program)]))

    def close(self) -> None:
        self._stack.close()

    def read(self, timeout: float) -> bytes:
        return self._disturb(self._stream.read(timeout))

    def write(self, data: bytes) -> None:
        if self._after and len(data) >= self._after[0]:
            self._stream.write(data[: self._after.pop(0)])
            self._stack.close()
            self._stream = self._start()
            self.restarts += 1
            return
        if self._after:
            self._after[0] -= len(data)
        self._stream.write(self._disturb(data))

    def _disturb(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            if self._random.random() < self._noise:
                out += self._random.choice([b"", b"\x7e", self._random.randbytes(3)])
            else:
                out.append(byte)
        return bytes(out)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tiny.write_project(load_board("host"), tmp_path_factory.mktemp("host") / "project")
    compile_host(project, project / "server", sanitize=True)
    return project / "server"


@pytest.fixture
def line(program: Path, request: pytest.FixtureRequest) -> Iterator[RestartingLine]:
    seed, noise = request.param
    generator = random.Random(seed)
    after = [generator.choice([3, 10, 200, 900, 3000]) + generator.randrange(40) for _ in range(12)]
    restarting = RestartingLine(program, after, noise, seed)
    try:
        yield restarting
    finally:
        restarting.close()


def accumulated(session: Session, turns: int) -> list[int]:
    """The totals after each of `turns` invokes from the initial state, begun anew at each restart."""
    while True:
        try:
            session.reset()
            outputs = [session.invoke(1, [tiny.VALUES, tiny.mode(0)]).outputs[0] for _ in range(turns)]
            return [tiny.total(output) for output in outputs]
        except RestartError:
            session.reopen()


@pytest.mark.parametrize("line", [(seed, noise) for seed in range(4) for noise in (0.0, 0.0005)], indirect=True)
def test_totals_are_right_whatever_happens(line: RestartingLine) -> None:
    session = Session(line, "host", timeout=30, retry=0.05)
    assert session.model == "tiny"
    expected = [100 + turn * (tiny.TOTAL - 100) for turn in range(1, 5)]
    for _ in range(8):
        assert accumulated(session, 4) == expected
    assert line.restarts == 12
