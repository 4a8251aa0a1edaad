"""What verify rejects in a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.graph_parser import parse_graph
from tflmgen.errors import InternalError
from tflmgen.ir.graph.module import Block, Call, Function, If, Module, Node, Op, While
from tflmgen.ir.well_formed import verify

GRAPH = """
    constant #zero: int32[1] = 0
    function f(%a: int32[1]) {
      %b: int32[1] = ADD(%a, %a)
      return %b
    }
    function main(%p: bool[1], %x: int32[1]) {
      %s: int32[1] = ADD(%x, %x)
      if %p {
        yield %s
      } else {
        yield %x
      } -> %y: int32[1]
      while (%i: int32[1]) = (#zero) {
        %q: bool[1] = LESS(%i, %y)
        test %q
      } do {
        %j: int32[1] = ADD(%i, %x)
        next %j
      } -> %k: int32[1]
      %z: int32[1] = call f(%k)
      return %z
    }
    signature : main(p, x) -> (z)
"""

Fault = Callable[[Module], Module]


def body(change: Callable[[tuple[Node, ...]], tuple[Node, ...]]) -> Fault:
    """A fault in the nodes of main: ADD, IF, WHILE, CALL."""

    def fault(module: Module) -> Module:
        main = module.functions[1]
        changed = replace(main, body=replace(main.body, nodes=change(main.body.nodes)))
        return replace(module, functions=(module.functions[0], changed))

    return fault


def nodes(module: Module) -> tuple[Op, If, While, Call]:
    add, branch, loop, call = module.functions[1].body.nodes
    assert isinstance(add, Op)
    assert isinstance(branch, If)
    assert isinstance(loop, While)
    assert isinstance(call, Call)
    return add, branch, loop, call


MODULE = parse_graph(GRAPH)
ADD, IF, WHILE, CALL = nodes(MODULE)
FLAG, X = MODULE.functions[1].inputs


def with_functions(*functions: Function) -> Module:
    return replace(MODULE, functions=functions)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (body(lambda n: n[1:]), "'%s' is used by a region before it is defined"),
        (body(lambda n: (n[1], n[0], *n[2:])), "'%s' is used by a region before it is defined"),
        (body(lambda n: (n[0], *n)), "value '%s' is defined twice"),
        (
            body(lambda n: (replace(ADD, inputs=(CALL.outputs[0], X)), *n[1:])),
            "'%z' is used by ADD before it is defined",
        ),
        (body(lambda n: (*n[:2], replace(WHILE, inits=()), n[3])), "WHILE .* carries 0 of 1"),
        (body(lambda n: (*n[:2], replace(WHILE, condition=Block((), ())), n[3])), "WHILE .* carries 0 of 1"),
        (
            body(lambda n: (n[0], replace(IF, then=Block((), (FLAG,))), *n[2:])),
            r"IF .* takes bool\[1\] and int32\[1\] for one",
        ),
        (
            body(lambda n: (*n[:2], replace(WHILE, inits=(FLAG,)), n[3])),
            r"WHILE .* takes bool\[1\] and int32\[1\] for one",
        ),
        (body(lambda n: (*n[:3], replace(CALL, function="g"))), "'g' is called before it is defined"),
        (body(lambda n: (*n[:3], replace(CALL, inputs=()))), "CALL .* carries 0 of 1"),
        (lambda m: with_functions(*m.functions[::-1]), "'f' is called before it is defined"),
        (
            lambda m: replace(m, signatures=(replace(m.signatures[0], outputs=()),)),
            "signature '' does not fit 'main'",
        ),
    ],
)
def test_fault(fault: Fault, text: str) -> None:
    with pytest.raises(InternalError, match=f"after some pass: {text}"):
        verify(fault(MODULE), "some pass")


def test_good_graphs_pass() -> None:
    assert verify(MODULE, "parsing") is MODULE
