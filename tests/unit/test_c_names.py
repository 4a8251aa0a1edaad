"""Names in generated C."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tflmgen.backend.c_names import identifier, library_name, unique_identifiers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kws", "kws"),
        ("Person Detect-v2.tflite", "person_detect_v2_tflite"),
        ("__a__", "a"),
        ("9lives", "m_9lives"),
        ("", "m"),
        ("é", "m"),
        ("int", "int_"),
        ("While", "while_"),
        ("class", "class_"),
    ],
)
def test_identifier(text: str, expected: str) -> None:
    assert identifier(text) == expected


@given(st.text())
def test_any_text_becomes_an_identifier(text: str) -> None:
    name = identifier(text)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert identifier(name) in (name, name.rstrip("_") + "_")


@given(st.lists(st.sampled_from(["a", "A", "a_2", "a 2", "", "m", "int", "é"])), st.sets(st.sampled_from(["a", "m"])))
def test_identifiers_are_distinct(texts: list[str], reserved: set[str]) -> None:
    names = unique_identifiers(texts, reserved)
    assert len(set(names)) == len(texts)
    assert not reserved & set(names)


def test_collisions_are_numbered_in_order() -> None:
    assert unique_identifiers(["x_2", "x", "X", "x y", "x-y"]) == ("x_2", "x", "x_3", "x_y", "x_y_2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("string", "m_string"),
        ("Math", "m_math"),
        ("tflmgen", "m_tflmgen"),
        ("run", "m_run"),
        ("run_fast", "m_run_fast"),
        ("runner", "runner"),
        ("at_home", "m_at_home"),
        ("strings", "strings"),
        ("int8", "m_int8"),
        ("time", "m_time"),
        ("test", "m_test"),
        ("features", "features"),
    ],
)
def test_library_names_leave_headers_and_the_runtime_alone(text: str, expected: str) -> None:
    assert library_name(text) == expected
