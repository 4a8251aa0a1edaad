"""Licences of the files that are copied into products: an SPDX line in each, no notice of others, sources by name."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support.repository import ROOT, page_named, tracked_files

LINE = "SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output"
NOTICE = re.compile(r"\bcopyright\b|\(c\) ?(?:19|20)\d\d|all rights reserved|permission is hereby", re.IGNORECASE)


def firmware() -> list[Path]:
    return [path for path in tracked_files() if path.is_relative_to(ROOT / "firmware")]


def test_every_file_of_the_firmware_begins_with_its_licence() -> None:
    files = firmware()
    assert len(files) > 200
    lacking = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        stated = json.loads(text).get("license") if path.suffix == ".json" else text.partition("\n")[0]
        if LINE.partition(": ")[2] not in (stated or ""):
            lacking.append(path)
    assert not lacking


def test_the_page_says_what_the_identifier_means() -> None:
    text = page_named("published-sources").read_text(encoding="utf-8")
    assert set(re.findall(r"LicenseRef-[\w-]+", LINE)) == set(re.findall(r"LicenseRef-[\w-]+", text))


def test_no_file_of_the_firmware_needs_a_notice() -> None:
    assert not [path for path in firmware() if NOTICE.search(path.read_text(encoding="utf-8"))]


def test_the_page_of_sources_names_files_that_are_there() -> None:
    page = page_named("published-sources").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`firmware/.*?) \|", page, re.MULTILINE)
    assert len(rows) > 8
    for row in rows:
        folder, *_ = re.findall(r"`(firmware/\w+(?:/runtime)?)/", row)
        for name in re.findall(r"`(?:firmware/[\w/]*/)?([\w*]+\.[ch])`", row):
            assert list((ROOT / folder).glob(name)), (row, name)


def test_sources_that_files_cite_are_on_the_page() -> None:
    """A file that names a published work by its year stands in the table."""
    page = page_named("published-sources").read_text(encoding="utf-8")
    cited = re.compile(r'"[A-Z][^"\n]+" \((?:19|20)\d\d\)')
    citing = [path for path in firmware() if cited.search(path.read_text(encoding="utf-8"))]
    assert citing
    assert not [path.name for path in citing if f"{path.name}`" not in page]
