"""Two published comparisons of schedulers, one of them served by the book's engine."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.catalog.evidence.schedulers import (
    A100_40,
    ANYSCALE,
    ANYSCALE_ANSWER,
    ANYSCALE_LONGEST,
    ANYSCALE_PROMPT,
    ANYSCALE_REQUESTS,
    BATCHING,
    MIXING,
    NAIVE_PER_S,
    OPT_13B,
    SARATHI,
    SARATHI_SETTING,
)
from llmserve_lab.engine import (
    Continuous,
    IterationCost,
    Policy,
    Pool,
    Request,
    Static,
    simulate,
)
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table


def asked(seed: int = 0) -> list[Request]:
    """The requests of that benchmark: all at once, answers of very unlike lengths."""
    rng = np.random.default_rng(seed)
    count, longest = int(float(ANYSCALE_REQUESTS)), int(float(ANYSCALE_LONGEST))
    drawn = np.ceil(rng.exponential(float(ANYSCALE_ANSWER), count))
    answers = np.clip(drawn, 1, longest).astype(int)
    prompt = int(float(ANYSCALE_PROMPT))
    return [
        Request(arrival_s=0.0, prompt_len=prompt, output_len=int(u), id=number)
        for number, u in enumerate(answers)
    ]


def slots_reserved(cost: IterationCost) -> int:
    """Requests that fit if each sets aside room for the longest answer."""
    tokens = float(ANYSCALE_PROMPT) + float(ANYSCALE_LONGEST)
    return int(cost.kv_blocks() * 16 // tokens)


@cache
def simulated() -> tuple[float, ...]:
    """Output tokens per second of the schedulers, in the order of ``BATCHING``."""
    cost = IterationCost.of(OPT_13B, A100_40)
    slots = slots_reserved(cost)
    policies: tuple[Policy, ...] = (Static(slots), Continuous(slots), Continuous())
    runs = (simulate(asked(), Pool(cost, policy)) for policy in policies)
    return tuple(run.throughput_tokens_per_s for run in runs)


def ratios() -> list[tuple[str, float, float]]:
    """Each scheduler over static batching: its name, as measured, in the engine."""
    first, *others = BATCHING
    per_s = simulated()
    return [
        (
            each.scheduler,
            float(each.times) / float(first.times),
            found / per_s[0],
        )
        for each, found in zip(others, per_s[1:], strict=True)
    ]


def worst_error() -> float:
    """The ratio that is farthest off: its error as a share of what was measured."""
    errors = (engine / measured - 1 for _, measured, engine in ratios())
    return max(errors, key=abs)


def batching_table() -> Table:
    """Table of throughput over static batching: measured, in the engine, the error."""
    rows = [
        (name, f"{measured:.1f}×", f"{engine:.1f}×", f"{engine / measured - 1:+.0%}")
        for name, measured, engine in ratios()
    ]
    naive, first = float(NAIVE_PER_S), float(BATCHING[0].times)
    note = (
        f"Measured: {ANYSCALE}; OPT-13B on one A100 of 40 GB. Static batching with "
        f"optimised kernels made {naive * first:.0f} tokens/s there, "
        f"{simulated()[0]:.0f} in the engine."
    )
    columns = ("scheduler", "measured", "engine", "error")
    return Table("Throughput, as a multiple of static batching", columns, rows, (note,))


def mixing_table() -> Table:
    """Table of what chunks and mixing do to TTFT and to the gaps, as measured."""
    rows = [
        (
            each.scheduler,
            *(si(float(cell), "s") for cell in (*each.chat, *each.papers)),
        )
        for each in MIXING
    ]
    columns = (
        "scheduler",
        "chat: TTFT p50",
        "TBT p99",
        "papers: TTFT p50",
        "TBT p99",
    )
    note = (
        f"Measured: {SARATHI}; {SARATHI_SETTING}. Mixing: prompts share iterations "
        "with decodes; chunks: long prompts are cut. p50: median; p99: one in a "
        "hundred exceeds it."
    )
    return Table("What chunks do, measured", columns, rows, (note,))
