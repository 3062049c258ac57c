"""Published comparisons of schedulers, and the engine's own beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.schedulers import (
    BATCHING,
    CHUNKING,
    CHUNKING_SETTING,
    MIXING,
    READ_IN_CHUNKS,
    SARATHI,
    SARATHI_SETTING,
)
from llmserve_lab.continuous_batching.machine import GRAPH_ROWS, LONG, calm
from llmserve_lab.continuous_batching.schedules import ChunksApart
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    IterationCost,
    IterationLoad,
    Policy,
    Pool,
    Request,
    simulate,
)
from llmserve_lab.formula.text import off_by
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import cost, datasheet, served_by
from llmserve_lab.validation import dense_rows

BUDGET, REQUESTS = 1024, 128  # of the measurement, and of the engine beside it
SLOTS = 128
SCHEDULERS: dict[str, Policy] = {
    "mixing only": Continuous(SLOTS),
    "chunks only": ChunksApart(BUDGET, SLOTS),
    "both": Chunked(BUDGET, SLOTS),
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Requests with exponential lengths: mean prompt, mean answer, rate of arrivals."""

    prompt: int
    answer: int
    per_s: float

    def requests(self) -> list[Request]:
        """As many as were measured, none of fewer than ten tokens."""
        rng = np.random.default_rng(0)
        arrivals = np.cumsum(rng.exponential(1 / self.per_s, REQUESTS))
        prompts = 10 + rng.exponential(self.prompt, REQUESTS)
        answers = 10 + rng.exponential(self.answer, REQUESTS)
        return [
            Request(arrival_s=float(t), prompt_len=int(s), output_len=int(u), id=number)
            for number, (t, s, u) in enumerate(
                zip(arrivals, prompts, answers, strict=True)
            )
        ]


LOADS = {
    "chat": Asked(prompt=2000, answer=400, per_s=5.0),
    "papers": Asked(prompt=8000, answer=200, per_s=2.0),
}


def refilled() -> float:
    """Throughput of continuous over static batching, cache reserved, as measured."""
    static, continuous, _ = BATCHING
    return float(continuous.times) / float(static.times)


@cache
def measured(load: str, scheduler: str) -> tuple[float, float]:
    """Median TTFT and P99 TBT in s, as published."""
    (found,) = (each for each in MIXING if each.scheduler == scheduler)
    ttft, tbt = getattr(found, load)
    return float(ttft), float(tbt)


@cache
def simulated(load: str, scheduler: str) -> tuple[float, float]:
    """Median TTFT and P99 TBT in s, in the engine, of this page's model and GPU."""
    pool = Pool(cost(), SCHEDULERS[scheduler])
    run = simulate(LOADS[load].requests(), pool)
    return run.percentile("ttft", 50), float(run.gaps.percentile(99))


HOW = {"measured": measured, "engine": simulated}


def mixing_off() -> list[float]:
    """By what factor the engine's ratios, as printed, miss the measured ones."""
    pairs = [pair for _, both in _compared() for pair in both]
    shown = [(round(one, 1), round(other, 1)) for one, other in pairs]
    return [max(one / other, other / one) for one, other in shown]


def gaps_short() -> list[float]:
    """By what factors the engine's ratios of gaps, as printed, are too small.

    Only those that miss by more than a quarter.
    """
    gaps = [gap for _, (_, gap) in _compared()]
    off = [round(seen, 1) / round(made, 1) for seen, made in gaps]
    return [each for each in off if each > 1.25]


def _compared() -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Load and scheduler; measured beside the engine's, median TTFT and P99 TBT."""
    for load in LOADS:
        for name in list(SCHEDULERS)[:2]:
            seen, made = (_over_both(load, name, how) for how in HOW)
            yield f"{load}, {name}", list(zip(seen, made, strict=True))


def _over_both(load: str, scheduler: str, how: str) -> tuple[float, float]:
    """Median TTFT and P99 TBT of a scheduler over those of both together."""
    found = HOW[how]
    (ttft, tbt), (ttft_both, tbt_both) = found(load, scheduler), found(load, "both")
    return ttft / ttft_both, tbt / tbt_both


def mixing_table() -> Table:
    """Table of chunks and mixing, each over both together: measured, and simulated."""
    rows = [
        (name, *(f"{each:.1f}" for pair in pairs for each in pair))
        for name, pairs in _compared()
    ]
    heads = [f"{what}, {how}" for what in ("TTFT", "gap") for how in HOW]
    columns = ("load, scheduler", *heads)
    loads = "; ".join(
        f"{name}: prompt {each.prompt:,}, answer {each.answer}, {each.per_s:g} a second"
        for name, each in LOADS.items()
    )
    note = (
        f"Median TTFT and P99 gap. Measured: {SARATHI}; {SARATHI_SETTING}. Engine: "
        f"as many requests of this page's model, the same budget; means: {loads}."
    )
    return Table(
        "How many times as long as with both ideas together", columns, rows, (note,)
    )


@cache
def yi_34b() -> IterationCost:
    """The model and the GPUs whose chunks were measured, on the fitted machine.

    Neither is among the rows that it was fitted to.
    """
    shape = {
        "model_type": "llama",
        "hidden_size": 7168,
        "intermediate_size": 20_480,
        "num_attention_heads": 56,
        "num_key_value_heads": 8,
        "num_hidden_layers": 60,
        "vocab_size": 64_000,
        "max_position_embeddings": 200_000,
        "tie_word_embeddings": False,
    }
    model = catalog.model_from_config(shape, name="Yi-34B")
    return served_by(model, catalog.accelerator("a100-80-sxm"), tp=2)


def chunk_times(chunk: int = GRAPH_ROWS) -> dict[int, tuple[float, float]]:
    """Mean iteration, in s, that reads a prompt in chunks: measured, and simulated.

    By the prompt's tokens; launches are each made by themselves.
    """
    found = {}
    for (prompt, each), read in READ_IN_CHUNKS.items():
        if each == chunk:
            starts = range(0, prompt, chunk)
            loads = (
                IterationLoad.of(chunk=min(chunk, prompt - at), context=at)
                for at in starts
            )
            said_s = sum(yi_34b().seconds(load) for load in loads)
            found[prompt] = float(read) / len(starts), said_s / len(starts)
    return found


def chunk_table() -> Table:
    """Table of the time of an iteration with a chunk: measured, and simulated."""
    rows = [
        (
            f"{prompt:,}",
            f"{1e3 * seen:.0f} ms",
            f"{1e3 * said:.0f} ms",
            off_by(said / seen - 1),
        )
        for prompt, (seen, said) in chunk_times().items()
    ]
    columns = ("prompt (tokens)", "measured", "engine", "engine off by")
    note = (
        f"Measured: {CHUNKING}; {CHUNKING_SETTING}. Engine: the same model on such "
        "GPUs, each launch by itself."
    )
    caption = f"Mean time of an iteration with a chunk of {GRAPH_ROWS} rows"
    return Table(caption, columns, rows, (note,))


def fitted_rows() -> int:
    """Measured configurations that the fitted machine's constants come from."""
    return len(dense_rows())


def ideal_freeze_s() -> float:
    """The long prompt in one piece beside the decodes, at all of the datasheet."""
    return datasheet().seconds(calm().plus(IterationLoad.of(chunk=LONG)))
