"""fuse_normalization on the text form."""

from __future__ import annotations

import numpy as np
import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.ir.graph import Op
from tflmgen.passes.dead_code import prune
from tflmgen.passes.normalization import fuse_normalization

X, R = "float32[2,6]", "float32[2,1]"
CONSTANTS = """
    constant #axis: int32[1] = 1
    constant #last: int32[1] = -1
    constant #eps: float32[] = 0.001
    constant #zero: float32[] = 0.0
    constant #gain: float32[6] = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
    constant #bias: float32[6] = 0.5, -0.5, 0.25, 1.0, 2.0, 3.0
    constant #rows: float32[2,1] = 2.0, 3.0
    constant #pair: int32[2] = 2, 1
    constant #shape: int32[2] = 2, 6
"""


def graph(*lines: str) -> str:
    body = "\n".join(lines)
    return f"""
        {CONSTANTS}
        function main(%x: {X}) {{
          {body}
          return %y
        }}
        signature main: main(x) -> (y)
    """


VARIANCE = (
    f"%m: {R} = MEAN(%x, #axis) {{keep_dims=True}}",
    f"%s: {X} = SQUARED_DIFFERENCE(%x, %m)",
    f"%v: {R} = MEAN(%s, #axis) {{keep_dims=True}}",
    f"%e: {R} = ADD(%v, #eps)",
    f"%r: {R} = RSQRT(%e)",
)
LAYER = "depth=6, epsilon=0.001, factor=0.16666667, centred=True"
LAYER_EXACTLY = LAYER.replace("0.001", "0.0010000000474974513").replace("0.16666667", "0.1666666716337204")
RMS = LAYER_EXACTLY.replace("True", "False")

SPELLED = {
    "layer normalisation": (
        [*VARIANCE, f"%d: {X} = SUB(%x, %m)", f"%y: {X} = MUL(%d, %r)"],
        f"NORMALIZE(%x, -, -) {{{LAYER_EXACTLY}}}",
    ),
    "with a gain and a bias, as TensorFlow arranges it": (
        [
            *VARIANCE,
            f"%g: {X} = MUL(%r, #gain)",
            f"%a: {X} = MUL(%x, %g)",
            f"%b: {X} = MUL(%m, %g)",
            f"%c: {X} = SUB(#bias, %b)",
            f"%y: {X} = ADD(%a, %c)",
        ],
        f"NORMALIZE(%x, #gain, #bias) {{{LAYER_EXACTLY}}}",
    ),
    "RMS normalisation with views between": (
        [
            f"%s: {X} = MUL(%x, %x)",
            "%v: float32[2] = MEAN(%s, #last)",
            "%e: float32[2] = ADD(%v, #eps)",
            f"%w: {R} = RESHAPE(%e, #pair)",
            f"%q: {R} = SQRT(%w)",
            f"%a: {X} = DIV(%x, %q)",
            f"%y: {X} = MUL(%a, #gain)",
        ],
        f"NORMALIZE(%x, #gain, -) {{{RMS}}}",
    ),
    "division by the length": (
        [
            f"%s: {X} = SQUARE(%x)",
            f"%v: {R} = SUM(%s, #axis) {{keep_dims=True}}",
            f"%e: {R} = ADD(%v, #eps)",
            f"%r: {R} = RSQRT(%e)",
            f"%y: {X} = MUL(%r, %x)",
        ],
        "NORMALIZE(%x, -, -) {depth=6, epsilon=0.0010000000474974513, factor=1.0, centred=False}",
    ),
    "a mean that is broadcast before it is subtracted": (
        [
            *VARIANCE,
            f"%b: {X} = BROADCAST_TO(%m, #shape)",
            f"%d: {X} = SUB(%x, %b)",
            f"%c: {X} = BROADCAST_TO(%r, #shape)",
            f"%y: {X} = MUL(%d, %c)",
        ],
        f"NORMALIZE(%x, -, -) {{{LAYER_EXACTLY}}}",
    ),
    "softmax": (
        [
            f"%m: {R} = REDUCE_MAX(%x, #axis) {{keep_dims=True}}",
            f"%d: {X} = SUB(%x, %m)",
            f"%e: {X} = EXP(%d)",
            f"%s: {R} = SUM(%e, #axis) {{keep_dims=True}}",
            f"%y: {X} = DIV(%e, %s)",
        ],
        "SOFTMAX(%x) {beta=1.0}",
    ),
    "logarithm of softmax": (
        [
            f"%m: {R} = REDUCE_MAX(%x, #axis) {{keep_dims=True}}",
            f"%d: {X} = SUB(%x, %m)",
            f"%e: {X} = EXP(%d)",
            f"%s: {R} = SUM(%e, #axis) {{keep_dims=True}}",
            f"%l: {R} = LOG(%s)",
            f"%y: {X} = SUB(%d, %l)",
        ],
        "LOG_SOFTMAX(%x)",
    ),
}


