"""Test results as JUnit XML, which CI servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison; `failure` is its message, empty if it passed."""

    name: str
    failure: str = ""


def junit_xml(suite: str, cases: Sequence[Case], properties: Sequence[tuple[str, str]]) -> bytes:
    """A <testsuites> document with one suite, UTF-8."""
    failures = sum(bool(case.failure) for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}
    root = ElementTree.Element("testsuites", counts)
    element = ElementTree.SubElement(root, "testsuite", {"name": _clean(suite), **counts})
    property_list = ElementTree.SubElement(element, "properties")
    for name, value in properties:
        ElementTree.SubElement(property_list, "property", {"name": name, "value": _clean(value)})
    for case in cases:
        testcase = ElementTree.SubElement(element, "testcase", {"classname": _clean(suite), "name": _clean(case.name)})
        if case.failure:
            ElementTree.SubElement(testcase, "failure", {"message": _clean(case.failure)})
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _clean(text: str) -> str:
    """The text without characters that XML forbids."""
    return _CONTROL.sub("?", text)
