"""Decision tree of first measurements: questions in order, each answered by a metric.

Every question compares a metric with a goal of your own or with what the server was
given (its slots, its memory), so that the order holds on other GPUs as well. A healthy
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
    hits: float = 0.5  # share of the prompt tokens that are looked up
    found: float = 0.1  # of a beginning that comes again at once
    full: float = 0.95  # share of KV blocks in use
    bits: float = 8.0  # of a number of the cache, where fewer are not tried
    claimed: float = 0.9  # blocks, of those that the GPU could hold
    in_front: float = 0.5  # share of the client's TTFT that the server does not see


Ask = Callable[[Panel, Goals], bool]


@dataclass(frozen=True)
class Leaf:
    """A cause, remedies from the best on, and the section that explains it.

    Remedies are rows of the tables of the cause, joined by ``, or ``; the first helped
    most. What made it worse is named behind ``; undo ``, and words in brackets say how.
    """

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
FAILS = "when-it-fails"
HEALTHY = Leaf("healthy", "leave the server as it is")
UNKNOWN = Leaf("none of these", "follow one slow request through the logs", FAILS)
ELSEWHERE = Leaf("not on this map", "its section in the fold above", OTHERS)
FRONT = Leaf("in front of the engine", "load balancer, network, tokenisation", FAILS)
LITTLE = Leaf("little memory for the cache", "a larger share of the memory", STORM)
OUTGROWN = Leaf(
    "answers outgrow the cache", "fewer slots, or 8 bits for the cache", STORM
)
OFF = Leaf("caching is off", "turn it on", OTHERS)
START = Leaf("prompts differ at the start", "move what changes to the end", OTHERS)
SCATTERED = Leaf(
    "scattered and evicted", "route to the replica that knows the prompt", OTHERS
)
FULL = Leaf("a full cache", "8 bits for the cache", OTHERS)
FEW = Leaf("too few slots", "more slots in the batch (twice as many)", OTHERS)
OVERLOAD = Leaf("overload", "another replica, or fewer requests", FAILS)
LONG = Leaf("long prompts in one piece", "smaller chunks", PAUSES)
PROMPTS = Leaf(
    "long prompts", "tensor parallelism over four GPUs; undo smaller chunks", OTHERS
)
BATCH = Leaf("a large batch", "smaller chunks, or cap the batch", OTHERS)
MIXED = Leaf("prompts among the decodes", "smaller chunks", OTHERS)

G = Goals()
PERCENTILES = Branch(
    f"Is the P99 of the inter-token latency above {1e3 * G.itl_p99_s:.0f} ms?",
    "inter_token_latency_seconds",
    lambda p, g: p["itl_p99"] > g.itl_p99_s,
    Branch(
        f"Is its median above {1e3 * G.itl_s:.0f} ms, too?",
        "inter_token_latency_seconds",
        lambda p, g: p["itl_p50"] > g.itl_s,
        BATCH,
        MIXED,
    ),
    Branch(
        "Does an alarm ring all the same?",
        "your alerts",
        lambda p, g: p.get("alarm", 0.0) > 0,
        UNKNOWN,
        HEALTHY,
    ),
)
QUEUED = Branch(
    f"Is more than {G.full:.0%} of the KV cache in use, at 16 bits a number?",
    "kv_cache_usage_perc",
    lambda p, g: p["kv_peak"] > g.full and p.get("cache_bits", 16.0) > g.bits,
    FULL,
    Branch(
        f"Are all slots taken, is the median gap below {1e3 * G.itl_s / 2:.0f} ms, and "
        "is half of the cache free?",
        "num_requests_running beside --max-num-seqs",
        lambda p, g: _twice_fits(p, g),
        FEW,
        OVERLOAD,
    ),
)
PREFIXES = Branch(
    "Is a beginning found that another user sends within seconds?",
    "the same counters, in a test on one replica",
    lambda p, g: p["repeat_hits"] > g.found,
    SCATTERED,
    START,
)
SERVED = Branch(
    f"Is the median TTFT above {G.ttft_s:g} s, and more than {G.queued:.0%} of TTFT "
    "queue time?",
    "time_to_first_token_seconds; request_queue_time_seconds beside "
    "request_prefill_time_seconds",
    lambda p, g: p["ttft_p50"] > g.ttft_s and p["queue_share"] > g.queued,
    QUEUED,
    Branch(
        f"Are there more than {G.long_gaps:g} gaps above 0.5 s per request?",
        "inter_token_latency_seconds",
        lambda p, g: p["long_gaps"] > g.long_gaps,
        LONG,
        Branch(
            f"Is the median TTFT above {G.ttft_s:g} s all the same?",
            "time_to_first_token_seconds",
            lambda p, g: p["ttft_p50"] > g.ttft_s,
            PROMPTS,
            PERCENTILES,
        ),
    ),
)
TREE = Branch(
    "Does it guess tokens ahead, split prefill from decode, batch statically or "
    "spread experts over GPUs, or did it just get more GPUs?",
    "its configuration",
    lambda p, g: p.get("elsewhere", 0.0) > 0,
    ELSEWHERE,
    Branch(
        f"Is TTFT as vLLM sees it less than {1 - G.in_front:.0%} of that at the "
        "client?",
        "TTFT at the client beside time_to_first_token_seconds",
        lambda p, g: p.get("in_front", 0.0) > g.in_front,
        FRONT,
        Branch(
            f"Are there more than {G.preempted:g} preemptions per request?",
            "num_preemptions_total over e2e_request_latency_seconds_count",
            lambda p, g: p["preemptions"] > g.preempted,
            Branch(
                f"Has it fewer than {G.claimed:.0%} of the KV blocks that this GPU "
                "can hold?",
                "cache_config_info beside the blocks that you computed",
                lambda p, g: p["claimed"] < g.claimed,
                LITTLE,
                OUTGROWN,
            ),
            Branch(
                "Do prompts begin alike, and does the counter of tokens looked up "
                "stand still?",
                "prefix_cache_queries_total",
                lambda p, g: p.get("shared", 0.0) > 0 and not p["queries"],
                OFF,
                Branch(
                    "Do prompts begin alike, and are less than "
                    f"{G.hits:.0%} of their tokens found?",
                    "prefix_cache_hits_total over prefix_cache_queries_total",
                    lambda p, g: p.get("shared", 0.0) > 0 and p["hit_share"] < g.hits,
                    PREFIXES,
                    SERVED,
                ),
            ),
        ),
    ),
)


def _twice_fits(panel: Panel, goals: Goals) -> bool:
    """Whether twice the slots keep the median gap and the cache below their limits.

    An iteration of twice the requests takes at most twice as long, and its requests
    hold at most twice the blocks.
    """
    return (
        panel["running_most"] >= panel["slots"]
        and 2 * panel["itl_p50"] < goals.itl_s
        and 2 * panel["kv_peak"] < 1
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
    ("first-token", "too few slots", FEW),
    ("first-token", "long prompts", PROMPTS),
    ("short-answers", "static batching", ELSEWHERE),
    ("short-answers", "a full batch", FEW),
    ("idle-arithmetic", "few requests at a time", HEALTHY),
    ("idle-arithmetic", "a full cache", FULL),
    ("percentiles", "a large batch", BATCH),
    ("percentiles", "prompts among the decodes", MIXED),
    ("prefix-cache", "caching is off", OFF),
    ("prefix-cache", "prompts differ at the start", START),
    ("prefix-cache", "scattered and evicted", SCATTERED),
    ("speculation", "drafts are rejected", ELSEWHERE),
    ("speculation", "a large batch", ELSEWHERE),
    ("more-gpus", "an all-reduce between servers", ELSEWHERE),
    ("more-gpus", "no more work to do", ELSEWHERE),
    ("hot-expert", "one expert that nearly all choose", ELSEWHERE),
    ("hot-expert", "few rows in an iteration", ELSEWHERE),
    ("pools", "too few prefill GPUs", ELSEWHERE),
    ("pools", "too few decode GPUs", ELSEWHERE),
    ("pools", "a slow link", ELSEWHERE),
)
SENT_ON = sum(leaf == ELSEWHERE for *_, leaf in TRIED)
NAMED = sum(leaf not in (ELSEWHERE, HEALTHY) for *_, leaf in TRIED)
