"""Rows in Parquet: a folder with a folder per board, in which each write adds a file.

A file appears whole or not at all, so that whatever is killed leaves rows that can be read, each once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tflmgen.api import MissingPackageError
from tflmgen.errors import TflmgenError
from tflmgen.sweep.sweep_task import COLUMNS, Row

_SUFFIX, _UNFINISHED = ".parquet", ".unfinished-"

LOCK, SCRATCH = ".tflmgen-sweep.lock", ".tflmgen-sweep"
"""Names in a folder of results: what keeps a second sweep out, and temporary files while a sweep runs."""


def require_packages(*names: str) -> None:
    """Raises MissingPackageError for the first package that is not installed."""
    for name in names:
        if find_spec(name) is None:
            raise MissingPackageError(f"a sweep needs the package {name}. Install it: pip install 'tflmgen[sweep]'")


def folder_at(url: str) -> tuple[Any, str]:
    """fsspec's file system and the path in it of a folder. Raises TflmgenError if it cannot be one."""
    fsspec: Any = import_module("fsspec.core")
    try:
        files, root = fsspec.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise TflmgenError(f"{url}: cannot be opened: {error}") from error
    if files.exists(root) and not files.isdir(root):
        raise TflmgenError(f"{url}: cannot be written: results are a folder, and this is a file")
    return files, root


class ResultTable:
    """The rows at a folder or an fsspec URL."""

    def __init__(self, url: str) -> None:
        require_packages("pyarrow", "fsspec")
        self._parquet: Any = import_module("pyarrow.parquet")
        self._files, self._root = folder_at(url)
        self.is_local = "file" in (self._files.protocol if isinstance(self._files.protocol, tuple) else ("",))

    @property
    def root(self) -> Path:
        """The folder, if it is a local one."""
        return Path(self._root)

    def append(self, rows: Sequence[Row]) -> None:
        """Adds a file with the rows of each board."""
        for board in dict.fromkeys(row["board"] for row in rows):
            of_board = [{k: v for k, v in row.items() if k != "board"} for row in rows if row["board"] == board]
            folder = f"{self._root}/board={Path(board).name}"
            self._files.makedirs(folder, exist_ok=True)
            name = uuid.uuid4().hex
            unfinished = f"{folder}/{_UNFINISHED}{name}"
            table = _arrow().Table.from_pylist(of_board, schema=_schema())
            with self._files.open(unfinished, "wb") as file:
                self._parquet.write_table(table, file)
            self._files.mv(unfinished, f"{folder}/part-{name}{_SUFFIX}")

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        """All rows, by file."""
        for path in sorted(self._files.glob(f"{self._root}/board=*/part-*{_SUFFIX}")):
            board = path.rpartition("/")[0].rpartition("board=")[2]
            for row in self._table(path, columns).to_pylist():
                yield {"board": board, **row}

    def _table(self, path: str, columns: Sequence[str] | None) -> Any:
        """Contents of a file. Raises TflmgenError if it has no rows of a sweep."""
        wanted = None if columns is None else [name for name in columns if name != "board"]
        advice = "Remove the file: the same sweep computes its rows again"
        with self._files.open(path, "rb") as file:
            try:
                table = self._parquet.ParquetFile(file).read(columns=wanted)
            except (_arrow().ArrowException, OSError) as error:
                raise TflmgenError(f"{path}: cannot be read: {error}. {advice}") from error
        if "task" not in table.column_names:
            raise TflmgenError(f"{path}: has no rows of a sweep. {advice}")
        return table

    def task_ids(self) -> set[str]:
        """Tasks that have a row."""
        return {row["task"] for row in self.rows(["task"])}

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keeps a second sweep from the same local folder, and removes what a killed one left half-written."""
        if not self.is_local:
            yield
            return
        import fcntl

        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / LOCK).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise TflmgenError(f"{self.root}: another sweep writes its results there") from None
            for left in self.root.glob(f"board=*/{_UNFINISHED}*"):
                left.unlink()
            yield


def read_rows(url: str) -> list[Row]:
    """All rows of a sweep's results, each task once, in the order of their tasks."""
    table = ResultTable(url)
    return [row for _, row in sorted({row["task"]: row for row in table.rows()}.items())]


def _schema() -> Any:
    arrow = _arrow()
    types = {str: arrow.string(), bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64()}
    return arrow.schema([(name, types[kind]) for name, kind in COLUMNS.items() if name != "board"])


def _arrow() -> Any:
    return import_module("pyarrow")
