"""Boards: one folder each, data only. Adding a board is adding a folder with a board.json (schema/board.json)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from tflmgen.architectures import Architecture, architecture_of
from tflmgen.hardware.board_files import BoardError, boards_folder, read_c_files, read_repl
from tflmgen.hardware.board_json import read_board_json
from tflmgen.hardware.cores import core_problems
from tflmgen.hardware.flash_timing import FlashTiming, cache_problems, flash_timing, with_waits
from tflmgen.hardware.qemu_arguments import argument_problems
from tflmgen.ir.kernel import ArenaRooms, Target

PLACED = {"code": "flash", "weights": "flash", "data": "ram", "state": "ram", "arena": "ram"}
"""Section of the linker script -> kind of memory that holds it by default."""

DEFAULT_STACK = 4096
"""Bytes of RAM reserved for the stack by default."""


ARENA_GUARDS = 64
"""Bytes of guard words beside the arena, and of alignment."""

DATA_ROOM = 8192
"""Bytes left for other variables in a RAM that an arena in several memories shares with them."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory region: `origin` is its address, `size` in bytes, `kind` flash or ram; the core can fetch code there."""

    name: str
    origin: int
    size: int
    kind: str
    executable: bool = True


@dataclass(frozen=True, slots=True)
class RegisterSetup:
    """One step of UART set-up: at `address`, clear bits `clear`, set bits `set`, wait until bits `wait` read as 1."""

    address: int
    clear: int
    set: int
    wait: int
    note: str


@dataclass(frozen=True, slots=True)
class Uart:
    """The serial port that carries the protocol; `clock` in Hz, `driver` names uart_DRIVER.c."""

    driver: str
    base: int
    clock: int
    baud: int
    setup: tuple[RegisterSetup, ...] = ()


@dataclass(frozen=True, slots=True)
class Qemu:
    """Machine of QEMU, and the index of its serial port that is the board's UART."""

    machine: str
    serial: int = 0
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Renode:
    """Platform of Renode: a .repl file in the board's folder, or @ and a path in Renode; `uart`: its name there."""

    platform: str
    uart: str


