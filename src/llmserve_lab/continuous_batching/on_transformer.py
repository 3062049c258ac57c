"""Every scheduler on the real small transformer: other passes, the same words."""

from __future__ import annotations

from llmserve_lab.continuous_batching.toy import model, prompt
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    ExecutedRun,
    IterationCost,
    Policy,
    Pool,
    Request,
    Static,
    execute,
)
from llmserve_lab.page.table import Table

ROW_S = 1.0  # of a made-up machine: a second a row, and nothing else
PROMPTS, ANSWERS = (20, 7, 11), (4, 9, 6)
POLICIES: dict[str, Policy] = {
    "static batch": Static(2),
    "whole prompts": Continuous(2),
    "budget of 6 rows": Chunked(6),
    "budget of 2 rows": Chunked(2),
}


def driven(policy: Policy) -> ExecutedRun:
    """Three requests, one behind the other, on the small transformer."""
    sizes = zip(PROMPTS, ANSWERS, strict=True)
    requests = [
        Request(arrival_s=5.0 * number, prompt_len=s, output_len=u, id=number)
        for number, (s, u) in enumerate(sizes)
    ]
    texts = {n: prompt(s, seed=n).tolist() for n, s in enumerate(PROMPTS)}
    pool = Pool(IterationCost(row_s=ROW_S), policy, kv_blocks=64)
    return execute(model(), requests, texts, pool)


def agreement() -> Table:
    """Table of the passes of each scheduler, and whether all gave the same answers."""
    runs = {name: driven(policy) for name, policy in POLICIES.items()}
    first = next(iter(runs.values())).tokens
    rows = []
    for name, run in runs.items():
        sizes = [sum(part.rows for part in each) for each in run.passes]
        same = "same" if run.tokens == first else "other"
        rows.append((name, len(sizes), max(sizes), sum(sizes), same))
    columns = ("scheduler", "passes", "rows of the largest", "rows in all", "tokens")
    return Table("Three requests, really run", columns, rows)
