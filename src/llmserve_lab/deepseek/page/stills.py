"""The paper's figures drawn again: routing, lengths, assumptions."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.catalog import MODELS
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model.prefill import prefill_s
from llmserve_lab.deepseek.model.setup import DEEPSEEK, Setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.deepseek.page import latent
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.palette import BLUE, GREEN, GREY, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

BATCHES = np.exp2(np.arange(11, dtype=np.float64))
SHORT, LONG = 2048, 32_768
FEW = 4  # where in BATCHES the models are compared


def _plainly(axes: Any) -> None:
    """No minor ticks, and numbers as the book writes them."""
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: plain(value))


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


@figure_style()
def cached_of_a_token() -> StaticFigure:
    """One token in one layer's cache, drawn to scale: all heads, eight, a latent."""
    from llmserve_lab.extras import pyplot as plt

    spec, grouped = latent.latent(), MODELS["llama-3-70b"].attention
    kv_heads: int = getattr(grouped, "n_kv_heads")  # noqa: B009
    wide, narrow = spec.d_head + spec.d_v, spec.d_latent + spec.d_rope
    figure, axes = plt.subplots(figsize=(4.8, 2.4))
    blocks = (
        (0, wide, spec.n_heads, GREY, f"keys and values of all {spec.n_heads} heads"),
        (wide + 110, wide, kv_heads, GREY, f"of {kv_heads} heads (as Llama 70B)"),
        (2 * wide + 220, narrow, 1, GREEN, "one latent, one rotary key"),
    )
    for x, width, height, ink, words in blocks:
        axes.bar(x + width / 2, height, width, color=ink.light)
        size = f"{height} × {width}"
        text = f"{words}\n{size} = {height * width:,} numbers"
        axes.text(x + width / 2, -8, _lines(text), ha="center", va="top", fontsize=9.5)
    cut = 2 * wide + 220 + spec.d_latent  # between the latent and the rotary key
    axes.vlines(cut, 0, 9, color=GREEN.light)
    middle = cut - spec.d_latent / 2
    for at, part in ((middle, spec.d_latent), (cut + 50, spec.d_rope)):
        axes.text(at, 4, f"{part}", ha="center", fontsize=9.5)
    axes.set_xlim(-40, 2 * wide + 240 + narrow)
    axes.set_ylim(-95, spec.n_heads + 2)
    axes.set_axis_off()
    return StaticFigure.of(
        figure,
        name="deepseek.cached_of_a_token",
        title="What one token leaves in the cache of one layer, areas to scale",
        sentence=(
            f"With a key and a value for each of {spec.n_heads} heads a token would "
            f"leave {spec.n_heads * wide:,} numbers in a layer; DeepSeek-V3 caches "
            f"{narrow}: a latent of {spec.d_latent} and a rotary key of {spec.d_rope}, "
            f"{plain(spec.n_heads * wide / narrow)} times fewer. In "
            f"{DEEPSEEK.n_layers} layers of two bytes a number that is "
            f"{si(latent.latent_bytes(), 'byte')} a token instead of "
            f"{si(latent.all_heads_bytes(), 'byte')}."
        ),
    )


def _lines(text: str) -> str:
    """Words broken so that they stand under a narrow block."""
    import textwrap

    head, tail = text.split("\n")
    return "\n".join([*textwrap.wrap(head, 15), *textwrap.wrap(tail, 15)])
