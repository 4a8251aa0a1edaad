"""Trade-offs: orders of operators, slower kernels and row streaming, against arena bytes and cycles.

In: a Module and a target. Out: the best plan: Selection, Schedule, Storage and Layout together.
Decided here: the candidate plans to try, and the one to take for --optimize or --ram-budget.
"""

from tflmgen.explore.arena_memories import in_memories
from tflmgen.explore.optimised_graphs import optimise
from tflmgen.explore.prefetch_plan import Prefetches, plan_prefetches
from tflmgen.explore.ram_trade_offs import TradeOff, best_plan, pareto_front, unsearched_plan
from tflmgen.explore.search import PlanCandidate
from tflmgen.explore.streams.chain import row_streams
from tflmgen.explore.weight_blocks import with_weight_blocks

__all__ = [
    "PlanCandidate",
    "Prefetches",
    "TradeOff",
    "best_plan",
    "in_memories",
    "optimise",
    "pareto_front",
    "plan_prefetches",
    "row_streams",
    "unsearched_plan",
    "with_weight_blocks",
]
