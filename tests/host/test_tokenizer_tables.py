"""Tokenizers in C against llama2.c's own steps in Python, on texts that are UTF-8 and on bytes that are not."""

from __future__ import annotations

import random
import struct
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from support.commands import tflmgen
from support.native import SANITIZED, WARNINGS, compile_in
from support.tools import requires
from tflmgen.errors import ModelError
from tflmgen.tokenizers import read_tokenizer, table_files
from tflmgen.tokenizers.tokenizer_file import Tokenizer

BEGIN = 1
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "words.h"

int main(void)
{
    int length;
    while (scanf("%d", &length) == 1) {
        char *const text = malloc((size_t)length + 1);
        int32_t *const tokens = malloc(((size_t)length + 2) * sizeof *tokens);
        for (int i = 0; i < length; ++i) {
            unsigned byte;
            if (scanf("%2x", &byte) != 1) {
                return 1;
            }
            text[i] = (char)(unsigned char)byte;
        }
        const int32_t count = tflmgen_encode(&words, text, length, tokens, length + 2);
        for (int32_t i = 0; i < count; ++i) {
            printf("%d ", (int)tokens[i]);
        }
        printf("|");
        for (int32_t i = 1; i < count; ++i) {
            char piece[64];
            const int32_t bytes = tflmgen_decode(&words, tokens[i - 1], tokens[i], piece, sizeof piece);
            for (int32_t k = 0; k < bytes; ++k) {
                printf("%02x", (unsigned)(unsigned char)piece[k]);
            }
        }
        printf("|%d %d\\n", (int)tflmgen_encode(&words, text, length, tokens, 1),
               (int)tflmgen_decode(&words, 0, 99999, text, length));
        free(tokens);
        free(text);
    }
    return 0;
}
"""


def tokenizer() -> Tokenizer:
    """Three special tokens, the bytes, characters, and pairs of what is there, some with equal scores."""
    choose = random.Random(3)
    texts = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(b"<0x%02X>" % byte for byte in range(256))]
    scores = [0.0] * len(texts)
    pieces = [" ", *"abcdehlnorstuwy.,!", "é", "ß", "語", "🙂"]
    texts += [piece.encode() for piece in pieces]
    scores += [-1000.0 - i for i in range(len(pieces))]
    for _ in range(150):
        left, right = (texts[choose.randrange(259, len(texts))] for _ in range(2))
        if len(left + right) <= 12:
            texts.append(left + right)
            scores.append(-float(choose.randrange(80)))
    return Tokenizer(tuple(texts), tuple(scores))


def written(own: Tokenizer) -> bytes:
    parts = [struct.pack("<fi", score, len(text)) + text for text, score in zip(own.texts, own.scores, strict=True)]
    return struct.pack("<i", max(map(len, own.texts))) + b"".join(parts)


def encoded(own: Tokenizer, text: bytes) -> list[int]:
    """run.c's encode() with a begin and no end, written anew."""
    places: dict[bytes, int] = {}
    for token, piece in enumerate(own.texts):
        places.setdefault(piece, token)
    tokens = [places[b" "]] if text else []
    buffer = b""
    for i in range(len(text)):
        if text[i] & 0xC0 != 0x80:
            buffer = b""
        buffer += text[i : i + 1]
        if i + 1 < len(text) and text[i + 1] & 0xC0 == 0x80 and len(buffer) < 4:
            continue
        tokens += [places[buffer]] if buffer in places else [byte + 3 for byte in buffer]
        buffer = b""
    while True:
        pairs = [(places.get(own.texts[a] + own.texts[b]), i) for i, (a, b) in enumerate(pairwise(tokens))]
        known = [(own.scores[token], -i, token) for token, i in pairs if token is not None]
        if not known:
            return [BEGIN, *tokens]
        _, place, token = max(known)
        tokens[-place : 2 - place] = [token]


