"""The device's side of the protocol, compiled for the host under sanitizers, against the computer's side."""

from __future__ import annotations

import random
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import tiny
from tflmgen.emulators.host import HostBuildError, compile_host
from tflmgen.emulators.link import (
    NOT_OPEN,
    REFUSED,
    Client,
    Decoder,
    DeviceRestartedError,
    Frame,
    LinkClosedError,
    LinkTimeoutError,
    RefusedError,
    Request,
    Stream,
    encode,
)
from tflmgen.emulators.open_session import open_session
from tflmgen.emulators.process import PipeStream, open_pipe
from tflmgen.emulators.session import EmulatorError
from tflmgen.hardware.board import load_board

X = bytes(range(16))
Y = bytes(range(1, 17))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_project(load_board("host"), tmp_path_factory.mktemp("host") / "project")


@pytest.fixture(scope="module")
def program(project: Path) -> Path:
    compile_host(project, project / "server", sanitize=True)
    return project / "server"


@pytest.fixture
def stream(program: Path) -> Iterator[PipeStream]:
    with open_pipe([str(program)]) as stream:
        yield stream


def make_client(stream: Stream, seconds: float = 20.0, retry: float = 0.5) -> Client:
    client = Client(stream, seconds, retry)
    client.hello()
    return client


def accumulate(client: Client) -> int:
    client.write(1, 0, tiny.VALUES)
    client.write(1, 1, tiny.mode(0))
    assert client.invoke(1).status == 0
    return tiny.total(client.read(1, 0, 4))


class Noise:
    """A line that drops, changes and adds bytes, in both directions."""

    def __init__(self, stream: Stream, rate: float, seed: int) -> None:
        self._stream, self._rate, self._random = stream, rate, random.Random(seed)

    def _disturb(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            if self._random.random() >= self._rate:
                out.append(byte)
                continue
            out += self._random.choice([b"", bytes([self._random.randrange(256)]), bytes([byte, 0x7E]), b"\x7d"])
        return bytes(out)

    def read(self, timeout: float) -> bytes:
        return self._disturb(self._stream.read(timeout))

    def write(self, data: bytes) -> None:
        self._stream.write(self._disturb(data))


class Repeated:
    """A line that delivers every request twice."""

    def __init__(self, stream: Stream) -> None:
        self.read = stream.read
        self._stream = stream

    def write(self, data: bytes) -> None:
        self._stream.write(data + data)


class Slow:
    """A line on which every frame takes a while."""

    def __init__(self, stream: Stream, seconds: float) -> None:
        self.read = stream.read
        self._stream, self._seconds = stream, seconds

    def write(self, data: bytes) -> None:
        time.sleep(self._seconds)
        self._stream.write(data)


def test_a_long_transfer_may_take_longer_than_each_answer(stream: Stream) -> None:
    client = make_client(Slow(stream, 0.1), seconds=0.3, retry=0.2)
    started = time.monotonic()
    assert accumulate(client) == tiny.TOTAL
    client.write(1, 0, tiny.VALUES)
    assert time.monotonic() - started > 0.3


def test_session_describes_the_model_and_keeps_its_state(project: Path) -> None:
    with open_session(load_board("host"), project, None, sanitize=True) as session:
        assert (session.model, session.emulator, session.notes) == ("tiny", "host", ())
        assert [signature.key for signature in session.signatures] == ["increment", "accumulate"]
        assert [(t.name, t.bytes) for t in session.signatures[1].inputs] == [("values", 800), ("mode", 4)]
        assert session.invoke(0, [X]).outputs == (Y,)
        first = session.invoke(1, [tiny.VALUES, tiny.mode(0)])
        second = session.invoke(1, [tiny.VALUES, tiny.mode(0)])
        assert tiny.total(first.outputs[0]) == tiny.TOTAL
        assert tiny.total(second.outputs[0]) == 2 * tiny.TOTAL - 100
        session.reset()
        assert session.invoke(1, [tiny.VALUES, tiny.mode(0)]).outputs == first.outputs
        refused = session.invoke(1, [tiny.VALUES, tiny.mode(tiny.REFUSE)])
        assert (refused.status, refused.outputs) == (3, ())


def test_wrong_inputs_are_told(project: Path) -> None:
    with open_session(load_board("host"), project, None) as session:
        with pytest.raises(EmulatorError, match="'accumulate' has 2 inputs, not 1"):
            session.invoke(1, [X])
        with pytest.raises(EmulatorError, match="input 'x' has 16 bytes, not 15"):
            session.invoke(0, [X[:15]])


def test_model_that_does_not_end(project: Path) -> None:
    with open_session(load_board("host"), project, None, timeout=1) as session:
        started = time.monotonic()
        with pytest.raises(EmulatorError, match="host: timeout: the firmware did not finish 'accumulate' in 1 s"):
            session.invoke(1, [tiny.VALUES, tiny.mode(tiny.SPIN)])
        assert time.monotonic() - started < 3


def test_program_that_dies_tells_its_last_words(project: Path) -> None:
    with (
        open_session(load_board("host"), project, None, sanitize=True) as session,
        pytest.raises(EmulatorError, match=r"(?s)host ended: .*AddressSanitizer.*tiny_accumulate"),
    ):
        session.invoke(1, [tiny.VALUES, tiny.mode(tiny.WRITE_NOWHERE)])


def test_no_process_is_left(project: Path) -> None:
    def children() -> str:
        return subprocess.run(["pgrep", "-f", "/firmware$"], capture_output=True, text=True, check=False).stdout

    before = children()
    with open_session(load_board("host"), project, None):
        assert children() != before
    assert children() == before


def test_code_that_does_not_compile_is_told(tmp_path: Path) -> None:
    project = tiny.write_project(load_board("host"), tmp_path / "p")
    (project / "lib/tiny/src/tiny.c").write_text("int nonsense = ;\n")
    with pytest.raises(HostBuildError, match=r"tiny\.c:1:16: error"):
        compile_host(project, tmp_path / "program")


def test_folder_that_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(HostBuildError, match="not a project that tflmgen made"):
        compile_host(tmp_path, tmp_path / "program")


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (Request.INVOKE, b"\x02\0"),
        (Request.INVOKE, b"\x01"),
        (Request.SIGNATURE, b"\xff\xff"),
        (Request.TENSOR, struct.pack("<HBH", 0, 0, 1)),
        (Request.TENSOR, b"\0\0"),
        (Request.WRITE, struct.pack("<HHI", 0, 0, 17)),
        (Request.WRITE, struct.pack("<HHI", 0, 0, 16) + b"x"),
        (Request.WRITE, struct.pack("<HHI", 0, 0, 0xFFFFFFFF) + b"xx"),
        (Request.WRITE, struct.pack("<HHI", 0, 1, 0)),
        (Request.WRITE, b"\0\0\0\0\0\0\0"),
        (Request.READ, struct.pack("<HHIH", 0, 0, 1, 16)),
        (Request.READ, struct.pack("<HHIH", 1, 0, 0, 513)),
        (Request.READ, struct.pack("<HHIH", 2, 0, 0, 1)),
        (Request.READ, b""),
    ],
)
def test_requests_for_what_does_not_exist(stream: PipeStream, kind: Request, payload: bytes) -> None:
    with pytest.raises(RefusedError, match="reason 02"):
        make_client(stream).request(kind, payload)


