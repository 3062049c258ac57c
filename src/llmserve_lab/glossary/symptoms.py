"""Terms of reading a dashboard."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "Little's law",
        "Requests in a place are on average the rate at which they come times the time "
        "that each spends there.",
        "symptoms",
        ("Little",),
    ),
    Term(
        "preemption storm",
        "Preemptions that follow each other, because more answers grow than the KV "
        "cache has room for.",
        "symptoms",
        ("preemption thrashing",),
    ),
    Term(
        "queue time",
        "The time from a request's arrival to its first iteration.",
        "symptoms",
        ("queueing delay",),
    ),
    Term(
        "gauge",
        "A metric that shows the state of a moment, such as requests running; a "
        "counter only grows.",
        "symptoms",
    ),
)
