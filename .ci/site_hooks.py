"""Hooks of mkdocs: pages in the order of docs/index.md, with the repository's files that they link to."""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "repository"
"""Folder of the site with copies of the repository's files."""

_LINK = re.compile(r"(?<=\]\()(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))")
_BARS = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Navigation by the sections and links of docs/index.md; a page without a link there is an error of --strict."""
    _, *parts = _SECTION.split((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    config["nav"] = [{"Home": "index.md"}]
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        config["nav"].append({title: list(dict.fromkeys(re.findall(r"\]\(([\w/-]+\.md)\)", text)))})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the files outside docs/ that pages link to."""
    for page in [file for file in files if file.src_uri.endswith(".md")]:
        for path in _outside(page.src_uri, Path(page.abs_src_path).read_text(encoding="utf-8")).values():
            if files.get_file_from_path(_copy_of(path)) is None:
                contents = (ROOT / path).read_bytes()
                files.append(File.generated(config, _copy_of(path), content=contents))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that leave docs/ lead to the copies; code in tables has its bars without the backslashes before them."""
    outside = _outside(page.file.src_uri, markdown)

    def replaced(match: re.Match[str]) -> str:
        path = outside.get(match["path"])
        if path is None:
            return match[0]
        return posixpath.relpath(_copy_of(path), posixpath.dirname(page.file.src_uri))

    return _BARS.sub(_with_bars, _LINK.sub(replaced, markdown))


def _with_bars(code: re.Match[str]) -> str:
    """Code of a table in which \\| stands for a bar, which Python's Markdown shows as it is."""
    return f"<code>{html.escape(code[1]).replace(chr(92) + '|', '&#124;')}</code>"


def _copy_of(path: str) -> str:
    """Place of a file's copy in the site; a page of the repository is shown as text."""
    return f"{FOLDER}/{path}{'.txt' if Path(path).suffix in ('', '.md') else ''}"


def _outside(source: str, markdown: str) -> dict[str, str]:
    """Links of a page to files of the repository that are not below docs/, and their paths in it."""
    links = {}
    for match in _LINK.finditer(markdown):
        if "://" in match["path"]:
            continue
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(source), match["path"]))
        if not path.startswith(("docs/", "..")) and (ROOT / path).is_file():
            links[match["path"]] = path
    return links
