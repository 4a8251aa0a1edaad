"""Writes wake_word.wav: a sentence with the word twice, by espeak-ng, and expected.csv with the ends of the words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from speech import RATE, WORD, sentence, spoken, write_wav

SENTENCE = ((0.6, "good morning"), (1.9, WORD), (3.4, "what time is it"), (5.0, WORD), (6.4, "composer"))
SECONDS, VOICE, SPEED, PITCH = 7.6, "en-us+m3", 150, 45
TOLERANCE = "300 ms"


def make(folder: Path) -> None:
    words = [(start, spoken(text, VOICE, SPEED, PITCH)) for start, text in SENTENCE]
    write_wav(folder / "wake_word.wav", sentence(words, SECONDS, np.random.default_rng(9)))
    ends = [start + len(word) / RATE for (start, word), (_, text) in zip(words, SENTENCE, strict=True) if text == WORD]
    rows = [f"{end:.2f},decide,{WORD},{TOLERANCE}" for end in ends]
    (folder / "expected.csv").write_text("\n".join(["time,stage,value,tolerance", *rows]) + "\n")


if __name__ == "__main__":
    make(Path(__file__).parent)
