"""Trade-offs: orders of operators, slower kernels and row streaming, against arena bytes and cycles.

In: a Module and a target. Out: the best plan: Selection, Schedule, Storage and Layout together.
Decided here: which candidate plans are tried, and which of them is taken for an --optimize or a --ram-budget.
"""

from tflmgen.explore.channel_multiples import prepare, prepare_trade_offs
from tflmgen.explore.ram_trade_offs import Choice, apart, choose, curve, parse_budget
from tflmgen.explore.search import Candidate
from tflmgen.explore.streams.push_rows import push_rows
from tflmgen.explore.streams.stream_calls import row_streams

__all__ = [
    "Candidate",
    "Choice",
    "apart",
    "choose",
    "curve",
    "parse_budget",
    "prepare",
    "prepare_trade_offs",
    "push_rows",
    "row_streams",
]
