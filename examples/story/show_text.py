"""Prints the text of tokens that `tflmgen run` wrote.

python show_text.py OUTPUTS.npz [TOKENIZER.bin]
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np


def texts_of(path: Path) -> list[bytes]:
    """The texts of tokens in a tokenizer.bin of llama2.c."""
    data, place, texts = path.read_bytes(), 4, list[bytes]()
    while place < len(data):
        _, length = struct.unpack_from("<fi", data, place)
        texts.append(data[place + 8 : place + 8 + length])
        place += 8 + length
    return texts


def main() -> None:
    outputs = np.load(sys.argv[1])
    texts = texts_of(Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("tokenizer.bin"))
    total = int(outputs["s0_out_1"][0])
    tokens = outputs["s0_out_0"][:total]
    print(b"".join(texts[token] for token in tokens if token > 2).decode().strip())


if __name__ == "__main__":
    main()
