"""The same requests, the same GPUs, three ways to use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.disaggregation.goodput import BUDGETS, DEFAULT, replayed
from llmserve_lab.disaggregation.served import PROMISED
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Disaggregated,
    IterationCost,
    Pool,
    Report,
    Request,
    simulate,
)
from llmserve_lab.engine.metrics.report import Metric
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.palette import SERIES
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, PROMPT, cost, share
from llmserve_lab.workloads import (
    Bounded,
    Geometric,
    Lognormal,
    poisson_requests,
)

WHOLE, CHUNKS, POOLS = "one engine, whole prompts", "one engine, chunks", "two pools"
INKS = {WHOLE: SERIES[0], CHUNKS: SERIES[2], POOLS: SERIES[1]}
BUDGET, READS = BUDGETS[-1], DEFAULT  # rows of a step: of chunks, of a prefill GPU
LIMITS = {"ttft_s": 0.5, "tpot_s": 0.015}  # what a user is promised
TTFT: Metric = "ttft"
TBT: Metric = "tbt"
LATER = np.logspace(0, -3.5, 50)  # shares at which a distribution is drawn
Deployment = Pool | Disaggregated


def trace(
    *, prompt: float, output: float, rate_per_s: float, num_requests: int, seed: int
) -> list[Request]:
    """Poisson arrivals, prompts that vary by half their mean, geometric answers."""
    return list(
        poisson_requests(
            rate_per_s=rate_per_s,
            prompt=Bounded(
                law=Lognormal(mean=prompt, cv=0.5), high=max(1, int(4 * prompt))
            ),
            output=Geometric(output),
            num_requests=num_requests,
            seed=seed,
        )
    )


def deployments(
    *,
    cost: IterationCost,
    n_prefill: int,
    n_decode: int,
    link: str,
    streamed: bool = True,
    budget: int = BUDGET,
    link_latency_s: float | None = None,
) -> dict[str, Deployment]:
    """As many GPUs as engines that serve both phases, or as two pools over a link.

    The prefill pool reads waiting prompts together, up to ``READS`` tokens an
    iteration. Steps of up to ``BUDGET`` rows replay recorded launches, as vLLM's do.
    ``link_latency_s`` stands for the latency of the link, which must be given where
    none is published.
    """
    gpus = n_prefill + n_decode
    in_chunks = replayed(cost) if budget <= BUDGET else cost
    return {
        WHOLE: Pool(cost, Continuous(), replicas=gpus),
        CHUNKS: Pool(in_chunks, Chunked(budget), replicas=gpus),
        POOLS: Disaggregated.over(
            catalog.link(link),
            prefill=Pool(cost, Chunked(READS), replicas=n_prefill),
            decode=Pool(cost, Continuous(), replicas=n_decode),
            streamed=streamed,
            eff_link=float(share().link),
            link_latency_s=link_latency_s,
        ),
    }


@cache
def example() -> dict[str, Report]:
    """The running example on four GPUs, 1000 requests at 40 per second."""
    requests = trace(
        prompt=PROMPT, output=ANSWER, rate_per_s=40, num_requests=1000, seed=1
    )
    ways = deployments(cost=cost(), n_prefill=2, n_decode=2, link="infiniband-ndr")
    return side_by_side(requests, ways)


def side_by_side(
    requests: Sequence[Request], ways: Mapping[str, Deployment]
) -> dict[str, Report]:
    """Each deployment's report on the same requests; the latest are remembered."""
    wanted = tuple(requests)
    return {name: _served(wanted, way) for name, way in ways.items()}


@lru_cache(maxsize=3)
def _served(requests: tuple[Request, ...], way: Deployment) -> Report:
    return simulate(requests, way)


def _shown(report: Report, metric: Metric, q: float) -> str:
    """A percentile with its unit; a dash for gaps where answers have one token."""
    if metric == TBT and not report.gaps.count:
        return "–"
    return si(report.percentile(metric, q), "s")


def table(reports: Mapping[str, Report]) -> Table:
    """Table of what users wait for, by deployment."""
    rows = [
        (
            name,
            *(_shown(report, TTFT, q) for q in (50, 99)),
            *(_shown(report, TBT, q) for q in (50, 99, 100)),
            f"{report.slo_attainment(**LIMITS):.0%}",
        )
        for name, report in reports.items()
    ]
    columns = (
        "way",
        "TTFT p50",
        "TTFT p99",
        "gap p50",
        "gap p99",
        "longest",
        "kept [1]",
    )
    count = next(iter(reports.values())).num_requests
    limits = (si(LIMITS[name], "s") for name in ("ttft_s", "tpot_s"))
    within = "Share with a first token in {} and a TPOT of {}.".format(*limits)
    title = f"{count} requests on the same GPUs"
    notes = (within,)
    return Table(title, columns, rows, notes=notes, band=PROMISED)


def distributions(reports: Mapping[str, Report]) -> StaticFigure:
    """Share of first tokens, and of gaps, that came later than a time."""
    return _drawn(*reports.items())


@lru_cache(maxsize=1)
@figure_style()
def _drawn(*reports: tuple[str, Report]) -> StaticFigure:
    from llmserve_lab.extras import matplotlib
    from llmserve_lab.extras import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(4.75, 3.4))
    for name, report in reports:
        ink = INKS[name]
        dash = (0, ink.dash) if ink.dash else "-"
        panels = ((left, TTFT), (right, TBT))
        for axes, metric in panels[: 2 if report.gaps.count else 1]:
            times = [report.percentile(metric, 100 * (1 - x)) for x in LATER]
            look = {"color": ink.light, "linestyle": dash, "label": name}
            axes.loglog(1e3 * np.asarray(times), LATER, **look)
            axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 3)))
    for axes, title in ((left, "first token (ms)"), (right, "gap (ms)")):
        axes.set_xlabel(title)
        axes.set_ylim(LATER[-1], 1)
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda value, _: plain(value))
    left.yaxis.set_major_formatter(lambda share, _: f"{plain(100 * share)} %")
    left.set_ylabel("share that comes later")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper left")
    said = (
        f"{name}: p99 of TTFT {_shown(report, TTFT, 99)}, "
        f"of gaps {_shown(report, TBT, 99)}"
        for name, report in reports
    )
    return StaticFigure.of(
        figure,
        name="disaggregation.distributions",
        title="Of first tokens and of gaps, the share that comes later than a time",
        sentence=f"{'; '.join(said)}.",
    )
