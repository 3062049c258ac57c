"""The paper's figures drawn again: routing, lengths, assumptions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.predictions import up_to
from llmserve_lab.deepseek.evaluation.sensitivity import swings
from llmserve_lab.deepseek.executed.routing import draw
from llmserve_lab.deepseek.model.prefill import prefill_s
from llmserve_lab.deepseek.model.setup import Setup, setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.deepseek.page.tables import signed
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.palette import BLUE, GREY, SERIES, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

BATCHES = np.exp2(np.arange(11, dtype=np.float64))
SHORT, LONG = 2048, 32_768
FEW = 4  # where in BATCHES the models are compared
SHOWN = 8  # bars of the tornado; the table has them all


@figure_style()
def experts_on_the_busiest(place: Setup) -> StaticFigure:
    """Distinct experts of a GPU against the rows of all: three ways to count."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    rows = np.array([1, 2, 4, 8, 16, 32, 64, 128])  # of the whole group
    exact, ball = (
        [_touched(place, how, count) for count in rows]
        for how in ("expected", "busiest")
    )
    size = {"n_experts": place.experts.n_experts, "n_gpus": place.n_gpus, "times": 40}
    drawn = [
        draw(n_rows=int(count), top_k=place.experts.top_k, **size) for count in rows
    ]
    axes.semilogx(rows, exact, label="mean of all GPUs, exact", base=2)
    axes.semilogx(rows, ball, label="busiest, balls in bins", base=2)
    busiest = [each.busiest for each in drawn]
    axes.semilogx(rows, busiest, "o", color=BLUE.light, label="busiest, drawn", base=2)
    axes.legend()
    _plainly(axes)
    axes.set_xlabel("rows of all GPUs together")
    axes.set_ylabel("experts that a GPU reads")
    gaps = [b / d for b, d in zip(ball, busiest, strict=True)]
    return StaticFigure.of(
        figure,
        name="deepseek.experts_on_the_busiest",
        title="Balls in bins overshoot until the cut; the mean is exact",
        sentence=(
            f"{place.name}, {place.local_experts(0)} experts each: for {rows[3]} rows "
            f"the mean is {plain(exact[3])}, the busiest GPU drawn has "
            f"{plain(busiest[3])}, balls in bins say {plain(ball[3])}; at worst "
            f"they are {plain(max(gaps))} times what is drawn."
        ),
    )


def _touched(place: Setup, how: str, rows: int) -> float:
    """Experts of a GPU that ``rows`` rows of the whole group touch."""
    from llmserve_lab.deepseek import formulas as f

    twin = Twin(
        setup=place,
        assumptions=replace(book_assumptions(), n_redundant=0, overlap="none"),
    )
    known = twin.arguments(batch=rows / place.n_gpus, context=1.0)
    formula = f.BUSIEST_EXPERTS if how == "busiest" else f.READ_EXPERTS
    return float(formula.at(known))


def _plainly(axes: Any) -> None:
    """No minor ticks, and numbers as the book writes them."""
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: plain(value))


