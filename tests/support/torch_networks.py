"""PyTorch networks with random weights: architectures of torchvision and timm, recurrent layers, control flow."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

torch: Any = importlib.import_module("torch")
nn = torch.nn

Network = tuple[Any, tuple[int, ...]]
"""A module and the shape of its input."""

IMAGE = (1, 3, 32, 32)


def _module(forward: Callable[..., Any], **parts: Any) -> Any:
    class Program(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

        def forward(self, x: Any) -> Any:
            return forward(self, x)

    return Program()


def _last(layer: Any) -> Any:
    return _module(lambda self, x: self.layer(x)[0][:, -1], layer=layer)


def _separable() -> Any:
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 3, 1, 1, groups=8)),
        *(nn.Hardswish(), nn.MaxPool2d(3, 2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)),
    )


def _temporal() -> Any:
    """Dilated causal convolutions with a residual."""
    pad = nn.ConstantPad1d((4, 0), 0.0)
    return _module(
        lambda self, x: self.head((x + torch.relu(self.b(self.pad(torch.relu(self.a(self.pad(x))))))).mean(-1)),
        pad=pad,
        a=nn.Conv1d(8, 8, 3, dilation=2),
        b=nn.Conv1d(8, 8, 3, dilation=2),
        head=nn.Linear(8, 4),
    )


def _unet() -> Any:
    return _module(
        lambda self, x: self.out(torch.cat([self.up(torch.relu(self.low(self.down(x)))), self.down(x)], 1)),
        down=nn.Conv2d(3, 8, 3, 2, 1),
        low=nn.Conv2d(8, 8, 3, 2, 1),
        up=nn.ConvTranspose2d(8, 8, 2, 2),
        out=nn.Conv2d(16, 4, 1),
    )


def _mixer() -> Any:
    return _module(
        lambda self, x: self.head((x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)).mean(1)),
        norm=nn.LayerNorm(16),
        tokens=nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6)),
        head=nn.Linear(16, 4),
    )


def _attention() -> Any:
    return _module(lambda self, x: self.layer(x, x, x)[0], layer=nn.MultiheadAttention(16, 2, batch_first=True))


def _branch() -> Any:
    return _module(
        lambda self, x: torch.cond(x.sum() > 0, lambda v: self.a(v), lambda v: torch.tanh(self.b(v)), (x,)),
        a=nn.Linear(4, 4),
        b=nn.Linear(4, 4),
    )


def _loop() -> Any:
    def forward(self: Any, x: Any) -> Any:
        loop = importlib.import_module("torch._higher_order_ops.while_loop").while_loop
        return loop(lambda i, _: i < 5, lambda i, v: (i + 1, torch.tanh(self.a(v)) + v), (torch.tensor(0), x))[1]

    return _module(forward, a=nn.Linear(4, 4))


def _branch_in_loop() -> Any:
    def forward(self: Any, x: Any) -> Any:
        loop = importlib.import_module("torch._higher_order_ops.while_loop").while_loop

        def step(i: Any, v: Any) -> Any:
            return i + 1, torch.cond(v.mean() > 0, lambda a: self.a(a), lambda a: torch.relu(self.b(a)) + 0.1, (v,))

        return loop(lambda i, _: i < 4, step, (torch.tensor(0), x))[1]

    return _module(forward, a=nn.Linear(4, 4), b=nn.Linear(4, 4))


def _early_exit() -> Any:
    """A branch that gives back what was computed before it."""

    def forward(self: Any, x: Any) -> Any:
        features = torch.relu(self.stem(x))
        early = self.early(features.mean((2, 3)))
        is_sure = torch.softmax(early, -1).max() > 0.45
        late = lambda f, _: self.late(torch.relu(self.more(f)).mean((2, 3)))  # noqa: E731
        return torch.cond(is_sure, lambda _, e: e.clone(), late, (features, early))

    return _module(
        forward,
        stem=nn.Conv2d(3, 4, 3, 2, 1),
        early=nn.Linear(4, 3),
        more=nn.Conv2d(4, 8, 3, 2, 1),
        late=nn.Linear(8, 3),
    )


def _halving() -> Any:
    """A loop that a condition on the data ends."""

    def forward(self: Any, x: Any) -> Any:
        del self
        loop = importlib.import_module("torch._higher_order_ops.while_loop").while_loop
        return loop(lambda v, _: v.abs().sum() > 1, lambda v, n: (v * 0.5, n + 1), (x, torch.zeros(())))[0]

    return _module(forward)


def _scan() -> Any:
    """A recurrence whose rows are kept."""

    def forward(self: Any, x: Any) -> Any:
        scan = importlib.import_module("torch._higher_order_ops.scan").scan

        def step(carry: Any, row: Any) -> Any:
            after = torch.tanh(self.a(carry) + row)
            return after, after * 2

        return scan(step, torch.zeros(2, 4), x, dim=0)[1]

    return _module(forward, a=nn.Linear(4, 4))


class Smoother(nn.Module):  # type: ignore[misc, name-defined]
    """Keeps a mean and a count in buffers, one of which is not saved, and changes them in a branch's reach."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 3)
        self.register_buffer("mean", torch.ones(1, 3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int32), persistent=False)

    def forward(self, x: Any) -> Any:
        self.mean.mul_(0.75).add_(torch.tanh(self.a(x)))
        self.count += 1
        return torch.cond(self.count > 2, lambda m: m * 2, lambda m: m - 1, (self.mean,))


