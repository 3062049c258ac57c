"""Published comparisons of schedulers, and the page on a machine as it was measured."""

from __future__ import annotations

from functools import cache

from llmserve_lab.catalog.evidence.schedulers import (
    BATCHING,
    MIXING,
    SARATHI,
    SARATHI_SETTING,
)
from llmserve_lab.continuous_batching import arrival_rates
from llmserve_lab.continuous_batching.machine import DECODES, LONG
from llmserve_lab.continuous_batching.workloads import beside_a_book, crowd
from llmserve_lab.engine import Chunked, IterationCost, IterationLoad, Pool, simulate
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import PROMPT, cost, datasheet
from llmserve_lab.validation import dense_rows


def refilled() -> float:
    """Throughput of continuous over static batching, cache reserved, as measured."""
    static, continuous, _ = BATCHING
    return float(continuous.times) / float(static.times)


def mixing_table() -> Table:
    """Table of what chunks and mixing do to TTFT and to the gaps, as measured."""
    rows = [
        (
            each.scheduler,
            *(f"{float(cell):.2f} s" for cell in (*each.chat, *each.papers)),
        )
        for each in MIXING
    ]
    columns = (
        "scheduler",
        "chat: TTFT",
        "TBT",
        "papers: TTFT",
        "TBT",
    )
    note = f"Measured: {SARATHI}; {SARATHI_SETTING}. TTFT: median; TBT: P99."
    return Table("What chunks do, measured", columns, rows, (note,))


RESULTS = {
    "calm": ("an iteration of five decodes", "s"),
    "whole-ttft": ("the long prompt in one piece: TTFT", "s"),
    "whole-gap": ("the long prompt in one piece: longest gap", "s"),
    "512-ttft": ("in chunks of 512: TTFT", "s"),
    "512-gap": ("in chunks of 512: longest gap", "s"),
    "2048-ttft": ("in chunks of 2,048: TTFT", "s"),
    "2048-gap": ("in chunks of 2,048: longest gap", "s"),
    "static": (f"static, {arrival_rates.SLOTS} slots, saturated", "token/s"),
    "continuous": (f"continuous, {arrival_rates.SLOTS} slots, saturated", "token/s"),
}


def fitted_rows() -> int:
    """Measured configurations that the fitted machine's constants come from."""
    return len(dense_rows())


@cache
def machines() -> dict[str, tuple[float, float]]:
    """Results of the page on the datasheet's machine and on the fitted one."""
    ideal, fitted = _results(datasheet()), _results(cost())
    return {name: (ideal[name], fitted[name]) for name in RESULTS}


def _results(machine: IterationCost) -> dict[str, float]:
    """The results by name, on one machine."""
    calm = IterationLoad.of(chunk=1, context=PROMPT).times(DECODES)
    found = {"calm": machine.seconds(calm)}
    chunks = {"whole": LONG, "512": 512, "2048": 2048}
    for name, chunk in chunks.items():
        run = simulate(beside_a_book(), Pool(machine, Chunked(chunk + DECODES)))
        (ttft_s,) = run.ttft_s[run.prompt_len == LONG]
        found |= {f"{name}-ttft": float(ttft_s), f"{name}-gap": run.gaps.longest_s}
    for name, policy in arrival_rates.policies().items():
        asked = crowd(per_s=1e6, num_requests=arrival_rates.REQUESTS)
        run = simulate(asked, Pool(machine, policy))
        found[name] = run.throughput_tokens_per_s
    return found


def machines_table() -> Table:
    """Table of the page's results, on either machine."""
    rows = [
        (words, si(ideal, unit), si(fitted, unit), f"{fitted / ideal:.2f}")
        for (words, unit), (ideal, fitted) in zip(
            RESULTS.values(), machines().values(), strict=True
        )
    ]
    columns = ("result", "datasheet", "as served (predicted)", "ratio")
    note = (
        "A TTFT is longer than the gap by what was left of the iteration that ran when "
        "the long prompt arrived: milliseconds, which beside seconds do not show."
    )
    return Table("The same page on two machines", columns, rows, (note,))
