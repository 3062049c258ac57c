"""One serving engine in simulated time: what is decided is real, only time is made up.

``simulate(requests, Pool(IterationCost.of(model, gpu), Chunked(512)))`` gives a
:class:`Report` of what everybody had to wait for.
"""

from llmserve_lab.engine.execute import ExecutedRun, ScheduledTokens, execute
from llmserve_lab.engine.metrics.iteration_log import IterationLog, IterationRecord
from llmserve_lab.engine.metrics.report import Report
from llmserve_lab.engine.pool import Disaggregated, Pool
from llmserve_lab.engine.scheduler.policies import (
    Chunked,
    ChunkedWithin,
    Continuous,
    Policy,
    Static,
)
from llmserve_lab.engine.scheduler.prefix_cache import PrefixCache
from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.engine.simulate import simulate
from llmserve_lab.engine.timing.cost import IterationCost, IterationLoad

__all__ = [
    "Chunked",
    "ChunkedWithin",
    "Continuous",
    "Disaggregated",
    "ExecutedRun",
    "IterationCost",
    "IterationLoad",
    "IterationLog",
    "IterationRecord",
    "Policy",
    "Pool",
    "PrefixCache",
    "Report",
    "Request",
    "ScheduledTokens",
    "Static",
    "execute",
    "simulate",
]