@pytest.mark.parametrize("name", SPELLED)
def test_spelled_out(name: str) -> None:
    lines, operator = SPELLED[name]
    same_graph(prune(fuse_normalization(parse_graph(graph(*lines)))), graph(f"%y: {X} = {operator}"))


OTHERS = {
    "a gain for each row": [
        *VARIANCE,
        f"%g: {R} = MUL(%r, #rows)",
        f"%d: {X} = SUB(%x, %m)",
        f"%y: {X} = MUL(%d, %g)",
    ],
    "an epsilon outside of the root": [
        f"%s: {X} = SQUARE(%x)",
        f"%v: {R} = SUM(%s, #axis) {{keep_dims=True}}",
        f"%q: {R} = SQRT(%v)",
        f"%e: {R} = ADD(%q, #eps)",
        f"%y: {X} = DIV(%x, %e)",
    ],
    "a least length": [
        f"%s: {X} = SQUARE(%x)",
        f"%v: {R} = SUM(%s, #axis) {{keep_dims=True}}",
        f"%e: {R} = MAXIMUM(%v, #eps)",
        f"%r: {R} = RSQRT(%e)",
        f"%y: {X} = MUL(%r, %x)",
    ],
    "columns": [
        "%m: float32[6] = MEAN(%x, #none)",
        f"%s: {X} = SQUARED_DIFFERENCE(%x, %m)",
        "%v: float32[6] = MEAN(%s, #none)",
        "%e: float32[6] = ADD(%v, #eps)",
        "%r: float32[6] = RSQRT(%e)",
        f"%d: {X} = SUB(%x, %m)",
        f"%y: {X} = MUL(%d, %r)",
    ],
}


@pytest.mark.parametrize("epsilon", [1e-7, 1e-12, 1e-30])
@pytest.mark.parametrize("name", ["layer normalisation", "RMS normalisation with views between"])
def test_an_epsilon_of_any_size_is_kept(name: str, epsilon: float) -> None:
    lines, operator = SPELLED[name]
    text = graph(*lines).replace("#eps: float32[] = 0.001", f"#eps: float32[] = {epsilon}")
    exact = operator.replace("0.0010000000474974513", repr(float(np.float32(epsilon))))
    same_graph(prune(fuse_normalization(parse_graph(text))), graph(f"%y: {X} = {exact}"))


NEAR_MISSES = {
    "a mean that is off": [*VARIANCE, f"%n: {R} = MUL(%m, #near)", f"%d: {X} = SUB(%x, %n)", f"%y: {X} = MUL(%d, %r)"],
    "a variance about another mean": [
        f"%m: {R} = MEAN(%x, #axis) {{keep_dims=True}}",
        f"%n: {R} = MUL(%m, #near)",
        f"%s: {X} = SQUARED_DIFFERENCE(%x, %n)",
        *VARIANCE[2:],
        f"%d: {X} = SUB(%x, %m)",
        f"%y: {X} = MUL(%d, %r)",
    ],
    "an offset of the logarithm": [
        *SPELLED["logarithm of softmax"][0][:4],
        f"%t: {R} = ADD(%s, #tiny)",
        f"%l: {R} = LOG(%t)",
        f"%y: {X} = SUB(%d, %l)",
    ],
    "an offset of the sum": [
        *SPELLED["softmax"][0][:4],
        f"%t: {R} = ADD(%s, #tiny)",
        f"%y: {X} = DIV(%e, %t)",
    ],
    "a floor of softmax": [*SPELLED["softmax"][0][:4], f"%z: {X} = DIV(%e, %s)", f"%y: {X} = ADD(%z, #tiny)"],
    "powers of nearly x": [f"%n: {X} = MUL(%x, #near)", *[t.replace("%x", "%n") for t in SPELLED["softmax"][0]]],
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_what_is_off_by_a_millionth_is_no_normalisation_of_x(name: str) -> None:
    near = "constant #near: float32[] = 1.000001\n    constant #tiny: float32[] = 1e-12\n"
    fused = prune(fuse_normalization(parse_graph(near + graph(*NEAR_MISSES[name]))))
    nodes = [node for node in fused.functions[0].body.nodes if isinstance(node, Op)]
    assert len(nodes) > 1 or nodes[0].inputs[0] != fused.functions[0].inputs[0]


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name: str) -> None:
    text = (
        graph(*OTHERS[name])
        .replace("#none", "#first")
        .replace("constant #axis", "constant #first: int32[1] = 0\n    constant #axis")
    )
    same_graph(fuse_normalization(parse_graph(text)), text)


def test_what_is_a_result_is_still_computed() -> None:
    text = graph(*VARIANCE, f"%d: {X} = SUB(%x, %m)", f"%y: {X} = MUL(%d, %r)")
    text = text.replace("return %y", "return %y, %m").replace("-> (y)", "-> (y, m)")
    fused = prune(fuse_normalization(parse_graph(text)))
    assert len(fused.functions[0].body.nodes) == 2
