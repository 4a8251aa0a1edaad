"""PyTorch modules of many kinds with parameters, each with the inputs of an example."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

torch: Any = importlib.import_module("torch")
nn, functional = torch.nn, torch.nn.functional

Example = tuple[Any, Sequence[Any]]


def _program(forward: Callable[..., Any], **parts: Any) -> Any:
    """A module of a function; its parts are modules, parameters and buffers."""

    class Program(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            for name, part in parts.items():
                is_buffer = isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter)
                (self.register_buffer if is_buffer else self.__setattr__)(name, part)

        def forward(self, *inputs: Any) -> Any:
            return forward(self, *inputs)

    return Program()


def _parameter(*shape: int) -> Any:
    return nn.Parameter(0.5 * torch.randn(shape))


def _chain(shape: tuple[int, ...], *layers: Any) -> Example:
    return nn.Sequential(*layers), (torch.randn(shape),)


def _images(*layers: Any, size: int = 6, channels: int = 2) -> Example:
    """Layers between a convolution and a head on an image of one size."""
    first = (nn.Conv2d(channels, 4, 3), *layers, nn.Flatten())
    return _chain((1, channels, size, size), *first, nn.Linear(4 * (size - 2) ** 2, 3))


def _last_step(layer: Any, width: int) -> Example:
    head = nn.Linear(width, 2)
    return _program(lambda self, x: self.head(self.layer(x)[0][:, -1]), layer=layer, head=head), (torch.randn(1, 5, 3),)


def _separable() -> Example:
    layers = (nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.ReLU6(), nn.Conv2d(4, 6, 1), nn.AdaptiveAvgPool2d(1))
    return _chain((1, 1, 6, 6), nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), *layers, nn.Flatten(), nn.Linear(6, 3))


def _upsampled() -> Example:
    layers = nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(3, 2, 3, padding=1), nn.AdaptiveAvgPool2d(2)
    return _chain((1, 1, 4, 4), nn.Conv2d(1, 3, 3, padding=1), *layers, nn.Flatten(), nn.Linear(8, 2))


def _attention() -> Example:
    """An encoder with a parameter that is a token, and one that is added."""
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)

    def forward(self: Any, x: Any) -> Any:
        return self.head(self.encoder(torch.cat([self.token, x + self.places], 1))[:, 0])

    parts = {"encoder": encoder, "token": _parameter(1, 1, 8), "places": _parameter(1, 4, 8), "head": nn.Linear(8, 3)}
    return _program(forward, **parts), (torch.randn(1, 4, 8),)


def _tied_embedding() -> Example:
    def forward(self: Any, rows: Any) -> Any:
        return self.table(rows).mean(1) @ self.table.weight.t() + self.bias

    return _program(forward, table=nn.Embedding(7, 4), bias=_parameter(7)), (torch.tensor([[1, 2, 5]]),)


def _tied_matrix() -> Example:
    """One matrix three times, once transposed."""

    def forward(self: Any, x: Any) -> Any:
        again = torch.tanh(functional.linear(torch.tanh(self.layer(x)), self.layer.weight))
        return functional.linear(again, self.layer.weight.t())

    return _program(forward, layer=nn.Linear(5, 5)), (torch.randn(1, 5),)


def _autoencoder() -> Example:
    """One filter for a convolution and for its transpose."""

    def forward(self: Any, x: Any) -> Any:
        code = torch.relu(self.layer(x))
        return functional.conv_transpose2d(code, self.layer.weight, padding=1).flatten(1)

    return _program(forward, layer=nn.Conv2d(2, 3, 3, padding=1)), (torch.randn(1, 2, 4, 4),)


def _branches() -> Example:
    def forward(self: Any, x: Any) -> Any:
        def inner(x: Any) -> Any:
            return torch.cond(x[0, 0] > 0, lambda x: torch.tanh(self.a(x)), lambda x: self.a(self.b(x)), (x,))

        return self.head(torch.cond(x.sum() > 0, inner, lambda x: torch.relu(self.b(x)), (x,)))

    return _program(forward, a=nn.Linear(4, 4), b=nn.Linear(4, 4), head=nn.Linear(4, 3)), (torch.randn(1, 4),)


def _loop(is_unrolled: bool = False) -> Example:
    """A loop whose condition its body computes; PyTorch's own gradient of it is another than that of its steps."""

    def forward(self: Any, x: Any) -> Any:
        def body(k: Any, h: Any) -> Any:
            return k + 1, torch.tanh(self.a(h))

        if is_unrolled:
            for _ in range(3):
                _, x = body(0, x)
            return self.head(x)
        loop = importlib.import_module("torch._higher_order_ops.while_loop").while_loop
        return self.head(loop(lambda k, _: k < 3, body, (torch.tensor(0), x))[1])

    return _program(forward, a=nn.Linear(4, 4), head=nn.Linear(4, 2)), (torch.randn(1, 4),)


