"""Trade-offs: orders of operators, slower kernels and row streaming, against arena bytes and cycles.

In: a Module and a target. Out: the best plan: Selection, Schedule, Storage and Layout together.
Decided here: the candidate plans to try, and the one to take for --optimize or --ram-budget.
"""

from tflmgen.explore.channel_multiples import prepare, prepare_trade_offs
from tflmgen.explore.loop_variants import variants_to_plan
from tflmgen.explore.ram_trade_offs import (
    TradeOff,
    choose_plan,
    pareto_front,
    parse_budget,
    parse_slowdown,
    plan_without_overlap,
)
from tflmgen.explore.search import Candidate
from tflmgen.explore.streams.push_rows import push_rows
from tflmgen.explore.streams.stream_calls import row_streams

__all__ = [
    "Candidate",
    "TradeOff",
    "choose_plan",
    "pareto_front",
    "parse_budget",
    "parse_slowdown",
    "plan_without_overlap",
    "prepare",
    "prepare_trade_offs",
    "push_rows",
    "row_streams",
    "variants_to_plan",
]
