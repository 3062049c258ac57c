"""Decision tree of first measurements: questions in order, each answered by a metric.

Every question compares a metric with a goal of your own or with what the server was
given (its seats, its memory), so that the order holds on other GPUs as well. A healthy
server falls through to the end: no cause is named where nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Panel = Mapping[str, float]


@dataclass(frozen=True)
class Goals:
    """What you promise your users, and from where on a metric counts as a sign."""

    ttft_s: float = 1.0
    itl_s: float = 0.02
    itl_p99_s: float = 0.05
    preempted: float = 0.02  # preemptions per request
    long_gaps: float = 0.05  # gaps above half a second, per request
    queued: float = 0.5  # share of TTFT
    empty: float = 0.2  # share of the seats, while requests wait
    full: float = 0.95  # share of KV blocks in use
    claimed: float = 0.9  # blocks, of those that the GPU could hold
    in_front: float = 0.5  # share of the client's TTFT that the server does not see


Ask = Callable[[Panel, Goals], bool]


@dataclass(frozen=True)
class Leaf:
    """A cause, what to try first, and the section that explains it."""

    cause: str
    remedy: str
    section: str = ""


@dataclass(frozen=True)
class Branch:
    """A question to the metrics; ``yes`` and ``no`` lead on or to a leaf."""

    words: str
    metric: str
    ask: Ask
    yes: Branch | Leaf
    no: Branch | Leaf


STORM = "a-preemption-storm-step-by-step"
PAUSES = "answers-that-pause-two-causes"
OTHERS = "nine-more-symptoms-and-what-tells-their-causes-apart"
HEALTHY = Leaf("none of these", "leave the server as it is, and look at others")
FRONT = Leaf(
    "in front of the engine", "gateway, network, tokenisation", "when-it-fails"
)
LITTLE = Leaf("little memory for the cache", "a larger share of the memory", STORM)
OUTGROWN = Leaf("answers outgrow the cache", "fewer seats", STORM)
FULL = Leaf("a full cache", "fewer bytes a token, or another GPU", OTHERS)
FEW = Leaf("too few seats", "more seats", OTHERS)
STATIC = Leaf("static batching", "continuous batching", OTHERS)
OVERLOAD = Leaf("overload", "another replica, or fewer requests", "when-it-fails")
LONG = Leaf("long prompts in one piece", "smaller chunks", PAUSES)
PROMPTS = Leaf("long prompts", "tensor parallelism, prefix caching", OTHERS)
BATCH = Leaf("a large batch", "cap the batch, or another replica", OTHERS)
MIXED = Leaf("prompts among the decodes", "smaller chunks", OTHERS)

G = Goals()
PERCENTILES = Branch(
    f"Is the P99 of the inter-token latency above {1e3 * G.itl_p99_s:.0f} ms?",
    "inter_token_latency_seconds",
    lambda p, g: p["itl_p99"] > g.itl_p99_s,
    Branch(
        f"Its median above {1e3 * G.itl_s:.0f} ms, too?",
        "inter_token_latency_seconds",
        lambda p, g: p["itl_p50"] > g.itl_s,
        BATCH,
        MIXED,
    ),
    HEALTHY,
)
QUEUED = Branch(
    f"Is more than {G.full:.0%} of the KV cache in use?",
    "kv_cache_usage_perc",
    lambda p, g: p["kv_peak"] > g.full,
    FULL,
    Branch(
        f"Are more than {G.empty:.0%} of the seats empty while requests wait?",
        "num_requests_running below --max-num-seqs, num_requests_waiting above 0",
        lambda p, g: p["idle_slots"] > g.empty,
        STATIC,
        Branch(
            f"Is the median gap between tokens below {1e3 * G.itl_s:.0f} ms?",
            "inter_token_latency_seconds",
            lambda p, g: p["itl_p50"] < g.itl_s,
            FEW,
            OVERLOAD,
        ),
    ),
)
TREE = Branch(
    f"Does vLLM report less than {1 - G.in_front:.0%} of the TTFT at the client?",
    "TTFT at the client beside time_to_first_token_seconds",
    lambda p, g: p.get("in_front", 0.0) > g.in_front,
    FRONT,
    Branch(
        f"Are there more than {G.preempted:g} preemptions per request?",
        "num_preemptions_total over e2e_request_latency_seconds_count",
        lambda p, g: p["preemptions"] > g.preempted,
        Branch(
            f"Has the server fewer than {G.claimed:.0%} of the KV blocks that this GPU "
            "can hold?",
            "cache_config_info beside the blocks that you computed",
            lambda p, g: p["claimed"] < g.claimed,
            LITTLE,
            OUTGROWN,
        ),
        Branch(
            f"Is the first token later than {G.ttft_s:g} s, and more than "
            f"{G.queued:.0%} of that queue time?",
            "request_queue_time_seconds over time_to_first_token_seconds",
            lambda p, g: p["ttft_p50"] > g.ttft_s and p["queue_share"] > g.queued,
            QUEUED,
            Branch(
                f"Are there more than {G.long_gaps:g} gaps above 0.5 s per request?",
                "inter_token_latency_seconds",
                lambda p, g: p["long_gaps"] > g.long_gaps,
                LONG,
                Branch(
                    f"Is the first token later than {G.ttft_s:g} s all the same?",
                    "time_to_first_token_seconds",
                    lambda p, g: p["ttft_p50"] > g.ttft_s,
                    PROMPTS,
                    PERCENTILES,
                ),
            ),
        ),
    ),
)


def cause_of(panel: Panel, goals: Goals | None = None) -> Leaf:
    """Walk the tree with the metrics of a server."""
    at: Branch | Leaf = TREE
    while isinstance(at, Branch):
        at = at.yes if at.ask(panel, goals or Goals()) else at.no
    return at


def leaves(of: Branch | Leaf = TREE) -> list[Leaf]:
    """All leaves, from the first question to the last."""
    if isinstance(of, Leaf):
        return [of]
    return [*leaves(of.yes), *leaves(of.no)]


TRIED = (  # a case, a cause in it, and the leaf that its runs must be led to
    ("preemption-storm", "answers outgrow the cache", OUTGROWN),
    ("preemption-storm", "little memory for the cache", LITTLE),
    ("pauses", "preemption", OUTGROWN),
    ("pauses", "long prompts in one piece", LONG),
    ("first-token", "too few seats", FEW),
    ("first-token", "long prompts", PROMPTS),
    ("short-answers", "static batching", STATIC),
    ("short-answers", "a full batch", FEW),
    ("idle-arithmetic", "a full cache", FULL),
    ("percentiles", "a large batch", BATCH),
    ("percentiles", "prompts among the decodes", MIXED),
)