def _normed_weights() -> Example:
    weight_norm = importlib.import_module("torch.nn.utils.parametrizations").weight_norm
    return _chain((1, 4), weight_norm(nn.Linear(4, 5)), nn.Tanh(), nn.Linear(5, 2))


def _first_states() -> Example:
    """A cell in Python's loop, whose first states are parameters."""

    def forward(self: Any, x: Any) -> Any:
        h, c = self.h, self.c
        for step in range(4):
            h, c = self.cell(x[:, step], (h, c))
        return self.head(h)

    parts = {"cell": nn.LSTMCell(3, 4), "h": _parameter(1, 4), "c": _parameter(1, 4), "head": nn.Linear(4, 2)}
    return _program(forward, **parts), (torch.randn(1, 4, 3),)


def _scalars_and_buffers() -> Example:
    """A factor of no dimension and an offset of one element train; the buffers do not."""

    def forward(self: Any, x: Any) -> Any:
        return self.layer(x * self.mask + self.mean) * self.factor + self.offset * x.sum()

    parts = {"layer": nn.Linear(4, 3), "factor": _parameter(), "offset": _parameter(1)}
    return _program(forward, **parts, mask=torch.randn(4), mean=torch.randn(1, 4)), (torch.randn(1, 4),)


def _signal() -> Example:
    layers = nn.LeakyReLU(), nn.Conv1d(6, 4, 3, groups=2), nn.AvgPool1d(2), nn.Flatten(), nn.Linear(12, 2)
    return _chain((1, 3, 9), nn.Conv1d(3, 6, 3, padding=2, dilation=2), *layers)


def _gated() -> Example:
    def forward(self: Any, x: Any) -> Any:
        return self.head((torch.tanh(self.a(x)) * torch.sigmoid(self.b(x))).mean(-1))

    parts = {"a": nn.Conv1d(2, 4, 3, padding=1), "b": nn.Conv1d(2, 4, 3, padding=1), "head": nn.Linear(4, 2)}
    return _program(forward, **parts), (torch.randn(1, 2, 8),)


def _bilinear() -> Example:
    def forward(self: Any, x: Any, y: Any) -> Any:
        return self.head(torch.relu(self.layer(x, y)))

    return _program(forward, layer=nn.Bilinear(3, 4, 5), head=nn.Linear(5, 2)), (torch.randn(1, 3), torch.randn(1, 4))


TRAINABLE: dict[str, Callable[[], Example]] = {
    "tied_matrix": _tied_matrix,
    "dense": lambda: _chain((1, 6), nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4)),
    "lstm": lambda: _last_step(nn.LSTM(3, 4, batch_first=True), 4),
    "gru_both_ways": lambda: _last_step(nn.GRU(3, 4, batch_first=True, bidirectional=True), 8),
    "rnn_of_two_layers": lambda: _last_step(nn.RNN(3, 4, num_layers=2, batch_first=True), 4),
    "scalars_and_buffers": _scalars_and_buffers,
    "group_norm": lambda: _images(nn.GroupNorm(2, 4), nn.GELU()),
    "instance_norm": lambda: _images(nn.InstanceNorm2d(4, affine=True), nn.SiLU()),
    "layer_norm": lambda: _chain((2, 6), nn.Linear(6, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 3)),
    "prelu": lambda: _images(nn.PReLU(4), nn.PReLU()),
    "upsampled": _upsampled,
    "separable": _separable,
    "attention": _attention,
    "tied_embedding": _tied_embedding,
    "autoencoder": _autoencoder,
    "loop": _loop,
    "branches": _branches,
    "normed_weights": _normed_weights,
    "first_states": _first_states,
    "signal": _signal,
    "gated": _gated,
    "bilinear": _bilinear,
    "transposed": lambda: _chain((1, 2, 4, 4), nn.ConvTranspose2d(2, 3, 3, 2), nn.ELU(), nn.Conv2d(3, 2, 3)),
    "batch_of_4": lambda: _chain((4, 1, 6, 6), nn.Conv2d(1, 4, 3), nn.GroupNorm(1, 4), nn.Flatten(), nn.Linear(64, 3)),
}


def reference(name: str, module: Any) -> Any:
    """The module by which PyTorch derives gradients, with the parameters of another."""
    if name != "loop":
        return module
    steps, _ = _loop(is_unrolled=True)
    steps.load_state_dict(module.state_dict())
    return steps
