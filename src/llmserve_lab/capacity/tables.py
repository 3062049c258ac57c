"""Tables of the chapter: prices, what tokens cost, pools, queues, and the search."""

from __future__ import annotations

from functools import cache

from llmserve_lab import catalog
from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity import pools
from llmserve_lab.capacity.charging import Charged, split
from llmserve_lab.capacity.deployment import HOUR_S
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.triangle import LEVEL, LOADS, goodput, points, pool
from llmserve_lab.catalog.data.prices import (
    API_PRICES,
    H100_CHEAPEST,
    H100_DEAREST,
    H100_OCTOBER,
    H100_SUMMER,
    HOURLY,
)
from llmserve_lab.checks import key_of, whole
from llmserve_lab.engine import Continuous, IterationCost, Pool, Request, simulate
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.formula.origin import Sourced
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table

MOST_REQUESTS = 10**6  # of one run
NIGHT, LITTLE = 1.0, 5.0  # requests a second, beside the goodput
UNSEEN = Unmeasured("goodput under this promise")
CHARGED = Unmeasured("time of input and output apart")
WAITED = Unmeasured("how long prompts wait for their turn")
WAITS = (0.2, 0.5, 0.8)
WARM_S = 20.0  # of the run, until the batch has filled


def gpus() -> Table:
    """Table of the GPUs of the page: memory, bandwidth, arithmetic, price."""
    rows = []
    for key, price in HOURLY.items():
        each = catalog.accelerator(key)
        peak, usable = each.peak("bf16"), each.usable_bytes or each.hbm_bytes
        rows.append(
            (
                short(key),
                Sourced(f"{float(each.hbm_bytes) / 1e9:.0f}", each.hbm_bytes),
                Sourced(f"{float(usable) / 2**30:.1f}", usable),
                Sourced(f"{float(each.hbm_bw) / 1e12:.2f}", each.hbm_bw),
                Sourced(f"{float(peak) / 1e12:,.0f}", peak),
                Sourced(f"{float(price):.2f}", price),
                price.source.split(", ")[-1][:7],
            )
        )
    memory = ("sold as, GB", "found, GiB", "TB/s")
    columns = ("GPU", *memory, "TFLOP/s, 16 bits", "$/hour", "as of")
    caption = (
        "The GPUs of this page, SXM (modules on a server's board): memory and its "
        "bandwidth, arithmetic, price"
    )
    return Table(caption, columns, rows)


def prices() -> Table:
    """Table of hourly prices: the list of the page, and the same GPU elsewhere."""
    rows = [
        (catalog.accelerator(key).name, price.shown(), price.source, price.note)
        for key, price in HOURLY.items()
    ]
    others = (H100_SUMMER, H100_OCTOBER, H100_CHEAPEST, H100_DEAREST)
    rows += [("H100 SXM", each.shown(), each.source, each.note) for each in others]
    return Table("Prices of rented GPUs", ("GPU", "price", "source", "offer"), rows)


def rates() -> tuple[float, ...]:
    """Loads of the page's replica: two small ones, and its goodput as it is printed."""
    return NIGHT, LITTLE, round(goodput(points(), LEVEL.ttft_s, LEVEL.tpot_s), 1)


@cache
def charged_at(rate: float) -> Charged:
    """The warm middle of a run at one of the rates, charged, as recorded.

    Raises:
        ValueError: the rate is not among those that are stored.
    """
    stored = recorded()["charged"]
    key_of("rate", f"{rate:g}", stored)
    return Charged(*stored[f"{rate:g}"])


def charged_run(rate: float) -> Charged:
    """The warm middle of a run at a rate, charged to prompts and answers."""
    seconds = max(pools.SECONDS, 300 / rate)
    requests = pools.asked(LOADS[0], rate, seconds)
    return split(
        requests,
        pool("llama-3.1-8b", "h100-sxm"),
        since_s=WARM_S,
        until_s=requests[-1].arrival_s,
    )


def token_costs(rate: float) -> tuple[float, float, float]:
    """Dollars of a million input and output tokens at a rate, and the idle share."""
    load, price, found = LOADS[0], float(HOURLY["h100-sxm"]), charged_at(rate)
    # Of each second, 1 / rate is a request's.
    each_s = 1 / (rate * found.elapsed_s)
    asked = f.INPUT_COST(
        price=price, prompt_gpu_s=found.prompts_s * each_s, prompt_len=load.prompt
    )
    told = f.OUTPUT_COST(
        price=price, answer_gpu_s=found.answers_s * each_s, new_tokens=load.answer
    )
    return float(asked), float(told), found.idle_s / found.elapsed_s


def charged_ms(usd: float, num_tokens: int) -> float:
    """Milliseconds of an H100 that tokens are charged, at dollars a million of them."""
    seconds = num_tokens * usd / 1e6 * HOUR_S / float(HOURLY["h100-sxm"])
    return 1e3 * seconds


