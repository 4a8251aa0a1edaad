from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from tflmgen.commands.operator_table import main_types, type_lines
from tflmgen.frontend.tflite.names import BUILTIN_OPERATORS, CUSTOM
from tflmgen.ir.kernel.call import OperatorInstance, View
from tflmgen.ir.types import DType, TensorType
from tflmgen.kernels.accepted import ANY, accepted_types
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import COMMON, PRESENT, input_is, one_type, output_is
from tflmgen.kernels.table import OPERATORS

F, S8, S16, S32 = DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32


def operator(inputs: tuple[int, int], *rules: Rule) -> OperatorSpec:
    return OperatorSpec("TEST", no_attributes, inputs, 1, rules, lambda _: (None,), lambda *_: View())


def lines(inputs: tuple[int, int], *rules: Rule) -> list[str]:
    return type_lines(accepted_types(operator(inputs, *rules)))


def rule(holds: Callable[[OperatorInstance], bool]) -> Rule:
    return Rule("a rule", holds)


def test_one_type_for_all() -> None:
    assert lines((2, 2), *COMMON, one_type(F, S8)) == ["T, T → T; T: float32/int8"]


def test_operands_of_their_own_types() -> None:
    rules = (input_is(0, "x", F, S8), input_is(1, "y", S32), output_is(DType.BOOL))
    assert lines((2, 2), PRESENT, *rules) == ["float32/int8, int32 → bool"]


def test_what_no_rule_asks_for_is_any() -> None:
    (signature,) = accepted_types(operator((1, 1), output_is(S32)))
    assert signature.inputs == (ANY,)
    assert lines((1, 1), output_is(S32)) == ["any → int32"]


def test_an_optional_input() -> None:
    rules = (input_is(0, "x", F), input_is(1, "y", S32), output_is(F))
    assert lines((1, 2), *rules) == ["float32, int32 or none → float32"]
    assert lines((1, 2), *rules, rule(lambda op: op.inputs[1] is None)) == ["float32, none → float32"]


def test_types_that_go_together() -> None:
    pairs = {(F, F), (S8, S8), (S8, S16)}
    together = rule(lambda op: (op.inputs[0].dtype, op.outputs[0].dtype) in pairs)  # type: ignore[union-attr]
    assert lines((1, 1), together) == ["float32 → float32", "int8 → int8/int16"]


def test_rules_that_ask_for_more_decide_nothing() -> None:
    def scales(op: OperatorInstance) -> bool:
        assert op.inputs[0] is not None
        return op.inputs[0].dtype is not S8 or op.inputs[0].quantization is not None

    def attribute(op: OperatorInstance) -> bool:
        return bool(op.attributes.wanted) and op.constants[0] is not None

    assert lines((1, 1), one_type(F, S8), rule(scales), rule(attribute)) == ["T → T; T: float32/int8"]


def test_many_inputs_tell_the_first_only() -> None:
    independent = rule(lambda op: op.inputs[9] is None or op.outputs[0].dtype is F)
    never = rule(lambda op: op.inputs[3] is not None or op.outputs[0].dtype is not S16)
    always = rule(lambda op: op.inputs[3] is None or op.outputs[0].dtype is not S16)
    signatures = accepted_types(operator((1, 20), one_type(F, S8, S16), independent, never, always))
    assert main_types(signatures) == (F, S8)


@pytest.mark.parametrize(
    ("inputs", "rules"),
    [
        ((2, 2), (one_type(F, S8),)),
        ((2, 2), (input_is(0, "x", F, S8), output_is(S32, S8))),
        ((2, 2), (rule(lambda op: len({t.dtype for t in (*op.inputs, *op.outputs)}) == 2),)),  # type: ignore[union-attr]
    ],
)
def test_equals_trying_everything(inputs: tuple[int, int], rules: tuple[Rule, ...]) -> None:
    def holds(kinds: tuple[DType, ...]) -> bool:
        tensors = tuple(TensorType(kind, (1,)) for kind in kinds)
        instance = OperatorInstance(tensors[:2], tensors[2:], (None, None), None)
        return all(rule.holds(instance) for rule in rules)

    wanted = {kinds for kinds in itertools.product(DType, repeat=3) if holds(kinds)}
    combinations: set[tuple[DType | None, ...]] = set()
    for signature in accepted_types(operator(inputs, *rules)):
        combinations |= set(itertools.product(*signature.inputs, *signature.outputs))
    assert combinations == wanted


BY_SHAPE_ONLY = {"SHAPE", "RANK"}


@pytest.mark.parametrize("name", [name for name in OPERATORS if name in BUILTIN_OPERATORS or name.startswith(CUSTOM)])
def test_every_operator_says_which_types_it_takes(name: str) -> None:
    """No operand is of any type, as it would seem if a rule on types asked for something else first."""
    signatures = accepted_types(OPERATORS[name])
    assert signatures
    loose = [s for s in signatures if ANY in (*s.inputs, *s.outputs)]
    assert bool(loose) == (name in BY_SHAPE_ONLY)
