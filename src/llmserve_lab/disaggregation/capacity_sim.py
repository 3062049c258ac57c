"""Capacity by simulation: does the backlog of as many GPUs as computed stay bounded?

``carried`` is what a sweep sends to its workers: plain numbers in, a plain number out.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog import machine, workload
from llmserve_lab.checks import whole
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.engine import (
    ChunkedWithin,
    Continuous,
    Disaggregated,
    IterationCost,
    Pool,
    simulate,
)
from llmserve_lab.formula.origin import Sourced
from llmserve_lab.formula.text import plain
from llmserve_lab.page.table import Table
from llmserve_lab.sweep import sweep
from llmserve_lab.workloads import Always, closed_requests

MODEL, GPU, LINK = "llama-3-8b", "h100-sxm", "nvlink4"
FLEET = {"model": MODEL, "GPU": GPU, "link": LINK}  # what a run's record says
ENDLESS = 10**9  # blocks: the closed forms know no end of memory
BACKLOG_TOKENS = 2**21  # of prompts, for two GPUs: enough to forget how it began


def sizes(**more: float) -> dict[str, Any]:
    """What the formulas ask about the fleet's model, GPU and link, and ``more``."""
    model, gpu = catalog.model(MODEL), catalog.accelerator(GPU)
    wire = {"link_bw": catalog.link(LINK).bandwidth, "eff_link": 1.0}
    return workload(model) | machine(gpu) | wire | more


def pool_rates(*known: Mapping[str, Any]) -> dict[str, float]:
    """Rates of the two pools, ``prefill_rate`` and ``decode_rate``, by name."""
    pools = (f.PREFILL_RATE, f.DECODE_RATE)
    return {formula.name: float(formula.at(*known)) for formula in pools}


def cost(*, overlap: float = 1.0, overhead_s: float = 0.0) -> IterationCost:
    """What an iteration costs on one GPU of the fleet."""
    return IterationCost.of(
        catalog.model(MODEL),
        catalog.accelerator(GPU),
        overlap=overlap,
        overhead_s=overhead_s,
    )


def two_pools(
    each: IterationCost, *, n_prefill: int, n_decode: int, batch: int
) -> Disaggregated:
    """One prompt at a time on each prefill GPU, ``batch`` requests on each other."""
    return Disaggregated.over(
        catalog.link(LINK),
        prefill=Pool(each, Continuous(max_batch=1), replicas=n_prefill),
        decode=Pool(
            each,
            Continuous(max_batch=batch),
            replicas=n_decode,
            kv_blocks=ENDLESS,
        ),
        streamed=True,
    )


def held(known: Mapping[str, Any]) -> int:
    """Requests on a decode GPU whose steps last as long as the target: Little's law."""
    steps = f.DECODE_STEPS.at(known)
    return int(steps * known["tbt_target"] / f.DECODE_GPU_S.at(known))


def carried(
    *,
    n_prefill: int,
    n_decode: int,
    prompt_len: int,
    new_tokens: int,
    tbt_target: float,
    shared: bool = False,
    overlap: float = 1.0,
    overhead_s: float = 0.0,
) -> float:
    """Requests per second out of a backlog, from its first quarter to its third.

    Two pools, or (``shared``) as many engines that serve both phases within the target.
    """
    size = {
        "prompt_len": prompt_len,
        "new_tokens": new_tokens,
        "tbt_target": tbt_target,
    }
    beside = {"overlap": overlap, "overhead_s": overhead_s}
    way: Pool | Disaggregated
    gpus, each = n_prefill + n_decode, cost(**beside)
    if shared:
        policy = ChunkedWithin(tbt_target, max_batch=10**6)
        way = Pool(each, policy, replicas=gpus, kv_blocks=ENDLESS)
    else:
        batch = held(sizes(**size, **beside))
        way = two_pools(each, n_prefill=n_prefill, n_decode=n_decode, batch=batch)
    num_requests = BACKLOG_TOKENS * gpus // (2 * prompt_len)
    requests = closed_requests(
        prompt=Always(prompt_len),
        output=Always(new_tokens),
        num_requests=num_requests,
        seed=0,
    )
    done = np.sort(simulate(requests, way).finished_s)
    # The first quarter fills the machines and the last one empties them; the middle is
    # the rate that lasts.
    quarter = num_requests // 4
    return float(2 * quarter / (done[3 * quarter] - done[quarter]))


def rates_table(
    *prompts: int,
    new_tokens: int,
    tbt_target: float,
    n_prefill: int = 1,
    n_decode: int = 1,
    overlap: float = 1.0,
    overhead_s: float = 0.0,
) -> Table:
    """Table of rates by prompt: ``shared_rate``, ``pools_rate``, and simulated ones."""
    fleet: dict[str, Any] = {
        "n_prefill": n_prefill,
        "n_decode": n_decode,
        "new_tokens": new_tokens,
        "tbt_target": tbt_target,
        "overlap": overlap,
        "overhead_s": overhead_s,
    }
    rows = []
    for prompt_len in prompts:
        size = fleet | {"prompt_len": prompt_len}
        known = sizes(**size)
        shared = f.SHARED_RATE.computed(known)
        pools = f.POOLS_RATE.computed(**pool_rates(known))
        rows.append(
            (
                f"{prompt_len}",
                Sourced(plain(shared.value), shared),
                plain(carried(**size, shared=True)),
                Sourced(plain(pools.value), pools),
                plain(carried(**size)),
            )
        )
    two = f"{n_prefill}P:{n_decode}D: [pools_rate](#eq-pools_rate)"
    columns = (
        "prompt",
        "one engine: [shared_rate](#eq-shared_rate)",
        "simulated",
        two,
        "simulated",
    )
    caption = f"Requests/s on {n_prefill + n_decode} GPUs"
    return Table(caption, columns, rows, settings=FLEET)


def splits(
    *,
    n_gpus: int,
    prompt_len: int,
    new_tokens: int,
    tbt_target: float,
    executor: Executor | None = None,
) -> Table:
    """Table of every split of ``n_gpus``: ``pools_rate``, and that of a backlog.

    Raises:
        ValueError: there are fewer than two GPUs to split.
    """
    whole(n_gpus=n_gpus, first=2)
    size = {
        "prompt_len": prompt_len,
        "new_tokens": new_tokens,
        "tbt_target": tbt_target,
    }
    settings = [
        size | {"n_prefill": x, "n_decode": n_gpus - x} for x in range(1, n_gpus)
    ]
    found = {
        answer.setting["n_prefill"]: answer.result
        for answer in sweep(carried, settings, executor=executor)
    }
    rows = []
    for each in settings:
        known = sizes(overhead_s=0.0, overlap=1.0)
        pools = f.POOLS_RATE.computed(**pool_rates(known, each))
        closed = pools.value
        simulated = found[each["n_prefill"]]
        name = f"{each['n_prefill']}P:{each['n_decode']}D"
        rows.append(
            (
                name,
                Sourced(plain(closed), pools),
                plain(simulated),
                f"{simulated / closed:.2f}",
            )
        )
    columns = ("split", "closed form (requests/s)", "simulated", "ratio")
    return Table(f"{n_gpus} GPUs, every split", columns, rows, settings=FLEET)
