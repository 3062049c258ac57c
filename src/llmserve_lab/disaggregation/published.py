"""Measured hand-overs and servers, and what the formulas say beside them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import product

import numpy as np

from llmserve_lab.catalog.evidence.disaggregated import (
    APART,
    MORI_GAP_S,
    MORI_INSTANCES,
    MORI_RATE,
    MORI_REQUESTS,
    MORI_SETTING,
    MORI_TTFT_S,
    TOGETHER,
)
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation import worked_example as worked
from llmserve_lab.disaggregation.batch_limits import LIMITS, batch_limits
from llmserve_lab.disaggregation.goodput import (
    BUDGETS,
    CHUNKS,
    GPUS,
    HANDS,
    LAUNCHED,
    LIMITS_S,
    LOADS,
    POOLS,
    WHOLE,
    served_best,
)
from llmserve_lab.disaggregation.launches import leads
from llmserve_lab.disaggregation.served import PROMISED, SENT, known, load, value
from llmserve_lab.engine import (
    Continuous,
    IterationCost,
    Pool,
    Report,
    simulate,
)
from llmserve_lab.formula.origin import Sourced
from llmserve_lab.formula.text import off_by, si
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, PROMPT, device, model
from llmserve_lab.workloads import Always, poisson_requests

LAYERS = {"n_layers": float(model().n_layers)}
MANY = 10**6  # blocks: memory is not asked
MORI_PROMPT, MORI_ANSWER = 2000, 1000  # tokens, of the published run
HERE = f"{model().name} on {device().name}, {PROMPT:,} in, {ANSWER} out"


@cache
def replayed() -> Report:
    """The published run of the co-located servers in our simulator, finite as it was.

    A step lasts as long as theirs without prompts, or as long as its rows take to
    compute if that is longer: for a prompt alone, their shortest time to a first token,
    which contains the client's share, and no queue.
    """
    step_s, prompt_s = float(APART.gap_s), float(TOGETHER.ttft_least_s)
    cost = IterationCost(weights_s=step_s, row_s=prompt_s / MORI_PROMPT, overlap=1.0)
    requests = poisson_requests(
        rate_per_s=float(MORI_RATE),
        prompt=Always(MORI_PROMPT),
        output=Always(MORI_ANSWER),
        num_requests=round(float(MORI_REQUESTS)),
        seed=0,
    )
    pool = Pool(
        cost, Continuous(), replicas=round(float(MORI_INSTANCES)), kv_blocks=MANY
    )
    return simulate(requests, pool, log=True, leap=False)


def mean_gap_s() -> float:
    """Median over the replayed answers of their mean gap."""
    return float(np.median(replayed().tpot_s))


def late_gap_s() -> float:
    """P99 of all replayed gaps."""
    return replayed().percentile("tbt", 99)


@cache
def late_gaps() -> tuple[int, ...]:
    """How many gaps of each replayed answer a prompt made longer than the limit."""
    log = replayed().log
    assert log is not None
    late = dict.fromkeys(range(round(float(MORI_REQUESTS))), 0)
    for step in log:
        reading = {chunk[0] for chunk in step.chunks}
        for each in step.scheduled if step.seconds > float(MORI_GAP_S) else ():
            late[each.id] += each.id not in reading
    return tuple(late.values())


def kept_by_mean() -> int:
    """Replayed requests within both limits, the gap's on the mean of an answer."""
    soon = replayed().ttft_s <= float(MORI_TTFT_S)
    return int((soon & (replayed().tpot_s <= float(MORI_GAP_S))).sum())


def kept_by_p99() -> int:
    """The same with the limit on the P99 of an answer's gaps."""
    allowed = (MORI_ANSWER - 1) // 100
    soon = replayed().ttft_s <= float(MORI_TTFT_S)
    return int((soon & (np.array(late_gaps()) <= allowed)).sum())


def _ms(seconds: float, digits: int) -> str:
    return f"{1e3 * seconds:.{digits}f} ms"


def servers_table() -> Table:
    """Table of two ways to use eight GPUs, as measured, and the simulated gaps."""
    total = f"{float(MORI_REQUESTS):.0f}"
    rows = [
        (
            name,
            Sourced(si(float(each.gap_s), "s"), each.gap_s),
            *said,
            Sourced(si(float(each.ttft_s), "s"), each.ttft_s),
            Sourced(f"{float(each.within):.0f} of {total}", each.within),
        )
        for each, name, said in (
            (APART, "two pools", ("given", "given")),
            (
                TOGETHER,
                "co-located",
                (f"{1e3 * mean_gap_s():.1f} ms", f"{1e3 * late_gap_s():.0f} ms"),
            ),
        )
    ]
    columns = (
        "way",
        "gap, measured",
        "mean, simulated",
        "P99, simulated",
        "median TTFT",
        "kept both limits",
    )
    caption = f"{MORI_SETTING}; {APART.name}; {TOGETHER.name}"
    return Table(caption, columns, rows)


