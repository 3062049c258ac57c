"""Workloads: arrivals and lengths of requests, from distributions or real traces.

>>> from llmserve_lab import workloads
>>> prompt = workloads.Lognormal(mean=1000, cv=1)
>>> answer = workloads.Geometric(200)
>>> drawn = workloads.poisson_requests(
...     rate_per_s=2, prompt=prompt, output=answer, num_requests=100, seed=0
... )
>>> 30 < max(request.arrival_s for request in drawn) < 70
True

A trace of your own is a CSV file: say which column is which, and call
``csv_trace("mine.csv", time="at", prompt="in", output="out")``. Readers of published
traces are named for them. What a reader or a law gives is what
``llmserve_lab.simulate`` takes.
"""

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
