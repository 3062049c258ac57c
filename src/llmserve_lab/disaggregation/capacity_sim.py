"""Capacity by simulation: what comes out of a backlog, beside the closed forms.

``carried`` is what a sweep sends to its workers: plain numbers in, a plain number out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.record import recorded
from llmserve_lab.disaggregation.served import LINK, PROMISED, known, load, value
from llmserve_lab.engine import Chunked, Continuous, Disaggregated, Pool, simulate
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, PROMPT, cost, device, model, share
from llmserve_lab.workloads import Always, Geometric, closed_requests

FLEET = {"model": model().name, "GPU": device().name, "link": LINK}
ENDLESS = 10**9  # blocks: the batch is set, so that memory is not asked again
EACH = 1500  # requests for each GPU: seven times the largest batch of one engine
PROMISES_S = (0.01, 0.02, 0.03, 0.05)
SPLIT = {"n_prefill": 2, "n_decode": 2}
TOGETHER = (1, 4)  # prompts that a prefill GPU reads in one iteration


def two_pools(
    *,
    n_prefill: int,
    n_decode: int,
    batch: int,
    together: int = 1,
    budget: int | None = None,
    orchestration_s: float = 0.0,
    bounded: bool = False,
    streamed: bool = True,
) -> Disaggregated:
    """Pools of prefill GPUs and of decode GPUs, the latter with ``batch`` requests.

    A prefill GPU reads the prompts that wait, ``together`` of them in an iteration at
    most; or, with ``budget``, so many tokens of them, as an engine does by default.

    ``bounded`` by the memory of the decode GPUs as well, token by token. The cache is
    ``streamed`` layer by layer, or pulled when the prefill has ended.
    """
    blocks = None if bounded else ENDLESS
    decode = Pool(
        cost(), Continuous(max_batch=batch), replicas=n_decode, kv_blocks=blocks
    )
    link = catalog.link(LINK)
    reads = Chunked(budget) if budget else Continuous(max_batch=together)
    return Disaggregated.over(
        link,
        prefill=Pool(cost(), reads, replicas=n_prefill),
        decode=decode,
        streamed=streamed,
        eff_link=float(share().link),
        link_latency_s=float(link.latency or 0) + orchestration_s,
    )


def carried(
    *,
    promise_s: float,
    prompt_len: int = PROMPT,
    new_tokens: int = ANSWER,
    n_prefill: int = 1,
    n_decode: int = 1,
    together: int = 1,
    shared: bool = False,
) -> float:
    """Requests per second out of a backlog, from its first quarter to its third.

    Two pools, or (``shared``) as many engines that serve both phases; the batch of each
    GPU is the one that the closed form allows, rounded down.
    """
    has = known(load(prompt_len, new_tokens, promise_s))
    gpus = n_prefill + n_decode
    way: Pool | Disaggregated
    if shared:
        held = int(value(f.SHARED_BATCH, has))
        way = Pool(cost(), Continuous(max_batch=held), replicas=gpus, kv_blocks=ENDLESS)
    else:
        held = int(value(f.DECODE_BATCH, has))
        way = two_pools(
            n_prefill=n_prefill, n_decode=n_decode, together=together, batch=held
        )
    requests = closed_requests(
        prompt=Always(prompt_len),
        output=Geometric(new_tokens),
        num_requests=EACH * gpus,
        seed=0,
    )
    done = np.sort(simulate(requests, way).finished_s)
    # The first quarter fills the machines and the last one empties them; the middle is
    # the rate that lasts.
    quarter = len(done) // 4
    return float(2 * quarter / (done[3 * quarter] - done[quarter]))


def _four(*, promise_s: float, together: int = 1, shared: bool = False) -> float:
    """What four GPUs carry."""
    x, y = SPLIT.values()
    return carried(
        promise_s=promise_s, n_prefill=x, n_decode=y, together=together, shared=shared
    )


def carried_all() -> dict[str, list[float]]:
    """What one engine on each of four GPUs carries, and 2P:2D, by promise in ms.

    2P:2D once for each of ``TOGETHER``.
    """
    return {
        f"{1e3 * promise_s:g}": [
            round(_four(promise_s=promise_s, shared=True), 2),
            *(round(_four(promise_s=promise_s, together=k), 2) for k in TOGETHER),
        ]
        for promise_s in PROMISES_S
    }


def most_apart() -> float:
    """How far a stored rate is from its closed form at most, as a share."""
    apart: list[float] = []
    for promise_s in PROMISES_S:
        has = known(load(promise_s=promise_s), **SPLIT)
        stored = recorded()["backlog"][f"{1e3 * promise_s:g}"]
        closed = _closed(has)
        apart += [abs(x / y - 1) for x, y in zip(stored, closed, strict=True)]
    return max(apart)


def _closed(has: Mapping[str, Any]) -> list[float]:
    """What the closed forms say: one engine, then two pools by prompts together."""
    pools = [value(f.POOLS_RATE, has, prompts_together=float(k)) for k in TOGETHER]
    return [value(f.SHARED_RATE, has), *pools]


def rates_table() -> Table:
    """Table of rates by promise: one engine and two pools, closed and simulated."""
    rows = []
    for promise_s in PROMISES_S:
        has = known(load(promise_s=promise_s), **SPLIT)
        cells = [si(promise_s, "s")]
        stored = recorded()["backlog"][f"{1e3 * promise_s:g}"]
        for closed, found in zip(_closed(has), stored, strict=True):
            cells += [f"{closed:.1f}", f"{found:.1f}"]
        rows.append(tuple(cells))
    columns = (
        "promised TPOT",
        "one engine: [shared_rate](#eq-shared_rate)",
        "simulated",
        f"2P:2D, {TOGETHER[0]} prompt: [pools_rate](#eq-pools_rate)",
        "simulated",
        f"2P:2D, {TOGETHER[1]} prompts",
        "simulated",
    )
    gpus, load_ = sum(SPLIT.values()), f"{PROMPT:,} in, {ANSWER} out"
    what = f"{model().name}, {gpus} × {device().name}, {load_}"
    caption = f"Requests/s: {what}, by prompts in an iteration of a prefill GPU"
    settings = FLEET | {"seed": 0}
    return Table(caption, columns, rows, settings=settings, band=PROMISED)