def samples() -> list[bytes]:
    choose = random.Random(7)
    hostile = [
        b"",
        b" ",
        b"\x80",
        b"\xc3",
        b"\xf0\x9f\x99",
        b"\xed\xa0\x80",
        b"\xff\xfe",
        b"\x80" * 9,
        b"a\0b",
        b"\xc0\x80",
    ]
    letters = [*"abcdehlnorstuwy.,! ", *"abcdehlnorstuwy ", "é", "ß", "語", "🙂", "Ω", "<0x41>"]
    plain = ["".join(choose.choices(letters, k=choose.randrange(1, 40))).encode() for _ in range(600)]
    noise = [choose.randbytes(choose.randrange(1, 24)) for _ in range(300)]
    return [*hostile, *plain, *noise]


@requires("gcc")
def test_tables_in_c_give_the_tokens_of_llama2_c(tmp_path: Path) -> None:
    (tmp_path / "words.bin").write_bytes(written(tokenizer()))
    own = read_tokenizer(tmp_path / "words.bin")
    assert own.texts == tokenizer().texts
    folder = tmp_path / "c"
    texts = {**table_files(own, "words"), "main.c": MAIN}
    compile_in(folder, texts, ["gcc", "-std=c99", *WARNINGS, *SANITIZED], folder / "program")
    feed = "\n".join(f"{len(text)} {text.hex()}" for text in samples())
    ran = subprocess.run([folder / "program"], input=feed, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    for text, line in zip(samples(), ran.stdout.splitlines(), strict=True):
        tokens, decoded, rest = line.split("|")
        assert [int(token) for token in tokens.split()] == encoded(own, text), text
        assert bytes.fromhex(decoded) == text
        assert rest == "-1 0"


def refusal(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(ModelError) as error:
        read_tokenizer(path)
    return str(error.value)


def test_bad_tokenizers_are_refused(tmp_path: Path) -> None:
    path, good = tmp_path / "t.bin", written(tokenizer())
    assert "it has 3 bytes" in refusal(path, good[:3])
    assert "it ends within token 0" in refusal(path, good[:9])
    assert "token 0 has a text of 5 bytes" in refusal(path, good[:15])
    assert "has a text of -1 bytes" in refusal(path, good[:4] + struct.pack("<fi", 0, -1))
    assert "has a score that is no number" in refusal(path, good[:4] + struct.pack("<fi", float("nan"), 0))
    assert "it has 0 tokens" in refusal(path, good[:4])
    assert "more than 65,535 tokens" in refusal(path, good[:4] + struct.pack("<fi", 0, 0) * 65_537)
    assert "tokenizers in .json files are not read" in refusal(tmp_path / "tokenizer.json", b"{}")
    with pytest.raises(ModelError, match="cannot be read"):
        read_tokenizer(tmp_path / "absent.bin")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tokenizer's file in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "words.bin"
    texts = [b"<unk>", b"<s>", b"</s>", b"a", b"b"]
    path.write_bytes(struct.pack("<i", 5) + b"".join(struct.pack("<fi", 0.0, len(text)) + text for text in texts))
    return path


def test_files_of_the_users_are_not_replaced(source: Path) -> None:
    Path("words.h").write_text("mine")
    finished = tflmgen("tokenizer", source)
    assert (finished.code, "words.h is in the way" in finished.err) == (2, True), finished.err
    assert (Path("words.h").read_text(), Path("words.c").exists()) == ("mine", False)
    Path("words.h").unlink()
    assert [tflmgen("tokenizer", source).code for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("name", ["texts", "offsets", "sorted", "words"])
def test_no_name_meets_those_of_the_arrays(name: str, source: Path) -> None:
    assert tflmgen("tokenizer", source, "--name", name).code == 0
    command = ["gcc", "-std=c99", *WARNINGS, "-c", f"{name}.c", "-o", "words.o"]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr


@pytest.mark.parametrize(("name", "free"), [("int", "int_"), ("tflmgen_x", "m_tflmgen_x"), ("2x", "m_2x")])
def test_names_that_are_taken_are_refused(name: str, free: str, source: Path) -> None:
    finished = tflmgen("tokenizer", source, "--name", name)
    assert (finished.code, f"such as {free}" in finished.err) == (2, True), finished.err
