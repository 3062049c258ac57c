"""What to guess before reading about cost and capacity, and to work out after."""

from __future__ import annotations

from llmserve_lab.capacity import at_goodput, headroom, runs
from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity.autoscaling import PERIOD_S
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question

IN_TIME = ("waiting requests", "KV cache in use, target 80%", "requests in flight")
CAPPED = ("more", "as many", "fewer")
FULLER = ("both equally", "the output token", "the input token")
PRICE = 2.5  # dollars an hour, given in exercises
RATE_1, PEAK, MEAN = 12.0, 50.0, 20.0
STAND, GROWTH, COLD_S = 3, 0.1, 105.0
ANSWER_S, TOKENS = 0.06, 300
HOUR_S = 3600.0


def _needed() -> float:
    return float(f.N_REPLICAS(peak_rate=PEAK, replica_rate=RATE_1))


def _used() -> float:
    known = {"mean_rate": MEAN, "n_replicas": _needed(), "replica_rate": RATE_1}
    return float(f.USED_SHARE(**known))


def _order() -> float:
    return headroom.order_rate(RATE_1, GROWTH, COLD_S, STAND)


def _apart() -> float:
    known = {"price": PRICE, "answer_gpu_s": ANSWER_S, "new_tokens": TOKENS}
    return float(f.OUTPUT_COST(**known))


def _kept() -> str:
    return f"{at_goodput.shown():.1f}"


def _shares() -> str:
    rate = at_goodput.shown()
    capped, free = (
        at_goodput.capped(rate, slots).both for slots in (at_goodput.SEQS, runs.slots())
    )
    return f"{capped:.0%} instead of {free:.0%}"


def _under_way() -> str:
    rate = at_goodput.shown()
    return f"{rate * at_goodput.latency_s(rate):.0f}"


predict_cap = Question(
    name="capacity.predict-cap",
    kind="predict",
    prompt=(
        f"At {_kept()} requests per second the replica just keeps its promise, and "
        "TPOT is the target that is missed. Now let it run at most "
        f"{at_goodput.SEQS} requests at a time; the others wait. How many requests "
        "keep both targets, compared with before?"
    ),
    choices=CAPPED,
    answer=lambda: 2.0,
    why=lambda: (
        f"Fewer: {_shares()}. At this rate {_under_way()} requests are in flight on "
        f"average, so all {at_goodput.SEQS} slots are often taken. Then requests queue "
        "for a slot, and their first tokens are late."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "Steps do get shorter. But waiting for a slot counts in TTFT, which is a "
            "target, too.",
        ),
        Hint(
            lambda: 1.0,
            "It would be so if the slots were never all taken; here they often are.",
        ),
    ),
)
predict_fuller = Question(
    name="capacity.predict-fuller",
    kind="predict",
    prompt=(
        "The same replica serves ten times as many requests per second as at night. "
        "Which becomes cheaper by it: an input token or an output token?"
    ),
    choices=FULLER,
    answer=lambda: 1.0,
    why=lambda: (
        "The output token. Reading a prompt takes the arithmetic units the same time "
        "whoever else is served; a decode step reads the weights once for all answers "
        "that are in flight, and the more there are, the less each pays."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "A prompt of 1,000 tokens is 1,000 rows to compute at night and by day.",
        ),
        Hint(
            lambda: 2.0,
            "A prompt shares nothing with others; the decode steps share the weights.",
        ),
    ),
)
predict_signal = Question(
    name="capacity.predict-signal",
    kind="predict",
    prompt=(
        f"A replica of Llama-3.1-8B on an H100 keeps its targets up to {_kept()} "
        "requests per second. The rate rises from 10 to 40 per second within three "
        "minutes. "
        "Which signal of the server asks for more replicas first?"
    ),
    choices=IN_TIME,
    answer=lambda: 2.0,
    why=lambda: (
        "Requests in flight: their number grows with the rate and with the latency, "
        "from the first minute of the rise. Requests wait only once the GPU can take "
        "no more, and the cache never became 80% full."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "A continuous batch admits at once; nothing waits until it is too late.",
        ),
        Hint(
            lambda: 1.0,
            "The targets are missed long before the cache is full.",
        ),
    ),
)
idle = Question(
    name="capacity.idle",
    prompt=(
        f"At the peak {PEAK:g} requests per second arrive, on average {MEAN:g}; a "
        f"replica has a goodput of {RATE_1:g} per second. Enough replicas for the peak "
        "stand all day. What share of their capacity is used?"
    ),
    answer=_used,
    unit="dimensionless",
    why=lambda: (
        f"{_needed():.0f} replicas are needed, half a replica is not for sale; "
        f"{f.USED_SHARE.link} gives {si(_used())}, a third."
    ),
    hints=(
        Hint(
            lambda: MEAN / PEAK,
            "That would be so if the replicas fitted the peak exactly: round up.",
        ),
        Hint(
            lambda: 1 - _used(),
            "That is the share that is not used.",
        ),
    ),
)
early = Question(
    name="capacity.headroom",
    prompt=(
        f"Replicas with a goodput of {RATE_1:g} per second each; {STAND} always stand. "
        f"The rate of arrivals grows by {GROWTH:g} per second in each second, far "
        "beyond what they can carry. The loop reads a fresh signal every "
        f"{PERIOD_S:.0f} s, and a new replica serves {COLD_S:.0f} s after its order. "
        "At most what rate may each ready replica get when the order is due?"
    ),
    answer=_order,
    unit="request/s",
    why=lambda: (
        f"{si(_order(), 'request/s')}. In the worst case {PERIOD_S + COLD_S:.0f} s "
        f"pass, in which the rate grows by {GROWTH * (PERIOD_S + COLD_S):.0f}; each of "
        f"{STAND} replicas keeps its part of that free."
    ),
    hints=(
        Hint(
            lambda: RATE_1 - GROWTH * COLD_S / STAND,
            "The loop may have read its signal just before the rate came that high.",
        ),
        Hint(
            lambda: STAND * _order(),
            "That is the rate of all replicas together.",
        ),
    ),
)
apart = Question(
    name="capacity.apart",
    prompt=(
        f"A replica costs {PRICE:g} dollars an hour. An answer of {TOKENS} tokens is "
        f"charged {1e3 * ANSWER_S:g} ms of its time. What do a million output tokens "
        "cost, in dollars?"
    ),
    answer=_apart,
    unit="dollar/Mtoken",
    why=lambda: f"Equation {f.OUTPUT_COST.link}: {si(_apart(), 'dollar/Mtoken')}.",
    hints=(
        Hint(
            lambda: _apart() * TOKENS,
            "That is for a million answers: divide by the tokens of one.",
        ),
        Hint(
            lambda: _apart() * HOUR_S,
            "The price is by the hour, the time in milliseconds.",
        ),
    ),
)


def first_minutes() -> dict[str, int]:
    """Minute in which each autoscaler ordered its first replica, by its name."""
    found = {}
    for name in runs.TARGETS:
        starting = runs.scaled_run(name).starting
        found[name] = next((at + 1 for at, n in enumerate(starting) if n), 0)
    return found
