"""Metadata of the installed distribution: licence texts and home page."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tflmgen.errors import TflmgenError

LICENSES = ("LICENSE", "LICENSE-EXCEPTION")
HOMEPAGE = "homepage"


class LicenseMissingError(TflmgenError):
    """The installation lacks the licence files that exports must contain."""


def license_files() -> dict[str, bytes]:
    """The licence and its exception for generated code, by file name."""
    return {name: _license(name).encode() for name in LICENSES}


def homepage() -> str:
    """URL of the project's home page; empty if the metadata has none."""
    try:
        urls = distribution("tflmgen").metadata.get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    labelled = (url.partition(",") for url in urls)
    return next((address.strip() for label, _, address in labelled if label.strip().lower() == HOMEPAGE), "")


def _license(name: str) -> str:
    try:
        text = distribution("tflmgen").read_text(f"licenses/{name}")
    except PackageNotFoundError:
        text = None
    source = Path(__file__).parents[2] / name  # of a source tree that is not installed
    if text is None and source.is_file():
        text = source.read_text(encoding="utf-8")
    if text is None:
        raise LicenseMissingError(f"this installation of tflmgen lacks its {name}: install it again")
    return text