class StatefulCell(nn.Module):  # type: ignore[misc, name-defined]
    """Its output is a product, whose name is also that of products inside of the decomposed cell."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 4)
        self.register_buffer("state", torch.zeros(1, 4))

    def forward(self, x: Any) -> Any:
        self.state.copy_(self.cell(x, self.state))
        return self.state * 2


def _package(name: str) -> Any:
    """A package that uses torchvision, whose compiled operators a build for CPUs may lack; networks need none."""
    sys.modules.setdefault("torchvision._meta_registrations", ModuleType("torchvision._meta_registrations"))
    return importlib.import_module(name)


def _torchvision(name: str, size: int, **options: Any) -> Callable[[], Network]:
    def make() -> Network:
        return getattr(_package("torchvision.models"), name)(num_classes=10, **options), (1, 3, size, size)

    return make


def _small_resnet() -> Network:
    resnet = _package("torchvision.models.resnet")
    net = resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1], num_classes=10)
    return net, (1, 3, 64, 64)


def _timm(name: str, size: int) -> Callable[[], Network]:
    def make() -> Network:
        return _package("timm").create_model(name, num_classes=10), (1, 3, size, size)

    return make


def _plain(make: Callable[[], Any], *shape: int) -> Callable[[], Network]:
    return lambda: (make(), shape)


def _convolutions(*layers: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: nn.Sequential(*(layer() for layer in layers))


NETWORKS: dict[str, Callable[[], Network]] = {
    "separable": _plain(_separable, *IMAGE),
    "GRU": _plain(lambda: _last(nn.GRU(4, 8, batch_first=True, bidirectional=True)), 1, 6, 4),
    "LSTM": _plain(lambda: _last(nn.LSTM(4, 8, 2, batch_first=True)), 1, 6, 4),
    "transformer": _plain(lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0), 1, 5, 16),
    "cond": _plain(_branch, 2, 4),
    "while_loop": _plain(_loop, 2, 4),
    "branch in a loop": _plain(_branch_in_loop, 2, 4),
    "early exit": _plain(_early_exit, *IMAGE),
    "halving loop": _plain(_halving, 2, 4),
    "scan": _plain(_scan, 5, 2, 4),
    "TCN": _plain(_temporal, 1, 8, 20),
    "RNN": _plain(lambda: _last(nn.RNN(4, 8, batch_first=True)), 1, 6, 4),
    "bidirectional LSTM": _plain(lambda: _last(nn.LSTM(4, 6, batch_first=True, bidirectional=True)), 1, 6, 4),
    "attention": _plain(_attention, 1, 5, 16),
    "mixer": _plain(_mixer, 1, 6, 16),
    "U-Net": _plain(_unet, *IMAGE),
    "GroupNorm": _plain(
        _convolutions(lambda: nn.Conv2d(3, 8, 3, 2, 1), lambda: nn.GroupNorm(2, 8), nn.SiLU, lambda: nn.AvgPool2d(2)),
        *IMAGE,
    ),
    "pixel shuffle": _plain(_convolutions(lambda: nn.Conv2d(3, 16, 3, 1, 1), lambda: nn.PixelShuffle(2)), *IMAGE),
    "keyword": _plain(
        _convolutions(
            lambda: nn.Conv1d(10, 16, 5, 2, 2),
            lambda: nn.BatchNorm1d(16),
            nn.ReLU,
            lambda: nn.MaxPool1d(2),
            nn.Flatten,
            lambda: nn.Linear(16 * 12, 4),
        ),
        *(1, 10, 49),
    ),
    "perceptron": _plain(
        _convolutions(
            lambda: nn.Linear(8, 16), lambda: nn.PReLU(16), nn.Softplus, lambda: nn.Linear(16, 3), nn.Softmax
        ),
        *(1, 8),
    ),
    "gated": _plain(_convolutions(lambda: nn.Linear(8, 32), nn.GLU, lambda: nn.LayerNorm(16), nn.ELU), *(2, 8)),
    "volume": _plain(_convolutions(lambda: nn.Conv3d(1, 4, 3, 1, 1), nn.Tanh, lambda: nn.AvgPool3d(2)), 1, 1, 4, 8, 8),
    "MobileNetV2": _torchvision("mobilenet_v2", 96, width_mult=0.35),
    "MobileNetV3": _torchvision("mobilenet_v3_small", 96),
    "ShuffleNet": _torchvision("shufflenet_v2_x0_5", 64),
    "SqueezeNet": _torchvision("squeezenet1_1", 64),
    "MNASNet": _torchvision("mnasnet0_5", 64),
    "ResNet": _small_resnet,
    "timm ResNet": _timm("test_resnet", 64),
    "timm EfficientNet": _timm("test_efficientnet", 64),
    "timm ViT": _timm("test_vit", 160),
    "timm ConvNeXt": _timm("test_convnext", 64),
    "timm ByobNet": _timm("test_byobnet", 64),
}
"""Name -> module and input shape."""

SMALL = (
    *("separable", "GRU", "transformer", "cond", "while_loop", "branch in a loop", "early exit", "scan", "U-Net"),
    "keyword",
)
"""Those that tests try by default."""


QUANTISED = (
    *("separable", "U-Net", "keyword", "perceptron", "TCN", "pixel shuffle"),
    *("GroupNorm", "mixer", "ShuffleNet", "SqueezeNet"),
)
"""Those that ONNX Runtime quantises in a sweep. Not the deep ones with sums of branches: with random weights they
enlarge a difference of one step from layer to layer: 80 % of ResNet's outputs are within a step, 97 % of
MobileNetV2's."""


def seeded(name: str) -> tuple[Any, Any, Any]:
    """A network with random weights, an input, and its output. Raises ImportError where its package is missing."""
    torch.manual_seed(0)
    module, shape = NETWORKS[name]()
    module.eval()
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_var.uniform_(0.5, 1.5)
            part.running_mean.uniform_(-0.2, 0.2)
    x = torch.randn(shape)
    with torch.no_grad():
        return module, x, module(x)
