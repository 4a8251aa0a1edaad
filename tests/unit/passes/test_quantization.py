"""cancel_quantization and narrow on the text form."""

from __future__ import annotations

import numpy as np
from support.graph_parser import parse_graph, same_graph
from support.kernel_harness import Array
from tflmgen.passes.pipeline import run_passes
from tflmgen.passes.quantization import cancel_quantization, narrow
from tflmgen.reference.module_interpreter import ModuleInterpreter


def test_quantize_after_dequantize_needs_no_floats() -> None:
    module = parse_graph("""
        function main(%x: int8[4]@0.5:3, %z: int16[4]@0.5:0) {
          %f: float32[4] = DEQUANTIZE(%x)
          %a: int8[4]@0.5:3 = QUANTIZE(%f)
          %b: int8[4]@0.5:2 = QUANTIZE(%f)
          %g: float32[4] = DEQUANTIZE(%z)
          %c: int16[4]@0.5:0 = QUANTIZE(%g)
          %d: int8[4]@0.5:2 = QUANTIZE(%g)
          return %a, %b, %c, %d
        }
        signature main: main(x, z) -> (a, b, c, d)
    """)
    same_graph(
        cancel_quantization(module),
        """
        function main(%x: int8[4]@0.5:3, %z: int16[4]@0.5:0) {
          %f: float32[4] = DEQUANTIZE(%x)
          %b: int8[4]@0.5:2 = REQUANTIZE(%x)
          %g: float32[4] = DEQUANTIZE(%z)
          %d: int8[4]@0.5:2 = QUANTIZE(%g)
          return %x, %b, %z, %d
        }
        signature main: main(x, z) -> (a, b, c, d)
    """,
    )


BRANCHES = """
    function main(%x: int8[4]@0.5:3, %y: float32[4], %p: bool[]) {
      if %p {
        %f: float32[4] = DEQUANTIZE(%x)
        yield %f, %f
      } else {
        yield %y, %y
      } -> %g: float32[4], %h: float32[4]
      %a: int8[4]@0.25:2 = QUANTIZE(%g)
      %b: int8[4]@0.25:2 = QUANTIZE(%h)
      %c: float32[4] = ADD(%h, %h)
      return %a, %b, %c
    }
    signature main: main(x, y, p) -> (a, b, c)
"""


def test_a_float_output_that_is_only_quantised_is_quantised_in_the_branches() -> None:
    same_graph(
        narrow(parse_graph(BRANCHES)),
        """
        function main(%x: int8[4]@0.5:3, %y: float32[4], %p: bool[]) {
          if %p {
            %f: float32[4] = DEQUANTIZE(%x)
            %q: int8[4]@0.25:2 = QUANTIZE(%f)
            yield %q, %f
          } else {
            %r: int8[4]@0.25:2 = QUANTIZE(%y)
            yield %r, %y
          } -> %g: int8[4]@0.25:2, %h: float32[4]
          %b: int8[4]@0.25:2 = QUANTIZE(%h)
          %c: float32[4] = ADD(%h, %h)
          return %g, %b, %c
        }
        signature main: main(x, y, p) -> (a, b, c)
    """,
    )


LOOP = """
    constant #one: int32[] = 1
    constant #k: int8[] = 1
    function main(%x: float32[4], %n: int32[], %k: int8[4]@0.5:3) {{
      while (%i: int32[], %v: float32[4]) = (#one, %x) {{
        %c: bool[] = LESS(%i, %n)
        test %c
      }} do {{
        %q: int8[4]@0.5:3 = QUANTIZE(%v)
        %m: int8[4]@0.5:3 = MAXIMUM(%q, %k)
        %s: int8[4]@0.75:-7 = REQUANTIZE(%m)
        %f: float32[4] = DEQUANTIZE(%s)
        %j: int32[] = ADD(%i, #one)
        next %j, %f
      }} -> %i2: int32[], %w: float32[4]
      %a: int8[4]@{after} = QUANTIZE(%w)
      return %a
    }}
    signature main: main(x, n, k) -> (a)
"""


def test_a_loop_variable_that_is_only_quantised_is_carried_quantised() -> None:
    module = run_passes(parse_graph(LOOP.format(after="0.5:3")), (narrow, cancel_quantization))
    same_graph(
        module,
        """
        constant #one: int32[] = 1
        function main(%x: float32[4], %n: int32[], %k: int8[4]@0.5:3) {
          %u: int8[4]@0.5:3 = QUANTIZE(%x)
          while (%i: int32[], %v: int8[4]@0.5:3) = (#one, %u) {
            %c: bool[] = LESS(%i, %n)
            test %c
          } do {
            %m: int8[4]@0.5:3 = MAXIMUM(%v, %k)
            %s: int8[4]@0.75:-7 = REQUANTIZE(%m)
            %f: float32[4] = DEQUANTIZE(%s)
            %j: int32[] = ADD(%i, #one)
            %t: int8[4]@0.5:3 = REQUANTIZE(%s)
            next %j, %t
          } -> %i2: int32[], %w: int8[4]@0.5:3
          return %w
        }
        signature main: main(x, n, k) -> (a)
    """,
    )


def test_a_loop_variable_that_is_quantised_otherwise_afterwards_stays_a_float() -> None:
    """Without iterations its initial value would have passed through the wrong scale."""
    text = LOOP.format(after="0.25:3")
    same_graph(narrow(parse_graph(text)), text)


def test_values_are_kept() -> None:
    rng = np.random.default_rng(5)
    for text in (BRANCHES, LOOP.format(after="0.5:3")):
        module = parse_graph(text)
        narrowed = run_passes(module)
        assert narrowed.functions != module.functions
        for round_ in range(20):
            floats = rng.normal(scale=20, size=4).astype(np.float32)
            bytes_ = rng.integers(-128, 128, 4).astype(np.int8)
            inputs: list[Array]
            if text is BRANCHES:
                inputs = [bytes_, floats, np.array(round_ % 2 == 0)]
            else:
                inputs = [floats, np.array(round_ % 5, np.int32), bytes_]
            for result, other in zip(
                ModuleInterpreter(module).call("main", inputs),
                ModuleInterpreter(narrowed).call("main", inputs),
                strict=True,
            ):
                np.testing.assert_array_equal(result, other)
