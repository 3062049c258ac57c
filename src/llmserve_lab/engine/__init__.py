"""A serving engine in simulated time: the scheduler is real, only time is computed.

``simulate(requests, Pool(IterationCost.of(model, gpu), Chunked(512)))`` gives a
:class:`Report` of latencies, throughput and utilization. The rooms: ``scheduler`` says
what each iteration runs, ``timing`` how long it takes, ``metrics`` what came of it.

>>> import llmserve_lab as ll
>>> model, gpu = ll.model("llama-3.1-8b"), ll.accelerator("h100-sxm")
>>> cost = ll.IterationCost.of(model, gpu)
>>> asked = [
...     ll.Request(arrival_s=i / 10, prompt_len=1000, output_len=100, id=i)
...     for i in range(50)
... ]
>>> pool = ll.Pool(cost, ll.Chunked(512), replicas=2)
>>> report = ll.simulate(asked, pool)
>>> report.num_requests, report.percentile("ttft", 99) < 0.1
(50, True)

A rule of your own is a subclass of :class:`Policy`, :class:`Order` or :class:`Routing`.
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
