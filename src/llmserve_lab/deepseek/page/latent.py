"""Latent attention on the page: what is cached, and its two forms, as they ran."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from llmserve_lab.catalog import precision
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.deepseek.executed.mla import (
    D_MODEL,
    TINY,
    MlaRun,
    MlaStep,
    execute,
)
from llmserve_lab.deepseek.model.setup import DEEPSEEK
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis

CACHED = 7  # tokens in the cache before the new one
SIDE = 2.0  # height of one token's or one head's row, in the scene's units
Row = dict[str, Any]
NAMES = {"vanilla": "plain form", "absorbed": "absorbed form"}


def latent() -> LatentAttention:
    """The latent attention of DeepSeek-V3."""
    assert isinstance(DEEPSEEK.attention, LatentAttention)
    return DEEPSEEK.attention


def all_heads_bytes() -> float:
    """Bytes of a token if keys and values of all heads were cached, all layers."""
    spec, size = latent(), float(precision("bf16").bytes_kv)
    return spec.n_heads * (spec.d_head + spec.d_v) * DEEPSEEK.n_layers * size


def latent_bytes() -> float:
    """Bytes of a token in the latent cache, all layers."""
    return float(DEEPSEEK.kv_bytes_per_token(precision("bf16").bytes_kv))


# Where each intermediate stands: x, y, and which of its axes are drawn as rows.
PLACES: Mapping[str, tuple[float, float, str]] = {
    "query": (34, 1, "flat"),
    "rotary query": (67, 1, "flat"),
    "query on latents": (34, 10, "heads"),
    "key": (34, 10, "tokens"),
    "value": (78, 10, "tokens"),
    "mixed latents": (78, 10, "heads"),
    "attention output": (78, 29, "flat"),
}
# Where the parameters that make keys and values stand when they are multiplied with.
WEIGHTS: Mapping[str, tuple[float, float]] = {
    "key": (27, 17),
    "value": (27, 17),
    "query on latents": (63, 5),
    "attention output": (91, 21),
}
AGAIN = "compute"  # keys and values that are made from the cache in every step
INK = {"key": AGAIN, "value": AGAIN}
SAID: Mapping[str, str] = {
    "query": "A product with the row's {width} numbers makes a query for each of the "
    "{heads} heads: {head} numbers that will meet the keys.",
    "rotary query": "And {rope} numbers a head that carry the position. They will meet "
    "the rotary key, which all heads share.",
    "key": "Plain form: one product of the latents with U makes keys and values of all "
    "heads, for all {tokens} tokens; for the {cached} cached ones, {again} FLOPs, "
    "again. First the keys; the cached rotary key stands beside each.",
    "value": "And the values. All of this is thrown away after the step.",
    "query on latents": "Absorbed form: the half of U that would make keys is applied "
    "to the query instead. With its rotary part each head's query has the width of a "
    "cached row: {latent} + {rope}.",
    "mixed latents": "Each head takes its scores and its weighted sum on the latents "
    "as they lie in the cache. No key and no value is ever made.",
    "attention output": "{last} {same} {both}",
}
LAST = {
    "vanilla": "Scores against the keys, sums of the values.",
    "absorbed": "The other half of U is applied to the {heads} sums.",
}


def two_forms() -> StepFigure:
    """Both forms of a small latent attention, tensor by tensor, as they ran."""
    logs = {words: _log(form) for form, words in NAMES.items()}
    first, second = logs
    return StepFigure(
        name="latent-forms",
        title="Plain makes all keys and values again; absorbed works on the cache",
        scene=Scene(
            x=SceneAxis((0, 114), shown=False),
            y=SceneAxis((39, -2), shown=False),
            marks=(
                Cells(table="cells", x2="x2", y2="y2", text="text"),
                Labels(table="words"),
                Labels(table="sums", align="left"),
            ),
            height=262,
        ),
        logs=logs,
        stills=((first, 2), (first, 4), (second, 4)),
        legend={
            "cache": "in the cache",
            "new": "of the new token: query, sums, result",
            AGAIN: "made from the cache and the new token",
            "weights": f"U, {TINY.d_latent} × {_made_width()} (not to scale)",
            "other": "FLOPs that differ",
        },
        counters=(
            Counter("keys and values of cached tokens: numbers made"),
            Counter("FLOPs that differ, so far", digits=6),
        ),
        start=len(logs[first].frames) - 1,
    )


def _log(form: str) -> StepLog:
    run = execute(form, n_rows=1, context=CACHED)
    steps = [step for step in run.steps if step.name in PLACES]
    cells, words = _cache(len(steps) + 1)
    spent, named = _spent(len(steps))
    frames = [Frame(_opening(), (0.0, 0.0))]
    made = 0
    for at, step in enumerate(steps, 1):
        cells += _cells(step, at)
        if step.name == "key":
            cells += _shared_keys(at)
        if step.name in WEIGHTS and (form == "absorbed" or step.name in INK):
            cells.append(_weights(step, at))
            words.append(_arrow(step, at))
        words.append(_word(step, at))
        made += _made([step])
        frames.append(Frame(_said(step, form), (float(made), _so_far(step, run, form))))
    tables = {"cells": cells + spent, "words": words, "sums": named}
    return StepLog(tuple(frames), tables)


def _opening() -> str:
    return (
        f"In the cache lie {CACHED} tokens: a latent of {TINY.d_latent} numbers and a "
        f"rotary key of {TINY.d_rope} each. An eighth token is decoded: a row of "
        f"{D_MODEL} numbers, the width of this small model."
    )


def _made_width() -> int:
    """Numbers that one latent becomes: a key and a value for each head."""
    return TINY.n_heads * (TINY.d_head + TINY.d_v)


def _made(steps: Sequence[MlaStep]) -> int:
    """Numbers of the cached tokens' keys and values, made again by one product."""
    made = sum(math.prod(step.shape) for step in steps if step.name in INK)
    return made * CACHED // (CACHED + 1)  # the new token's are made by both forms


