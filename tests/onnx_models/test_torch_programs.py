"""PyTorch programs equal PyTorch on the host build. They need torch and onnxscript, in an environment of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import tflmgen

torch = pytest.importorskip("torch", reason="PyTorch programs need the packages torch and onnxscript")
pytest.importorskip("onnxscript", reason="PyTorch programs need the packages torch and onnxscript")


def _module(forward: Callable[..., Any], **parts: Any) -> Any:
    class Program(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

        def forward(self, x: Any) -> Any:
            return forward(self, x)

    return Program()


def _loop(self: Any, x: Any) -> Any:
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, torch.tanh(self.a(v)) + v), (torch.tensor(0), x))[1]


def _programs() -> dict[str, tuple[Any, tuple[int, ...]]]:
    nn = torch.nn
    net = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 3, 1, 1, groups=8)),
        *(nn.Hardswish(), nn.MaxPool2d(3, 2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)),
    )
    gru, lstm = nn.GRU(4, 8, batch_first=True, bidirectional=True), nn.LSTM(4, 8, 2, batch_first=True)
    return {
        "separable": (net, (1, 3, 32, 32)),
        "gru": (_module(lambda self, x: self.layer(x)[0][:, -1], layer=gru), (1, 6, 4)),
        "lstm": (_module(lambda self, x: self.layer(x)[0][:, -1], layer=lstm), (1, 6, 4)),
        "transformer": (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0), (1, 5, 16)),
        "cond": (
            _module(
                lambda self, x: torch.cond(x.sum() > 0, lambda v: self.a(v), lambda v: torch.tanh(self.b(v)), (x,)),
                a=nn.Linear(4, 4),
                b=nn.Linear(4, 4),
            ),
            (2, 4),
        ),
        "while_loop": (_module(_loop, a=nn.Linear(4, 4)), (2, 4)),
    }


@pytest.mark.parametrize("name", list(_programs()))
def test_a_program_equals_pytorch(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, shape = _programs()[name]
    x = torch.randn(shape)
    with torch.no_grad():
        torch.export.save(torch.export.export(module.eval(), (x,)), tmp_path / f"{name}.pt2")
        expected = module(x).numpy()
    np.savez(tmp_path / "v.npz", s0_in_0=x.numpy(), s0_out_0=expected)
    words = ("--board", "host", "--vectors", tmp_path / "v.npz", "--rtol", "1e-4")
    done = tflmgen("test", tmp_path / f"{name}.pt2", *words)
    assert done.code == 0, done.out + done.err
