"""What is wrong with a plug-in is told with its file, and no traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from flatbuffers import flexbuffers
from support.commands import Finished, tflmgen
from support.model_writer import ModelWriter
from support.repository import ROOT

ERFINV = ROOT / "examples" / "erfinv"

WHOLE = """\
import sys; from tflmgen.plugin import *


class Halve(CustomOperator):
    name = "Halve"
    files = ("halve.h",)

    def attributes(self, options):
        return options["divisor"]

    def infer(self, op):
        return (op.inputs[0].shape,)

    def kernel(self, op, target):
        params = Params("halve", (("elements", op.outputs[0].elements),))
        return Kernel("halve", "halve.h", (Input(0), Output(0)), params)
"""


def write_model(path: Path, operator: str = "CUSTOM:Halve", options: object = None, rows: int = 3) -> Path:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y = (graph.tensor(name, "float32", [3], shape_signature=[rows]) for name in "xy")
    custom = bytes(flexbuffers.Dumps(options)) if options is not None else b""
    graph.operator(operator, [x], [y], custom_options=custom)
    graph.inputs, graph.outputs = [x], [y]
    path.write_bytes(writer.finish())
    return path


def build(
    folder: Path, text: str, *more: object, header: str | None = "", options: object = None, rows: int = 3
) -> Finished:
    (folder / "halve.py").write_text(text, encoding="utf-8")
    if header is not None:
        (folder / "halve.h").write_text(header, encoding="utf-8")
    model = write_model(folder / "m.tflite", options={"divisor": 2} if options is None else options, rows=rows)
    words = ("--no-compile", "--plugin", folder / "halve.py", *more, "-o", folder / "out")
    return tflmgen("build", model, "--board", "host", *words)


def test_a_plugin_without_faults(tmp_path: Path) -> None:
    assert build(tmp_path, WHOLE).code == 0
    assert (tmp_path / "out/lib/tflmgen/include/tflmgen/halve.h").is_file()
    assert (tmp_path / "out/lib/tflmgen/include/tflmgen/common.h").is_file() is False


def test_rows_known_at_run_time_need_a_trait(tmp_path: Path) -> None:
    """Without one nobody knows whether the operator mixes them."""
    assert "it combines elements along that dimension" in build(tmp_path, WHOLE, "--max-dim", 5, rows=-1).err
    declared = WHOLE.replace("    files =", "    traits = ELEMENTWISE\n    files =")
    assert build(tmp_path, declared, "--max-dim", 5, rows=-1).code == 0


FAULTS = [
    (("return options", "return options ="), "line 9: invalid syntax"),
    (("import *", "import nothing"), "line 1: ImportError"),
    (('name = "Halve"', "pass"), "class Halve: it lacks 'name'"),
    (("def kernel", "def colonel"), "class Halve: it lacks kernel()"),
    (("(CustomOperator)", ""), "it defines no operator"),
    (('("halve.h",)', '"halve.h"'), "'files' is not a tuple of file names"),
    (('"halve.h",)', '"other.h",)'), "there is no file"),
    (('"halve.h",)', '"../halve.h",)'), "'files' may name .h and .c files beside it only"),
    (('name = "Halve"', 'name = "Halve"; inputs = 1'), "'inputs' is not (least, greatest number of inputs)"),
    (('name = "Halve"', 'name = "Halve"; outputs = 0'), "'outputs' is not a number of at least 1"),
    (('name = "Halve"', 'name = "Halve"; rules = ("x",)'), "'rules' is not a tuple of Rule"),
    (("op.inputs[0].shape,", "op.inputs[7].shape,"), "line 12: IndexError"),
    (
        ("(op.inputs[0].shape,)", "op.inputs[0].shape"),
        "Halve.infer() must return a tuple of 1 shapes, each a tuple of int or None; it returns (3,)",
    ),
    (('return Kernel("halve"', 'return print("halve"'), "TypeError"),
    (('return Kernel("halve", "halve.h"', 'return Kernel("halve", "odd.h"'), "a header that 'files' names"),
    (("return options", "raise SystemExit(0)  # "), "line 9: SystemExit: 0"),
    (("return (op.inputs", "exit(0); return (op.inputs"), "SystemExit: 0"),
    (("        params =", "        sys.exit(0); params ="), "line 15: SystemExit: 0"),
    (
        ('("elements", op.outputs[0].elements)', '("elements", "three")'),
        "a number, or a tuple of numbers, for elements",
    ),
    (('("elements", op.outputs[0].elements)', '("elements", (1, None))'), "for elements; it returns (1, None)"),
    (('("elements", op.outputs[0].elements)', '("elements", 10**40)'), "for elements; it returns 1000"),
    (('("elements", op.outputs[0].elements)', '("a; b", 1)'), "params whose names are C's; it returns 'a; b'"),
    (('Params("halve", (', 'Params("halve x", ('), "params whose names are C's; it returns 'halve x'"),
    (('Params("halve", (', "Params(3, ("), "params whose names are C's; it returns 3"),
    (("op.outputs[0].elements),))", "op.outputs[0].elements)))"), "each a name and a value"),
    (('params = Params("halve", (("elements", op.outputs[0].elements),))', 'params = "halve"'), "of the type Params"),
    (("(Input(0), Output(0)), params", "(Input(0),), params"), "an operand for each of 1 outputs"),
    (("(Input(0), Output(0)), params", "(Input(1), Output(0)), params"), "operands of 1 inputs and 1 outputs"),
]


@pytest.mark.parametrize(("change", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_faults(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in WHOLE
    done = build(tmp_path, WHOLE.replace(*change))
    assert done.code == 1
    assert done.err.startswith(f"{tmp_path / 'halve.py'}: ")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_missing_plugin(tmp_path: Path) -> None:
    model = write_model(tmp_path / "m.tflite")
    done = tflmgen("inspect", model, "--plugin", tmp_path / "none.py")
    assert (done.code, done.err) == (1, f"{tmp_path / 'none.py'}: there is no such plug-in file\n")


def test_two_plugins_for_one_operator(tmp_path: Path) -> None:
    (tmp_path / "again.py").write_text(WHOLE, encoding="utf-8")
    done = build(tmp_path, WHOLE, "--plugin", tmp_path / "again.py")
    assert done.code == 1
    assert "again.py: custom operator 'Halve' is in" in done.err


def test_a_header_with_the_name_of_a_kernel_of_our_own(tmp_path: Path) -> None:
    (tmp_path / "softmax.h").write_text("", encoding="utf-8")
    done = build(tmp_path, WHOLE.replace('"halve.h"', '"softmax.h"'))
    assert done.code == 1
    assert "softmax.h is the name of a file of tflmgen's own" in done.err


def test_an_option_that_is_missing(tmp_path: Path) -> None:
    done = build(tmp_path, WHOLE, options={"multiplier": 2})
    assert done.code == 1
    assert "subgraph 0 'main', operator 0 (CUSTOM:Halve): the custom options lack 'divisor'" in done.err


def test_initial_contents_of_another_size(tmp_path: Path) -> None:
    state = "\n    def state(self, op):\n        return (State(DType.INT32, (2,), b'abc'),)\n"
    done = build(tmp_path, WHOLE + state)
    assert done.code == 1
    assert "Halve.state() must return 8 bytes of initial contents for int32[2]; it returns '3 bytes'" in done.err


def install(folder: Path, package: str, target: str) -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[tflmgen.operators]\nErfinv = {target}\n", encoding="utf-8")


def test_installed_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("erfinv.py", "erfinv.h"):
        (tmp_path / name).write_bytes((ERFINV / name).read_bytes())
    install(tmp_path, "one", "erfinv:Erfinv")
    words = ("build", ERFINV / "erfinv.tflite", "--board", "host", "--no-compile", "-o", tmp_path / "out")
    done = tflmgen(*words)
    assert done.code == 0, done.err
    assert (tmp_path / "out/lib/tflmgen/include/tflmgen/erfinv.h").read_bytes() == (ERFINV / "erfinv.h").read_bytes()
    assert tflmgen(*words, "--plugin", ERFINV / "erfinv.py").code == 0, "a file given comes first"
    install(tmp_path, "two", "erfinv:Erfinv")
    done = tflmgen(*words)
    assert done.code == 1
    assert "custom operator 'Erfinv' is offered by several packages: one, two" in done.err
    sys.modules.pop("erfinv")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_module:Erfinv", "ModuleNotFoundError"),
        ("pathlib:Path", "it is not a class derived from tflmgen.plugin.CustomOperator"),
    ],
)
def test_installed_plugins_with_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, message: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "one", target)
    done = tflmgen("inspect", ERFINV / "erfinv.tflite", "--quiet")
    assert done.code == 1
    assert done.err.startswith(f"entry point tflmgen.operators: Erfinv = {target} (one): ")
    assert message in done.err


def test_an_interrupt_is_none_of_the_plugins_faults(tmp_path: Path) -> None:
    done = build(tmp_path, WHOLE.replace("        params =", "        raise KeyboardInterrupt; params ="))
    assert (done.code, done.err) == (130, "interrupted\n")
