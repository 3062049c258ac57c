"""Capacity by simulation: what comes out of a backlog, beside the closed forms.

``carried`` is what a sweep sends to its workers: plain numbers in, a plain number out.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.record import recorded
from llmserve_lab.disaggregation.served import LINK, known, load, value
from llmserve_lab.engine import Continuous, Disaggregated, Pool, simulate
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, PROMPT, cost, device, model, share
from llmserve_lab.workloads import Always, Geometric, closed_requests

FLEET = {"model": model().name, "GPU": device().name, "link": LINK}
ENDLESS = 10**9  # blocks: the batch is set, so that memory is not asked again
EACH = 1500  # requests for each GPU: seven times the largest batch of one engine
PROMISES_S = (0.01, 0.02, 0.03, 0.05)
SPLIT = {"n_prefill": 2, "n_decode": 2}


def two_pools(
    *,
    n_prefill: int,
    n_decode: int,
    batch: int,
    orchestration_s: float = 0.0,
    bounded: bool = False,
    streamed: bool = True,
) -> Disaggregated:
    """One prompt at a time on each prefill GPU, ``batch`` requests on each other.

    ``bounded`` by the memory of the decode GPUs as well, token by token. The cache is
    ``streamed`` layer by layer, or pulled when the prefill has ended.
    """
    blocks = None if bounded else ENDLESS
    decode = Pool(
        cost(), Continuous(max_batch=batch), replicas=n_decode, kv_blocks=blocks
    )
    link = catalog.link(LINK)
    return Disaggregated.over(
        link,
        prefill=Pool(cost(), Continuous(max_batch=1), replicas=n_prefill),
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
        way = two_pools(n_prefill=n_prefill, n_decode=n_decode, batch=held)
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


def carried_all() -> dict[str, list[float]]:
    """What one engine on each of four GPUs carries, and 2P:2D, by promise in ms."""
    return {
        f"{1e3 * promise_s:g}": [
            round(carried(promise_s=promise_s, shared=shared, **SPLIT), 2)
            for shared in (True, False)
        ]
        for promise_s in PROMISES_S
    }


def most_apart() -> float:
    """How far a stored rate is from its closed form at most, as a share."""
    apart: list[float] = []
    for promise_s in PROMISES_S:
        has = known(load(promise_s=promise_s), **SPLIT)
        stored = recorded()["backlog"][f"{1e3 * promise_s:g}"]
        closed = (value(form, has) for form in (f.SHARED_RATE, f.POOLS_RATE))
        apart += [abs(x / y - 1) for x, y in zip(stored, closed, strict=True)]
    return max(apart)


def rates_table() -> Table:
    """Table of rates by promise: one engine and two pools, closed and simulated."""
    rows = []
    for promise_s in PROMISES_S:
        has = known(load(promise_s=promise_s), **SPLIT)
        cells = [si(promise_s, "s")]
        stored = recorded()["backlog"][f"{1e3 * promise_s:g}"]
        for formula, found in zip((f.SHARED_RATE, f.POOLS_RATE), stored, strict=True):
            cells += [plain(value(formula, has)), plain(found)]
        rows.append(tuple(cells))
    columns = (
        "promised TPOT",
        "one engine: [shared_rate](#eq-shared_rate)",
        "simulated",
        "2P:2D: [pools_rate](#eq-pools_rate)",
        "simulated",
    )
    gpus, load_ = sum(SPLIT.values()), f"{PROMPT:,} in, {ANSWER} out"
    caption = f"Requests/s: {model().name}, {gpus} × {device().name}, {load_}"
    return Table(caption, columns, rows, settings=FLEET | {"seed": 0})
