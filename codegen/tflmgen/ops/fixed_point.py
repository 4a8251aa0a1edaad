"""Fixed-point exponentials as TFLite's integer kernels compute them (gemmlowp's fixedpoint.h), for tables.

A number in Qm.n has m integer bits, n = 31 - m fractional bits, and a sign. Products round as the kernels' do.
"""

from __future__ import annotations

INT32_MAX = 2**31 - 1
INT32_MIN = -(2**31)

EXP_INTEGER_BITS = 5
"""Integer bits m of `exp_on_negative_values`' argument."""


def saturate(value: int) -> int:
    return min(max(value, INT32_MIN), INT32_MAX)


def doubling_high_multiply(a: int, b: int) -> int:
    """round(a * b / 2^31), halves up, saturated: the product of two numbers, of which m bits add up."""
    return saturate((a * b + (1 << 30)) >> 31)


def rounding_divide_by_power(value: int, exponent: int) -> int:
    """round(value / 2^exponent), halves away from zero."""
    half = (1 << exponent) >> 1
    return (value + half) >> exponent if value >= 0 else -((-value + half) >> exponent)


def exp_on_negative_values(value: int) -> int:
    """exp of a number <= 0 in Q5.26, as Q0.31.

    The argument's last quarter goes through a polynomial, the rest picks factors exp(-2^k) bit by bit.
    """
    if value == 0:
        return INT32_MAX
    fraction_bits = 31 - EXP_INTEGER_BITS
    quarter = 1 << (fraction_bits - 2)
    last = (value & (quarter - 1)) - quarter
    result = _exp_of_last_quarter(saturate(last << EXP_INTEGER_BITS))
    rest = last - value
    factors = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
    for exponent, factor in enumerate(factors, start=-2):
        if rest & (1 << (fraction_bits + exponent)):
            result = doubling_high_multiply(result, factor)
    return result


def _exp_of_last_quarter(value: int) -> int:
    """exp in [-1/4, 0) in Q0.31: the Taylor polynomial of degree 4 around -1/8."""
    at_eighth, third = 1895147668, 715827883
    x = value + (1 << 28)
    x2 = doubling_high_multiply(x, x)
    x3 = doubling_high_multiply(x2, x)
    x4 = doubling_high_multiply(x2, x2)
    tail = doubling_high_multiply(rounding_divide_by_power(x4, 2) + x3, third) + x2
    return at_eighth + doubling_high_multiply(at_eighth, x + rounding_divide_by_power(tail, 1))
