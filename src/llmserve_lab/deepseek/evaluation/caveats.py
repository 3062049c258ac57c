"""Two numbers of the prediction come from deployments: what if they were not known?

One is the balancedness, found in a pair of prefill runs. The other is the batch of a
production system, which is its rate over the rate that a user sees. And a third number
is not known at all: how busy that system was while it prefilled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    DEEPSEEK_PREFILL,
    DEEPSEEK_USER_RATES,
    NVL72_LATER,
    NVL72_LOW,
    NVL72_PREFILL,
    PROFILED_DECODE,
    PROFILED_PREFILL,
    SMALL_BATCHES,
    TABLED_BATCH,
)
from llmserve_lab.deepseek.calibration.kernel_efficiency import trips_started
from llmserve_lab.deepseek.evaluation.predictions import beside, error, points, signed
from llmserve_lab.deepseek.evaluation.published_runs import (
    DRAFTED,
    batch_of,
    rate_as_run,
    rate_of,
    run_as,
)
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.formula.text import plain

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table

BALANCES = (0.6, 0.8, 1.0)


def balance_table(choices: Choices) -> Table:
    """Table of every point's error at other balancednesses, and at that of choices."""
    from llmserve_lab.page.table import Table

    tried = sorted({*BALANCES, choices.balancedness})
    found = [points(replace(choices, balancedness=balance)) for balance in tried]
    rows = [
        (each[0][0], *(signed(error(point)) for point in each))
        for each in zip(*found, strict=True)
    ]
    columns = ("deployment", *(plain(balance) for balance in tried))
    return Table("Error by balancedness", columns, rows)


def user_rates() -> tuple[float, ...]:
    """Tokens per second that a user saw in production: both ends, and the middle."""
    low, high = map(float, DEEPSEEK_USER_RATES)
    return low, (low + high) / 2, high


def production_at(user_rate: float, choices: Choices) -> tuple[int, float]:
    """Largest batch that keeps a user's rate in production, and the GPU's rate then."""
    twin, context = run_as(DEEPSEEK_DECODE, choices), float(DEEPSEEK_DECODE.context)
    batch = twin.batch_at(user_rate, context=context)
    return batch, float(twin.gpu_tokens_per_s(batch=batch, context=context))


def production_table(choices: Choices) -> Table:
    """Table of a production decode, told no more than what a user saw."""
    from llmserve_lab.page.table import Table

    measured = float(DEEPSEEK_DECODE.gpu_tokens_per_s)
    rows = []
    for rate in user_rates():
        batch, found = production_at(rate, choices)
        off = beside(found, measured)
        rows.append((f"{rate:.0f} tokens/s", batch, plain(found), plain(measured), off))
    columns = ("a user sees", "batch", "predicted", "measured", "error")
    return Table(f"{DEEPSEEK_DECODE.name}, from a user's rate alone", columns, rows)


def busy_table(choices: Choices) -> Table:
    """Table of how much of each full machine's rate a day's prefill came to."""
    from llmserve_lab.page.table import Table

    made = float(DEEPSEEK_PREFILL.gpu_tokens_per_s)
    full = {
        "DeepSeek's profile, measured": float(PROFILED_PREFILL.gpu_tokens_per_s),
        "DeepSeek's profile, predicted": rate_as_run(PROFILED_PREFILL, choices),
        "the same on such a day, predicted": rate_as_run(DEEPSEEK_PREFILL, choices),
    }
    rows = [
        (what, plain(rate), f"{100 * made / rate:.0f} %") for what, rate in full.items()
    ]
    columns = ("a full machine", "tokens/s of a GPU", "the day's mean is")
    return Table("How busy was DeepSeek's prefill?", columns, rows)


def told_table(choices: Choices) -> Table:
    """Table of DeepSeek's decodes if their batch or their drafting was another."""
    from llmserve_lab.page.table import Table

    drafted = replace(choices, **DRAFTED)
    implied, tabled = batch_of(DEEPSEEK_DECODE), float(TABLED_BATCH)
    profiled = batch_of(PROFILED_DECODE)
    cases = (
        (DEEPSEEK_DECODE, choices, implied, "the batch from two rates"),
        (DEEPSEEK_DECODE, drafted, implied, "and one token drafted"),
        (DEEPSEEK_DECODE, choices, tabled, "the batch of SGLang's table"),
        (PROFILED_DECODE, choices, profiled, "nothing drafted"),
        (PROFILED_DECODE, drafted, profiled, "one token drafted"),
    )
    rows = []
    for record, made, batch, what in cases:
        found = rate_as_run(record, made, batch=batch)
        off = beside(found, float(record.gpu_tokens_per_s))
        rows.append((f"{record.name}, {what}", f"{batch:.4g}", plain(found), off))
    columns = ("if it was", "batch", "predicted", "error")
    return Table("What DeepSeek does not tell of its decode", columns, rows)


def hidden_table(choices: Choices) -> Table:
    """Table of the rack's later runs, nothing of the wire hidden or all of it."""
    from llmserve_lab.page.table import Table

    rows = []
    for record in (NVL72_LATER, NVL72_LOW, NVL72_PREFILL):
        none, measured = run_as(record, choices), float(record.gpu_tokens_per_s)
        both = (none, replace(none, choices=replace(none.choices, overlap="hidden")))
        off = (beside(rate_of(record, twin), measured) for twin in both)
        rows.append((record.name, *off))
    columns = ("deployment", "nothing hidden", "all hidden")
    return Table("Error with no overlap, and with the most there can be", columns, rows)


def small_table(choices: Choices) -> Table:
    """Table of steps with few requests: measured, too short by, and with a start."""
    from llmserve_lab.page.table import Table

    started = replace(choices, shares=trips_started())
    rows = []
    for record in SMALL_BATCHES:
        measured = float(record.gpu_tokens_per_s)
        found, other = (rate_as_run(record, each) for each in (choices, started))
        step, short = (1e3 * batch_of(record) / rate for rate in (measured, found))
        name = f"{record.name}, context {float(record.context):,.0f}"
        batch = f"{batch_of(record):.3g}"
        times = (f"{step:.1f} ms", f"{step - short:.1f} ms")
        off = (beside(made, measured) for made in (found, other))
        rows.append((name, batch, *times, *off))
    columns = (
        *("deployment", "batch", "step", "too short by", "error"),
        "error, trips started",
    )
    return Table("Decodes with few requests on a GPU", columns, rows)
