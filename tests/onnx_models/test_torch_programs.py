"""PyTorch programs equal PyTorch on the host build. They need torch and onnxscript, in an environment of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import tflmgen
from support.tools import requires_compiler, requires_qemu
from tflmgen.compiler import compile_model
from tflmgen.ir.graph import Op, walk
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions
from tflmgen.terminal import count

torch = pytest.importorskip("torch", reason="PyTorch programs need the packages torch and onnxscript")
pytest.importorskip("onnxscript", reason="PyTorch programs need the packages torch and onnxscript")

import onnx  # noqa: E402
from support.torch_networks import NETWORKS, QUANTISED, SMALL, Smoother, StatefulCell, seeded  # noqa: E402


def _equals_pytorch(name: str, path: Path, board: str = "host") -> None:
    try:
        module, x, expected = seeded(name)
    except ImportError as error:
        pytest.skip(f"{name} needs the package {error.name}")
    torch.export.save(torch.export.export(module, (x,)), path / "net.pt2")
    np.savez(path / "v.npz", s0_in_0=x.numpy(), s0_out_0=expected.numpy())
    # Relative to the largest output: sums have other orders.
    tolerance = 1e-4 * float(expected.abs().max())
    words = ("--board", board, "--vectors", path / "v.npz", "--rtol", "1e-4", "--atol", f"{tolerance:.3g}")
    done = tflmgen("test", path / "net.pt2", *words)
    if "over budget" in done.err:
        pytest.skip(f"{name} does not fit on {board}")
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize("name", SMALL)
def test_a_program_equals_pytorch(name: str, tmp_path: Path) -> None:
    _equals_pytorch(name, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(set(NETWORKS) - set(SMALL)))
def test_every_network_equals_pytorch(name: str, tmp_path: Path) -> None:
    _equals_pytorch(name, tmp_path)


@pytest.mark.sweep
@pytest.mark.emulator
@requires_compiler
@requires_qemu
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_every_network_that_fits_runs_on_a_board(name: str, tmp_path: Path) -> None:
    _equals_pytorch(name, tmp_path, "mps2_an386")


class _Samples:
    """Inputs by which ONNX Runtime's quantize_static calibrates."""

    def __init__(self, name: str, samples: list[Any]) -> None:
        self._feeds = iter([{name: sample} for sample in samples])

    def get_next(self) -> dict[str, Any] | None:
        return next(self._feeds, None)


