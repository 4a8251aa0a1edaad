"""The loss of a language model on a text: the cross-entropy of each next token, before and after quantisation.

Samples are the tokens of a text in their order. The logits of one sample are of the token that the next one has. Where
an integer input falls from one sample to the next, as a position does, another text begins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tflmgen.errors import TflmgenError, UsageError
from tflmgen.input_sets import Vectors
from tflmgen.options import QuantizeOptions
from tflmgen.quantize.evaluation import Outputs, run_sets
from tflmgen.quantize.observed_build import ObservedBuild

_GOOD_GROWTH = 0.01
"""Growth of the loss up to which a quantised model is good, where the user says no other."""


class LimitError(TflmgenError):
    """No quantised model is within the user's limits; the text says how near the best one is."""


@dataclass(frozen=True, slots=True)
class TokenLoss:
    """Mean cross-entropies in nats per token, of the float model and of the quantised one, over so many tokens."""

    before: float
    after: float
    tokens: int

    @property
    def growth(self) -> float:
        """Part of the loss before that quantisation adds; infinite where there was none."""
        return self.after / self.before - 1 if self.before else math.inf if self.after else 0.0

    def is_good(self, limit: float | None) -> bool:
        """Whether the loss grew by no more than the user allows, or a hundredth."""
        return self.growth <= (_GOOD_GROWTH if limit is None else limit)

    @property
    def perplexities(self) -> tuple[float, float]:
        """Perplexities, of the float model and of the quantised one."""
        return _perplexity(self.before), _perplexity(self.after)


@dataclass(frozen=True, slots=True)
class NextTokens:
    """The samples whose next token a text has, these tokens, and the place of the output that has logits of them."""

    samples: tuple[int, ...]
    targets: tuple[int, ...]
    output: int


def next_tokens(build: ObservedBuild, text: Vectors, token: str) -> NextTokens:
    """Tokens of a text that are to be predicted; `token` is the name of the input that has a sample's token.

    Raises UsageError where the model has no such input or no logits, or where samples do not follow one another.
    """
    signature = text.sets[0].signature
    ports = build.signatures[signature].inputs
    place = next((i for i, port in enumerate(ports) if port.name == token), None)
    if place is None or ports[place].type.elements != 1 or ports[place].type.dtype.is_float:
        listed = ", ".join(port.name for port in ports) or "no inputs"
        raise UsageError(f"--next-token {token}: requires an input of one integer; the model has {listed}")
    counters = [i for i, port in enumerate(ports) if i != place and not port.type.dtype.is_float]
    samples = tuple(
        k
        for k, (own, following) in enumerate(zip(text.sets, text.sets[1:], strict=False))
        if own.signature == following.signature == signature
        and all((following.inputs[i] >= own.inputs[i]).all() for i in counters)
    )
    if not text.stateful or not samples:
        raise UsageError(f"--next-token {token}: requires samples that follow one another (stateful=True in the file)")
    targets = tuple(int(text.sets[k + 1].inputs[place].reshape(-1)[0]) for k in samples)
    output, classes = _logits(build, signature)
    wrong = [target for target in targets if not 0 <= target < classes]
    if wrong:
        raise UsageError(f"--next-token {token}: a sample has token {wrong[0]}, and there are {classes} logits")
    return NextTokens(samples, targets, output)


def token_loss(build: ObservedBuild, quantized: ObservedBuild, text: Vectors, wanted: NextTokens) -> TokenLoss:
    """The loss on a text of the float model, which `build` runs, and of the quantised one."""
    before, after = (_mean_loss(run_sets(own, text).outputs, wanted) for own in (build, quantized))
    return TokenLoss(before, after, len(wanted.samples))


def wanted_tokens(build: ObservedBuild, text: Vectors, settings: QuantizeOptions) -> NextTokens | None:
    """The tokens that the user wants the loss of. Raises UsageError as next_tokens, and for a limit of no loss."""
    if settings.next_token is not None:
        return next_tokens(build, text, settings.next_token)
    if settings.max_loss is not None:
        raise UsageError("--max-loss requires --next-token, which says what the loss is of")
    return None


def check_loss(path: Path, loss: TokenLoss | None, limit: float | None) -> None:
    """Raises LimitError for a loss that grew by more than the user allows."""
    if loss is not None and limit is not None and loss.growth > limit:
        raise LimitError(
            f"{path}: quantisation adds {loss.growth:.1%} to the loss on the samples, and may add {limit:.1%}"
        )


def _logits(build: ObservedBuild, signature: int) -> tuple[int, int]:
    """Place and number of elements of the largest output of real numbers."""
    outputs = build.signatures[signature].outputs
    real = [
        (port.type.elements, -place)
        for place, port in enumerate(outputs)
        if port.type.dtype.is_float or port.type.quantization is not None
    ]
    if not real or max(real)[0] < 2:
        raise UsageError("--next-token: requires an output of logits, a real number for each token")
    elements, place = max(real)
    return -place, elements


def _mean_loss(outputs: Outputs, wanted: NextTokens) -> float:
    losses = []
    for k, target in zip(wanted.samples, wanted.targets, strict=True):
        logits = outputs[k][wanted.output].reshape(-1).astype(np.float64)
        greatest = logits.max()
        losses.append(greatest + math.log(np.exp(logits - greatest).sum()) - logits[target])
    return float(np.mean(losses))


def _perplexity(loss: float) -> float:
    return math.exp(loss) if loss < 700 else math.inf
