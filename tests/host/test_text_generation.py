"""The built-in `generate`: greedy text, sampling, what ends it, and prompts and files that are refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.llama2_files import Checkpoint
from tflmgen.applications import read_program
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite import Model
from tflmgen.options import BuildOptions
from tflmgen.reference import Interpreter
from tflmgen.tokenizers import read_tokenizer

CONTEXT = 16
CHECKPOINT = Checkpoint(layers=1, positions=CONTEXT)
HEAD = '[stage.story]\nbuiltin = "generate"\ndecoder = "m.bin"\n'


def generator(folder: Path, settings: str) -> Model:
    (folder / "m.bin").write_bytes(CHECKPOINT.bytes())
    path = folder / "app.toml"
    path.write_text(f"{HEAD}context = {CONTEXT}\n{settings}")
    return read_program(path, BuildOptions())


def generate(runner: Interpreter, tokens: list[int], count: int, length: int | None = None) -> tuple[list[int], int]:
    """The whole text and the status."""
    prompt = np.zeros(CONTEXT, np.int32)
    prompt[: len(tokens)] = tokens
    numbers = (np.array([n], np.int32) for n in (len(tokens) if length is None else length, count))
    text, total, status = runner.invoke(
        "generate", dict(zip(("prompt", "length", "count"), (prompt, *numbers), strict=True))
    )
    return [int(token) for token in text[: int(total[0])]], int(status[0])


def greedy(tokens: list[int], count: int) -> list[int]:
    text = list(tokens)
    while len(text) < min(len(tokens) + count, CONTEXT):
        text.append(int(CHECKPOINT.logits(text)[-1].argmax()))
    return text


def test_greedy_text_is_the_decoder_s(tmp_path: Path) -> None:
    runner = Interpreter(generator(tmp_path, "temperature = 0"))
    for prompt, count in (([5, 7, 2], 8), ([3], 100), ([1, 2], 0), (list(range(CONTEXT)), 4), ([9, 9], -5)):
        assert generate(runner, prompt, count) == (greedy(prompt, max(count, 0)), 0)
    (logits,) = runner.invoke("step", [np.array([4], np.int32), np.array([0], np.int32)])
    np.testing.assert_allclose(logits[0], CHECKPOINT.logits([4])[0], atol=1e-3)


def test_bad_prompts_have_a_status(tmp_path: Path) -> None:
    runner = Interpreter(generator(tmp_path, "temperature = 0"))
    assert generate(runner, [], 4) == ([], 1)
    assert generate(runner, [1], 4, length=-3) == ([], 1)
    assert generate(runner, [1], 4, length=CONTEXT + 1) == ([], 2)
    assert generate(runner, [1, CHECKPOINT.vocabulary], 4) == ([], 3)
    assert generate(runner, [1, -1], 4) == ([], 3)
    # Behind the prompt's end anything may stand.
    assert generate(runner, [1, 2, 99], 1, length=2) == (greedy([1, 2], 1), 0)


def test_a_stop_token_ends_the_text(tmp_path: Path) -> None:
    text = greedy([5, 7, 2], 8)
    runner = Interpreter(generator(tmp_path, f"temperature = 0\nstop = [{text[3]}]"))
    assert generate(runner, [5, 7, 2], 8) == (text[:4], 0)
    # One in the prompt does not.
    assert generate(runner, [text[3], 7], 3)[0][:2] == [text[3], 7]
    assert len(generate(runner, [text[3], 7], 3)[0]) > 2


def chances(logits: NDArray[np.float64], temperature: float, top_k: int, top_p: float) -> NDArray[np.float64]:
    order = np.argsort(-logits)[:top_k]
    own = np.exp((logits[order] - logits.max()) / temperature)
    own /= own.sum()
    own[np.cumsum(own) - own >= top_p] = 0
    result = np.zeros(len(logits))
    result[order] = own / own.sum()
    return result


@pytest.mark.parametrize(("top_k", "top_p"), [(6, 1.0), (24, 0.6)])
def test_samples_are_as_likely_as_their_logits(top_k: int, top_p: float, tmp_path: Path) -> None:
    count, temperature = 120, 3.0
    runner = Interpreter(generator(tmp_path, f"temperature = {temperature}\ntop_k = {top_k}\ntop_p = {top_p}"))
    drawn = [generate(runner, [5], 1)[0][1] for _ in range(count)]
    wanted = chances(CHECKPOINT.logits([5])[0], temperature, top_k, top_p)
    shares = np.bincount(drawn, minlength=CHECKPOINT.vocabulary) / count
    assert not shares[wanted == 0].any()
    # Five standard deviations of each share.
    assert (np.abs(shares - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / count) + 1e-9).all()
    runner.reset()
    assert [generate(runner, [5], 1)[0][1] for _ in range(20)] == drawn[:20]


def test_a_penalty_keeps_tokens_from_being_repeated(tmp_path: Path) -> None:
    plain = greedy([5, 7, 2], 10)
    assert len(set(plain)) < len(plain)
    runner = Interpreter(generator(tmp_path, "temperature = 0\npenalty = 100"))
    text = [5, 7, 2]
    for _ in range(10):
        logits = CHECKPOINT.logits(text)[-1]
        logits[text] = np.where(logits[text] > 0, logits[text] / 100, logits[text] * 100)
        text.append(int(logits.argmax()))
    assert generate(runner, [5, 7, 2], 10)[0] == text


def test_the_example_tells_a_story() -> None:
    folder = Path(__file__).parents[2] / "examples" / "story"
    prompt = np.zeros(64, np.int32)
    prompt[0] = 1
    runner = Interpreter(read_program(folder / "app.toml", BuildOptions()))
    tokens, total, status = runner.invoke("generate", [prompt, np.array([1], np.int32), np.array([63], np.int32)])
    assert status[0] == 0
    assert tokens[total[0] - 1] == 2, "a story ends"
    pieces = read_tokenizer(folder / "tokenizer.bin").texts
    text = b"".join(pieces[token] for token in tokens[1 : total[0] - 1]).decode().strip()
    lost = re.match(r"(Tom|Lily|Ben|Mia) had a (\w+ \w+)\. One day (?:he|she) lost the (\w+ \w+) in", text)
    assert lost, text
    assert text.endswith(f" found it, and {lost[1]} was happy.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD}", "app.toml:1: stage.story.context: is a whole number from 2 to 65536"),
        (f"{HEAD}context = 16\nstop = [24]", "app.toml:5: stage.story.stop: is a list of tokens from 0 to 23"),
        (f"{HEAD}context = 16\ntop_p = 0", "stage.story.top_p: is a number from 1e-06 to 1"),
        (f"{HEAD}context = 16\ntop_k = 25", "stage.story.top_k: is a whole number from 1 to 24"),
        (f"{HEAD}context = 16\nheat = 1", "stage.story.heat: is not a setting of generate; there are decoder, context"),
        (f'{HEAD}context = 16\n[input.x]\ntype = "int8"', "generate is an application of its own"),
        (HEAD.replace("m.bin", "n.bin") + "context = 16", "app.toml:3: stage.story.decoder: there is no file"),
        (HEAD.replace("m.bin", "net.py:make") + "context = 16", "is Python code, which an application does not run"),
        ('[stage.story]\nbuiltin = "generate"\n', "stage.story.decoder: is the path of a decoder's model"),
        (HEAD.replace("m.bin", "gate.tflite") + "context = 16", "a decoder has two inputs of one integer"),
    ],
)
def test_files_that_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(CHECKPOINT.bytes())
    gate = Path(__file__).parents[2] / "examples" / "gate.tflite"
    (tmp_path / "gate.tflite").write_bytes(gate.read_bytes())
    (tmp_path / "app.toml").write_text(text)
    with pytest.raises(ModelError) as error:
        read_program(tmp_path / "app.toml", BuildOptions())
    assert message in str(error.value)
