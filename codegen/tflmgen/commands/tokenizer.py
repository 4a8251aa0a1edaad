"""tflmgen tokenizer: a tokenizer's tables as C."""

from __future__ import annotations

from pathlib import Path

from tflmgen.backend import library_name
from tflmgen.errors import UsageError
from tflmgen.options import OutputOptions
from tflmgen.terminal import Console, count
from tflmgen.tokenizers import OUR_BEGINNING, read_tokenizer, table_files
from tflmgen.user_files import open_regular, write_whole


def tokenizer_command(source: Path, folder: Path | None, name: str | None, output: OutputOptions) -> None:
    """Writes the tables of a tokenizer's file, and the header that reads them, to a folder.

    Raises UsageError for a name that C or the runtime has taken, and for files in the way that tflmgen did not write.
    """
    console = Console(output)
    identifier = library_name(name or source.stem)
    if name not in (None, identifier):
        raise UsageError(f"--name {name}: requires a free name of C in lower case, such as {identifier}")
    tokenizer = read_tokenizer(source)
    target = folder or Path()
    target.mkdir(parents=True, exist_ok=True)
    contents = table_files(tokenizer, identifier)
    for file in contents:
        _check_ours(target / file)
    for file, text in contents.items():
        write_whole(target / file, text.encode())
    tokens, size = len(tokenizer.texts), sum(map(len, tokenizer.texts))
    flash = 4 * (tokens + 1) + size + 4 * tokens + 512
    console.json({"tokenizer": source.name, "tokens": tokens, "bytes": flash, "files": sorted(contents)})
    console.line(f"{count(tokens)} tokens, tables of about {count(flash)} bytes.")
    console.line(f"Wrote {', '.join(sorted(contents))} to {target}.")


def _check_ours(path: Path) -> None:
    """Raises UsageError where a file is in the way that tflmgen did not write."""
    if not path.exists():
        return
    with open_regular(path) as file:
        is_ours = file.read(len(OUR_BEGINNING)) == OUR_BEGINNING.encode()
    if not is_ours:
        raise UsageError(f"{path} is in the way, and is not tflmgen's. Choose another folder with -o")