@dataclass(frozen=True, slots=True)
class PlatformIO:
    """PlatformIO's official platform for a board, as in platformio.ini; `framework`: arduino or None (bare metal)."""

    platform: str
    board: str
    upload_protocol: str
    debug_tool: str | None = None
    framework: str | None = None
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """One board.

    core       as an architecture lists it (architectures/), or "host"
    clock      after reset, in Hz
    placement  (section of PLACED, name of its memory)
    arena_beyond  RAMs in which the arena goes on where its own is full, the fastest first
    arena_pins (pattern of tensors' names, RAM that the arena has them in)
    code_in    RAM to which start-up code copies the model's code; empty: the memory for code; auto: the plan
               decides
    stack      bytes of RAM reserved for the stack
    upload     command that flashes the board instead of PlatformIO's uploader
    notes      remarks for its users
    flash      wait states at the chip's rated clock; None where they are not known
    """

    id: str
    title: str
    core: str
    features: frozenset[str] = frozenset()
    fpu: str | None = None
    clock: int = 1
    memories: tuple[Memory, ...] = ()
    placement: tuple[tuple[str, str], ...] = ()
    stack: int = DEFAULT_STACK
    uart: Uart | None = None
    platformio: PlatformIO | None = None
    upload: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    qemu: Qemu | None = None
    renode: Renode | None = None
    url: str = ""
    folder: Path | None = None
    flash: FlashTiming | None = None
    code_in: str = ""
    arena_beyond: tuple[str, ...] = ()
    arena_pins: tuple[tuple[str, str], ...] = ()

    @property
    def is_host(self) -> bool:
        """Whether it is this computer."""
        return self.core == "host"

    @property
    def architecture(self) -> Architecture:
        """The family of processors that its core belongs to."""
        return architecture_of(self.core)

    @property
    def has_emulator(self) -> bool:
        """Whether an emulator is known for it."""
        return self.qemu is not None or self.renode is not None

    @property
    def is_flashable(self) -> bool:
        """Whether there is a tool that loads firmware onto it."""
        return bool(self.upload or self.platformio)

    @property
    def argument(self) -> str:
        """The argument of --board: its id, or the path of the user's board folder relative to the current one."""
        if self.folder is None or self.folder.parent == boards_folder():
            return self.id
        current = Path.cwd()
        return f"./{self.folder.relative_to(current)}" if self.folder.is_relative_to(current) else str(self.folder)

    @property
    def target(self) -> Target:
        """Core, features and waits for flash, by which kernels are chosen."""
        target = Target(self.core, self.features, arena=self._arena_rooms)
        return with_waits(target, self.flash, code_in_ram=bool(self.code_in))

    @property
    def arena_memories(self) -> tuple[str, ...]:
        """Names of the RAMs of the arena, the fastest first."""
        return (dict(self.placement)["arena"], *self.arena_beyond)

    @property
    def _arena_rooms(self) -> ArenaRooms | None:
        if not self.arena_beyond:
            return None
        names, places = self.arena_memories, dict(self.placement)
        sizes = {memory.name: memory.size - ARENA_GUARDS for memory in self.memories}
        sizes[places["data"]] -= self.stack + DATA_ROOM
        rooms = tuple(max(0, sizes[name]) for name in names[:-1])
        pins = tuple((pattern, names.index(name)) for pattern, name in self.arena_pins)
        return ArenaRooms(rooms, names.index(places["state"]) if places["state"] in names else None, pins)

    @property
    def cpu_flags(self) -> tuple[str, ...]:
        """Compiler and linker flags that choose the processor."""
        return self.architecture.flags(self.core, self.fpu)

    @property
    def header_flags(self) -> tuple[str, ...]:
        """Compiler flags by which the C library's headers are found."""
        chain = self.architecture.toolchain
        return (f"-specs={chain.specs}",) if chain and chain.has_own_headers else ()

    @property
    def has_own_code(self) -> bool:
        """Whether C files of the user's board, not of one that comes with tflmgen, become part of the firmware."""
        own = self.folder is not None and self.folder.resolve().parent != boards_folder()
        return own and self.folder is not None and any(self.folder.glob("*.[ch]"))

    @property
    def qemu_command(self) -> tuple[str, ...]:
        """Command that runs a firmware in QEMU with its UART on stdio, up to -kernel; empty without QEMU."""
        if self.qemu is None:
            return ()
        serials = ["null"] * self.qemu.serial + ["stdio"]
        return (
            *(self.architecture.qemu, "-machine", self.qemu.machine),
            *(*self.architecture.qemu_arguments, *self.qemu.arguments),
            *("-display", "none", "-monitor", "none", *(word for serial in serials for word in ("-serial", serial))),
            # Through semihosting, firmware opens files and runs commands of this computer.
            *("-semihosting-config", f"enable={'off' if self.has_own_code else 'on,target=native'}"),
        )

    @property
    def flash_bytes(self) -> int:
        """Bytes of all flash together."""
        return sum(m.size for m in self.memories if m.kind == "flash")

    @property
    def ram_bytes(self) -> int:
        """Bytes of all RAM together."""
        return sum(m.size for m in self.memories if m.kind == "ram")

    def bytes_for(self, section: str) -> int:
        """Bytes of the memory that holds `section`, a key of PLACED; 0 on the host."""
        name = dict(self.placement).get(section)
        return next((m.size for m in self.memories if m.name == name), 0)


HOST = Board("host", "This computer, with its own C compiler", "host", frozenset({"fpu"}))


def list_boards() -> tuple[Board, ...]:
    """Boards that come with tflmgen, by id, without `host`."""
    folders = (f for f in boards_folder().iterdir() if (f / "board.json").is_file())
    return tuple(_read(folder) for folder in sorted(folders))


def load_board(spec: str) -> Board:
    """The board `spec`: "host", the name of a folder in boards/, or the path of a folder. Raises BoardError."""
    if spec == HOST.id:
        return HOST
    is_path = "/" in spec or "\\" in spec or spec.startswith(".")
    for folder in (Path(spec),) if is_path else (boards_folder() / spec, Path(spec)):
        if (folder / "board.json").is_file():
            return _read(folder.resolve())
    if Path(spec).is_file():
        raise BoardError(f"--board {spec}: this is a file. The model comes first, then --board and the name of a board")
    if is_path:
        raise BoardError(f"{spec}: no board.json in this folder")
    boards = list_boards()
    named = [board for board in boards if _plain(spec) in (_plain(board.id), *_names(board))]
    if len(named) == 1:
        return named[0]
    ids = [*(board.id for board in boards), HOST.id]
    similar = " or ".join([board.id for board in named] or get_close_matches(spec.lower(), ids, n=2))
    suggestion = f"Did you mean {similar}? " if similar else ""
    listed = ", ".join(ids)
    raise BoardError(
        f"unknown board '{spec}'. {suggestion}Known boards: {listed}, or the path of a folder with a board.json"
    )


def _names(board: Board) -> set[str]:
    """Names that makers and PlatformIO give a board, its chip among them: words of its title, and its id there."""
    words = re.findall(r"[\w-]{6,}", board.title)
    chips = {word for word in words if re.search(r"[A-Za-z].*\d|\d.*[A-Za-z]", word) and not word.startswith("Cortex")}
    return {_plain(name) for name in (*chips, *([board.platformio.board] if board.platformio else []), board.title)}


def _plain(name: str) -> str:
    """A name without case, spaces and dashes."""
    return re.sub(r"[^0-9a-z]", "", name.lower())