@pytest.mark.sweep
@pytest.mark.parametrize("name", QUANTISED)
def test_networks_that_onnx_runtime_quantised_are_within_a_step(name: str, tmp_path: Path) -> None:
    """int8 QDQ of a PyTorch network: 99 % of the outputs within one step of ONNX Runtime's exact session."""
    quantization = pytest.importorskip("onnxruntime.quantization", reason="ONNX Runtime quantises the networks")
    from support.onnx_quantized import compiled, exact_session, outputs_of, step_differences

    module, x, _ = seeded(name)
    torch.onnx.export(torch.export.export(module, (x,)), dynamo=True, verbose=False).save(tmp_path / "float.onnx")
    feed = onnx.load(tmp_path / "float.onnx").graph.input[0].name
    samples = [torch.randn(x.shape).numpy() for _ in range(12)]
    quantization.quantize_static(
        tmp_path / "float.onnx",
        tmp_path / "quantised.onnx",
        _Samples(feed, samples[:8]),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
    )
    model = onnx.load(tmp_path / "quantised.onnx")
    generated = compiled(model, tmp_path / "m.onnx", "net")
    ours = outputs_of([generated], [[{feed: sample} for sample in samples[8:]]])[0]
    session = exact_session(model)
    theirs = [session.run(None, {feed: sample})[0] for sample in samples[8:]]
    steps = np.concatenate([step_differences(a, b, model).reshape(-1) for a, b in zip(ours, theirs, strict=True)])
    assert (steps <= 1).mean() >= 0.99, f"{(steps > 1).sum()} of {steps.size} differ by up to {steps.max()} steps"
    assert all(b.reshape(-1)[a.argmax()] == b.max() for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("as_file", [True, False])
def test_buffers_that_forward_changes_are_state(as_file: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, x = Smoother().eval(), torch.randn(5, 1, 4)
    source: Any = tmp_path / "net.pt2"
    if as_file:
        torch.export.save(torch.export.export(module, (x[0],)), source)
    else:
        text = "import torch\nfrom support.torch_networks import Smoother\n\n\ndef make():\n"
        text += "    torch.manual_seed(0)\n    return Smoother(), torch.randn(1, 4)\n"
        tmp_path.joinpath("net.py").write_text(text)
        source = f"{tmp_path}/net.py:make"
    vectors: dict[str, Any] = {"stateful": np.array(True)}
    for step, row in enumerate(x):
        vectors |= {f"s{step}_in_0": row.numpy(), f"s{step}_out_0": module(row).detach().numpy()}
    np.savez(tmp_path / "v.npz", **vectors)
    done = tflmgen("test", source, "--board", "host", "--vectors", tmp_path / "v.npz", "--rtol", "1e-4")
    assert done.code == 0, done.out + done.err


def test_names_of_outputs_beside_state_are_free(tmp_path: Path) -> None:
    torch.export.save(torch.export.export(StatefulCell().eval(), (torch.randn(1, 3),)), tmp_path / "net.pt2")
    done = tflmgen("convert", tmp_path / "net.pt2", "-o", tmp_path / "net.tflite")
    assert done.code == 0, done.err
    assert "Compared with PyTorch: 12 input sets equal" in done.out


def test_convert_compares_with_pytorch_over_several_invokes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    torch.export.save(torch.export.export(Smoother().eval(), (torch.randn(1, 4),)), tmp_path / "net.pt2")
    done = tflmgen("convert", tmp_path / "net.pt2", "-o", tmp_path / "net.tflite")
    assert done.code == 0, done.err
    assert "Compared with PyTorch: 12 input sets equal, 2 of 2 branches taken" in done.out


def test_a_program_of_torchao_runs_in_integers(tmp_path: Path) -> None:
    """What prepare_pt2e and convert_pt2e make, with weights per channel, equals PyTorch within a step of the output."""
    flow = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e", reason="PT2E needs the package torchao")
    quantizer = pytest.importorskip(
        "torchao.testing.pt2e._xnnpack_quantizer", reason="this torchao has no XNNPACKQuantizer"
    )
    module, x, _ = seeded("separable")
    prepared = flow.prepare_pt2e(
        torch.export.export(module, (x,)).module(),
        quantizer.XNNPACKQuantizer().set_global(quantizer.get_symmetric_quantization_config(is_per_channel=True)),
    )
    for _ in range(8):
        prepared(torch.randn(x.shape))
    quantised = flow.convert_pt2e(prepared)
    program = torch.export.export(quantised, (x,))
    torch.export.save(program, tmp_path / "net.pt2")
    step = [n.args[1] for n in program.graph.nodes if "quantize_per_tensor" in str(n.target)][-1]
    np.savez(tmp_path / "v.npz", s0_in_0=x.numpy(), s0_out_0=quantised(x).detach().numpy())
    words = ("--board", "host", "--vectors", tmp_path / "v.npz", "--rtol", "0", "--atol", f"{step * 1.01:.6g}")
    done = tflmgen("test", tmp_path / "net.pt2", *words)
    assert done.code == 0, done.out + done.err
    compilation = compile_model(tmp_path / "net.pt2", Target(core="host"), BuildOptions())
    nodes = [node for f in compilation.module.functions for node in walk(f.body) if isinstance(node, Op)]
    assert {n.outputs[0].type.dtype.label for n in nodes if "CONV" in n.operator or "FULLY" in n.operator} == {"int8"}


def test_a_quantised_program_runs_in_integers(tmp_path: Path) -> None:
    """PT2E's operators become int8 kernels."""
    pytest.importorskip("torch.ao.quantization.fx._decomposed", reason="this PyTorch has no operators of PT2E")
    quantize = torch.ops.quantized_decomposed.quantize_per_tensor
    dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weights", torch.randint(-127, 128, (8, 3, 3, 3), dtype=torch.int8))

        def forward(self, x: Any) -> Any:
            limits = (-128, 127, torch.int8)
            x = dequantize(quantize(x, 0.02, 3, *limits), 0.02, 3, *limits)
            weights = dequantize(self.weights, 0.004, 0, -127, 127, torch.int8)
            y = torch.relu(torch.nn.functional.conv2d(x, weights, stride=2, padding=1))
            return dequantize(quantize(y, 0.03, -128, *limits), 0.03, -128, *limits)

    x = torch.randn(1, 3, 16, 16)
    torch.export.save(torch.export.export(Net().eval(), (x,)), tmp_path / "net.pt2")
    compilation = compile_model(tmp_path / "net.pt2", Target(core="host"), BuildOptions())
    nodes = [node for f in compilation.module.functions for node in walk(f.body) if isinstance(node, Op)]
    assert [n.outputs[0].type.dtype.label for n in nodes if n.operator == "CONV_2D"] == ["int8"]


PROGRAM = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        return {result}

def make():
    return Net(), {examples}
"""


def _written(path: Path, result: str, examples: str = "(torch.randn(2, 4),)") -> str:
    path.joinpath("net.py").write_text(PROGRAM.format(result=result, examples=examples))
    return f"{path}/net.py:make"


def test_a_function_gives_the_module(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    np.savez(tmp_path / "v.npz", s0_in_0=x, s0_out_0=np.tanh(x * 2))
    done = tflmgen("test", _written(tmp_path, "torch.tanh(y)"), "--board", "host", "--vectors", tmp_path / "v.npz")
    assert done.code == 0, done.out + done.err


def test_convert_and_quantize_take_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made is named as the function is."""
    source = _written(tmp_path, "torch.tanh(y)")
    monkeypatch.chdir(tmp_path)
    done = tflmgen("convert", source)
    assert done.code == 0, done.err
    assert "Wrote make.tflite" in done.out
    rows = np.random.default_rng(0).normal(size=(4, 2, 4)).astype(np.float32)
    np.savez(tmp_path / "cal.npz", **{f"s{i}_in_0": row for i, row in enumerate(rows)})
    done = tflmgen("quantize", source, "--calibration", "cal.npz")
    assert done.code == 0, done.err
    assert f"{count(tmp_path.joinpath('make.tflite').stat().st_size)} before" in done.out


@pytest.mark.parametrize(
    ("result", "names"),
    [
        ("{'policy': {'mean': y.mean(), 'std': torch.tanh(y)}, 'h': (y, None, x)}", "policy_mean policy_std h_0 h_2"),
        ("(namedtuple('Out', 'logits value')(torch.tanh(y), y + 1), y - 1)", "logits value sub"),
        ("({'a': torch.tanh(y)}, {'a': y + 1}, {'sub': y * 3}, y - 1)", "tanh add mul_1 sub"),
    ],
)
def test_outputs_have_the_keys_and_fields_of_what_forward_returns(result: str, names: str, tmp_path: Path) -> None:
    """Those without a key, and those whose key another output has, too, are called as torch.onnx does."""
    source = _written(tmp_path, result)
    file = tmp_path / "net.py"
    file.write_text(f"from collections import namedtuple\n{file.read_text()}")
    done = tflmgen("convert", source, "-o", tmp_path / "net.tflite")
    assert done.code == 0, done.err
    assert [line.split()[1] for line in done.out.splitlines() if line.startswith("output ")] == names.split()


@pytest.mark.parametrize("include_self", [True, False])
def test_means_of_elements_stored_at_one_place(include_self: bool, tmp_path: Path) -> None:
    """torch.onnx writes a store that keeps the last of them."""
    arguments = f"torch.tensor([[0, 1, 1, 3], [3, 1, 3, 0]]), y, 'mean', include_self={include_self}"
    source = _written(tmp_path, f"torch.full((2, 5), 7.0).scatter_reduce(1, {arguments})")
    x = torch.linspace(-1, 1, 8).reshape(2, 4)
    indices = torch.tensor([[0, 1, 1, 3], [3, 1, 3, 0]])
    expected = torch.full((2, 5), 7.0).scatter_reduce(1, indices, x * 2, "mean", include_self=include_self)
    np.savez(tmp_path / "v.npz", s0_in_0=x.numpy(), s0_out_0=expected.numpy())
    done = tflmgen("test", source, "--board", "host", "--vectors", tmp_path / "v.npz", "--rtol", "1e-6")
    assert done.code == 0, done.out + done.err


ROWS = {
    "masks": "y[y > 0], torch.nonzero(x > 0), x[x[:, 0] > 0] * 2, torch.masked_select(y, x[:, :1] > 0)",
    "unique": "torch.unique(x.round(), return_inverse=True, return_counts=True), torch.unique(x.sign(), dim=0)",
    "stores": "y.index_put((x > 0,), torch.tensor(1.5)), y.index_put((x > 0,), x[x > 0] * 3), "
    "y.index_put((x[:, 0] > 0,), torch.zeros(4))",
    "detections": "(lambda k: (lambda t: (x[k[t.indices]], t.values))(torch.topk(torch.index_select(x[:, 0], 0, k), "
    "min(3, k.shape[0]))))(torch.nonzero(x[:, 0] > 0).squeeze(1))",
    "at most": "(lambda r: (r, torch.nn.functional.pad(r, (0, 0, 0, 3 - r.shape[0]))))(x[x[:, 0] > 0][:3])",
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_the_data_decide_equal_pytorch(name: str, tmp_path: Path) -> None:
    """convert() compares on several inputs."""
    done = tflmgen("convert", _written(tmp_path, ROWS[name], "(torch.randn(6, 4),)"), "-o", tmp_path / "net.tflite")
    assert done.code == 0, done.err
    assert "Compared with PyTorch: 12 input sets equal" in done.out


LACKING = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, num_layers=2, proj_size=3, bidirectional=True)
        self.largest, self.mean = nn.AdaptiveMaxPool2d((3, 3)), nn.AdaptiveAvgPool3d((2, 3, 2))
        self.placed = nn.AdaptiveMaxPool2d((2, 4), return_indices=True)
        self.narrow = nn.Linear(4, 3).half()

    def forward(self, x, image):
        narrow = self.narrow(x[:, 0].half())
        return self.lstm(x), self.largest(image), self.placed(image[:, :, :6]), self.mean(image[None]), narrow


def make():
    return Net(), (torch.randn(3, 2, 4), torch.randn(1, 2, 7, 8))
"""


def test_what_torch_onnx_lacks_equals_pytorch(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(LACKING)
    done = tflmgen("build", f"{tmp_path}/net.py:make", "--board", "host", "--no-compile", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "net.py:make: compared with PyTorch: 12 input sets equal" in done.out
    assert "note: its float16 values are computed in float32" in done.out


@pytest.mark.parametrize("weights", ["torch.randn(4, 3)", "torch.tensor(np.random.randn(4, 3).astype('f'))"])
def test_random_weights_are_the_same_in_each_process(weights: str, tmp_path: Path) -> None:
    """convert() compares in another process, which calls the function anew."""
    program = PROGRAM.format(result="y @ self.w", examples="(torch.randn(2, 4),)")
    program = program.replace("Net(),", f"Net({weights}),").replace(
        "import torch", "import numpy as np\nimport torch", 1
    )
    program = program.replace(
        "    def forward",
        "    def __init__(self, w):\n        super().__init__()\n        self.w = w\n\n    def forward",
    )
    (tmp_path / "net.py").write_text(program)
    before = str(np.random.get_state())
    done = tflmgen("convert", f"{tmp_path}/net.py:make", "-o", tmp_path / "net.tflite")
    assert done.code == 0, done.err
    assert "12 input sets equal" in done.out
    assert str(np.random.get_state()) == before


def test_which_of_equal_elements_is_selected_is_open_in_pytorch(tmp_path: Path) -> None:
    source = _written(tmp_path, "torch.topk(y.round(), 2).indices")
    done = tflmgen("convert", source, "-o", tmp_path / "net.tflite")
    assert done.code == 0, done.err
    assert "left out: the source defines no result" in done.out
    assert "0 input sets equal" not in done.out


def test_an_error_names_the_line_of_the_program(tmp_path: Path) -> None:
    done = tflmgen("test", _written(tmp_path, "torch.bernoulli(y.sigmoid())"), "--board", "host")
    assert done.code == 1
    assert "net.py:7" in done.err


@pytest.mark.parametrize(
    ("result", "examples", "words"),
    [
        ("y.no_such_method()", "(torch.randn(2, 4),)", "net.py"),
        ("y", "()", "net.py"),
        ("y", "1 / 0", "net.py:10: make() raises ZeroDivisionError: division by zero"),
        ("(y, 3)", "(torch.randn(2, 4),)", "cannot export it to ONNX: forward() returns 3, which is no tensor"),
        (
            "torch.cumprod(y, 1)",
            "(torch.randn(2, 4),)",
            "cannot export it to ONNX: No ONNX function found for <OpOverload",
        ),
    ],
)
def test_bad_programs_are_located(result: str, examples: str, words: str, tmp_path: Path) -> None:
    done = tflmgen("test", _written(tmp_path, result, examples), "--board", "host")
    assert done.code == 1
    assert words in done.err
    assert "Traceback" not in done.err


def test_a_missing_function_is_an_error(tmp_path: Path) -> None:
    done = tflmgen("test", _written(tmp_path, "y").replace(":make", ":other"), "--board", "host")
    assert done.code == 1
    assert "has no function 'other'" in done.err


def test_a_branch_on_a_value_is_refused_without_the_trace_of_pytorch(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = tflmgen("test", _written(tmp_path, "y if y.sum() > 0 else -y"), "--board", "host")
    assert done.code == 1
    assert "net.py:7: PyTorch cannot export it to ONNX: " in done.err
    assert done.err.count("\n") == 1, done.err
    assert capfd.readouterr().err == ""
