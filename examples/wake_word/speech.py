"""Spoken words as WAV files, by the speech synthesiser espeak-ng."""

from __future__ import annotations

import subprocess
import wave
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RATE = 16000
WORD = "computer"
OTHERS = (
    "commuter", "compute", "competing", "company", "composer", "complete", "peter", "combination", "user", "motor",
    "yesterday", "water", "open the window", "what time is it", "turn the light on", "seven", "hello", "thank you",
    "kitchen", "recorder", "good morning", "play some music", "the weather today", "stop", "potato", "remember",
)  # fmt: skip
ACCENTS, VARIANTS = ("en-us", "en-gb", "en-gb-scotland"), ("m1", "m3", "m7", "f1", "f2", "f4")
VOICES = tuple(f"{accent}+{variant}" for accent in ACCENTS for variant in VARIANTS)

Samples = NDArray[np.int16]


def spoken(text: str, voice: str, speed: int, pitch: int) -> Samples:
    """int16[n] at 16 kHz, with the silence at both ends cut off."""
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", text]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    rate = int.from_bytes(data[24:28], "little")
    samples = np.frombuffer(data[44 : len(data) // 2 * 2], "<i2").astype(np.float64)
    count = len(samples) * RATE // rate
    resampled = np.interp(np.arange(count) * rate / RATE, np.arange(len(samples)), samples)
    loud = np.flatnonzero(np.abs(resampled) > 300)
    return resampled[loud[0] : loud[-1] + 1].astype(np.int16)


def sentence(words: Sequence[tuple[float, Samples]], seconds: float, rng: np.random.Generator) -> Samples:
    """Words at their times in faint noise."""
    samples = rng.normal(0, 12, int(seconds * RATE))
    for start, word in words:
        first = int(start * RATE)
        samples[first : first + len(word)] += word[: len(samples) - first] * 0.5
    return np.clip(samples, -32768, 32767).astype(np.int16)


def write_wav(path: Path, samples: Samples) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.astype("<i2").tobytes())


def variations(rng: np.random.Generator, count: int) -> Iterator[tuple[str, int, int]]:
    """Voice, words per minute and pitch."""
    for _ in range(count):
        yield str(rng.choice(VOICES)), int(rng.integers(125, 190)), int(rng.integers(25, 76))