def _shared(run: MlaRun) -> tuple[int, int]:
    """FLOPs of both forms alike: for query and latent, and for the last product."""
    done = {step.name: step.flops for step in run.steps}
    return done["rotary key"], run.flops - done["attention output"]


def _up_flops() -> int:
    """FLOPs of one token's product with U: made into key and value, or absorbed."""
    return 2 * TINY.d_latent * _made_width()


def _differ(run: MlaRun) -> int:
    """FLOPs of a form without those that both forms spend."""
    return run.flops - sum(_shared(run)) - _up_flops()


def _so_far(step: MlaStep, run: MlaRun, form: str) -> float:
    """FLOPs up to a step without those that both forms spend.

    Absorbed, the new token meets one half of U with its query, the other at the end.
    """
    through = form == "vanilla" or step.name == "attention output"
    alike = _up_flops() if through else _up_flops() / 2
    return max(0.0, step.flops - _shared(run)[0] - alike)


def _both() -> str:
    """What either form made and spent, side by side."""
    runs = [execute(form, n_rows=1, context=CACHED) for form in NAMES]
    plain, absorbed = runs
    parts = [
        f"The plain form made {_made(plain.steps)} numbers again; with its scores and "
        f"sums that took {_differ(plain):,} FLOPs.",
        "The absorbed form made none; its wider scores and sums took "
        f"{_differ(absorbed):,}.",
    ]
    alike = sum(_shared(runs[0])) + _up_flops()
    also = f"What both spend alike on the new token, {alike:,}, is left out."
    return " ".join([*parts, also])


