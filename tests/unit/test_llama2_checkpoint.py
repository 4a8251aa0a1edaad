"""Checkpoints of llama2.c as Models: what they compute, and files that are refused."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from support.llama2_files import Checkpoint
from tflmgen.errors import ModelError
from tflmgen.reference import Interpreter
from tflmgen.sources import read_source


@pytest.mark.parametrize(
    "checkpoint",
    [
        Checkpoint(),
        Checkpoint(shares_output=False, kv_heads=4, layers=1, seed=1),
        Checkpoint(heads=2, kv_heads=1, dim=12, hidden=7, seed=2),
    ],
    ids=["shared", "own-output", "one-head-of-keys"],
)
def test_a_checkpoint_computes_what_run_c_does(checkpoint: Checkpoint, tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    path.write_bytes(checkpoint.bytes())
    tokens = [int(t) for t in np.random.default_rng(3).integers(checkpoint.vocabulary, size=checkpoint.positions)]
    decoder = Interpreter(read_source(path))
    for position, (token, expected) in enumerate(zip(tokens, checkpoint.logits(tokens), strict=True)):
        feed = {"token": np.array([token], np.int32), "position": np.array([position], np.int32)}
        (logits,) = decoder.invoke("step", feed)
        np.testing.assert_allclose(logits[0], expected, rtol=0, atol=1e-4 * abs(expected).max())


def refusal(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(ModelError) as error:
        read_source(path)
    return str(error.value)


def test_bad_checkpoints_are_refused(tmp_path: Path) -> None:
    path, good = tmp_path / "m.bin", Checkpoint().bytes()
    assert "has 5 bytes, and the header" in refusal(path, good[:5])
    assert f"it has {len(good) - 1:,} bytes, and a checkpoint of dim 16" in refusal(path, good[:-1])
    assert "and a checkpoint of dim 16, hidden_dim 20" in refusal(path, good + b"\0")
    for place, number, expected in (
        (0, 0, "dim in its header is 0"),
        (2, -1, "n_layers in its header is -1"),
        (3, 5, "5 heads of 16 elements and 2 heads of keys do not go into each other"),
        (4, 3, "4 heads of 16 elements and 3 heads"),
        (5, 2**31 - 1, "and a checkpoint of dim 16"),
        (6, 0x7FFFFFFF, "and a checkpoint of dim 16"),
    ):
        numbers = list(struct.unpack("<7i", good[:28]))
        numbers[place] = number
        assert expected in refusal(path, struct.pack("<7i", *numbers) + good[28:])
    assert "version 1; only version 0 is read" in refusal(path, struct.pack("<2i", 0x616B3432, 1) + bytes(300))
    assert "infinite or not a number" in refusal(path, good[:28] + struct.pack("<f", np.nan) + good[32:])
    with pytest.raises(ModelError, match="cannot be read"):
        read_source(tmp_path / "absent.bin")
