"""The runs that the page's commands ask for, in the engine: two clients and a budget.

Usual requests arrive at random; beside them a long prompt is sent again as soon as it
has been answered.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.continuous_batching.capped import CAP, Capped
from llmserve_lab.continuous_batching.machine import LONG, replayed
from llmserve_lab.continuous_batching.tuning import (
    DEFAULT,
    RATE_PER_S,
    SEQS,
    TILE,
    bound,
    budget,
    capped_gap_s,
    safe_target_s,
    saturated,
)
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Policy,
    Pool,
    Report,
    Request,
    simulate,
)
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, PROMPT, cost

USUAL_REQUESTS, LONG_REQUESTS, LONG_ANSWER = 1000, 5, 10  # of clients 2 and 3
FIRST_S = 20.0  # when client 3 begins: the usual requests are in full swing


def usual() -> list[Request]:
    """What client 2 sends: prompts and answers of one length, at random times."""
    gaps = np.random.default_rng(0).exponential(1 / RATE_PER_S, USUAL_REQUESTS)
    arrivals = np.cumsum(gaps)
    arrivals *= USUAL_REQUESTS / RATE_PER_S / arrivals[-1]
    return [
        Request(arrival_s=float(t), prompt_len=PROMPT, output_len=ANSWER, id=number)
        for number, t in enumerate(arrivals)
    ]


@cache
def both(policy: Policy, *, recorded: bool = False) -> Report:
    """Both clients' requests under one policy; the long prompt when its last is done.

    ``recorded`` launches of an iteration with a prompt cost what decodes' cost.
    """
    asked, at_s = usual(), FIRST_S
    for number in range(USUAL_REQUESTS, USUAL_REQUESTS + LONG_REQUESTS):
        long = Request(
            arrival_s=at_s, prompt_len=LONG, output_len=LONG_ANSWER, id=number
        )
        asked = sorted([*asked, long], key=lambda request: request.arrival_s)
        pool = Pool(replayed() if recorded else cost(), policy)
        run = simulate(asked, pool)
        (at_s,) = (float(t) for t in run.last_token_s[run.id == number])
    return run


def in_one_piece() -> Report:
    """Both clients' requests where every prompt is read whole."""
    return both(Continuous(SEQS))


def long_ttft_s(run: Report) -> float:
    """Median time to first token of the long prompts: what client 3 prints."""
    return float(np.median(run.ttft_s[run.prompt_len == LONG]))


def short_ttft_s(run: Report) -> float:
    """Slowest first token of the usual requests: client 2's hundredth percentile."""
    return float(run.ttft_s[run.prompt_len == PROMPT].max())


@cache
def capped_budget() -> int:
    """The largest budget that keeps the safe target under the cap, in whole tiles.

    It does so beside the decodes of the page and one with a long prompt behind it.
    """
    rows = CAP
    while capped_gap_s(rows + TILE, LONG, long_decodes=1) <= safe_target_s():
        rows += TILE
    return rows


def choices() -> dict[str, tuple[Report, float]]:
    """Each choice of budget and cap: its run, its throughput with usual requests."""
    found = {}
    for rows in (DEFAULT, bound(), budget()):
        found[f"{rows:,}"] = both(Chunked(rows, SEQS)), saturated(rows)
    replays = both(Chunked(budget(), SEQS), recorded=True)
    found[f"{budget():,} [1]"] = replays, saturated(budget(), recorded=True)
    rows = capped_budget()
    run = both(Capped(rows, SEQS))
    found[f"{rows:,}, cap {CAP}"] = run, saturated(rows, cap=CAP)
    return found


def choices_table() -> Table:
    """Table of what each choice of budget and cap makes of the two clients."""
    rows = [
        (
            name,
            _ms(run.gaps.longest_s),
            f"{long_ttft_s(run):.2f}",
            f"{short_ttft_s(run):.2f}",
            f"{most:,.0f}",
        )
        for name, (run, most) in choices().items()
    ]
    columns = ("budget", "gap (ms)", "long (s)", "short (s)", "tokens/s")
    replays = "Launches replayed, at best."
    note = (
        "Predicted. Gap: the longest. Long: median TTFT of client 3, in part spent "
        "behind usual requests. Short: slowest TTFT of client 2. Tokens/s: saturated "
        "with usual requests alone."
    )
    return Table(
        "What each budget does to both clients", columns, rows, (replays, note)
    )


def _ms(gap_s: float) -> str:
    """Milliseconds to three digits."""
    gap_ms = 1e3 * gap_s
    return f"{gap_ms:.0f}" if gap_ms >= 100 else f"{gap_ms:.1f}"