def test_unknown_request(stream: PipeStream) -> None:
    make_client(stream)
    stream.write(encode(Frame(0x42, 9, b"what")))
    assert Decoder().feed(stream.read(10)) == [Frame(REFUSED, 9, b"\x01")]


@pytest.mark.parametrize("kind", [kind for kind in Request if kind is not Request.HELLO])
def test_nothing_is_done_before_hello(stream: PipeStream, kind: Request) -> None:
    stream.write(encode(Frame(kind, 9, bytes(8))))
    assert Decoder().feed(stream.read(10)) == [Frame(REFUSED, 9, bytes([NOT_OPEN]))]
    with pytest.raises(DeviceRestartedError):
        Client(stream, 20).request(kind)


def test_hello_tells_the_model(stream: PipeStream) -> None:
    hello = Client(stream, 20).hello()
    assert (hello.version, hello.payload, hello.signatures) == (2, 512, 2)
    assert (hello.fingerprint, hello.model) == (0x12345678, "tiny")


def test_repeated_invoke_runs_once(stream: PipeStream) -> None:
    client = make_client(Repeated(stream))
    assert accumulate(client) == tiny.TOTAL
    assert accumulate(client) == 2 * tiny.TOTAL - 100


@pytest.mark.parametrize("seed", range(4))
def test_noise_does_not_change_results(program: Path, seed: int) -> None:
    with open_pipe([str(program)]) as clean:
        client = make_client(Noise(clean, 0.0005, seed), retry=0.02)
        for turn in range(1, 21):
            client.write(0, 0, X)
            assert client.invoke(0).status == 0
            assert client.read(0, 0, 16) == Y
            assert accumulate(client) == 100 + turn * (tiny.TOTAL - 100)
        assert client.retransmissions > 3


def test_server_survives_garbage(stream: PipeStream) -> None:
    generator = random.Random(5)
    for _ in range(200):
        stream.write(generator.choice([b"\x7e", b"\x7e\x7d", b"\x7e\x02\x01\xff\xff"]) + generator.randbytes(300))
    client = make_client(stream)
    client._sequence = 100
    client.reset()
    assert accumulate(client) == tiny.TOTAL


def test_closed_link_ends_the_server(program: Path) -> None:
    done = subprocess.run([str(program)], input=encode(Frame(1, 1, b"")), capture_output=True, timeout=20, check=False)
    assert done.returncode == 0
    assert [frame.type for frame in Decoder().feed(done.stdout)] == [0x81]


def test_silent_device_times_out() -> None:
    with open_pipe(["sleep", "60"]) as silent, pytest.raises(LinkTimeoutError, match="no answer to HELLO"):
        Client(silent, 0.3).hello()


def test_device_that_is_gone() -> None:
    with open_pipe(["false"]) as link, pytest.raises(LinkClosedError, match="exit code 1"):
        Client(link, 20).hello()


frames = st.builds(Frame, st.integers(0, 255), st.integers(0, 255), st.binary(max_size=40))
special = st.lists(st.sampled_from([b"\x7e", b"\x7d", b"\x5d", b"\x5e", b"a"]), max_size=30).map(b"".join)


@given(st.lists(frames, max_size=4), st.data())
def test_frames_arrive_however_they_are_cut(sent: list[Frame], data: st.DataObject) -> None:
    decoder, got = Decoder(), []
    line = b"".join(map(encode, sent))
    while line:
        cut = data.draw(st.integers(1, len(line)))
        got += decoder.feed(line[:cut])
        line = line[cut:]
    assert got == sent


@given(special, special)
def test_special_bytes_and_garbage_before_a_frame(garbage: bytes, payload: bytes) -> None:
    sent = Frame(1, 2, payload)
    assert Decoder().feed(garbage + encode(sent))[-1] == sent
    assert encode(sent).count(b"\x7e") == 1
