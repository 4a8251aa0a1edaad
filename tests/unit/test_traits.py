"""What operators say about themselves, held against what compile-time evaluation makes of them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from support.present import present
from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import OperatorInstance, Target, View
from tflmgen.kernels import OPERATORS, Comparison, Connective, Traits, fold, traits_of
from tflmgen.kernels.specification import OperatorSpec
from tflmgen.plugin import CustomOperator, Kernel, Shape

TYPES = (DType.FLOAT32, DType.INT32, DType.BOOL)


def instance(operator: OperatorSpec, dtype: DType, shape: tuple[int, ...], seed: int = 0) -> OperatorInstance | None:
    """A call of constants that the operator's rules let through; None where there is none of this type and shape."""
    rng = np.random.default_rng(seed)
    arrays = tuple(rng.integers(0, 3, shape).astype(dtype.numpy) for _ in range(operator.inputs[0]))
    try:
        attributes = operator.attributes({})
        for result in (dtype, DType.BOOL):
            call = OperatorInstance(
                (TensorType(dtype, shape),) * len(arrays), (TensorType(result, shape),), arrays, attributes
            )
            if all(rule.holds(call) for rule in operator.rules):
                return call
    except (ValueError, TypeError, AssertionError, AttributeError, IndexError):
        pass
    return None


def evaluated(name: str, call: OperatorInstance, arrays: list[Any]) -> np.ndarray[Any, Any] | None:
    types = tuple(TensorType(t.dtype, a.shape) for t, a in zip(call.inputs, arrays, strict=True) if t is not None)
    output = TensorType(call.outputs[0].dtype, np.broadcast_shapes(*(a.shape for a in arrays)))
    folded = fold(name, OperatorInstance(types, (output,), tuple(arrays), call.attributes))
    return None if folded is None else np.asarray(folded[0])


def calls(**wanted: object) -> list[Any]:
    """A parameter for each operator with these traits and each type that it can be evaluated in."""
    parameters = []
    for name, operator in OPERATORS.items():
        if all(getattr(operator.traits, trait) == value for trait, value in wanted.items()):
            for dtype in TYPES:
                call = instance(operator, dtype, (2, 3, 4))
                if call is not None and evaluated(name, call, list(call.constants)) is not None:
                    parameters.append(pytest.param(name, call, id=f"{name}-{dtype.label}"))
    return parameters


@pytest.mark.parametrize(("name", "call"), calls(elementwise=True, aligns_leading=False))
def test_elementwise_operators_may_run_on_permuted_tensors(name: str, call: OperatorInstance) -> None:
    axes = (2, 0, 1)
    before = evaluated(name, call, [np.transpose(array, axes) for array in present(call.constants)])
    after = evaluated(name, call, list(call.constants))
    assert before is not None
    assert after is not None
    np.testing.assert_array_equal(before, np.transpose(after, axes))


@pytest.mark.parametrize(("name", "call"), calls(commutative=True))
def test_operands_may_change_places(name: str, call: OperatorInstance) -> None:
    operand, other = call.constants
    np.testing.assert_array_equal(evaluated(name, call, [operand, other]), evaluated(name, call, [other, operand]))


@pytest.mark.parametrize(("name", "call"), calls(same_if_equal=(0, 1)))
def test_an_operand_with_itself_is_itself(name: str, call: OperatorInstance) -> None:
    x = call.constants[0]
    np.testing.assert_array_equal(evaluated(name, call, [x, x]), x)


def test_neutral_and_absorbing_operands() -> None:
    tested = set()
    for param in calls(elementwise=True):
        name, call = param.values
        traits, x = traits_of(name), call.constants[0]
        for operand, expected in ((traits.neutral, x), (traits.absorbing, None)):
            if operand is not None:
                other = np.full_like(x, operand)
                np.testing.assert_array_equal(
                    evaluated(name, call, [x, other]), other if expected is None else expected
                )
                tested.add(name)
    assert tested >= {"ADD", "SUB", "MUL", "LOGICAL_AND", "LOGICAL_OR"}


def test_comparisons_negated_and_mirrored() -> None:
    a, b = np.arange(9, dtype=np.int32) % 3, np.arange(9, dtype=np.int32) // 3
    outcome = {}
    for param in calls(elementwise=True):
        name, call = param.values
        comparison = traits_of(name).compares
        if comparison is not None and call.inputs[0].dtype is DType.INT32:
            outcome[comparison] = evaluated(name, call, [a, b]), evaluated(name, call, [b, a])
    assert outcome.keys() == set(Comparison)
    for comparison, (forward, backward) in outcome.items():
        assert forward is not None
        np.testing.assert_array_equal(outcome[comparison.negated][0], np.logical_not(forward))
        np.testing.assert_array_equal(outcome[comparison.mirrored][0], backward)