def _read(folder: Path) -> Board:
    path = folder / "board.json"
    board = _board(folder, read_board_json(folder))
    problems = _contradictions(board)
    if problems:
        raise BoardError("\n".join(f"{path}: {problem}" for problem in problems))
    return board


def _board(folder: Path, data: dict[str, Any]) -> Board:
    memories = tuple(_memory(memory) for memory in data["memories"])
    first = {m.kind: m.name for m in reversed(memories)}
    placement = {section: first.get(kind, "") for section, kind in PLACED.items()} | data.get("placement", {})
    uart = data["uart"]
    setup = tuple(
        RegisterSetup(_bits(r, "address"), _bits(r, "clear"), _bits(r, "set"), _bits(r, "wait"), r.get("note", ""))
        for r in uart.get("setup", ())
    )
    qemu, renode, pio = data.get("qemu"), data.get("renode"), data.get("platformio")
    return Board(
        id=folder.name,
        title=data["title"],
        core=data["core"],
        features=frozenset(data.get("features", ())),
        fpu=data.get("fpu"),
        clock=data.get("clock", uart["clock"]),
        memories=memories,
        placement=tuple(placement.items()),
        stack=data.get("stack", DEFAULT_STACK),
        uart=Uart(uart["driver"], int(uart["base"], 16), uart["clock"], uart["baud"], setup),
        platformio=PlatformIO(**{**pio, "packages": tuple(pio.get("packages", ()))}) if pio else None,
        upload=tuple(data.get("upload", ())),
        notes=tuple(data.get("notes", ())),
        qemu=Qemu(qemu["machine"], qemu.get("serial", 0), tuple(qemu.get("arguments", ()))) if qemu else None,
        renode=Renode(renode["platform"], renode["uart"]) if renode else None,
        url=data.get("url", ""),
        folder=folder,
        flash=flash_timing(folder.name, data.get("flash")),
    )


def _memory(data: dict[str, Any]) -> Memory:
    origin, size = int(data["origin"], 16), memory_size(data["size"])
    return Memory(data["name"], origin, size, data["kind"], data.get("executable", True))


def _bits(register: dict[str, str], key: str) -> int:
    return int(register.get(key, "0x0"), 16)


def memory_size(value: int | str) -> int:
    """Bytes of a memory's `size`: 16384, 16K or 4M."""
    text = str(value)
    return int(text.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1)


def _contradictions(board: Board) -> list[str]:
    """Violations of rules that the schema cannot express."""
    problems = (
        [] if re.fullmatch(r"[\w-]+", board.id) else [f"the folder's name, '{board.id}', has more than a-z, 0-9, _, -"]
    )
    problems += [f"$.memories: no memory of kind {kind}" for kind in ("flash", "ram") if not _of_kind(board, kind)]
    kinds = {m.name: m.kind for m in board.memories}
    if len(kinds) != len(board.memories):
        problems.append("$.memories: two have the same name")
    ordered = sorted(board.memories, key=lambda m: m.origin)
    for low, high in pairwise(ordered):
        if low.origin + low.size > high.origin:
            problems.append(f"$.memories: {low.name} and {high.name} overlap")
    problems += [
        f"$.memories: {m.name} ends beyond the 32 bits of addresses" for m in ordered if m.origin + m.size > 1 << 32
    ]
    problems += core_problems(board.core, board.fpu, board.features)
    for section, name in board.placement:
        if name and kinds.get(name) != PLACED[section]:
            problems.append(f"$.placement.{section}: '{name}' is not a memory of kind {PLACED[section]}")
    if "mve" in board.features and board.fpu is None:
        problems.append("$.fpu: a core with MVE needs one ('auto')")
    problems += cache_problems(board.flash) if board.flash else []
    if board.qemu is not None:
        problems += argument_problems(board.qemu.arguments)
    return problems + (_file_problems(board, board.folder) if board.folder is not None else [])


def _file_problems(board: Board, folder: Path) -> list[str]:
    """Files that the board names and its folder lacks. Raises BoardError for files that no board may have."""
    problems = []
    repl = board.renode.platform if board.renode else "@"
    if not repl.startswith("@"):
        if (folder / repl).exists():
            read_repl(folder, repl)
        else:
            problems.append(f"$.renode.platform: no file '{repl}' in {folder}")
    name = f"uart_{board.uart.driver}.c" if board.uart else "board.c"
    common = files("tflmgen.firmware").joinpath(f"platform/runtime/{name}")
    if name not in read_c_files(folder) and not common.is_file():
        problems.append(f"$.uart.driver: no {name} in {folder}, nor among tflmgen's drivers")
    return problems


def _of_kind(board: Board, kind: str) -> bool:
    return any(m.kind == kind for m in board.memories)
