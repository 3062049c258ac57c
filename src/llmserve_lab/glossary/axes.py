"""Terms of the axes along which a model, a request or a batch is cut."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "bubble",
        "The share of a pipeline's time in which its stages have nothing to do.",
        "parallelism",
        ("pipeline bubble",),
    ),
    Term(
        "tick",
        "The time that one batch takes in one stage of a pipeline.",
        "parallelism",
    ),
    Term(
        "microbatch",
        "One of the batches that go through a pipeline one behind the other.",
        "parallelism",
        ("micro-batch",),
    ),
    Term(
        "context parallelism",
        "The tokens of one request are shared out among the ranks, in every layer.",
        "parallelism",
        ("CP", "context parallel"),
    ),
    Term(
        "ring attention",
        "Attention over tokens on several ranks: blocks of keys and values, or the "
        "queries, go from rank to rank, and each merges what it finds.",
        "parallelism",
        ("pass-KV", "pass-Q"),
    ),
    Term(
        "zig-zag dealing",
        "Giving each rank an early and a late piece of a prompt, so that all compute "
        "as much in causal attention.",
        "parallelism",
        ("zigzag",),
        marked=False,
    ),
    Term(
        "data-parallel attention",
        "Each rank has all of attention's weights and its own requests' cache; only "
        "the feed-forward network or the experts are cut.",
        "parallelism",
        ("DP attention",),
    ),
)