@pytest.mark.parametrize("connective", Connective)
def test_connectives_hold_of_their_operands(connective: Connective) -> None:
    (name,) = (name for name, operator in OPERATORS.items() if operator.traits.connective is connective)
    call = instance(OPERATORS[name], DType.BOOL, (2, 3, 4))
    assert call is not None
    values = present(call.constants)
    holds = {Connective.AND: np.all(values, axis=0), Connective.OR: np.any(values, axis=0)}
    np.testing.assert_array_equal(evaluated(name, call, values), holds.get(connective, ~values[0]))


@pytest.mark.parametrize(("name", "call", "sign"), [(*p.values, sign) for sign in (1, -1) for p in calls(adds=sign)])
def test_sums_have_a_sign(name: str, call: OperatorInstance, sign: int) -> None:
    first, second = present(call.constants)
    np.testing.assert_array_equal(evaluated(name, call, [first, second]), first + sign * second)


@pytest.mark.parametrize(
    ("name", "call", "sign"), [(*p.values, sign) for sign in (1, -1) for p in calls(multiplies=sign)]
)
def test_products_have_an_exponent(name: str, call: OperatorInstance, sign: int) -> None:
    first, second = present(call.constants)
    result = evaluated(name, call, [first, second])
    if result is not None:
        np.testing.assert_allclose(result, first * second if sign > 0 else first / second)


@pytest.mark.parametrize(("name", "call"), calls(unary=True))
def test_functions_of_one_element_see_their_element_only(name: str, call: OperatorInstance) -> None:
    x = np.ravel(present(call.constants)[0])
    whole = evaluated(name, call, [x, *call.constants[1:]])
    assert whole is not None
    parts = [evaluated(name, call, [x[i : i + 1], *call.constants[1:]]) for i in range(x.size)]
    np.testing.assert_array_equal(whole, np.concatenate([part for part in parts if part is not None]))


@pytest.mark.parametrize("name", [name for name, operator in OPERATORS.items() if operator.traits.view])
def test_views_have_views_for_kernels(name: str) -> None:
    kind = TensorType(DType.INT8, (1, 4))
    call = OperatorInstance((kind,), (TensorType(DType.INT8, (4,)),), (None,), None)
    assert OPERATORS[name].kernel(call, Target("generic")) == View(0)


@pytest.mark.parametrize("name", [name for name, operator in OPERATORS.items() if operator.traits.clamp is not None])
def test_clamps_clamp(name: str) -> None:
    x = np.linspace(-9, 9, 19, dtype=np.float32)
    call = OperatorInstance((TensorType(DType.FLOAT32, (19,)),), (TensorType(DType.FLOAT32, (19,)),), (x,), None)
    clamp = OPERATORS[name].traits.clamp
    assert clamp is not None
    np.testing.assert_array_equal(evaluated(name, call, [x]), np.clip(x, *clamp.bounds))


def test_real_functions_are_what_folding_computes() -> None:
    tested = set()
    for name, operator in OPERATORS.items():
        call = instance(operator, DType.FLOAT32, (2, 3, 4))
        result = None if operator.real is None or call is None else evaluated(name, call, list(call.constants))
        if call is not None and operator.real is not None and result is not None:
            with np.errstate(all="ignore"):
                wanted = operator.real(call, [np.asarray(array, np.float64) for array in call.constants])
            np.testing.assert_allclose(result, wanted, rtol=1e-6, err_msg=name)
            tested.add(name)
    assert tested >= {"ADD", "SUB", "MUL", "NEG", "ABS", "SQUARE", "SQRT", "RELU", "MAXIMUM", "SQUARED_DIFFERENCE"}


def test_what_is_spelled_out_has_a_real_function() -> None:
    assert all(row.real is not None and row.traits.unary for row in OPERATORS.values() if row.traits.spelled_out)


def test_nothing_is_known_of_an_operator_that_says_nothing() -> None:
    assert traits_of("CUSTOM:Nobody") == Traits()
    neutral = {"row_wise", "roles"}
    assert not any(getattr(Traits(), field.name) for field in fields(Traits) if field.name not in neutral)
    assert not Traits().row_wise(OperatorInstance((), (), (), None), 0)


def test_a_plugin_declares_traits() -> None:
    class Halve(CustomOperator):
        name = "Halve"
        traits = Traits(elementwise=True)

        def infer(self, op: OperatorInstance) -> tuple[Shape | None, ...]:
            return (op.outputs[0].shape,)

        def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
            raise NotImplementedError

    assert Halve().row().traits.elementwise
