"""Prints the table of docs/use/windows.md: what a hop computes, and its instructions on a Cortex-M4 in QEMU.

PYTHONPATH=tests python tests/window_figures.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.commands import tflmgen
from support.corpus import CORPUS
from support.window_models import accelerometer, attention, causal_tcn, dilated_tcn, ds_cnn, tc_resnet, valid_cnn

BOARD = "mps2_an386"
HEAD = "| Network | Rows | Hop | MACs per hop | times cone | Instructions: window | hop | part | RAM: window | hop |"
RULE = "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"


@dataclass(frozen=True, slots=True)
class Example:
    """A model in a row of the table. data: None: the file is in the corpus."""

    caption: str
    file: str
    input: str
    hop: int
    data: bytes | None = None


def examples() -> Iterator[Example]:
    """The networks that the page names; MLPerf's where the corpus is there."""
    if CORPUS.is_dir():
        for hop in (2, 4):
            yield Example("MLPerf Tiny KWS: 9 convolutions, SAME", "real/mlperf_kws_int8.tflite", "input_1", hop)
    yield Example("DS-CNN of 7 convolutions, SAME", "ds_cnn", "t0", 1, ds_cnn())
    for hop in (4, 8):
        yield Example("TC-ResNet, strides 2 and 2, SAME", "tc_resnet", "t0", hop, tc_resnet())
    yield Example("5 convolutions, VALID", "valid_cnn", "t0", 1, valid_cnn())
    yield Example("TCN, dilations 1 to 8, causal, last row", "causal_tcn", "t0", 1, causal_tcn())
    yield Example("TCN, dilations 1 to 4, residual, SAME, every row", "dilated_tcn", "t0", 1, dilated_tcn())
    yield Example("1-D CNN on accelerations, pools, VALID", "accelerometer", "t0", 8, accelerometer())
    yield Example("A convolution and one head of attention", "attention", "t0", 1, attention())


def row(example: Example, folder: Path) -> str:
    """One line of the table."""
    path = CORPUS / example.file
    if example.data is not None:
        path = folder / f"{example.file}.tflite"
        path.write_bytes(example.data)
    options = ["--board", BOARD, "--validate", "off", "--json"]
    slide = ["--slide", f"{example.input}=1,{example.hop}"]
    whole, hop = (_figures(path, [*options, *more]) for more in ([], slide))
    plan = tflmgen("inspect", path, *options, *slide).json
    (work,), (port,) = plan["slide"], plan["signatures"][0]["inputs"]
    share, cone = work["macs"]["computed"] / work["macs"]["window"], work["macs"]["computed"] / work["macs"]["cone"]
    cells = [example.caption, port["shape"][1], example.hop, f"{100 * share:.1f} %", f"{cone:.2f}"]
    cells += [f"{whole[0]:,}", f"{hop[0]:,}", f"{hop[0] / whole[0]:.2f}", f"{whole[1]:,}", f"{hop[1]:,}"]
    return f"| {' | '.join(map(str, cells))} |"


def _figures(path: Path, options: list[str]) -> tuple[int, int]:
    """Instructions of an invoke, and bytes of arena and state."""
    bench: dict[str, Any] = tflmgen("bench", path, *options).json
    plan = tflmgen("inspect", path, *options).json
    ram = plan["arena"]["bytes"] + sum(variable["bytes"] for variable in plan["state"])
    return bench["sets"][0]["instructions"], ram


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(HEAD, RULE, sep="\n")
        for example in examples():
            print(row(example, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
