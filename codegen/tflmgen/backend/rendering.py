"""Templates to text: the only user of Jinja2."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import jinja2

from tflmgen.backend.c_text import comment


@cache
def _environment() -> jinja2.Environment:
    def load(name: str) -> str | None:
        path = files("tflmgen.templates").joinpath(name)
        return path.read_text(encoding="utf-8") if path.is_file() else None

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=_is_html,
    )
    environment.filters |= {"c_string": _c_string, "c_comment": comment, "robot": _robot}
    return environment


def _is_html(name: str | None) -> bool:
    """Text from models is escaped in HTML; C has its own rules (c_text.py)."""
    return name is not None and name.endswith(".html.j2")


def _c_string(text: str) -> str:
    """Text inside a C string literal; octal escapes end by themselves, unlike hexadecimal ones."""
    safe = (chr(b) if 32 <= b < 127 and chr(b) not in '\\"?' else f"\\{b:03o}" for b in _utf8(text))
    return "".join(safe)


def _robot(text: str) -> str:
    """Text within a cell of Robot Framework: no variable, no escape, no end of the cell."""
    return " ".join(re.sub(r"([\\$@&%#|=])", r"\\\1", text).split())


def render(template: str, **values: object) -> str:
    """The text of templates/`template` with `values`; an undefined name is an error."""
    text = _environment().get_template(template).render(values)
    return text if text.isascii() else _utf8(text).decode()


def _utf8(text: str) -> bytes:
    """The text as a file has it. Names of files may have bytes that are no UTF-8, which Python keeps as surrogates."""
    return text.encode("utf-8", "replace")
