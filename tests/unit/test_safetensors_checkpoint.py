"""Safetensors of decoders like Llama's: the same numbers as a checkpoint of llama2.c, and files that are refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.llama2_files import Array, Checkpoint
from tflmgen.errors import ModelError
from tflmgen.reference import Interpreter
from tflmgen.sources import read_source

NAMES = {
    "norm": "input_layernorm", "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
    "o": "self_attn.o_proj", "mlp_norm": "post_attention_layernorm", "gate": "mlp.gate_proj", "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}  # fmt: skip


def tensors_of(own: Checkpoint) -> dict[str, Array]:
    """Weights by transformers' names, with the elements of pairs half a head apart."""
    size, result = own.dim // own.heads, {}
    for part, name in NAMES.items():
        for layer, weights in enumerate(own.weights[part]):
            if part in "qk":
                weights = weights.reshape(-1, size // 2, 2, own.dim).swapaxes(1, 2).reshape(weights.shape)
            result[f"model.layers.{layer}.{name}.weight"] = weights
    result |= {"model.embed_tokens.weight": own.weights["embedding"], "model.norm.weight": own.weights["final_norm"]}
    return result if own.shares_output else {**result, "lm_head.weight": own.weights["output"]}


def configuration(own: Checkpoint) -> dict[str, Any]:
    return {
        "model_type": "llama", "hidden_size": own.dim, "intermediate_size": own.hidden, "hidden_act": "silu",
        "num_hidden_layers": own.layers, "num_attention_heads": own.heads, "num_key_value_heads": own.kv_heads,
        "vocab_size": own.vocabulary, "max_position_embeddings": own.positions, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "tie_word_embeddings": own.shares_output, "rope_scaling": None,
    }  # fmt: skip


def written(tensors: dict[str, Array], dtype: str = "F32") -> bytes:
    header, data = dict[str, Any](), b""
    for name, values in tensors.items():
        whole: Array = values.astype("<f4")
        if dtype == "BF16":
            whole = whole.view("<u4") >> 16
        raw = whole.astype({"F32": "<f4", "F16": "<f2", "BF16": "<u2"}[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": values.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(("dtype", "tolerance"), [("F32", 1e-4), ("F16", 0.02), ("BF16", 0.1)])
@pytest.mark.parametrize("shares_output", [True, False])
def test_it_computes_what_the_checkpoint_does(
    dtype: str, tolerance: float, shares_output: bool, tmp_path: Path
) -> None:
    own = Checkpoint(shares_output=shares_output)
    (tmp_path / "config.json").write_text(json.dumps(configuration(own)))
    (tmp_path / "m.safetensors").write_bytes(written(tensors_of(own), dtype))
    decoder, tokens = Interpreter(read_source(tmp_path / "m.safetensors")), [3, 1, 4, 1, 5]
    for position, (token, expected) in enumerate(zip(tokens, own.logits(tokens), strict=True)):
        (logits,) = decoder.invoke("step", [np.array([n], np.int32) for n in (token, position)])
        np.testing.assert_allclose(logits[0], expected, rtol=0, atol=tolerance * abs(expected).max())


def refusal(folder: Path, data: bytes, **changes: object) -> str:
    (folder / "config.json").write_text(json.dumps({**configuration(Checkpoint()), **changes}))
    (folder / "m.safetensors").write_bytes(data)
    with pytest.raises(ModelError) as error:
        read_source(folder / "m.safetensors")
    return str(error.value)


def test_bad_files_are_refused(tmp_path: Path) -> None:
    tensors = tensors_of(Checkpoint())
    good = written(tensors)
    assert "its header does not fit" in refusal(tmp_path, good[:6])
    assert "its header does not fit" in refusal(tmp_path, struct.pack("<Q", 2**63) + good[8:])
    assert "its header is no JSON" in refusal(tmp_path, struct.pack("<Q", 50) + good[8:])
    assert "which is not 64 bytes of the file" in refusal(tmp_path, good[:-1])
    assert "model_type is 'gpt2'; llama and mistral are read" in refusal(tmp_path, good, model_type="gpt2")
    assert "rope_scaling is {'factor': 8}, which is not supported" in refusal(
        tmp_path, good, rope_scaling={"factor": 8}
    )
    assert "num_attention_heads is 0: requires a whole number" in refusal(tmp_path, good, num_attention_heads=0)
    assert "4 heads of 4 elements, 3 heads of keys" in refusal(tmp_path, good, num_key_value_heads=3)
    assert "has shape [20, 16], and config.json asks for [21, 16]" in refusal(tmp_path, good, intermediate_size=21)
    assert "it has no tensor model.norm.weight" in refusal(
        tmp_path, written({name: values for name, values in tensors.items() if name != "model.norm.weight"})
    )
    assert "is 'I8'; F32, F16, BF16 are read" in refusal(tmp_path, good.replace(b'"F32"', b'"I8" '))
    assert "is [1, 2]; F32, F16, BF16 are read" in refusal(tmp_path, good.replace(b'"F32"', b"[1,2]", 1))
    positions = 1 << 24
    rule = "caches and angles of 16,777,216 positions take"
    assert rule in refusal(tmp_path, good, max_position_embeddings=positions)
    (tmp_path / "config.json").unlink()
    with pytest.raises(ModelError, match=r"config\.json: cannot be read"):
        read_source(tmp_path / "m.safetensors")
