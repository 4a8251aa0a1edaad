"""Test results as JUnit XML, which CI servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison; `failure` says what is wrong, empty where it passed."""

    name: str
    failure: str = ""


def junit_xml(suite: str, cases: Sequence[Case], properties: Sequence[tuple[str, str]]) -> bytes:
    """A <testsuites> document of one suite."""
    failures = sum(bool(case.failure) for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}
    root = ElementTree.Element("testsuites", counts)
    element = ElementTree.SubElement(root, "testsuite", {"name": _clean(suite), **counts})
    listed = ElementTree.SubElement(element, "properties")
    for name, value in properties:
        ElementTree.SubElement(listed, "property", {"name": name, "value": _clean(value)})
    for case in cases:
        shown = ElementTree.SubElement(element, "testcase", {"classname": _clean(suite), "name": _clean(case.name)})
        if case.failure:
            ElementTree.SubElement(shown, "failure", {"message": _clean(case.failure)})
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _CONTROL.sub("?", text)
