"""Writes tones.wav: silence, 1,000 Hz, silence, 2,500 Hz, a click of 20 ms that is no tone, silence."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

RATE = 16000
TONES = ((0.5, 0.9, 1000), (1.4, 1.7, 2500), (2.2, 2.22, 4000))


def make(folder: Path) -> None:
    time = np.arange(int(2.6 * RATE)) / RATE
    samples = np.random.default_rng(1).normal(0, 20, len(time))
    for start, end, hertz in TONES:
        samples += np.where((time >= start) & (time < end), 6000 * np.sin(2 * np.pi * hertz * time), 0)
    with wave.open(str(folder / "tones.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.astype("<i2").tobytes())


if __name__ == "__main__":
    make(Path(__file__).parent)
