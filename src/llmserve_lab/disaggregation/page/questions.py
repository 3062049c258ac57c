"""What to guess before each reveal, and what to work out at the end."""

from __future__ import annotations

from math import ceil

from llmserve_lab.checks import key_of
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation import worked_example as worked
from llmserve_lab.disaggregation.goodput import (
    HANDS,
    KINDS,
    LIMITS_S,
    LOADS,
    best,
)
from llmserve_lab.disaggregation.launches import SURE
from llmserve_lab.disaggregation.served import known, load, value
from llmserve_lab.disaggregation.two_loads import Divided, split
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.question.question import Hint, Question

SENT = 4000  # tokens of the prompt to send by hand
RATE = 78.0  # requests per second of the sizing exercise
STRICT_S, LOOSE_S = LIMITS_S[0], LIMITS_S[-1]
SIZED_S = 0.015  # promised for a token in the sizing exercise
STEP_S, RIDE_S, PER_GPU = 0.015, 0.026, 12.0  # of the exercise on the stretched gap
PRICE_PER_HOUR, SPEED = 2.0, 2000.0


def _step_s() -> float:
    return worked.usual(f.DECODE_STEP_S, decode_batch=worked.BATCH)


def _alone_s() -> float:
    return worked.usual(f.PREFILL_S)


def made(prompt: float) -> float:
    """Cache that a prefill of the running example makes per second."""
    return value(f.KV_MADE_PER_S, known(load(prompt)))


def served(way: str, limit_s: float, load_at: int = 0) -> float:
    """Goodput of a way under a promise, with the hand-over that was measured."""
    key_of("load_at", load_at, range(len(LOADS)))
    found = best(LOADS[load_at], way, kind=KINDS[0], limit_s=limit_s, hand=HANDS[1])
    return found.per_s


def transfer_s() -> float:
    """Time to send the prompt of the first exercise."""
    return value(f.TRANSFER_S, known(load(SENT)))


def handoff_bytes() -> float:
    """Bytes of it."""
    return value(f.HANDOFF_BYTES, known(load(SENT)))


def decode_gpus() -> float:
    """GPUs that decode in the sizing exercise, not yet rounded."""
    return value(f.DECODE_GPUS, known(load(promise_s=SIZED_S), arrival_rate=RATE))


def prefill_gpus() -> float:
    """GPUs that prefill there."""
    return value(f.PREFILL_GPUS, known(load(promise_s=SIZED_S), arrival_rate=RATE))


def shared_gpus() -> float:
    """GPUs with one engine on each there, not yet rounded."""
    has = known(load(promise_s=SIZED_S), arrival_rate=RATE)
    return RATE * value(f.SHARED_GPU_S, has)


def gap_s() -> float:
    """The stretched gap of the exercise."""
    told = {"decode_step_s": STEP_S, "ride_s": RIDE_S, "arrival_rate": PER_GPU}
    return float(f.SHARED_GAP_S(**told))


def _million() -> float:
    price = {"gpu_price": PRICE_PER_HOUR / 3600, "tokens_per_s": SPEED}
    return 1e6 * float(f.TOKEN_COST(**price))


predict_hide = Question(
    name="disaggregation.predict-hide",
    kind="predict",
    prompt=(
        "A prompt twice as long leaves twice the cache. The cache is sent layer by "
        "layer while the prompt is still being read. Does a prompt twice as long need "
        "a faster link, if the sending is to stay hidden?"
    ),
    choices=("yes, twice as fast", "no, about the same link will do"),
    answer=lambda: float(made(8000) < 1.5 * made(4000)),
    why=lambda: (
        "Twice the cache is made in about twice the time: "
        f"{si(made(4000), 'byte/s')} at 4,000 tokens and "
        f"{si(made(8000), 'byte/s')} at 8,000. The longer the prompt, the larger the "
        "share of attention in its time, and attention makes no cache."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "The longer prompt also takes twice the time to compute, so the link has "
            "twice the time.",
        ),
    ),
)
predict_ride = Question(
    name="disaggregation.predict-ride",
    kind="predict",
    prompt=lambda: (
        f"An H100 decodes {worked.BATCH:.0f} requests of Llama-3.1-8B in steps of "
        f"{1e3 * _step_s():.1f} ms. One more prompt, of 1,000 tokens, rides in such a "
        f"step; alone it would take {1e3 * _alone_s():.1f} ms. How much longer does "
        "the step become?"
    ),
    choices=("as long as alone", "a fifth less than alone", "next to nothing"),
    answer=lambda: 1.0 if 0.7 < worked.ride_s() / _alone_s() < 0.9 else 0.0,
    why=lambda: (
        f"{1e3 * worked.ride_s():.1f} ms: the prompt's rows and its attention are "
        "computed all the same, but launches and the reading of the weights are paid "
        "for once."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "Part of what it takes alone has been paid for by the step already.",
        ),
        Hint(
            lambda: 2.0,
            "Its rows have to be computed, a thousand of them, and the GPU computes "
            "about two hundred while it reads the weights.",
        ),
    ),
)


def _carried(limit_s: float) -> Divided:
    """What four whole GPUs carry under a promise, two pools and one engine on each."""
    return split(LOADS[0], limit_s)


