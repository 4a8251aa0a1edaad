from __future__ import annotations

import pytest
from tflmgen.terminal.text_table import Column, Table, table_lines, text_width

NAME = "sequential/block_1/depthwise/BatchNorm/Relu6"
TABLE = Table(
    "A table",
    (
        Column("#", numeric=True),
        Column("name", min_width=12),
        Column("many words", numeric=True, priority=2),
        Column("ways", priority=3),
        Column("why", min_width=10, wraps=True),
    ),
    [("1", NAME, "12,345", "any", "because it is so"), ("20", "short", "6", "none", "")],
)


def shown(width: int | None, table: Table = TABLE) -> list[str]:
    return ["".join(text for text, _ in line) for line in table_lines(table, width)]


def test_without_a_width_everything_is_shown() -> None:
    assert shown(None) == [
        "A table",
        "",
        " #  name                                          many words  ways  why",
        "--  --------------------------------------------  ----------  ----  ----------------",
        f" 1  {NAME}      12,345  any   because it is so",
        "20  short                                                  6  none",
    ]


def test_names_are_shortened_in_the_middle_and_text_wraps() -> None:
    assert shown(51)[2:] == [
        " #  name                many  ways  why",
        "                       words",
        "--  ----------------  ------  ----  ---------------",
        " 1  sequenti…m/Relu6  12,345  any   because it is",
        "                                    so",
        "20  short                  6  none",
    ]


@pytest.mark.parametrize(("width", "hidden"), [(60, ""), (38, "(--wide: ways)"), (32, "(--wide: many words, ways)")])
def test_columns_leave_by_priority(width: int, hidden: str) -> None:
    assert (shown(width)[-1] if hidden else "") == hidden
    assert any("--wide" in line for line in shown(width)) == bool(hidden)


@pytest.mark.parametrize("width", range(28, 120))
def test_no_line_is_wider_than_the_terminal_or_ends_in_blanks(width: int) -> None:
    for line in shown(width):
        assert text_width(line) <= width
        assert line == line.rstrip()


def test_a_title_takes_several_lines_before_a_column_leaves() -> None:
    table = Table("", (Column("very many words", numeric=True), Column("x", priority=2)), [("1", "abcdef")])
    assert shown(13, table) == [" very  x", " many", "words", "-----  ------", "    1  abcdef"]


def test_what_cannot_give_way_is_as_wide_as_it_is() -> None:
    table = Table("", (Column("name"), Column("other", priority=2)), [("0123456789", "abc")])
    assert shown(5, table) == ["name", "----------", "0123456789", "(--wide:", "other)"]


def test_wide_characters_count_twice() -> None:
    table = Table("", (Column("name", min_width=7),), [("畳み込み層の名前",)])
    (line,) = shown(7, table)[2:]
    assert text_width(line) <= 7
    assert "…" in line


def test_control_characters_are_escaped() -> None:
    assert shown(None, Table("", (Column("name"),), [("a\x1b[2Jb\nc",)]))[2:] == [r"a\x1b[2Jb\nc"]


def test_a_table_without_titles_is_a_list() -> None:
    assert shown(12, Table("", (Column(), Column(min_width=5, wraps=True)), [("-", "one two three")])) == [
        "-  one two",
        "   three",
    ]


def test_styles_are_by_the_first_word() -> None:
    table = Table("", (Column("result"),), [("ok",), ("WRONG: 1 of 2",), ("okay",)])
    rows = list(table_lines(table, None))[2:]
    assert [style for row in rows for text, style in row if text] == ["green", "bold red", ""]