def tokens_table() -> Table:
    """Table of what input and output tokens cost as the replica fills, and APIs ask."""
    rows: list[tuple[str, ...]] = []
    for rate in rates():
        asked, told, idle = token_costs(rate)
        cells = (f"{asked:.4f}", f"{told:.2f}", f"1 : {told / asked:.0f}")
        whole = f.BUSY_COST(price=float(HOURLY["h100-sxm"]), replica_rate=rate)
        rest = (f"{idle:.0%}", f"{float(whole):,.0f}")
        rows.append((_per_s(rate), *cells, *rest))
    for name, (input_price, output_price) in API_PRICES.items():
        ratio = float(output_price) / float(input_price)
        both = (input_price, output_price)
        listed = (Sourced(f"{1e6 * float(price):.2f}", price) for price in both)
        rows.append((name, *listed, f"1 : {ratio:.0f}", "–", "–"))
    columns = ("load, or list", "input", "output", "ratio", "idle", "request")
    caption = (
        "Dollars for a million: Llama-3.1-8B on one H100 at its hourly price, and list "
        "prices of 2024"
    )
    return Table(caption, columns, rows, band=CHARGED)


def _per_s(rate: float) -> str:
    return f"{rate:g} request{'' if rate == 1 else 's'}/s"


def short(device: str) -> str:
    """Name of a GPU without its memory and its socket."""
    return catalog.accelerator(device).name.split()[0]


def pools_table() -> Table:
    """Table of mixes of GPUs: price, goodput, dollars for a million requests."""
    rows = [
        (
            f"{mix.n_prefill} {short(mix.prefill)}",
            (f"{mix.n_decode} {short(mix.decode)}" if mix.decode else "the same"),
            f"{pools.dollars_per_million(mix):.0f}",
            f"{pools.goodput(mix):.1f}",
            f"{mix.dollars_per_hour:.2f}",
        )
        for mix in pools.MIXES
    ]
    columns = ("prefill", "decode", "$/million", "requests/s", "$/hour")
    caption = (
        "Goodput of pools, and dollars for a million requests: Llama-3.1-8B, 1,000 in, "
        "200 out"
    )
    return Table(caption, columns, rows, band=UNSEEN)


def waits_table() -> Table:
    """Table of the mean wait for one server: closed forms, and the engine."""
    rows = []
    for law, lengths in LAWS.items():
        for busy in WAITS:
            drawn, closed, found = waits(lengths, busy)
            rows.append(
                (
                    law,
                    f"{drawn:.1%}",
                    si(closed, "s"),
                    si(found, "s"),
                    f"{found / closed:.2f}",
                )
            )
    columns = ("prompts", "busy", "closed form", "engine", "ratio")
    caption = "Mean wait for a server that reads one prompt at a time"
    return Table(caption, columns, rows, band=WAITED)


LAWS = {"all 1,000: M/D/1": (1000, 1000), "500 or 2,500: M/G/1": (500, 2500)}
ROW_S, SHORT = 2e-5, 0.75  # seconds a token of a bare machine; share of short prompts


def waits(
    lengths: tuple[int, int], busy: float, num: int = 20_000
) -> tuple[float, float, float]:
    """Busy share as drawn, mean wait by Pollaczek and Khinchine, and in the engine."""
    whole(of="request", most=MOST_REQUESTS, num=num)
    import numpy as np

    rng = np.random.default_rng(3)
    drawn = np.where(rng.random(num) < SHORT, *lengths)
    mean, square = (float((drawn * ROW_S).mean()), float(((drawn * ROW_S) ** 2).mean()))
    rate = busy / mean
    times = np.cumsum(rng.exponential(1 / rate, num))
    rate = num / float(times[-1])  # as drawn
    requests = [
        Request(arrival_s=float(at), prompt_len=int(size), output_len=1, id=number)
        for number, (at, size) in enumerate(zip(times, drawn, strict=True))
    ]
    one = Pool(IterationCost(row_s=ROW_S), Continuous(max_batch=1), kv_blocks=10**6)
    closed = f.QUEUE_S(arrival_rate=rate, service_square=square, service_s=mean)
    waited_s = float(simulate(requests, one).queue_s.mean())
    return rate * mean, float(closed), waited_s


def at_level(
    device: str = "h100-sxm", ttft_s: float = 0.5, tpot_s: float = 0.02
) -> tuple[float, float]:
    """Goodput of the small model on a GPU, and dollars for a million requests at it."""
    key_of("device", device, HOURLY)
    rate = goodput(points(device=device), ttft_s, tpot_s)
    usd = f.BUSY_COST(price=float(HOURLY[device]), replica_rate=rate)
    return rate, float(usd)
