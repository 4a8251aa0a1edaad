"""tflmgen tokenizer: a tokenizer's tables as C."""

from __future__ import annotations

import re
from pathlib import Path

from tflmgen.errors import UsageError
from tflmgen.options import OutputOptions
from tflmgen.terminal import Console, count
from tflmgen.tokenizers import read_tokenizer, table_files
from tflmgen.user_files import write_whole


def tokenizer_command(source: Path, folder: Path | None, name: str | None, output: OutputOptions) -> None:
    """Writes the tables of a tokenizer's file, and the header that reads them, to a folder."""
    console = Console(output)
    identifier = re.sub(r"\W", "_", source.stem, flags=re.ASCII) if name is None else name
    if not re.fullmatch(r"[A-Za-z]\w*", identifier, re.ASCII):
        raise UsageError(f"--name {identifier}: requires a name of C, which begins with a letter")
    tokenizer = read_tokenizer(source)
    target = folder or Path()
    target.mkdir(parents=True, exist_ok=True)
    contents = table_files(tokenizer, identifier)
    for file, text in contents.items():
        write_whole(target / file, text.encode())
    tokens, size = len(tokenizer.texts), sum(map(len, tokenizer.texts))
    flash = 4 * (tokens + 1) + size + 4 * tokens + 512
    console.json({"tokenizer": source.name, "tokens": tokens, "bytes": flash, "files": sorted(contents)})
    console.line(f"{count(tokens)} tokens, tables of about {count(flash)} bytes.")
    console.line(f"Wrote {', '.join(sorted(contents))} to {target}.")
