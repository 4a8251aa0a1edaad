"""Puts twelve faults of twelve kinds into copies of the repository, and says which ones the tests catch.

    PYTHONPATH=tests python -m fault_injection [--root FOLDER] [KIND ...]

A fault is caught when a test of the rooms that it touches fails. The exit code is the number of faults that none
catches. `--root` is another checkout than this one, with an environment `.venv` of its own or this one's.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from support.repository import ROOT


@dataclass(frozen=True)
class Fault:
    """A text of one file below `folder`, what it becomes there, and the tests of the rooms that it touches."""

    kind: str
    folder: str
    text: str
    faulty: str
    tests: tuple[str, ...]

    def place(self, root: Path) -> Path:
        """The one file with the text, wherever it has moved to. Raises LookupError if none or several have it."""
        paths = sorted(path for path in (root / self.folder).rglob("*.[ph]*") if path.suffix in (".py", ".h"))
        places = [path for path in paths if self.text in path.read_text(encoding="utf-8")]
        if len(places) != 1:
            raise LookupError(f"{self.kind}: {len(places)} files below {self.folder} have {self.text!r}, not one")
        return places[0]


CODE = "codegen/tflmgen"
FAULTS = (
    Fault(
        "liveness: an operand is free while its last reader runs",
        f"{CODE}/memory",
        "self._mark(step, after | writes | reads)",
        "self._mark(step, after | writes)",
        ("tests/unit/test_liveness.py", "tests/unit/test_overlap.py", "tests/property/test_control_flow.py"),
    ),
    Fault(
        "overlap: a distance is a word too short",
        f"{CODE}/memory",
        "distance = claim.distance + (",
        "distance = max(0, claim.distance - 4) + (",
        ("tests/unit/test_overlap.py", "tests/property/test_overlap_plans.py", "tests/host/test_overlap_is_tight.py"),
    ),
    Fault(
        "requantisation: the output's zero point is the input's",
        f"{CODE}/kernels/numeric",
        "tuple(scales), zero_point(output), low, high)",
        "tuple(scales), zero_point(input_type(op, 0)), low, high)",
        (
            "tests/unit/test_quantize_math.py",
            "tests/unit/test_padding_rows.py",
            "tests/property/test_packed_constants.py",
            "tests/emulator/test_dsp_kernels.py",
        ),
    ),
    Fault(
        "DSP kernel: left padding is that above",
        "firmware/kernels",
        "    const int32_t x = next->out_x * p->stride_width - p->padding_left;\n",
        "    const int32_t x = next->out_x * p->stride_width - p->padding_top;\n",
        ("tests/emulator/test_dsp_kernels.py", "tests/emulator/test_odd_shapes.py"),
    ),
    Fault(
        "While: a counter ends a trip early",
        f"{CODE}/passes",
        "counting[variable].after(trips)",
        "counting[variable].after(trips - 1)",
        ("tests/unit/passes", "tests/property/test_validated_passes.py", "tests/property/test_control_flow.py"),
    ),
    Fault(
        "If: the branches are exchanged",
        f"{CODE}/backend",
        "self._access(item.node.condition), then, orelse)",
        "self._access(item.node.condition), orelse, then)",
        ("tests/unit/test_emit.py", "tests/golden", "tests/property/test_control_flow.py"),
    ),
    Fault(
        "ONNX: another default of an attribute",
        f"{CODE}/frontend/onnx",
        'node.attribute("alpha", 0.01)',
        'node.attribute("alpha", 0.02)',
        ("tests/onnx_models/test_onnx_random_nodes.py", "tests/onnx_models/test_onnx_convert.py"),
    ),
    Fault(
        "quantiser: scales of weights are those of 128 steps",
        f"{CODE}/quantize",
        "stored_scale(float(value) / 127)",
        "stored_scale(float(value) / 128)",
        ("tests/unit/test_quantize_command.py", "tests/unit/test_trained_weights.py", "tests/host/test_accuracy.py"),
    ),
    Fault(
        "C text: a name can end a comment",
        f"{CODE}/backend",
        '.replace("*/", "* /")',
        "",
        ("tests/unit/test_c_text.py", "tests/host/test_hostile_names.py"),
    ),
    Fault(
        "board.json: the size of the stack is ignored",
        f"{CODE}/hardware",
        'data.get("stack", DEFAULT_STACK)',
        "DEFAULT_STACK",
        ("tests/unit/test_board.py", "tests/unit/test_board_new.py", "tests/unit/test_project.py"),
    ),
    Fault(
        "plan.json: a key has another name",
        f"{CODE}/backend",
        '"packing_bound": packing_bound,',
        '"packed_bound": packing_bound,',
        ("tests/unit/test_json_schemas.py", "tests/unit/test_plan.py", "tests/unit/test_report.py"),
    ),
    Fault(
        "verdict: the relative tolerance is absolute",
        f"{CODE}/compare",
        "tolerance.relative * np.maximum(magnitudes, largest * SHARE)",
        "tolerance.relative",
        ("tests/unit/test_compare.py", "tests/unit/test_output_differences.py"),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout that gets the faults")
    parser.add_argument("kinds", nargs="*", help="only faults whose kind has one of these words")
    options = parser.parse_args()
    root: Path = options.root.resolve()
    chosen = [fault for fault in FAULTS if not options.kinds or any(word in fault.kind for word in options.kinds)]
    for fault in chosen:
        fault.place(root)
    missed = 0
    for fault in chosen:
        begin = time.monotonic()
        test = caught_by(fault, root)
        missed += test is None
        print(f"{'caught' if test else 'MISSED'} {time.monotonic() - begin:5.0f} s  {fault.kind}: {test}", flush=True)
    sys.exit(missed)


def caught_by(fault: Fault, root: Path) -> str | None:
    """The first of the fault's tests that fails in a copy with the fault, or None."""
    with tempfile.TemporaryDirectory(prefix="tflmgen-fault-") as folder:
        copy = copied(root, Path(folder))
        place = fault.place(copy)
        place.write_text(place.read_text(encoding="utf-8").replace(fault.text, fault.faulty), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(copy / "codegen"), "XDG_CACHE_HOME": f"{folder}/cache"}
        environment.pop("PYTEST_ADDOPTS", None)
        command = [interpreter(root), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *fault.tests]
        ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"{fault.kind}: pytest ends with {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" ")[1] if failed else None


def copied(root: Path, folder: Path) -> Path:
    """What git knows of the checkout, as a folder in which tests import the copy's code."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True).stdout
    copy = folder / "repository"
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)
    for data in ("templates", "firmware", "schema", "boards"):  # packages below tflmgen, wherever they lie
        (copy / CODE / data).symlink_to(copy / data)
    if (root.parent / "shared").is_dir():
        (folder / "shared").symlink_to(root.parent / "shared")
    return copy


def interpreter(root: Path) -> str:
    """The checkout's Python, or the one that runs this."""
    own = root / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


if __name__ == "__main__":
    main()
