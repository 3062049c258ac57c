"""What the engine's runs come to, as tables: who waited, for what, and for how long."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.article_machine import DECODES, cost
from llmserve_lab.continuous_batching.serving import (
    ARRIVES_S,
    LONG,
    around_the_stall,
    convoy,
    crowd,
    serve,
    stall,
    stalled,
)
from llmserve_lab.engine import (
    Chunked,
    ChunkedWithin,
    Continuous,
    Policy,
    Pool,
    Report,
    Request,
    Static,
    simulate,
)
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.workloads import faster

SLOTS = 8
SHORT = 100  # tokens of a prompt that comes just behind the long one


def convoys() -> Table:
    """Table of three requests in two slots, frozen and by iteration."""
    runs = {"frozen batch": Static(2), "by iteration": Continuous(2)}
    rows = []
    for name, policy in runs.items():
        run = serve(convoy(), policy)
        found = {
            number: (ttft_s, latency_s)
            for number, ttft_s, latency_s in zip(
                run.id, run.ttft_s, run.latency_s, strict=True
            )
        }
        for number, who in enumerate(("short", "long", "late")):
            ttft_s, latency_s = found[number]
            rows.append((f"{who}, {name}", si(ttft_s, "s"), si(latency_s, "s")))
    columns = ("request", "first token made", "answer sent")
    return Table("Three requests, two slots", columns, rows)


def idle_share(report: Report) -> float:
    """Share of rows that were computed for nobody, from the log of a run's decodes.

    Raises:
        ValueError: the run was not logged.
    """
    if report.log is None:
        raise ValueError("report must come from a run with log=True, got no trace")
    decodes = [step for step in report.log if not step.prefill_rows]
    idle = sum(step.padding_rows * step.count for step in decodes)
    return idle / sum(step.load.rows * step.count for step in decodes)


def frozen_share() -> float:
    """That share for the first two of the convoy, counted in the engine's log."""
    return idle_share(serve(convoy()[:2], Static(2)))


def idle_of_geometric(
    batch: int, *, mean: float = 200, num_batches: int = 500
) -> float:
    """Share of slots that stay idle in frozen batches of geometric answers."""
    answers = np.random.default_rng(0).geometric(1 / mean, (num_batches, batch))
    longest = answers.max(axis=1).mean()
    return float(f.IDLE_SLOTS(mean_answer=answers.mean(), longest_answer=longest))


def under_load() -> Table:
    """Table of one crowd under a frozen batch and by iteration, in eight slots."""
    rows = []
    for name, policy in (
        ("frozen batch", Static(SLOTS)),
        ("by iteration", Continuous(SLOTS)),
    ):
        run = simulate(crowd(), Pool(cost(), policy))
        rows.append(
            (
                name,
                f"{run.throughput_tokens_per_s:,.0f}",
                si(run.percentile("ttft", 50), "s"),
                si(run.percentile("ttft", 99), "s"),
                si(run.percentile("latency", 50), "s"),
            )
        )
    columns = ("batch", "tokens/s", "TTFT, median", "TTFT, p99", "answer, median")
    return Table("The same requests, eight slots", columns, rows)


@cache
def loops(num_requests: int = 400) -> dict[str, Report]:
    """As many clients as slots; then the same requests, as many per second, arrive."""
    pool, asked = Pool(cost(), Continuous(SLOTS)), crowd(num_requests=num_requests)
    closed = simulate(asked, pool, clients=SLOTS)
    sooner = asked[-1].arrival_s / closed.elapsed_s
    runs = {f"{SLOTS} clients, who wait": closed}
    for share in (0.7, 1.0):
        arrived = faster(asked, times=sooner * share)
        runs[f"a crowd, {share:.0%} of their rate"] = simulate(arrived, pool)
    return runs


def loops_table() -> Table:
    """Table of the mean TTFT in its two parts, by who sends the requests."""
    rows = [
        (
            name,
            si(run.queue_s.mean(), "s"),
            si((run.ttft_s - run.queue_s).mean(), "s"),
            si(run.ttft_s.mean(), "s"),
            si(run.percentile("ttft", 99), "s"),
        )
        for name, run in loops().items()
    ]
    parts = ("in the queue", "prefill", "TTFT, mean", "TTFT, p99")
    return Table("The same requests in eight slots", ("sent by", *parts), rows)


def long_ttft_s(report: Report) -> float:
    """Time to first token of the long prompt."""
    (found,) = report.ttft_s[report.prompt_len == LONG]
    return float(found)


def longest_gap_s(report: Report) -> float:
    """The longest that anyone had to wait between two tokens."""
    return float(report.gaps.longest_s)


def trade(*chunks: int) -> Table:
    """Table of what each chunk does to those who decode, and to the long prompt."""
    rows = []
    for chunk in chunks:
        run = stalled(chunk)
        rows.append(
            (
                f"{chunk:,}",
                sum(1 for beat in around_the_stall(run) if beat.rows),
                si(longest_gap_s(run), "s"),
                si(long_ttft_s(run), "s"),
            )
        )
    columns = ("chunk", "iterations with a piece", "longest gap", "TTFT of the prompt")
    return Table("A long prompt beside eight decodes", columns, rows)


def queue_behind() -> Table:
    """Table of a short prompt that arrives behind the long one: TTFT, longest gap."""
    late = Request(
        arrival_s=ARRIVES_S + 0.1, prompt_len=SHORT, output_len=10, id=DECODES + 1
    )
    policies: dict[str, Policy] = {
        "whole prompts": Continuous(),
        "chunks of 2048": Chunked(2048 + DECODES),
        "chunks within 50 ms": ChunkedWithin(0.05),
    }
    rows = []
    for name, policy in policies.items():
        run = serve([*stall(), late], policy)
        (short_s,) = run.ttft_s[run.prompt_len == SHORT]
        rows.append((name, si(float(short_s), "s"), si(longest_gap_s(run), "s")))
    columns = ("scheduler", "TTFT of the short one", "longest gap")
    return Table("A short prompt comes second", columns, rows)
