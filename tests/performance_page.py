"""Writes docs/understand/performance.md anew: figures of this tree, measured in QEMU, beside TFLite Micro's.

    PYTHONPATH=tests python -m performance_page

The models are the corpus'. TensorFlow Lite Micro's figures were measured once, see the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inner_loops import counts_text, inner_loop, instructions
from performance_shapes import record, shapes_section
from performance_transforms import transforms_section
from performance_winograd import winograd_section
from support.commands import tflmgen
from support.corpus import CORPUS
from support.repository import ROOT, page_named
from tflmgen.hardware.board import load_board

PAGE = page_named("performance")


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the corpus: what the page calls it, and its multiply-accumulates, padding included."""

    title: str
    file: str
    macs: int


MODELS = (
    Model("KWS", "mlperf_kws_int8", 2_656_768),
    Model("VWW", "mlperf_vww_int8", 7_489_664),
    Model("IC", "mlperf_ic_resnet_int8", 12_501_632),
    Model("AD", "mlperf_ad01_int8", 264_192),
    Model("person_detect", "tflm_person_detect", 7_157_888),
)

OTHERS = (
    Model("FOMO face detection", "openmv_fomo_face_detection", 5_868_288),
    Model("MCUNet VWW", "tinyengine_vww", 11_578_816),
    Model("hello_world", "tflm_hello_world_int8", 288),
    Model("MicroFlow sine", "microflow_sine", 288),
)
"""Other models of which range analysis removes something."""


@dataclass(frozen=True, slots=True)
class Loop:
    """An inner loop: the kernel's function that holds it, one that needs it, its MACs per pass, what bounds it."""

    title: str
    header: str
    call: str
    function: str
    macs: int
    reason: str
    number: int = 0
    """Which of the function's inner loops, the longest one first."""


@dataclass(frozen=True, slots=True)
class Core:
    """A core: TensorFlow Lite Micro's instructions of one invoke of each model, and others' cycles per MAC."""

    title: str
    board: str
    peers: tuple[int | None, ...]
    loops: tuple[Loop, ...] = ()
    cycles: tuple[tuple[str, tuple[float | None, ...]], ...] = ()


CONV = "Convolution, pointwise convolution"
THREE = "Depthwise convolution, 3x3, stride 1"
MATRIX = "Fully connected"
M4 = (
    Loop(
        CONV,
        "conv2d_dsp.h",
        "tflmgen_conv2d_dsp_relu_uniform_s8",
        "tflmgen_conv2d_dsp_block_uniform_even",
        384,
        "SMLAD is two MACs: 0.5 per MAC is the floor. Beside it stand one SXTB16 for four weights (0.08) and as few"
        " loads as 14 registers allow (0.10), with three pixels and two channels at a time, eight values of each:"
        " sixteen words for 48 MACs, which then take 49 cycles, 1.02 per MAC: 24 for SMLAD, 4 for SXTB16, 21 to load,"
        " five of which are what five loads take beside their words. Blocks of 2x3, 4x2 and 2x4 take more. Six outputs"
        " need 25 instructions (38 cycles) beside the loop: 12 to requantise, the others to begin, join, store, and go"
        " on. That is 0.52 per MAC for 8 input channels, 0.07 for 64, 0.03 for 3x3 windows of 16. Where outputs are"
        " not clamped at the zero point they need 20 more. Gathering takes 13 instructions for four values of three"
        " pixels, which all output channels share, 34 for four channels of three windows of three columns side by"
        " side, and 6 for four values of one at borders; a block takes 27 beside them. Rows of padding above and below"
        " the input are left out where a block is of one line, 3 % of IC's products. In cycles per MAC of the model,"
        " KWS 1.40: products 0.91, outputs 0.10, gathering 0.06, depthwise layers 0.33. VWW 1.43 and person_detect"
        " 1.42: products 0.91, outputs 0.12 and 0.13, gathering 0.10 and 0.07, depthwise layers 0.30 and 0.31. IC 1.22:"
        " products 0.99, outputs 0.05, gathering and sums in memory 0.16, ADD 0.02. What stands beside"
        " the loops grows with the number of outputs, which the layers' shapes give.",
    ),
    Loop(
        THREE,
        "depthwise3x3_pairs_dsp.h",
        "tflmgen_depthwise3x3_pairs_dsp_to30_s8",
        "tflmgen_depthwise3x3_pairs_dsp_lines_to30",
        36,
        "Two outputs of two lines as a whole. All weights stay in registers; a window of three columns leaves a third"
        " of the multiplications with one product instead of two: 24 for 36 MACs. Four LDRD load the window of four"
        " lines; 8 instructions requantise, 4 store, and 6 load what has no register and move on, another one is the"
        " bias. Of an odd width two lines' last outputs take 28 instructions for 18 MACs. To widen and transpose eight"
        " values into planes takes 15 instructions, 0.2 per MAC.",
    ),
    Loop(
        MATRIX,
        "fully_connected_dsp.h",
        "tflmgen_fully_connected_dsp_s8",
        "tflmgen_fully_connected_dsp_groups",
        256,
        "Each weight is used once: one SXTB16 for every four weights, and a load for each, cannot be shared. Eight"
        " values of four rows take 27 instructions and 39 cycles, 1.22 per MAC. Four outputs need 24 instructions (42"
        " cycles) beside them, a pass over 64 values 3 (6 cycles): 0.10 per MAC where there are 128 inputs, as in AD.",
    ),
)