def together_table() -> Table:
    """Table of rates by the prompts that a prefill GPU reads in one iteration."""
    promises = (0.015, worked.LOOSEST_S)

    def rates(carried: Callable[[float], float]) -> str:
        return ", ".join(f"{carried(promise_s):.1f}" for promise_s in promises)

    rows = []
    for k in map(float, worked.TOGETHER):
        each_s = worked.usual(f.PREFILL_EACH_S, prompts_together=k)
        two = partial(worked.usual, f.POOLS_RATE, prompts_together=k)
        divided = partial(worked.usual, f.BEST_POOLS_RATE, prompts_together=k)
        one = partial(worked.shared_rate, together=k)
        ways = (rates(two), rates(divided), rates(one))
        rows.append((f"{k:.0f}", f"{1e3 * each_s:.2f} ms", *ways))
    columns = (
        "prompts together",
        "time of each",
        "2P:2D",
        "best split",
        "one engine, as many ride",
    )
    said = " and ".join(si(promise_s, "s") for promise_s in promises)
    caption = (
        f"Requests/s that {GPUS} GPUs carry under a TPOT of {said}, by the formulas: "
        f"{HERE}"
    )
    return Table(caption, columns, rows, band=PROMISED)


def even_table() -> Table:
    """Table of rates by promise: one engine on each GPU, whole and divided splits."""
    rows = []
    for promise_s in (0.01, 0.015, 0.02, 0.03, 0.05):
        x, whole = worked.whole_split(promise_s)
        rows.append(
            (
                si(promise_s, "s"),
                f"{worked.usual(f.SHARED_RATE, promise_s):.1f}",
                f"{whole:.1f} ({x}P:{GPUS - x}D)",
                f"{worked.usual(f.BEST_POOLS_RATE, promise_s):.1f}",
            )
        )
    columns = ("promised TPOT", "one engine", "whole GPUs", "best split")
    caption = (
        f"Requests/s that {GPUS} GPUs carry, by the formulas: {HERE}; one prompt an "
        "iteration of a prefill GPU, two pools split into whole GPUs, and "
        "as many GPUs would let them be split"
    )
    return Table(caption, columns, rows, band=PROMISED)


def goodput_table() -> Table:
    """Table of simulated goodput by promise, and by what a small step launches."""
    rows = []
    for asked, limit_s in product(LOADS, LIMITS_S):
        whole, *small = (
            served_best(way, limit_s, HANDS[0], asked).per_s
            for way in (WHOLE, CHUNKS, LAUNCHED)
        )
        pools = sorted(served_best(POOLS, limit_s, h, asked).per_s for h in HANDS)
        gains = (leads(limit_s, way, asked)[0] for way in (CHUNKS, LAUNCHED))
        rows.append(
            (
                f"{asked.prompt:,}",
                f"{1e3 * limit_s:.0f}",
                f"{whole:.1f}",
                *(f"{each:.1f}" for each in small),
                "–".join(f"{each:.1f}" for each in pools),
                *(off_by(each) for each in gains),
            )
        )
    columns = (
        "prompt",
        "TPOT in ms",
        f"{BUDGETS[0]:,}",
        f"{BUDGETS[-1]}, replayed",
        f"{BUDGETS[-1]}, one by one",
        "two pools",
        "lead [1]",
        "if one by one",
    )
    caption = (
        f"Requests/s within both limits: {GPUS} simulated GPUs, {model().name} on "
        f"{device().name}, answers of {ANSWER} tokens; one engine by its budget"
    )
    note = (
        "Of two pools with the worse hand-over over the better of the two budgets, "
        f"the {BUDGETS[-1]} replayed or launched one by one. No server was measured in "
        "this way, so no error is known."
    )
    return Table(caption, columns, rows, notes=(note,))


def batch_table() -> Table:
    """Table of the three limits of a decode batch, for a few prompts and promises."""
    rows = []
    for each in batch_limits():
        held = (
            f"{each.batch:,}, {each.tightest}"
            if each.batch
            else "promise cannot be kept"
        )
        limits = (f"{int(limit):,}" for limit in each.limits.values())
        rows.append((f"{each.prompt:,}", si(each.promise_s, "s"), *limits, held))
    columns = ("prompt", "promised TPOT", *LIMITS, "batch")
    what = f"{model().name} on one {device().name}, answers of {ANSWER} tokens"
    caption = f"Most requests in a batch: {what}"
    return Table(caption, columns, rows, band=PROMISED)


def fabrics_table(*prompts: int) -> Table:
    """Table of links: what they reach, and how long the cache of a prompt takes."""
    from llmserve_lab.catalog import LINKS
    from llmserve_lab.disaggregation.served import wire

    rows = []
    for key in ("nvlink4", "pcie-gen5", "infiniband-ndr", "infiniband-hdr"):
        over = wire(LINKS[key])
        reached = float(over["link_bw"]) * float(over["eff_link"])
        all_known = [known(load(prompt), **LAYERS) | over for prompt in prompts]
        sent = [si(value(f.TRANSFER_S, has), "s") for has in all_known]
        left = si(value(f.EXPOSED_S, all_known[-1]), "s")
        rows.append((LINKS[key].name, si(reached, "byte/s"), *sent, left))
    heads = [f"{prompt:,} tokens" for prompt in prompts]
    caption = f"{model().name} on {device().name}: time to send a cache"
    columns = ("link", "reached", *heads, f"left over of {heads[-1]}")
    return Table(caption, columns, rows, band=SENT)