@figure_style()
def models_and_contexts(place: Setup) -> StaticFigure:
    """DeepSeek-V3 beside Kimi K2, and short beside long contexts, over the batch."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    kimi = setup(place.accelerator.key, place.n_gpus, model="kimi-k2")
    cases = ((place, SHORT), (kimi, SHORT), (place, LONG), (kimi, LONG))
    found = []
    for ink, (here, context) in zip(SERIES, cases, strict=False):
        fits = float(
            Twin(setup=here, assumptions=book_assumptions()).batch_fits(context)
        )
        batches = up_to(BATCHES, fits)
        rates = Twin(setup=here, assumptions=book_assumptions()).gpu_tokens_per_s(
            batch=batches, context=context
        )
        name = f"{here.model.name}, {context:,} tokens"
        axes.loglog(batches, rates, color=ink.light, label=name)
        found.append((float(rates[FEW]), fits))
    axes.legend()
    _plainly(axes)
    axes.set(xlabel="requests on a GPU, as many as fit", ylabel="tokens/s of a GPU")
    (short, most), (other, _), (long, few), _ = found
    made = [si(rate, "token/s") for rate in (short, other, long)]
    return StaticFigure.of(
        figure,
        name="deepseek.models_and_contexts",
        title="Kimi K2's fewer heads pay for its experts; a long context costs",
        sentence=(
            f"{place.name}, {BATCHES[FEW]:.0f} requests a GPU: {made[0]} from "
            f"DeepSeek-V3, {made[1]} from Kimi K2, {made[2]} from DeepSeek-V3 with "
            f"{LONG:,} tokens, of which {few:.0f} requests fit instead of {most:.0f}."
        ),
    )


@figure_style()
def tornado(
    place: Setup, *, batches: tuple[float, float], context: float
) -> StaticFigure:
    """What each choice does to the tokens per second of a GPU, for few and for many."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.6, 3.8))
    few, many = (dict(swings(place, batch=b, context=context)) for b in batches)
    names = sorted(few, key=lambda name: -max(abs(few[name]), abs(many[name])))
    names, quiet = names[:SHOWN], names[SHOWN:]
    least = max(abs(found[name]) for found in (few, many) for name in quiet)
    rows = np.arange(len(names))
    for shift, found, ink, batch in zip(
        (-0.2, 0.2), (few, many), (BLUE, VERMILLION), batches, strict=True
    ):
        widths = [100 * found[name] for name in names]
        label = f"{batch:.0f} requests on a GPU"
        axes.barh(rows + shift, widths, 0.38, color=ink.light, label=label)
    axes.axvline(0, color=GREY.light, linewidth=1)
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.2), ncol=2)
    axes.set_xlabel("change of tokens/s of a GPU (%)")
    texts = (f"{n} {signed(few[n])} and {signed(many[n])}" for n in names[:4])
    return StaticFigure.of(
        figure,
        name="deepseek.tornado",
        title="What the text leaves open, and what it is worth",
        sentence=(
            f"{place.name}, {context:.0f} tokens, change for {batches[0]:.0f} and for "
            f"{batches[1]:.0f} requests on a GPU: {'; '.join(texts)}. What is not "
            f"drawn changes it by at most {plain(100 * least, 2)} %."
        ),
    )


@figure_style()
def long_contexts(place: Setup, *, batch: float = 4.0) -> StaticFigure:
    """Tokens per second of a GPU, reading a prompt and decoding, over the length.

    Figure 16 of the paper.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    twin, lengths = (
        Twin(setup=place, assumptions=book_assumptions()),
        np.exp2(np.arange(10, 18, dtype=np.float64)),
    )
    rows = lengths[-1]
    read = rows / np.asarray(prefill_s(twin, prompt=lengths, rows=rows))
    made = np.asarray(twin.gpu_tokens_per_s(batch=batch, context=lengths))
    axes.loglog(lengths, read, color=BLUE.light, label="prefill")
    label = f"decode, {batch:.0f} requests"
    axes.loglog(lengths, made, color=VERMILLION.light, dashes=(4, 2), label=label)
    axes.legend()
    _plainly(axes)
    axes.set(xlabel="tokens of prompt or context", ylabel="tokens/s of a GPU")
    first, last = (
        [si(float(rates[at]), "token/s") for rates in (read, made)] for at in (0, -1)
    )
    return StaticFigure.of(
        figure,
        name="deepseek.long_contexts",
        title="A long prompt slows prefill first: it pays for pairs",
        sentence=(
            f"{place.name}: from {lengths[0]:,.0f} to {rows:,.0f} tokens the prefill "
            f"of a GPU falls from {first[0]} to {last[0]}, its decode with "
            f"{batch:.0f} requests from {first[1]} to {last[1]}."
        ),
    )