M0 = (
    Loop(
        "Convolution",
        "conv2d_thumb.h",
        "tflmgen_conv2d_thumb_bounded_s8",
        "tflmgen_conv2d_thumb_block_clamped",
        32,
        "MULS and ADDS make two products of two pixels by one weight, 1.0 per MAC. One LDRSB and one LDM per weight of"
        " four pixels, 0.5, are as few as eight low registers allow: two sums, two products, the weight, the mask and"
        " two addresses. A half holds 16 bits, so that four products are summed, or two, before 8 instructions take two"
        " words apart: 12 instructions more for eight weights of which no four fit. KWS, 2.89 per MAC in all: these"
        " loops 1.8, what outputs need beside 0.35, im2col 0.15, depthwise lines and planes 0.6. An output takes 22"
        " instructions beside its products, 9 of them to requantise by two products of 32 bits: 2.8 per MAC for 8 input"
        " channels, 0.35 for 64. [Kernel variants](kernel-variants.md#measured-and-left-out) has what"
        " sums of eight products would gain, and what else was counted.",
        1,
    ),
    Loop(
        "Depthwise convolution, 3x3",
        "depthwise_thumb.h",
        "tflmgen_depthwise_thumb_3x3_bounded_s8",
        "tflmgen_depthwise_thumb_3x3_small_clamped",
        18,
        "Two outputs as a whole: 35 instructions make 18 MACs of weights whose rows fit a half, 42 of others. 31"
        " requantise and store, 11 begin and go on. Planes take 5 more for each value of the input. VWW and"
        " person_detect have 11 and 13 % of their MACs there, and 22 and 29 % of their instructions.",
    ),
    Loop(
        "Fully connected, sums of eight products",
        "fully_connected_thumb.h",
        "tflmgen_fully_connected_thumb_small_relu_s8",
        "tflmgen_fully_connected_thumb_copied_small_clamped",
        32,
        "Two weights share a word, four are loaded in one; LSRS and ANDS part them, and 18 instructions take the sums"
        " apart. AD's weights are small enough in all but its last layer, where a third of the eights are.",
    ),
)

M55 = (
    Loop(
        CONV,
        "conv2d_pixels_mve.h",
        "tflmgen_conv2d_pixels_mve_relu_s8",
        "tflmgen_conv2d_mve_short_clamped",
        1152,
        "VMLADAVA is 16 MACs: 0.0625 per MAC is the floor. Its sum is one of eight even registers: four pixels times"
        " two channels, for which six vectors are loaded. The pass shown is a window of 144 values; its first 16 stay"
        " in registers for all channels. Eight outputs need 19 instructions beside products and loads, 21 where"
        " they are not clamped at the zero point: 4 VMOV bring the sums back to vectors, 7 requantise, 5 narrow and"
        " store, 3 go on. That is 0.15 per MAC for 16 input channels, 0.04 for 64.",
    ),
    Loop(
        "Convolution, three columns wide, stride 1",
        "conv2d_slide_mve.h",
        "tflmgen_conv2d_slide_mve_s8",
        "tflmgen_conv2d_slide_mve_run_block",
        768,
        "Four outputs side by side share six columns: for 24 VMLADAVA, of three taps, four pixels and two channels, six"
        " vectors of the input and six of weights are loaded, where windows by themselves need 18. A pass is two rows,"
        " or 32 channels of one. Eight outputs need 26 instructions beside the passes: 0.02 per MAC for 3x3 windows of"
        " 16 channels.",
    ),
    Loop(
        THREE,
        "depthwise_patch_mve.h",
        "tflmgen_depthwise_squares_mve_relu_s8",
        "tflmgen_depthwise_squares_mve_clamped",
        144,
        "16 outputs of a channel. A gathering VLDRW loads a patch of 4x4 values, of which a square of four outputs is"
        " made by four VMLADAV, 9 of whose 16 products count. Weights are shifted into four positions once for all 16.",
    ),
    Loop(
        MATRIX,
        "fully_connected_mve.h",
        "tflmgen_fully_connected_mve_s8",
        "tflmgen_fully_connected_mve_groups",
        512,
        "Each weight is used once: a VLDRB and a VMLADAVA for 16 of them, 0.125 per MAC. The input is loaded for eight"
        " units at a time, which is as many as there are registers for sums: 0.008. What stands beside the loop is 25"
        " instructions for eight units, and 2 for each pass: 0.028 per MAC where there are 128 inputs, as in AD. For"
        " 0.14 in all, 12 would have to do; to bring the sums to vectors, requantise and narrow them takes 18: 4 VMOV,"
        " twice VQRDMULH, VQDMLAH, VRSHL and the loads of multipliers and shifts, 3 VQMOVN and VQADD.",
    ),
)

