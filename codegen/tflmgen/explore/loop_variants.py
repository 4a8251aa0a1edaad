"""Which of a model's equivalent graphs are planned: that with its LSTM loops, that with operators in their place."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.ir import Module, Target

LOOP_PRODUCTS_FEATURE = "mve"
"""Instruction set with kernels for the products of a float LSTM loop, of which the fused operator has none. Measured:
on an M4 the operator takes 12 % to 35 % fewer instructions than the loop; on an M55 more, from 16 cells on."""


def variants_to_plan(
    imports: Sequence[Module], target: Target, for_speed: bool, for_little_ram: bool
) -> Sequence[Module]:
    """The graphs whose plans are compared, the fastest first.

    imports         the file's graph, then the one with its LSTM loops fused, if it has any
    for_speed       nothing but the fastest counts
    for_little_ram  a slower one is welcome where it takes less
    """
    is_loop_fast = LOOP_PRODUCTS_FEATURE in target.features
    by_speed = imports if is_loop_fast else imports[::-1]
    return by_speed[:1] if for_speed or (is_loop_fast and not for_little_ram) else by_speed