def _strict_then_loose() -> float:
    """Which choice is right: two pools ahead twice, never, or first only."""
    strict, loose = (
        each.whole / each.one - 1 for each in map(_carried, (STRICT_S, LOOSE_S))
    )
    if strict > SURE and loose < -SURE:
        return 2.0
    return 0.0 if min(strict, loose) > SURE else 1.0


predict_promise = Question(
    name="disaggregation.predict-promise",
    kind="predict",
    prompt=lambda: (
        "Four H100 serve Llama-3.1-8B, 1,000 tokens in and 200 out. Users are promised "
        f"a token every {si(STRICT_S, 's')} on average; then the promise is loosened "
        f"to {si(LOOSE_S, 's')}. Every iteration reads one whole prompt on either "
        "side, and the two pools have whole GPUs. "
        "Which arrangement carries more requests a second?"
    ),
    choices=(
        "two pools under both promises",
        "one engine on each GPU under both",
        "two pools under the strict one, one engine under the loose one",
    ),
    answer=_strict_then_loose,
    why=lambda: (
        f"At {si(STRICT_S, 's')} the best of the splits into whole GPUs carries "
        f"{plain(_carried(STRICT_S).whole)} requests/s, and one engine on each GPU "
        f"{plain(_carried(STRICT_S).one)}; at {si(LOOSE_S, 's')} it is "
        f"{plain(_carried(LOOSE_S).whole)} against {plain(_carried(LOOSE_S).one)}."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "A loose promise leaves room for prompts in the decode steps, and a shared "
            "GPU reads its weights once for both.",
        ),
        Hint(
            lambda: 1.0,
            "Under a strict promise the prompts eat what a step may last; a GPU that "
            "only decodes can hold a larger batch.",
        ),
    ),
)
handoff = Question(
    name="disaggregation.handoff",
    prompt=lambda: (
        f"A prompt of {SENT:,} tokens was read by Llama-3.1-8B; the cache takes 131 kB "
        "a token. How long does a link take that reaches 28.3 GB/s one way?"
    ),
    answer=transfer_s,
    unit="s",
    asked_in="ms",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: transfer_s() / 2,
            "That counts both directions of the link; the cache goes one way.",
        ),
    ),
    why=lambda: (
        f"{si(handoff_bytes(), 'byte')} over 28.3 GB/s, equation {f.TRANSFER_S.link}: "
        f"{si(transfer_s(), 's')}."
    ),
)
sizing = Question(
    name="disaggregation.sizing",
    prompt=lambda: (
        f"{RATE:.0f} requests per second of the usual kind (1,000 in, 200 out) are to "
        f"get a token every {si(SIZED_S, 's')}. A request takes "
        f"{si(prefill_gpus() / RATE, 's')} of a prefill GPU and "
        f"{si(decode_gpus() / RATE, 's')} of a decode GPU. How many GPUs in all, "
        "whole ones in each pool?"
    ),
    answer=lambda: float(ceil(prefill_gpus()) + ceil(decode_gpus())),
    rel_tol=0.0,
    hints=(
        Hint(
            lambda: float(ceil(prefill_gpus() + decode_gpus())),
            "Each pool is rounded up by itself: no GPU can stand in both.",
        ),
        Hint(lambda: float(ceil(decode_gpus())), "That is the decode pool alone."),
    ),
    why=lambda: (
        f"Rate times time: {plain(prefill_gpus())} prefill GPUs, so "
        f"{ceil(prefill_gpus())}, and {plain(decode_gpus())} decode GPUs, so "
        f"{ceil(decode_gpus())}: {ceil(prefill_gpus()) + ceil(decode_gpus())} in all."
    ),
)
stretch = Question(
    name="disaggregation.stretch",
    prompt=lambda: (
        f"A GPU decodes in steps of {si(STEP_S, 's')}. Now {PER_GPU:.0f} prompts a "
        f"second arrive on it as well; each makes the step in which it rides "
        f"{si(RIDE_S, 's')} longer. What is the mean gap between two tokens?"
    ),
    answer=gap_s,
    unit="s",
    asked_in="ms",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: STEP_S + STEP_S * PER_GPU * RIDE_S,
            "While the prompts lengthen the gap, more prompts arrive: the longer gap "
            "collects more of them.",
        ),
        Hint(
            lambda: STEP_S + RIDE_S,
            "Not every step carries a prompt.",
        ),
    ),
    why=lambda: (
        f"Prompts take {PER_GPU * RIDE_S:.0%} of the time, so "
        f"{1 - PER_GPU * RIDE_S:.0%} are left for decode steps: "
        f"{si(STEP_S, 's')} / {1 - PER_GPU * RIDE_S:.3f} = {si(gap_s(), 's')}, "
        f"equation {f.SHARED_GAP_S.link}."
    ),
)
token_cost = Question(
    name="disaggregation.token-cost",
    prompt=(
        f"A GPU costs {PRICE_PER_HOUR:g} dollars an hour and sustains {SPEED:,.0f} "
        "tokens per second. What do a million tokens cost, in dollars?"
    ),
    answer=_million,
    rel_tol=0.02,
    why=lambda: f"Equation {f.TOKEN_COST.link}: {plain(_million())} dollars.",
)