CORES = (
    Core(
        "Cortex-M0",
        "mps2_an385_m0",
        (28_992_076, 86_903_424, 97_564_888, 1_763_344, 83_702_836),
        M0,
    ),
    Core(
        "Cortex-M4",
        "mps2_an386",
        (7_696_396, 24_101_960, 29_865_656, 582_980, 22_928_468),
        M4,
        (
            ("TFLM + CMSIS-NN, estimated in the same way", (3.45, 3.88, 2.92, 2.74, 3.82)),
            ("best published on hardware, with wait states", (1.95, 1.42, 1.59, 1.84, None)),
            ("tflmgen, estimated with the wait states of the L4R5's flash", (1.78, None, 1.55, 2.13, None)),
        ),
    ),
    Core(
        "Cortex-M7",
        "mps2_an500",
        (7_642_144, 24_025_588, 30_028_948, 583_264, 22_715_912),
    ),
    Core(
        "Cortex-M55",
        "mps3_an547",
        (1_812_101, 6_558_335, 4_913_815, 149_995, 6_508_112),
        M55,
    ),
    Core("RISC-V, RV32IMC", "qemu_rv32", (None, None, None, None, None)),
)

INTRODUCTION = """# Performance

<!-- Made by `PYTHONPATH=tests python -m performance_page`; edit that. -->

Instructions, cycles and memory of one invoke, for the four MLPerf Tiny models and TensorFlow Lite Micro's
person_detect, all int8, on emulated cores. The figures of tflmgen are the output of `tflmgen bench` of this version;
[Counting](counting.md) explains them.
**Instructions** are exact, those of the second invoke. **Cycles are estimates**, without wait states: made from
published timings, not measured on chips. Where the timing depends on the core's configuration (the M0's multiplier)
or on what is not published (which instructions the M7 issues together), there is a range.

**TFLM** is TensorFlow Lite Micro (head of August 2026) with CMSIS-NN at the commit that it pins, built with its own
release flags (core -Os, kernels -O2) by the same compiler, arm-none-eabi-gcc 12.2, and counted in the same emulator,
QEMU 7.2, with the same inputs. It was measured once and is not run by this project's tests. Its flash with all
kernels that the model needs is 31 to 82 kB beside the model on the M4; `code` here is all code of a model in
tflmgen's firmware, without start-up and UART. `weights` are packed weights, with biases and multipliers.

MACs are multiply-accumulates as the model's shapes give them, padding included. All are computed: the figures of the
cores are without [range analysis](ranges.md) (`--no-range-analysis`). [Another table](#range-analysis)
shows what it saves."""


RANGES_TITLE = "## Range analysis"
RANGES_TEXT = """What tflmgen computes by default: not the channels that are the same for every input, or that no reader
makes anything of. [Dead channels](ranges.md) says how they are found. The outputs are the same bit for bit.
Models that are not listed have no such channels."""


def command(name: str, model: Model, board: str, *options: str) -> Any:
    done = tflmgen(name, CORPUS / "real" / f"{model.file}.tflite", "--board", board, "--json", *options)
    if done.code != 0:
        sys.exit(done.err)
    return done.json


def bench(model: Model, board: str, analyze_ranges: bool = False) -> Any:
    return command("bench", model, board, *([] if analyze_ranges else ["--no-range-analysis"]))


