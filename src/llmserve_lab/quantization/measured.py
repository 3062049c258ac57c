"""Measured servers in two precisions, beside what the book's machine says of them.

The same model, GPUs, lengths and clients, in FP8 and in FP4 by one engine; and in BF16
and FP8 by two different engines, since no engine has rows of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from statistics import median

import numpy as np

from llmserve_lab import validation
from llmserve_lab.catalog import ACCELERATORS
from llmserve_lab.catalog.evidence import quantization as papers
from llmserve_lab.page.table import Table
from llmserve_lab.quantization import on_one_gpu
from llmserve_lab.quantization.speed import Bits, decode_s, prefill_s, served
from llmserve_lab.validation import MeasuredRow

KINDS = ("measured", "formula")
ALONE = ((1, 0), (0, 4096))  # decodes and chunk of the passes that the page names
ENGINES = {"vllm": "vLLM", "trtllm": "TensorRT-LLM", "sglang": "SGLang"}


@dataclass(frozen=True)
class PrecisionPair:
    """The same setting in more bits and in fewer: measured and predicted gain of TPOT.

    TPOT is the time per output token after the first.
    """

    wide: MeasuredRow
    narrow: MeasuredRow
    predicted: float

    @property
    def measured(self) -> float:
        """TPOT in more bits over TPOT in fewer."""
        return self.wide.tpot_s / self.narrow.tpot_s

    @property
    def off(self) -> float:
        """By how much the predicted gain exceeds the measured one, as a share."""
        return self.predicted / self.measured - 1


def _setting(row: MeasuredRow) -> tuple[object, ...]:
    return (
        row.model, row.system, row.tp, row.prompt_len, row.output_len, row.clients
    )  # fmt: skip


def _joined(
    wide: str, narrow: str, wide_engine: str, tps: tuple[int, ...]
) -> Iterator[tuple[MeasuredRow, MeasuredRow]]:
    """Rows of the same setting, by the same engine if there are such."""
    rows = [row for row in validation.dense_rows() if row.tp in tps]
    same = narrow == "fp4"
    few: dict[tuple[object, ...], list[MeasuredRow]] = {}
    for row in rows:
        if row.precision == narrow:
            few.setdefault(_setting(row), []).append(row)
    for row in rows:
        if row.precision == wide and wide_engine in ("", row.engine):
            for other in few.get(_setting(row), []):
                if row.engine == other.engine or not same:
                    yield row, other


@cache
def pairs(
    wide: str, narrow: str, *, wide_engine: str = "", tps: tuple[int, ...] = (1, 4)
) -> tuple[PrecisionPair, ...]:
    """Pairs of rows in these precisions on so many GPUs, with the predicted gain.

    Those in FP8 and FP4 are of one engine each, others of any two. The
    constants of the machine were fitted to all measured rows, these among them.
    """
    found = list(_joined(wide, narrow, wide_engine, tps))
    every = [row for pair in found for row in pair]
    if not every:
        return ()
    times = validation.Predictor(every).predict(validation.achieved())
    tpot = np.asarray(times.tpot).reshape(-1, 2)
    return tuple(
        PrecisionPair(a, b, float(x / y))
        for (a, b), (x, y) in zip(found, tpot, strict=True)
    )


def half_off(found: tuple[PrecisionPair, ...]) -> float:
    """Median of how far the predicted gain is off, its sign left out."""
    return median(abs(pair.off) for pair in found)


def published_table() -> Table:
    """Table of what others report, with model, hardware and load as far as named."""
    rows = [
        (each.what, each.where, each.found, each.source) for each in papers.PUBLISHED
    ]
    columns = ("what", "on what", "result", "read in")
    return Table("Published results", columns, rows)


@dataclass(frozen=True)
class StaticRun:
    """Seconds of a batch that starts and ends together: its prompts, its answers."""

    batch: int
    prompts_s: float
    decode_s: float

    @property
    def rate(self) -> float:
        """Tokens of the answers a second, the reading of the prompts included."""
        seconds = self.prompts_s + self.decode_s
        return self.batch * papers.RATE_ANSWER / seconds


def static_run(weights: str, batch: int) -> StaticRun:
    """The published run on an H200, by the model."""
    cost = served(Bits(weights), None, ACCELERATORS["h200-sxm"])
    context = papers.RATE_PROMPT + papers.RATE_ANSWER // 2
    decode = papers.RATE_ANSWER * decode_s(cost, batch=batch, context=context)
    return StaticRun(batch, batch * prefill_s(cost, prompt=papers.RATE_PROMPT), decode)


def rate_gain(weights: str, batch: int) -> tuple[float, float]:
    """Throughput over that of BF16 on an H200: published, and by the model."""
    wide, few = (float(papers.RATES[key][batch]) for key in ("bf16", weights))
    return few / wide, static_run(weights, batch).rate / static_run("bf16", batch).rate


def w4a8_gain(batch: int) -> float:
    """Published throughput over BF16 with INT4 weights and FP8 activations."""
    return float(papers.W4A8_RATES[batch]) / float(papers.RATES["bf16"][batch])


def prompts_share(batch: int) -> float:
    """Share of the measured time in BF16 that, by the model, the prompts take."""
    measured_s = batch * papers.RATE_ANSWER / float(papers.RATES["bf16"][batch])
    return static_run("bf16", batch).prompts_s / measured_s


def decode_gain(weights: str, batch: int) -> float:
    """Speed of the same run over BF16 by the model, without its prompts."""
    return static_run("bf16", batch).decode_s / static_run(weights, batch).decode_s


def decode_if_prompts_kept(weights: str, batch: int) -> float:
    """Measured speed of decode over BF16, had prompts been read as fast as in BF16.

    The share of the prompts is the model's.
    """
    prompts = prompts_share(batch)
    return (1 - prompts) / (1 / rate_gain(weights, batch)[0] - prompts)


def prompts_if_decode_kept(weights: str, batch: int) -> float:
    """Measured time of the prompts over BF16, had decode been as fast as in BF16."""
    prompts = prompts_share(batch)
    return (1 / rate_gain(weights, batch)[0] - (1 - prompts)) / prompts


def compared_table() -> Table:
    """Table of gains by FP8 and INT4 weights, measured and by the model.

    Whole runs of a server on one H200, and one H100 by itself; none was fitted to.
    """
    rows: list[tuple[str, ...]] = []
    for batch in papers.RATES["bf16"]:
        cells: list[str] = []
        for key in ("fp8", "int4"):
            cells += [f"{gain:.2f}×" for gain in rate_gain(key, batch)]
        rows.append((f"H200, batch {batch}", *cells))
    for each in on_one_gpu.gains():
        run = each.run
        if (run.decodes, run.chunk) in ALONE:
            what = f"prompt of {run.chunk:,}" if run.chunk else "decode, batch 1"
            cells = [f"{gain:.2f}×" for gain in (each.measured, each.formula)]
            rows.append((f"H100, {what}", *cells, "–", "–"))
    columns = ("run", *(f"{key} {kind}" for key in ("FP8", "INT4") for kind in KINDS))
    caption = "Times as fast as BF16: whole runs on an H200, an H100 by itself"
    return Table(caption, columns, rows)


def accuracy_table() -> Table:
    """Table of perplexities of three trained models, as published."""
    rows = [
        (name, *(f"{float(each):.2f}" for each in found))
        for name, found in papers.PERPLEXITIES.items()
    ]
    columns = ("format and method", *papers.PERPLEXITY_MODELS)
    return Table("Perplexity on WikiText-2 (less is better)", columns, rows)
