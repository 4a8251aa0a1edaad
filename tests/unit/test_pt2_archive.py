"""What a .pt2 file may hold: each way by which PyTorch would run code from one is refused before PyTorch reads it."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import signal
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tflmgen.errors import ModelError
from tflmgen.frontend.onnx.pt2_archive import checked_archive

Json = dict[str, Any]

TENSOR = {"dtype": 7, "sizes": [{"as_int": 2}], "device": {"type": "cpu", "index": None}}
STRUCTURE = json.dumps([1, {"type": "builtins.tuple", "context": "null", "children_spec": []}])


def payload(**changes: Any) -> Json:
    return {"path_name": "weight_0", "is_param": True, "use_pickle": False, "tensor_meta": TENSOR} | changes


def node(target: str, **changes: Any) -> Json:
    stack = {"stack_trace": "File net.py, line 3, in forward"}
    operand = {"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}
    return {"target": target, "inputs": [operand], "outputs": [], "metadata": stack} | changes


def program(*nodes: Json, **changes: Any) -> Json:
    graph = {"nodes": list(nodes), "tensor_values": {"x": TENSOR}, "inputs": [{"as_tensor": {"name": "x"}}]}
    calls = [{"fqn": "", "signature": {"in_spec": STRUCTURE, "out_spec": STRUCTURE, "forward_arg_names": ["x"]}}]
    module = {"graph": graph, "module_call_graph": calls}
    return {"graph_module": module, "torch_version": "2.13.0+cpu", "guards_code": []} | changes


def archive(
    path: Path,
    model: Json | None = None,
    weights: Mapping[str, Json] | None = None,
    members: Mapping[str, bytes] | None = None,
    compression: int = zipfile.ZIP_STORED,
) -> Path:
    contents: dict[str, bytes] = {
        "models/model.json": json.dumps(model or program(node("torch.ops.aten.relu.default"))).encode(),
        "data/weights/model_weights_config.json": json.dumps({"config": weights or {"0.weight": payload()}}).encode(),
        "data/constants/model_constants_config.json": b'{"config": {}}',
        "data/weights/weight_0": bytes(8),
        "data/sample_inputs/model.pt": b"",
        "archive_version": b"0",
        ".data/version": b"3\n",
    } | dict(members or {})
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in contents.items():
            file.writestr(f"net/{name}", data)
    return path


def refusal(path: Path, can_read: bool = True) -> str:
    with pytest.raises(ModelError) as caught:
        checked_archive(path, lambda _: can_read)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_an_ordinary_program_reaches_pytorch_with_its_members_and_no_others(tmp_path: Path) -> None:
    path = archive(tmp_path / "net.pt2", members={"extra/notes.txt": b"from Monday", "models/other.json": b"{"})
    with zipfile.ZipFile(checked_archive(path, lambda _: True)) as copy:
        names = {name.partition("/")[2] for name in copy.namelist()}
        assert copy.read("model/data/weights/weight_0") == bytes(8)
    assert "models/model.json" in names
    assert not names & {"extra/notes.txt", "models/other.json"}


@pytest.mark.parametrize(
    ("target", "is_taken"),
    [
        ("torch.ops.aten.add.Tensor", True),
        ("torch.ops.higher_order.cond", True),
        ("_operator.floordiv", True),
        ("torch.sym_max", True),
        ("torch.os.system", False),
        ("torch.load", False),
        ("torch.hub.load", False),
        ("torch.ops.aten.from_file.default", False),
        ("torch.ops.load_library", False),
        ("torch.ops.higher_order.call_torchbind", False),
        ("_operator.methodcaller", False),
        ("#extension:op", False),
        ("math.perm", False),
    ],
)
def test_targets_are_operators_on_tensors_and_sizes(tmp_path: Path, target: str, is_taken: bool) -> None:
    path = archive(tmp_path / "net.pt2", program(node(target)))
    if is_taken:
        checked_archive(path, lambda _: True)
    else:
        assert target in refusal(path)


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("Add(Symbol('u0', integer=True), Integer(2))", True),
        ("Mul(Integer(2), Symbol('s77', positive=True, integer=True))", True),
        ("Pow(Symbol('s0', integer=True), Integer(2))", True),
        ("s0 + 2*s1", True),
        ("Mod(s0, 2)", True),
        ("__import__('os').system('touch x')", False),
        ("Integer(2).__class__", False),
        ("(lambda: 1)()", False),
        ("Symbol('x').func.__globals__", False),
        ("[c for c in ()]", False),
        ("exec('1')", False),
        ('Symbol("x\');import os")', False),
        ("Pow(Integer(9), Integer(999999999))", False),
        ("Pow(Integer(9), Pow(Integer(9), Integer(99)))", False),
        ("9**9**9", False),
        ("LShift(Integer(1), Integer(999999999))", False),
    ],
)
def test_sizes_are_arithmetic(tmp_path: Path, text: str, is_taken: bool) -> None:
    meta = TENSOR | {"sizes": [{"as_expr": {"expr_str": text, "hint": None}}]}
    model = program()
    model["graph_module"]["graph"]["tensor_values"] = {"y": meta}
    path = archive(tmp_path / "net.pt2", model)
    if is_taken:
        checked_archive(path, lambda _: True)
    else:
        refusal(path)


def changed_graph(key: str, value: Any) -> Json:
    model = program()
    model["graph_module"]["graph"][key] = value
    return model


def with_structure(context: Any, kind: str = "builtins.dict") -> Json:
    model = program()
    spec = json.dumps([1, {"type": kind, "context": json.dumps(context), "children_spec": []}])
    model["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = spec
    return model


INJECTED = "x):\n import os\ndef f(y"


@pytest.mark.parametrize(
    "model",
    [
        changed_graph("inputs", [{"as_tensor": {"name": INJECTED}}]),
        changed_graph("tensor_values", {INJECTED: TENSOR}),
        changed_graph("tensor_values", {"metadata": TENSOR | {"sizes": [{"as_expr": {"expr_str": "exit()"}}]}}),
        program(node("torch.ops.aten.relu.default", name=INJECTED)),
        program(guards_code=["__import__('os').system('touch x')"]),
        with_structure({"__enum__": True, "fqn": "antigravity:X", "name": "y"}),
        with_structure([{"__enum__": True, "fqn": "antigravity:X", "name": "y"}]),
        with_structure({"default_factory_module": "antigravity"}, "collections.defaultdict"),
    ],
)
def test_names_and_structures_that_python_would_run_are_refused(tmp_path: Path, model: Json) -> None:
    refusal(archive(tmp_path / "net.pt2", model))


@pytest.mark.parametrize(
    "entry",
    [
        payload(use_pickle=True),
        payload(use_pickle=None),
        payload(use_pickle=0),
        payload(path_name="custom_obj_0"),
        payload(path_name="opaque_obj_0"),
        payload(path_name="../weight_0"),
        payload(tensor_meta=TENSOR | {"sizes": [{"as_int": 2**34}]}),
    ],
)
def test_weights_are_plain_bytes(tmp_path: Path, entry: Json) -> None:
    members = {f"data/weights/{entry['path_name']}": bytes(8)}
    assert "0.weight" in refusal(archive(tmp_path / "net.pt2", weights={"0.weight": entry}, members=members))


def test_a_tensor_subclass_is_told_how_to_export(tmp_path: Path) -> None:
    path = archive(tmp_path / "net.pt2", weights={"0.weight": payload(use_pickle=True)})
    assert "unwrap_tensor_subclass" in refusal(path)


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ("data/weights/model.pt", "pickle"),
        ("data/constants/model.pt", "pickle"),
        ("data/aotinductor/model/a.so", "compiled code"),
    ],
)
def test_members_that_are_code_are_refused(tmp_path: Path, member: str, reason: str) -> None:
    assert reason in refusal(archive(tmp_path / "net.pt2", members={member: pickle.dumps([1])}))


def test_sample_inputs_are_tensors_or_the_file_is_refused(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as file:
        file.writestr("a/data.pkl", pickle.dumps(print))
    path = archive(tmp_path / "net.pt2", members={"data/sample_inputs/model.pt": inner.getvalue()})
    assert "sample inputs" in refusal(path, can_read=False)
    plain = archive(tmp_path / "plain.pt2", members={"data/sample_inputs/model.pt": pickle.dumps(print)})
    assert "sample inputs" in refusal(plain)


def test_old_files_and_damage_have_a_sentence(tmp_path: Path) -> None:
    old = tmp_path / "old.pt2"
    with zipfile.ZipFile(old, "w") as file:
        file.writestr("version", "7.3")
        file.writestr("serialized_exported_program.json", "{}")
    assert "2.7 or older" in refusal(old)
    assert "compressed" in refusal(archive(tmp_path / "net.pt2", compression=zipfile.ZIP_DEFLATED))
    deep = archive(tmp_path / "deep.pt2", members={"models/model.json": b"[" * 100_000})
    assert "no program of torch.export" in refusal(deep)
    (tmp_path / "text.pt2").write_text("hello")
    assert "no program of torch.export" in refusal(tmp_path / "text.pt2")
    assert "cannot be read" in refusal(tmp_path / "absent.pt2")


def test_sample_inputs_are_of_tensors_alone(tmp_path: Path) -> None:
    """The unpickler that PyTorch restricts takes bytearray, which makes as many bytes as it is told."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as file:
        file.writestr("a/data.pkl", b"\x80\x02c__builtin__\nbytearray\nJ\x00\xa3\xe1\x11\x85R.")
    path = archive(tmp_path / "net.pt2", members={"data/sample_inputs/model.pt": inner.getvalue()})
    assert "sample inputs" in refusal(path)


def test_expanded_tensors_are_bounded_in_sum(tmp_path: Path) -> None:
    meta = TENSOR | {"sizes": [{"as_int": 2_000_000}]}
    weights = {f"w{k}": payload(path_name=f"weight_{k}", tensor_meta=meta) for k in range(8)}
    members = {f"data/weights/weight_{k}": bytes(8) for k in range(8)}
    assert "declares 2,000,000 elements" in refusal(archive(tmp_path / "net.pt2", weights=weights, members=members))


def test_an_export_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch, which is not needed here, catches what it can, and tries another way."""
    torch_export = pytest.importorskip("tflmgen.frontend.onnx.torch_export")

    def export(path: Path, function: str) -> Any:
        del path, function
        while True:
            with contextlib.suppress(Exception):
                while True:
                    pass

    monkeypatch.setattr(torch_export, "_exported", export)
    monkeypatch.setattr(torch_export, "EXPORT_SECONDS", 0.2)
    with pytest.raises(ModelError, match=r"m\.pt2: PyTorch takes more than 0\.2 s to export it to ONNX"):
        torch_export.onnx_of_torch(Path("m.pt2"), "")
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
