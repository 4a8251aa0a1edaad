"""The section of docs/understand/performance.md on --winograd: what it saves and takes, where instructions go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from inner_loops import counts_text, inner_loop, instructions
from tflmgen.hardware.board import load_board

MODELS = (("IC", "mlperf_ic_resnet_int8"), ("STM32 MiniResNetV2", "stm32_miniresnetv2_1s"))
"""Models of the corpus with layers that take it."""

BOARDS = (("Cortex-M4", "mps2_an386"), ("Cortex-M7", "mps2_an500"))

TEXT = """## Winograd

With `--winograd`, 3x3 convolutions of stride 1 may compute 2x2 outputs at a time by Winograd's minimal filtering
F(2x2, 3x3) ([Lavin and Gray](https://arxiv.org/abs/1509.09308)): 16 products for each input channel instead of 36. In
integers that is exact, so that the outputs are the same bit for bit. The transformed weights are 16 numbers of 16 bits
for each nine of 8: 3.6 times the bytes. Layers take it where the cost model says that it is faster, and do without,
those first that save fewest cycles per byte, where the weights would fill their memory; 48 kB of it are kept for code.
The scratch is 65 bytes for each input channel. Models that are not listed have no layers that gain."""

LOOPS = (
    (
        "sums_32",
        "sums of 32 channels at four positions, two tiles and two outputs each",
        "A step is four input channels, 16 products that stand for 36 MACs: 2 LDM and 8 SMLAD, 0.28 instructions and"
        " 0.50 cycles per MAC. The words are pairs of halves as they stand, nothing is widened. More than the four"
        " sums, their eight operands and two pointers there are no registers for.",
    ),
    (
        "transform",
        "four channels of a tile",
        "All output channels share it: 16 words of pixels become 32 of sums and differences, by 64 additions.",
    ),
    (
        "finish_clamped",
        "eight outputs, four of either tile",
        "For each four, 16 sums are loaded and become four by 25 additions, with the bias; 12 instructions requantise,"
        " 7 store. Where outputs are not clamped at the zero point, 8 more for each four.",
    ),
)
"""Functions tflmgen_winograd_dsp_..., what one pass of their inner loop makes, and why it takes that much."""


def winograd_section(bench: Callable[..., Any]) -> list[str]:
    """bench: file of a model, board, options -> what `tflmgen bench` says."""
    lines = [
        TEXT,
        "",
        "| Core | Model | | instructions | per MAC | cycles (estimated) | per MAC | weights, bytes | arena, bytes"
        " | code, bytes |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for core, board in BOARDS:
        for title, file in MODELS:
            for option in ((), ("--winograd",)):
                report = bench(file, board, "--no-range-analysis", *option)
                total, memory = report["total"], report["memory"]
                low, high = total["cycles_range"]
                cells = [core, title, f"`{option[0]}`" if option else "", f"{total['instructions']:,}"]
                cells += [f"{total['instructions'] / total['macs']:.2f}", _range(f"{low:,}", f"{high:,}")]
                cells += [_range(f"{low / total['macs']:.2f}", f"{high / total['macs']:.2f}")]
                cells += [f"{memory[f'{memory_name}_bytes']:,}" for memory_name in ("weights", "arena", "code")]
                lines.append(f"| {' | '.join(cells)} |")
                print(core, title, *option, cells[4], flush=True)
    lines += ["", "Its inner loops on the Cortex-M4:", "", "| One pass makes | Instructions | |", "|---|---|--:|"]
    for name, makes, _ in LOOPS:
        histogram = _histogram(name)
        lines.append(f"| {makes} | {counts_text(histogram)} | {histogram.total()} |")
    return [*lines, "", *(f"- {makes}: {reason}" for _, makes, reason in LOOPS), ""]


def _histogram(name: str) -> Counter[str]:
    call = "tflmgen_conv2d_winograd_dsp_32_relu_s8"
    flags = load_board("mps2_an386").cpu_flags
    return inner_loop(instructions("conv2d_winograd_dsp.h", call, f"tflmgen_winograd_dsp_{name}", flags))


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
