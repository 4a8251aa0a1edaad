from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tflmgen.frontend.tflite.model import FileOperator
from tflmgen.frontend.tflite.tensor_uses import execution_order


def operator(index: int, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> FileOperator:
    return FileOperator(index, "ADD", 1, inputs, outputs, None, b"", ())


@st.composite
def legal_orders(draw: st.DrawFn) -> list[FileOperator]:
    """Operators in a legal order; operator i writes tensor i and reads some before it."""
    count = draw(st.integers(0, 12))
    reads = [draw(st.lists(st.integers(-1, i - 1), max_size=3)) for i in range(count)]
    return [operator(i, tuple(inputs), (i,)) for i, inputs in enumerate(reads)]


@settings(deadline=None)
@given(legal_orders())
def test_a_legal_order_stays(operators: list[FileOperator]) -> None:
    assert execution_order(operators) == (tuple(operators), ())


@settings(deadline=None)
@given(legal_orders(), st.randoms())
def test_any_order_becomes_legal(operators: list[FileOperator], random: object) -> None:
    shuffled = list(operators)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    order, cycle = execution_order(shuffled)
    assert cycle == ()
    written: set[int] = set()
    for op in order:
        assert {i for i in op.inputs if i >= 0} <= written
        written.update(op.outputs)
    assert len(order) == len(operators)


def test_of_several_ready_operators_the_first_comes_first() -> None:
    late, early, other = operator(0, (1,), (0,)), operator(1, (), (1,)), operator(2, (), (2,))
    assert execution_order([late, early, other])[0] == (early, late, other)


def test_a_cycle_is_named_without_what_hangs_on_it() -> None:
    operators = [
        operator(0, (3,), (0,)),
        operator(1, (2,), (1,)),
        operator(2, (3,), (2,)),
        operator(3, (1,), (3,)),
    ]
    order, cycle = execution_order(operators)
    assert order == ()
    assert [op.index for op in cycle] == [1, 2, 3]
