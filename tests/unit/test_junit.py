from __future__ import annotations

from xml.etree import ElementTree

from tflmgen.compare.junit import Case, junit_xml


def test_counts_and_failures() -> None:
    root = ElementTree.fromstring(junit_xml("m on b", [Case("fine"), Case("bad", "1 < 2")], [("board", "b")]))
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    fine, bad = suite.findall("testcase")
    assert fine.find("failure") is None
    failure = bad.find("failure")
    assert failure is not None
    assert failure.get("message") == "1 < 2"
    assert [(p.get("name"), p.get("value")) for p in suite.iter("property")] == [("board", "b")]


def test_names_that_xml_cannot_hold() -> None:
    root = ElementTree.fromstring(junit_xml("a\x00b", [Case("\x1b[31m<&\"'>\ud800")], []))
    assert [case.get("name") for case in root.iter("testcase")] == ["?[31m<&\"'>?"]
