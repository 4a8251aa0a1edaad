"""The page of TensorFlow's operations says what converts; some of its examples, or with -m sweep all, are converted."""

from __future__ import annotations

import re

import pytest
from support.tensorflow_environment import requires_tensorflow
from support.tensorflow_operation_classes import class_of
from tensorflow_operations_page import PAGE, outcomes, registry

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]

SPACING = 40
"""One of so many examples is converted by default."""


def _named(text: str) -> list[str]:
    return re.findall(r"`([A-Z]\w*)`", text)


def _converted() -> tuple[list[str], list[str]]:
    """Names that the page says convert as they are, and those that are written with others."""
    text = PAGE.read_text(encoding="utf-8")
    first, second = (text.index(line) for line in ("\n## Operations that convert", "\nWritten with others"))
    return _named(text[first:second]), _named(text[second : text.index("\n## Operations that stay out")])


def test_each_operation_of_the_registry_is_on_the_page_once() -> None:
    _, names, examples = registry()
    text = PAGE.read_text(encoding="utf-8")
    listed = _named(text[text.index("\n## Operations that convert") :])
    known = [name for name in listed if name in set(names)]
    assert sorted(known) == sorted(names)
    native, written = _converted()
    assert {*native, *written} <= set(examples)
    assert all(class_of(name) is not None for name in set(names) - {*native, *written})


def _check(part: slice) -> None:
    native, written = _converted()
    expected = dict([*((name, False) for name in native), *((name, True) for name in written)])
    names = sorted(expected)[part]
    assert dict(outcomes(names)) == {name: expected[name] for name in names}


def test_examples_convert() -> None:
    _check(slice(None, None, SPACING))


@pytest.mark.sweep
def test_all_examples_convert() -> None:
    _check(slice(None))
