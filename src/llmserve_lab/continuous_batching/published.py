"""Published comparisons of schedulers, and the page on a machine as it was measured."""

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
from llmserve_lab.continuous_batching import sweep
from llmserve_lab.continuous_batching.machine import DECODES, LONG
from llmserve_lab.continuous_batching.workloads import beside_a_book, crowd
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    IterationCost,
    IterationLoad,
    Policy,
    Pool,
    Request,
    Static,
    simulate,
)
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import PROMPT, cost, datasheet
from llmserve_lab.validation import dense_rows


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


def slots_reserved(machine: IterationCost) -> int:
    """Requests that fit if each sets aside room for the longest answer."""
    tokens = float(ANYSCALE_PROMPT) + float(ANYSCALE_LONGEST)
    return int(machine.kv_blocks() * 16 // tokens)


@cache
def simulated() -> tuple[float, ...]:
    """Output tokens per second of the schedulers, in the order of ``BATCHING``."""
    machine = IterationCost.of(OPT_13B, A100_40)
    slots = slots_reserved(machine)
    policies: tuple[Policy, ...] = (Static(slots), Continuous(slots), Continuous())
    runs = (simulate(asked(), Pool(machine, policy)) for policy in policies)
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


def _signed(error: float) -> str:
    """An error with a minus sign that is one."""
    return f"{error:+.0%}".replace("-", "−")


def batching_table() -> Table:
    """Table of throughput over static batching: measured, in the engine, the error."""
    rows = [
        (name, f"{measured:.1f}×", f"{engine:.1f}×", _signed(engine / measured - 1))
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


RESULTS = {
    "calm": ("an iteration of five decodes", "s"),
    "whole-ttft": ("the book in one piece: TTFT", "s"),
    "whole-gap": ("the book in one piece: longest gap", "s"),
    "512-ttft": ("in chunks of 512: TTFT", "s"),
    "512-gap": ("in chunks of 512: longest gap", "s"),
    "2048-ttft": ("in chunks of 2,048: TTFT", "s"),
    "2048-gap": ("in chunks of 2,048: longest gap", "s"),
    "static": ("static batching, saturated", "token/s"),
    "continuous": ("continuous batching, saturated", "token/s"),
}


def fitted_rows() -> int:
    """Measured rows that the constants of the second machine were fitted to."""
    return len(dense_rows())


@cache
def machines() -> dict[str, tuple[float, float]]:
    """Results of the page on the datasheet's machine and on the fitted one."""
    ideal, fitted = _results(datasheet()), _results(cost())
    return {name: (ideal[name], fitted[name]) for name in RESULTS}


def _results(machine: IterationCost) -> dict[str, float]:
    """The results by name, on one machine."""
    calm = IterationLoad.of(chunk=1, context=PROMPT)
    for _ in range(DECODES - 1):
        calm = calm.plus(IterationLoad.of(chunk=1, context=PROMPT))
    found = {"calm": machine.seconds(calm)}
    chunks = {"whole": LONG, "512": 512, "2048": 2048}
    for name, chunk in chunks.items():
        run = simulate(beside_a_book(), Pool(machine, Chunked(chunk + DECODES)))
        (ttft_s,) = run.ttft_s[run.prompt_len == LONG]
        found |= {f"{name}-ttft": float(ttft_s), f"{name}-gap": run.gaps.longest_s}
    for name, policy in sweep.policies().items():
        run = simulate(crowd(per_s=1e6), Pool(machine, policy))
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
    columns = ("result", "datasheet", "as measured", "ratio")
    return Table("The same page on two machines", columns, rows)
