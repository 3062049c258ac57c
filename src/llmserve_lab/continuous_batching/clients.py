"""The runs that the page's commands ask for, in the engine: two clients and a budget.

Usual requests arrive at random; beside them a long prompt is sent again as soon as it
has been answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab.continuous_batching.capped import CAP, Capped
from llmserve_lab.continuous_batching.machine import LONG, hidden
from llmserve_lab.continuous_batching.tuning import (
    DEFAULT,
    RATE_PER_S,
    SEQS,
    TILE,
    budget,
    capped_gap_s,
    long_decode_s,
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

USUAL_REQUESTS, LONG_REQUESTS, LONG_ANSWER = 1000, 5, 10  # of clients 1 and 2
FIRST_S = 20.0  # when client 2 begins: the usual requests are in full swing


def usual() -> list[Request]:
    """What client 1 sends: prompts and answers of one length, at random times."""
    gaps = np.random.default_rng(0).exponential(1 / RATE_PER_S, USUAL_REQUESTS)
    arrivals = np.cumsum(gaps)
    arrivals *= USUAL_REQUESTS / RATE_PER_S / arrivals[-1]
    return [
        Request(arrival_s=float(t), prompt_len=PROMPT, output_len=ANSWER, id=number)
        for number, t in enumerate(arrivals)
    ]


@cache
def both(policy: Policy, *, launches: bool = True) -> Report:
    """Both clients' requests under one policy; the long prompt when its last is done.

    Without ``launches`` an iteration is the GPU's own work alone.
    """
    asked, at_s = usual(), FIRST_S
    for number in range(USUAL_REQUESTS, USUAL_REQUESTS + LONG_REQUESTS):
        long = Request(
            arrival_s=at_s, prompt_len=LONG, output_len=LONG_ANSWER, id=number
        )
        asked = sorted([*asked, long], key=lambda request: request.arrival_s)
        pool = Pool(cost() if launches else hidden(), policy)
        run = simulate(asked, pool)
        (at_s,) = (float(t) for t in run.last_token_s[run.id == number])
    return run


def in_one_piece() -> Report:
    """Both clients' requests where every prompt is read whole."""
    return both(Continuous(SEQS))


def long_ttft_s(run: Report) -> float:
    """Median time to first token of the long prompts: what client 2 prints."""
    return float(np.median(run.ttft_s[run.prompt_len == LONG]))


def short_ttft_s(run: Report) -> float:
    """Slowest first token of the usual requests: client 1's hundredth percentile."""
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


@dataclass(frozen=True, kw_only=True)
class BudgetAndCap:
    """A budget and perhaps a cap, served: with launches added, and with none."""

    rows: int
    cap: int | None = None

    @property
    def name(self) -> str:
        """As the table names it."""
        return f"{self.rows:,}" + (f", cap {self.cap}" if self.cap else "")

    def served(self, *, launches: bool = True) -> Report:
        """Both clients under it."""
        policy = Capped(self.rows, SEQS, cap=self.cap) if self.cap else None
        return both(policy or Chunked(self.rows, SEQS), launches=launches)

    def per_s(self, *, launches: bool = True) -> float:
        """Tokens per second, saturated with usual requests alone."""
        return saturated(self.rows, launches=launches, cap=self.cap)

    def lost(self, *, launches: bool = True) -> float:
        """Share of the default's throughput that it gives up."""
        return 1 - self.per_s(launches=launches) / saturated(DEFAULT, launches=launches)


def choices() -> tuple[BudgetAndCap, BudgetAndCap, BudgetAndCap]:
    """The budget alone, a larger one with a cap, and the default."""
    capped = BudgetAndCap(rows=capped_budget(), cap=CAP)
    return BudgetAndCap(rows=budget()), capped, BudgetAndCap(rows=DEFAULT)


def capped_gap_beside_long_s() -> float:
    """The longest gap under the cap, and one more long prompt that decodes beside it.

    Taken from the run, where more usual requests decode than beside a budget alone.
    """
    return float(choices()[1].served().gaps.longest_s) + long_decode_s()


def choices_table() -> Table:
    """Table of what each choice of budget and cap makes of the two clients."""
    rows = []
    for letter, each in zip("ABC", choices(), strict=True):
        run, most = each.served(), each.per_s()
        lost, least = each.lost(), each.lost(launches=False)
        rows.append(
            (
                f"{letter}: {each.name}",
                _ms(run.gaps.longest_s),
                f"{long_ttft_s(run):.2f}",
                f"{short_ttft_s(run):.2f}",
                f"{most:,.0f}",
                f"{lost:.0%} ({least:.0%})" if lost else "–",
            )
        )
    columns = (
        "budget",
        "longest gap (ms)",
        "long TTFT (s)",
        "usual TTFT (s)",
        "tokens/s",
        "lost",
    )
    note = (
        f"Predicted, launches added; {SEQS} slots. Long: median TTFT of client 2, in "
        "part spent behind usual requests. Usual: slowest TTFT of client 1. Tokens/s: "
        "saturated with usual requests alone. Lost: of C's tokens/s; in brackets: if "
        "all launches were hidden, in both."
    )
    return Table("What each choice does to both clients", columns, rows, (note,))


def _ms(gap_s: float) -> str:
    """Milliseconds to three digits."""
    gap_ms = 1e3 * gap_s
    return f"{gap_ms:.0f}" if gap_ms >= 100 else f"{gap_ms:.1f}"
