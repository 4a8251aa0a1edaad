from __future__ import annotations

import pytest
from tflite.BuiltinOperator import BuiltinOperator
from tflite.TensorType import TensorType
from tflmgen.frontend.tflite.names import (
    BUILTIN_OPERATORS,
    TENSOR_TYPES,
    operator_name,
    options_table,
    tensor_type_name,
)
from tflmgen.frontend.tflite.schema import Field, Kind, fields, union_tables


def test_fields_of_each_kind() -> None:
    assert {field.name: field.kind for field in fields("SubGraph")} == {
        "tensors": Kind.TABLES,
        "inputs": Kind.SCALARS,
        "outputs": Kind.SCALARS,
        "operators": Kind.TABLES,
        "name": Kind.STRING,
        "debug_metadata_index": Kind.SCALAR,
    }
    by_name = {field.name: field for field in fields("Tensor")}
    assert by_name["quantization"] == Field("quantization", 12, Kind.TABLE, table="QuantizationParameters")
    assert by_name["has_rank"] == Field("has_rank", 20, Kind.SCALAR, "?", False)
    assert by_name["shape"] == Field("shape", 4, Kind.SCALARS, "i", ())
    assert {field.name for field in fields("Operator") if field.kind is Kind.UNION} == {
        "builtin_options",
        "builtin_options2",
    }


def test_fields_that_the_package_lacks() -> None:
    assert union_tables("QuantizationDetails") == {1: "CustomQuantization", 2: "BlockwiseQuantization"}
    assert [field.name for field in fields("BlockwiseQuantization")] == [
        "scales",
        "zero_points",
        "block_size",
        "block_shape",
    ]


def test_the_two_codes_of_an_operator_are_two_fields() -> None:
    assert [(field.name, field.slot, field.format) for field in fields("OperatorCode")] == [
        ("deprecated_builtin_code", 4, "b"),
        ("custom_code", 6, ""),
        ("version", 8, "i"),
        ("builtin_code", 10, "i"),
    ]


@pytest.mark.parametrize("union", ["BuiltinOptions", "BuiltinOptions2"])
def test_every_options_table_is_understood(union: str) -> None:
    for table in union_tables(union).values():
        for field in fields(table):
            assert field.kind in (Kind.SCALAR, Kind.SCALARS, Kind.STRING), (table, field)
            assert field.format in ("?", "b", "B", "i", "I", "q", "f", ""), (table, field)


def test_names_agree_with_the_package_as_far_as_it_goes() -> None:
    operators = {number: name for name, number in vars(BuiltinOperator).items() if isinstance(number, int)}
    assert dict(enumerate(BUILTIN_OPERATORS[: len(operators)])) == operators
    types = {number: name.lower() for name, number in vars(TensorType).items() if isinstance(number, int)}
    assert dict(enumerate(TENSOR_TYPES[: len(types)])) == types


def test_names_beyond_the_package() -> None:
    assert operator_name(209, "") == "STABLEHLO_CASE"
    assert [tensor_type_name(number) for number in (19, 20, 22, 23)] == ["int2", "uint4", "float8_e5m2", None]


def test_numbers_without_a_name() -> None:
    assert [operator_name(code, "") for code in (-1, 127, 210)] == [None, None, None]
    assert tensor_type_name(-1) is None


@pytest.mark.parametrize(
    ("operator", "table"),
    [
        ("CONV_2D", "Conv2DOptions"),
        ("MAX_POOL_2D", "Pool2DOptions"),
        ("MEAN", "ReducerOptions"),
        ("TOPK_V2", "TopKV2Options"),
        ("STABLEHLO_COMPOSITE", "StableHLOCompositeOptions"),
        ("LOGISTIC", None),
        ("CUSTOM:Conv2D", None),
    ],
)
def test_options_table_of_an_operator(operator: str, table: str | None) -> None:
    assert options_table(operator) == table