def _spent(since: int) -> tuple[list[Row], list[Row]]:
    """A bar for the FLOPs of either form, below the last step of both."""
    runs = [_differ(execute(form, n_rows=1, context=CACHED)) for form in NAMES]
    bars, words = [], []
    for i, (name, flops) in enumerate(zip(NAMES.values(), runs, strict=True)):
        y, length = 33.4 + 2.8 * i, 58 * flops / max(runs)
        bars.append({**_cell(0, y, length, "other", since), "y2": y + 2.3})
        at = {"x": length + 1.5, "y": y + 1.15, "since": since, "until": None}
        words.append(at | {"text": f"{name}: {flops:,}"})
    return bars, words


def _said(step: MlaStep, form: str) -> str:
    return SAID[step.name].format(
        heads=TINY.n_heads,
        head=TINY.d_head,
        rope=TINY.d_rope,
        latent=TINY.d_latent,
        tokens=CACHED + 1,
        width=D_MODEL,
        cached=CACHED,
        again=f"{2 * CACHED * TINY.d_latent * _made_width():,}",
        last=LAST[form].format(heads=TINY.n_heads),
        same="The result is the same in both forms, but for rounding.",
        both=_both(),
    )


def _cache(last: int) -> tuple[list[Row], list[Row]]:
    """The cached rows; the new token's own joins them in the first step."""
    cells = []
    for token in range(CACHED + 1):
        y = 10 + SIDE * token
        for x, width in ((0, TINY.d_latent), (TINY.d_latent + 0.6, TINY.d_rope)):
            since = 1 if token == CACHED else 0
            cells.append(_cell(x, y, width, "cache", since))
    width = TINY.d_latent + TINY.d_rope
    at = {"x": width / 2, "y": 8.4}
    before = {"text": f"cache: {CACHED} × {width}", "since": 0, "until": 1}
    after = {"text": f"cache: {CACHED + 1} × {width}", "since": 1, "until": last}
    return cells, [at | before, at | after]


def _shared_keys(since: int) -> list[Row]:
    """The cached rotary keys, drawn once more beside the keys that were made."""
    x = 34 + TINY.n_heads * TINY.d_head + 0.6
    return [
        _cell(x, 10 + SIDE * token, TINY.d_rope, "cache", since)
        for token in range(CACHED + 1)
    ]


def _weights(step: MlaStep, since: int) -> Row:
    """A small box for the parameters, where they are multiplied with."""
    x, y = WEIGHTS[step.name]
    return {**_cell(x, y, 5.5, "weights", since), "y2": y + 3.2, "text": "U"}


def _arrow(step: MlaStep, since: int) -> Row:
    """From a box of parameters on to what the product with them makes."""
    x, y = WEIGHTS[step.name]
    right = {"x": x + 2.75, "y": y + 5, "text": "→"}
    down = {"x": x + 7.5, "y": y + 1.6, "text": "↓"}
    place = right if step.name in INK else down
    return {**place, "since": since, "until": None}


def _cells(step: MlaStep, since: int) -> list[Row]:
    x, y, how = PLACES[step.name]
    n, heads, width = step.shape
    ink = INK.get(step.name, "new")
    if how == "heads":
        return [_cell(x, y + SIDE * h, width, ink, since) for h in range(heads)]
    rows = n if how == "tokens" else 1
    return [
        _cell(x + h * width, y + SIDE * token, width, ink, since)
        for token in range(rows)
        for h in range(heads)
    ]


def _word(step: MlaStep, since: int) -> Row:
    x, y, how = PLACES[step.name]
    n, heads, width = step.shape
    size = f"{heads} × {width}" if n == 1 else f"{n} × {heads} × {width}"
    span = width if how == "heads" else heads * width
    short = {"query on latents": "turned query", "rotary query": "rotary part"}
    short["attention output"] = "result"
    name = short.get(step.name, step.name + ("s" if n > 1 else ""))
    at = {"x": x + span / 2, "y": y - 1.6, "since": since, "until": None}
    return {**at, "text": f"{name}: {size}"}


def _cell(x: float, y: float, width: float, ink: str, since: int) -> Row:
    look = {"ink": ink, "since": since}
    return {"x": x, "x2": x + width, "y": y, "y2": y + SIDE, **look}
