from __future__ import annotations

import pytest
from tflmgen.user_files import parse_json


@pytest.mark.parametrize(
    "text",
    ["NaN", "[Infinity]", '{"a": -Infinity}', "1e400", "-1e999", "9" * 5000, "[" * 100_000, '{"a": 1, "a": 2}', ""],
)
def test_what_no_json_of_a_user_may_hold(text: str) -> None:
    with pytest.raises(ValueError, match=r"number|range|digits|deeply|twice|Expecting"):
        parse_json(text)


def test_values_arrive_as_they_are() -> None:
    assert parse_json('{"a": [1, -2.5e3, true, null, "\\u00e9"]}') == {"a": [1, -2500.0, True, None, "é"]}
