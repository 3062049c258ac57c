"""A serving engine in simulated time: the scheduler is real, only time is computed.

``simulate(requests, Pool(IterationCost.of(model, gpu), Chunked(512)))`` gives a
:class:`Report` of latencies, throughput and utilization. The rooms: ``scheduler`` says
what each iteration runs, ``timing`` how long it takes, ``metrics`` what came of it.
"""

from llmserve_lab.engine.deployment import Disaggregated, Pool
from llmserve_lab.engine.execute import ExecutedRun, execute
from llmserve_lab.engine.metrics.events import RequestEvent
from llmserve_lab.engine.metrics.iteration_log import IterationFrame, IterationLog
from llmserve_lab.engine.metrics.iteration_record import (
    IterationRecord,
    ScheduledTokens,
)
from llmserve_lab.engine.metrics.report import Report
from llmserve_lab.engine.routing import LeastLoaded, PrefixAware, Routing
from llmserve_lab.engine.scheduler.policies import (
    Chunked,
    ChunkedWithin,
    Continuous,
    ContinuousWithBudget,
    Plan,
    Policy,
    Static,
)
from llmserve_lab.engine.scheduler.prefix_cache import PrefixCache
from llmserve_lab.engine.scheduler.queue_order import (
    Fcfs,
    Order,
    Priority,
    ShortestPromptFirst,
)
from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.engine.scheduler.state import BatchState
from llmserve_lab.engine.simulate import simulate
from llmserve_lab.engine.speculation import Acceptance, Speculation
from llmserve_lab.engine.timing.cost import IterationCost
from llmserve_lab.engine.timing.load import IterationLoad

__all__ = [
    "Acceptance",
    "BatchState",
    "Chunked",
    "ChunkedWithin",
    "Continuous",
    "ContinuousWithBudget",
    "Disaggregated",
    "ExecutedRun",
    "Fcfs",
    "IterationCost",
    "IterationFrame",
    "IterationLoad",
    "IterationLog",
    "IterationRecord",
    "LeastLoaded",
    "Order",
    "Plan",
    "Policy",
    "Pool",
    "PrefixAware",
    "PrefixCache",
    "Priority",
    "Report",
    "Request",
    "RequestEvent",
    "Routing",
    "ScheduledTokens",
    "ShortestPromptFirst",
    "Speculation",
    "Static",
    "execute",
    "simulate",
]
