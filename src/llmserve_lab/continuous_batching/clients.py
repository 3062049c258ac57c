"""The runs that the page's commands ask for, in the engine: two clients and a budget.

Usual requests arrive at random; beside them a long prompt is sent again as soon as it
has been answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab.continuous_batching.machine import GRAPH_ROWS, LONG, priced
from llmserve_lab.continuous_batching.occupancy import logged
from llmserve_lab.continuous_batching.tuning import (
    CAP,
    DEFAULT,
    DEFAULT_SEQS,
    KEPT,
    RATE_PER_S,
    SEQS,
    TILE,
    bound,
    budget,
    capped_gap_s,
    largest,
    long_decode_s,
    longest_s,
    safe_target_s,
    saturated,
    steady_gain,
)
from llmserve_lab.continuous_batching.worked_example import chunk_parts
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    IterationCost,
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
def both(policy: Policy, machine: IterationCost) -> Report:
    """Both clients' requests under a policy; the long prompt when its last is done."""
    asked, at_s = usual(), FIRST_S
    for number in range(USUAL_REQUESTS, USUAL_REQUESTS + LONG_REQUESTS):
        long = Request(
            arrival_s=at_s, prompt_len=LONG, output_len=LONG_ANSWER, id=number
        )
        asked = sorted([*asked, long], key=lambda request: request.arrival_s)
        run = simulate(asked, Pool(machine, policy))
        (at_s,) = (float(t) for t in run.last_token_s[run.id == number])
    return run


def decodes_beside() -> list[int]:
    """How many requests decode in each iteration with a chunk of a long prompt.

    Under the budget to try first, and with both clients.
    """
    rows = budget()
    policy, machine = Chunked(rows, SEQS), priced(rows)
    served = both(policy, machine)
    asked = [
        Request(arrival_s=float(t), prompt_len=int(s), output_len=int(u), id=int(n))
        for t, s, u, n in sorted(
            zip(
                served.arrival_s,
                served.prompt_len,
                served.output_len,
                served.id,
                strict=True,
            )
        )
    ]
    log = logged(asked, policy, machine).log
    assert log is not None
    steps = [[part for part in f.running if part.rows] for f in log.frames()]
    return [
        sum(part.rows == 1 for part in step)
        for step in steps
        if any(part.id >= USUAL_REQUESTS and part.rows > 1 for part in step)
    ]


def in_one_piece() -> Report:
    """Both clients' requests where every prompt is read whole."""
    return both(Continuous(SEQS), cost())


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


def cap_parts() -> dict[str, float]:
    """What of the safe target the cap's rows and a long decode take; what is left.

    At the end of the long prompt, in seconds, rounded as the page prints them.
    """
    parts = chunk_parts(LONG)
    spare_s = round(safe_target_s(), 4) - round(parts["rest"], 4)
    cap_s = round(CAP * parts["line"] + CAP**2 * parts["pair"] / 2, 4)
    decode_s = round(cost().row_s + long_decode_s(), 4)
    return {"cap": cap_s, "decode": decode_s, "left": spare_s - cap_s - decode_s}


def cap_room() -> int:
    """Rows of fresh prompts that what is left has room for."""
    return int(cap_parts()["left"] / cost().row_s)


@dataclass(frozen=True, kw_only=True)
class BudgetAndSlots:
    """A budget, its slots and perhaps a cap, launches priced by the budget's rows."""

    rows: int
    seqs: int = SEQS
    cap: int | None = None

    def served(self) -> Report:
        """Both clients under it."""
        return both(Chunked(self.rows, self.seqs, cap=self.cap), priced(self.rows))

    def per_s(self, machine: IterationCost | None = None) -> float:
        """Tokens per second, saturated with usual requests alone."""
        return saturated(self.rows, machine, cap=self.cap, seqs=self.seqs)

    def lost(self, machine: IterationCost | None = None) -> float:
        """Share of the default's throughput that it gives up, launches as priced.

        With a ``machine`` both are served on that one.
        """
        return 1 - self.per_s(machine) / default().per_s(machine)


def default() -> BudgetAndSlots:
    """What vLLM does by default: its budget, and its slots."""
    return BudgetAndSlots(rows=DEFAULT, seqs=DEFAULT_SEQS)


def capped() -> BudgetAndSlots:
    """A larger budget with a cap on the rows of one prompt."""
    return BudgetAndSlots(rows=capped_budget(), cap=CAP)


def choices() -> tuple[BudgetAndSlots, ...]:
    """The budget, four times that and the default's with the same slots; the default.

    Of the first three only the budget differs, of the last two only the slots.
    """
    rows = (budget(), 4 * budget(), DEFAULT)
    return (*(BudgetAndSlots(rows=each) for each in rows), default())


def rival() -> BudgetAndSlots:
    """The largest budget that keeps the target with the margin, with as many slots."""
    return BudgetAndSlots(rows=bound())


def choices_table() -> Table:
    """Table of what the default and smaller budgets make of the two clients."""
    settings = choices()
    runs = [each.served() for each in settings]
    rows = [
        ("slots", *(f"{each.seqs:,}" for each in settings)),
        ("longest gap", *(f"{1e3 * float(run.gaps.longest_s):.0f} ms" for run in runs)),
        ("long prompts: TTFT, median", *(f"{long_ttft_s(run):.1f} s" for run in runs)),
        ("usual: slowest TTFT", *(f"{short_ttft_s(run):.1f} s" for run in runs)),
        ("saturated tokens/s", *(f"{each.per_s():,.0f}" for each in settings)),
    ]
    note = (
        f"Predicted; no server was measured with such prompts. Launches: "
        f"recorded up to {budget()} rows, each by itself above. Saturated: "
        f"usual requests that all come at once, answers of {ANSWER} tokens, "
        f"to the last answer; before slots run empty it is {steady_gain():.0%} more."
    )
    columns = ("token budget", *(f"{each.rows:,}" for each in settings))
    columns = (*columns[:-1], f"{columns[-1]} (default)")
    return Table("What a budget costs", columns, rows, (note,))


def bounds_table() -> Table:
    """Table of the largest budget that keeps the target, by the longest prompt."""
    rows = [
        (
            f"{tokens:,}",
            f"{largest(tokens):,}",
            f"{1e3 * longest_s(largest(tokens), tokens):.0f} ms",
            f"{saturated(largest(tokens)):,.0f}",
        )
        for tokens in KEPT
    ]
    columns = (
        "longest prompt (tokens)",
        "largest budget (rows)",
        "longest gap",
        "saturated tokens/s",
    )
    note = (
        f"Predicted, five decodes, steps of {TILE} rows, {SEQS} slots, each launch by "
        "itself, one such prompt at a time. No such gap was measured. For the last row "
        f"recorded launches make {GRAPH_ROWS} rows faster."
    )
    caption = f"The largest budget that keeps {1e3 * safe_target_s():.0f} ms"
    return Table(caption, columns, rows, (note,))
