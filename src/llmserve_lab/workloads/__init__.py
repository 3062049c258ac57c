"""Workloads: arrivals and lengths of requests, from distributions or real traces."""

from llmserve_lab.workloads.arrivals import at_once, bursty, poisson
from llmserve_lab.workloads.conversations import Conversations
from llmserve_lab.workloads.lengths import (
    Always,
    Bounded,
    Empirical,
    Geometric,
    LengthLaw,
    Lognormal,
)
from llmserve_lab.workloads.lines import MalformedLineError
from llmserve_lab.workloads.loads import (
    bursty_requests,
    closed_requests,
    faster,
    poisson_requests,
)
from llmserve_lab.workloads.synthetic import made_up, published, write_made_up
from llmserve_lab.workloads.traces import READERS, azure, burstgpt, csv_trace, mooncake

__all__ = [
    "READERS",
    "Always",
    "Bounded",
    "Conversations",
    "Empirical",
    "Geometric",
    "LengthLaw",
    "Lognormal",
    "MalformedLineError",
    "at_once",
    "azure",
    "burstgpt",
    "bursty",
    "bursty_requests",
    "closed_requests",
    "csv_trace",
    "faster",
    "made_up",
    "mooncake",
    "poisson",
    "poisson_requests",
    "published",
    "write_made_up",
]
