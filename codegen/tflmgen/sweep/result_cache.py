"""Figures by content: a file of JSON per model, board, options and version, in a folder or at an fsspec URL."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Any, Protocol

from tflmgen.sweep.result_table import folder_at

Json = dict[str, Any]


class ResultCache(Protocol):
    """Figures by key."""

    def get(self, key: str) -> Json | None:
        """The figures under a key; None if there are none."""

    def put(self, key: str, figures: Json) -> None:
        """Keeps figures under a key, for later runs."""


class _NoCache:
    def get(self, key: str) -> Json | None:
        del key
        return None

    def put(self, key: str, figures: Json) -> None:
        del key, figures


NO_CACHE: ResultCache = _NoCache()


class FileCache:
    """Files below a folder or URL, shared by all workers: two that write one file write the same."""

    def __init__(self, url: str) -> None:
        self._files, self._root = folder_at(url)

    def get(self, key: str) -> Json | None:
        """None if there is no such file, or half of one."""
        try:
            figures: Json = json.loads(self._files.cat_file(self._path(key)))
        except (OSError, ValueError):
            return None
        return figures

    def put(self, key: str, figures: Json) -> None:
        """Writes the figures into a file of their own, whole before it gets its name."""
        path = self._path(key)
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        # On a file system, a reader must not see half a file; object stores write whole ones.
        unfinished = f"{path}.{os.getpid()}.tmp"
        self._files.pipe_file(unfinished, json.dumps(figures).encode())
        self._files.mv(unfinished, path)

    def _path(self, key: str) -> str:
        return f"{self._root}/{key[:2]}/{key}.json"


@lru_cache(maxsize=4)
def cache_at(url: str) -> ResultCache:
    """The cache at a folder or URL; none for an empty one."""
    return FileCache(url) if url else NO_CACHE
