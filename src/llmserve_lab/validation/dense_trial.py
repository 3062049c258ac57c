"""Dense models predicted blind: runs that no one of the book had opened, scored once.

    python -m llmserve_lab.validation.dense_trial FILE.csv

prints the errors of a file with :data:`COLUMNS`; with ``write``, the trial of the
in_full file is written to ``data/dense_trial_record.json``. The form of the dense
model and its constants are those of :func:`.achieved`, fitted to 968 other rows. They,
the choice of the runs (``tools/dense_trial_rows.py``, by settings), this file and the
goal were fixed before a time was read.

What is compared is the time of an answer over its tokens, the share of the prompt
included: clients over output tokens/s. The time of the client is left out: batches
ran in the engine's own process, and the pages' answers have 2,048 tokens. Beside the
book stand the datasheet alone, and the datasheet times one factor, the median of
measured over predicted of the 968 rows. The goal is judged on the runs for which the
book gives a band; the others, with small models, one request at a time or other GPUs,
are scored apart.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from llmserve_lab.catalog import ModelShape, model
from llmserve_lab.catalog.data import dense_models
from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.engine import ContinuousWithBudget
from llmserve_lab.formula.band import Band
from llmserve_lab.validation.bands import band
from llmserve_lab.validation.constants import DATASHEET, ServingConstants, achieved
from llmserve_lab.validation.experts import read_rows
from llmserve_lab.validation.fourth_rows import CACHES, LoopRow
from llmserve_lab.validation.prediction import Predictor, errors
from llmserve_lab.validation.protocol import BLOCK_TOKENS, Protocol, protocol_of
from llmserve_lab.validation.rows import (
    DATA,
    SHA256,
    MeasuredRow,
    Sorted,
    dense_rows,
    in_full,
    sort_rows,
)
from llmserve_lab.validation.scores import ErrorScore, score_of
from llmserve_lab.validation.setting import Setting
from llmserve_lab.validation.third_rows import prompts_first
from llmserve_lab.validation.unit_work import Floats

COLUMNS = (
    "model", "system", "engine", "precision", "tp", "isl", "osl", "clients",
    "requests", "slots", "cache", "source", "token_ms",
)  # fmt: skip
SHAPES: Mapping[str, ModelShape] = MappingProxyType(
    {
        "meta-llama/Llama-2-7b": model("llama-2-7b"),
        "meta-llama/Llama-2-70b": model("llama-2-70b"),
        "meta-llama/Meta-Llama-3-8B": model("llama-3-8b"),
        "meta-llama/Meta-Llama-3-70B": model("llama-3-70b"),
        "mistralai/Mistral-7B-v0.1": dense_models.MISTRAL_7B,
        "Qwen/Qwen2-0.5B": dense_models.QWEN_2_05B,
        "Qwen/Qwen2-1.5B": dense_models.QWEN_2_15B,
        "Qwen/Qwen2-7B": dense_models.QWEN_2_7B,
        "Qwen/Qwen2-72B": dense_models.QWEN_2_72B,
        "Qwen/Qwen2.5-0.5B": dense_models.QWEN_25_05B,
        "Qwen/Qwen2.5-1.5B": dense_models.QWEN_25_15B,
        "Qwen/Qwen2.5-3B": dense_models.QWEN_25_3B,
        "Qwen/Qwen2.5-7B": dense_models.QWEN_25_7B,
        "Qwen/Qwen2.5-14B": dense_models.QWEN_25_14B,
        "Qwen/Qwen2.5-32B": dense_models.QWEN_25_32B,
        "Qwen/Qwen2.5-72B": model("qwen2.5-72b"),
        "Qwen/Qwen3-1.7B": dense_models.QWEN_3_17B,
        "Qwen/Qwen3-4B": dense_models.QWEN_3_4B,
        "Qwen/Qwen3-8B": dense_models.QWEN_3_8B,
        "Qwen/Qwen3-14B": dense_models.QWEN_3_14B,
        "Qwen/Qwen3-32B": model("qwen3-32b"),
    }
)
TRIAL_SYSTEMS: Mapping[str, str] = MappingProxyType(
    {"h100_sxm": "h100-sxm", "a100_80_sxm": "a100-80-sxm", "h20_sxm": "h20-sxm"}
)
PRECISIONS = ("bf16", "fp8")
VLLM_MEMORY, SGLANG_MEMORY, SGLANG_BUDGET = 0.9, 0.85, 8192  # as the sources say
ROWS, RECORD = "dense_trial_rows.csv", Path(str(DATA)) / "dense_trial_record.json"
TRIED = Status("seen", "2026-11-29")
GOAL = 0.16  # mean error where the book gives a band; that of the mixtures' trials
KIND: Final = "e2e"
WITH_BAND, WITHOUT = "with a band", "without a band"
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class DenseTrialRow(LoopRow):
    """A run of one engine, called in its own process: all requests at once."""

    source: str = ""

    @property
    def shape(self) -> ModelShape:
        """The model's record."""
        return SHAPES[self.model]

    @property
    def fits(self) -> bool:
        """Whether the cache holds all requests at their full length."""
        blocks = -(-(self.prompt_len + self.output_len) // BLOCK_TOKENS)
        return self.clients * blocks <= protocol_of(self).kv_blocks(self)


@protocol_of.register
def _trial(row: DenseTrialRow) -> Protocol:
    """Prompts go first, and whole: the rule of SGLang, and of vLLM before chunks.

    vLLM's budget was as long as a text of the model may be.
    """
    kv_bytes = CACHES[row.cache]
    if row.engine == "sglang":
        return prompts_first(
            row, SGLANG_BUDGET, memory=SGLANG_MEMORY, kv_bytes=kv_bytes, slots=row.slots
        )
    longest = row.shape.max_context
    assert longest is not None
    policy = ContinuousWithBudget(
        max_batch=row.slots, mixed=False, max_num_batched_tokens=longest
    )
    return Protocol(policy=policy, memory=VLLM_MEMORY, kv_bytes=kv_bytes)


def trial_rows(lines: Iterable[Mapping[str, str]]) -> Sorted:
    """Rows that can be predicted, and how many cannot, by reason."""
    rows, left_out = list[MeasuredRow](), dict[str, int]()
    for line in lines:
        times = {"ttft_ms": line["token_ms"], "tpot_ms": line["token_ms"]}
        found = sort_rows(
            [{**line, **times, "protocol": "public"}],
            models={each: each for each in SHAPES},
            of=DenseTrialRow,
            precisions=PRECISIONS,
            systems=TRIAL_SYSTEMS,
        )
        made = [_told(row, line) for row in found.rows if isinstance(row, LoopRow)]
        reasons = dict(found.left_out)
        if made and not made[0].fits:
            made, reasons = [], {"the cache cannot hold all requests": 1}
        rows += made
        for why, count in reasons.items():
            left_out[why] = left_out.get(why, 0) + count
    return Sorted(tuple(rows), MappingProxyType(left_out))


def _told(row: LoopRow, line: Mapping[str, str]) -> DenseTrialRow:
    """The row with what its own columns say."""
    assert isinstance(row, DenseTrialRow)
    requests, slots = (int(line[name]) for name in ("requests", "slots"))
    return replace(
        row, requests=requests, slots=slots, cache=line["cache"], source=line["source"]
    )


@cache
def trial_runs() -> tuple[MeasuredRow, ...]:
    """The runs that were scored blind."""
    return in_full(ROWS, trial_rows)


@cache
def trial_record() -> Mapping[str, Any]:
    """What was written of the trial."""
    found: Mapping[str, Any] = json.loads(RECORD.read_text("utf8"))
    return found


@cache
def held_share() -> tuple[int, float]:
    """Runs for which the book gives a band, and the share that lies inside."""
    inside = [each for each in trial_record()["held"] if each is not None]
    return len(inside), sum(inside) / len(inside)


def error_of(predictor: Predictor, reached: ServingConstants) -> Floats:
    """Errors of the time per token on a machine that reaches so much, no client."""
    made = predictor.predict(replace(reached, client_s=0.0))
    return errors(made, predictor.measured, KIND)


@cache
def one_factor() -> float:
    """Measured over the datasheet's time, the median of the 968 rows."""
    rows = Predictor(dense_rows())
    return float(
        np.median(1 / (1 + errors(rows.predict(DATASHEET), rows.measured, KIND)))
    )


def bands_of(rows: Iterable[MeasuredRow]) -> list[tuple[float, float] | None]:
    """Ends of the band that the book gives for each row; none where it gives none."""
    found = (band(KIND, Setting.of(row)) for row in rows)
    return [(each.low, each.high) if isinstance(each, Band) else None for each in found]


def held_of(error: Floats, ends: Iterable[tuple[float, float] | None]) -> list[Any]:
    """Whether each error lies in its band; None without one."""
    return [
        None if each is None else bool(each[0] <= value <= each[1])
        for value, each in zip(error, ends, strict=True)
    ]


def groups(predictor: Predictor, has_band: Iterable[bool]) -> dict[str, np.ndarray]:
    """Which rows are scored together, [rows] by name."""
    label = np.array([WITH_BAND if each else WITHOUT for each in has_band])
    found = {ALL: np.full(len(label), True)}
    labels = [label, *map(predictor.label, ("source", "model", "engine", "system"))]
    labels += [predictor.label("precision")]
    labels += [np.char.add("clients ", predictor.label("clients").astype(str))]
    for each in labels:
        found |= {str(name): each == name for name in np.unique(each)}
    return found


def scores_of(
    predictor: Predictor, error: Floats, has_band: Iterable[bool]
) -> dict[str, ErrorScore]:
    """A score of each group; servers are drawn for its interval."""
    server = predictor.label("server")
    return {
        name: score_of(error[own], server[own])
        for name, own in groups(predictor, has_band).items()
    }


def tried(rows: tuple[MeasuredRow, ...]) -> dict[str, Any]:
    """All that the record has: errors row by row, bands that held, and scores."""
    predictor = Predictor(rows)
    ends = bands_of(rows)
    has_band = [each is not None for each in ends]
    sheet = error_of(predictor, DATASHEET)
    made = {
        "book": error_of(predictor, achieved()),
        "datasheet": sheet,
        "one factor": (1 + sheet) * one_factor() - 1,
    }
    return {
        "factor": one_factor(),
        "errors": {name: error.tolist() for name, error in made.items()},
        "held": held_of(made["book"], ends),
        "scores": {
            name: {
                group: each.plain()
                for group, each in scores_of(predictor, error, has_band).items()
            }
            for name, error in made.items()
        },
    }


def write() -> None:
    """Score the vendored runs, and write it."""
    from llmserve_lab.validation.__main__ import as_text

    when = {"status": [TRIED.kind, TRIED.date], "rows_sha256": SHA256[ROWS]}
    RECORD.write_text(as_text(when | tried(trial_runs())) + "\n", "utf8")


def main(path: Path) -> None:
    """Print the score of a file's runs, and what was left out and why."""
    found = tried(read_rows(path, COLUMNS, trial_rows))
    held = [each for each in found["held"] if each is not None]
    print(f"goal: {100 * GOAL:.0f} %, of runs {WITH_BAND}")
    print(f"inside their bands: {sum(held)} of {len(held)}")
    for name, each in found["scores"].items():
        print(name)
        for group, score in each.items():
            print(" ", _said(group, score))


def _said(group: str, score: Mapping[str, Any]) -> str:
    """A line of what is printed."""
    mean, bias, median = (100 * score[key] for key in ("mean", "bias", "median"))
    ends = [f"{100 * score[key]:.1f}" for key in ("low", "high") if key in score]
    said = f"{group}: {score['n']} runs, mean {mean:.1f} % [{', '.join(ends)}]"
    return f"{said}, bias {bias:+.1f} %, median {median:.1f} %"


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write()
    else:
        main(Path(sys.argv[1]))