def ranges_section() -> list[str]:
    """What range analysis saves, of the models where it finds channels."""
    lines = [
        RANGES_TITLE,
        "",
        RANGES_TEXT,
        "",
        "| Core | Model | MACs | computed | instructions, all | with range analysis | | weights, bytes | |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for core in CORES:
        for model in (*MODELS, *(OTHERS if core.board == "mps2_an386" else ())):
            removed = sum(entry["macs"] for entry in command("inspect", model, core.board)["removed"])
            if not removed:
                continue
            every, analysed = (bench(model, core.board, analyze) for analyze in (False, True))
            before, after = (report["total"]["instructions"] for report in (every, analysed))
            cells = [core.title, model.title, f"{model.macs:,}", f"{model.macs - removed:,}"]
            cells += [f"{before:,}", f"{after:,}", f"{after / before:.2f}"]
            cells += [f"{report['memory']['weights_bytes']:,}" for report in (every, analysed)]
            lines.append(f"| {' | '.join(cells)} |")
            print(core.title, model.title, f"{after / before:.2f}", flush=True)
    return [*lines, ""]


def row(model: Model, peer: int | None, report: Any) -> str:
    """A model's line in the table of a core; `peer` is TFLite Micro's instructions, None where it was not counted."""
    own, (low, high) = report["total"]["instructions"], report["total"]["cycles_range"]
    memory, macs = report["memory"], model.macs
    cells = [
        model.title,
        f"{peer:,}" if peer else "",
        f"{own:,}",
        f"{peer / own:.1f} times fewer" if peer else "",
        f"{peer / macs:.2f}" if peer else "",
        f"{own / macs:.2f}",
        f"{low:,}" if low == high else f"{low:,} to {high:,}",
        f"{low / macs:.2f}" if low == high else f"{low / macs:.2f} to {high / macs:.2f}",
        f"{memory['weights_bytes']:,}",
        f"{memory['code_bytes']:,}",
    ]
    return f"| {' | '.join(cells)} |"


def section(core: Core) -> list[str]:
    lines = [
        f"## {core.title}",
        "",
        f"Board `{core.board}`.",
        "",
        "| Model | TFLM + CMSIS-NN | tflmgen | | per MAC: TFLM | tflmgen | cycles (estimated) | per MAC"
        " | weights, bytes | code, bytes |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    estimates: list[float] = []
    for model, peer in zip(MODELS, core.peers, strict=True):
        report = bench(model, core.board)
        estimates.append(report["total"]["cycles_range"][0] / model.macs)
        lines.append(row(model, peer, report))
        print(core.title, lines[-1], flush=True)
    lines += ["", RANGES[core.board]] if core.board in RANGES else []
    lines += ["", *_cycles(core, estimates)] if core.cycles else []
    if core.loops:
        lines += ["", "Where the instructions of the inner loops go:", "", *_histograms(core)]
    return [*lines, ""]


def _cycles(core: Core, estimates: Sequence[float]) -> Iterator[str]:
    yield f"| Cycles per MAC | {' | '.join(model.title for model in MODELS)} |"
    yield f"|---|{'--:|' * len(MODELS)}"
    for title, numbers in (*core.cycles, ("tflmgen, estimated", estimates)):
        yield f"| {title} | {' | '.join('' if n is None else f'{n:.2f}' for n in numbers)} |"


RANGES = {
    "qemu_rv32": "Cycles: with no stalls, and with one for each load, product and jump. No other runtime was counted.",
    "mps2_an385_m0": "Cycles: with the single-cycle multiplier, and with the 32-cycle one.",
    "mps2_an500": "Cycles: with all pairs of instructions issued together that the units allow, and with none.",
    "mps3_an547": "Cycles: with all overlaps of beats, and with none.",
}


def _histograms(core: Core) -> list[str]:
    lines = ["| Loop | Instructions of one pass | MACs | per MAC |", "|---|---|--:|--:|"]
    notes = []
    for loop in core.loops:
        code = instructions(loop.header, loop.call, loop.function, load_board(core.board).cpu_flags)
        histogram = inner_loop(code, loop.number)
        lines.append(f"| {loop.title} | {counts_text(histogram)} | {loop.macs} | {histogram.total() / loop.macs:.2f} |")
        notes.append(f"- {loop.title}: {loop.reason}")
    rest = "The other instructions are im2col, requantisation and stores: a larger share for sums of few products."
    return [*lines, "", *notes, "", rest]


def main() -> None:
    lines = [INTRODUCTION]
    for core in CORES:
        lines += section(core)
    lines += winograd_section(lambda file, board, *options: command("bench", Model(file, file, 0), board, *options))
    lines += transforms_section()
    lines += ranges_section()
    record()
    lines += shapes_section()
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
