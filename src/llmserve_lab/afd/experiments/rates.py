"""One setting of the paper's, 8A–1F with two batches: what each way to count gives."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.simulation.run import BundleRun
from llmserve_lab.afd.simulation.vectorized_simulator import simulate
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.page.table import Table

SEEDS = range(1, 7)


@cache
def steady_runs(n_requests: int) -> tuple[BundleRun, ...]:
    """Runs that start in steady state, one for each seed."""
    whole(of="request", most=MOST_PLAYED, n_requests=n_requests)
    load = paper_setup.served(n_requests=n_requests, start="stationary")
    made = paper_setup.made(paper_setup.BEST)
    return tuple(simulate(made, load, seed=seed) for seed in SEEDS)


def rates_table(*, n_requests: int) -> Table:
    """Table of the rates of one bundle, each with what it counts."""
    made, slot = paper_setup.made(paper_setup.BEST), paper_setup.law().slot()
    known = paper_setup.known() | {"slot_tokens": slot.theta}
    alike = f.INSTANCE_TOKENS_PER_S.at(known, af_ratio=paper_setup.BEST)
    rule = corrected_model.tokens_per_s(paper_setup.made(1), slot, paper_setup.BEST)
    steady = [run.tokens_per_s for run in steady_runs(n_requests)]
    fresh = simulate(made, paper_setup.served(n_requests=n_requests), seed=1)
    longer = paper_setup.figure_4(paper_setup.BEST)
    ends = f"{min(steady) / 1e3:.0f} to {max(steady) / 1e3:.0f}"
    rows = (
        ("no load is ever late: by hand, the paper's form", alike),
        ("steady state with stragglers: our rule", rule),
        (f"the same, simulated: mean of {len(steady)} runs ({ends})", np.mean(steady)),
        ("from fresh slots, whose caches are short at first", fresh.tokens_per_s),
        ("the same, completed requests alone", fresh.completed_per_s),
        (f"the same with {paper_setup.REQUESTS:,} requests", longer.completed_per_s),
    )
    shown = [(what, f"{float(rate) / 1e3:.0f}") for what, rate in rows]
    note = f"Simulated: {n_requests:,} requests per instance, where none is named."
    caption = "8A–1F with two batches in flight: one setting, six rates"
    columns = ("what is counted", "tokens per 1,000 µs and machine")
    return Table(caption, columns, shown, notes=(note,))
