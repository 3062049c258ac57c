"""The paper's figures drawn again: routing, lengths, assumptions."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.catalog import MODELS
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.executed.location import affinities, largest
from llmserve_lab.deepseek.model.setup import DEEPSEEK, Setup
from llmserve_lab.deepseek.page import latent
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.palette import BLUE, GREEN, GREY, MEANINGS, Ink
from llmserve_lab.page.still import StaticFigure, figure_style

BATCHES = np.exp2(np.arange(11, dtype=np.float64))
SHORT, LONG = 2048, 32_768
SENT = MEANINGS["communication"]
FEW = 4  # where in BATCHES the models are compared


def _plainly(axes: Any) -> None:
    """No minor ticks, and numbers as the book writes them."""
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: plain(value))


@figure_style()
def cached_of_a_token() -> StaticFigure:
    """One token in one layer's cache, drawn to scale: all heads, eight, a latent."""
    from llmserve_lab.extras import pyplot as plt

    spec, grouped = latent.latent(), MODELS["llama-3-8b"].attention
    kv_heads: int = getattr(grouped, "n_kv_heads")  # noqa: B009
    wide, narrow = spec.d_head + spec.d_v, spec.d_latent + spec.d_rope
    figure, axes = plt.subplots(figsize=(4.8, 2.0))
    every, few, one = spec.n_heads * wide, kv_heads * wide, narrow
    blocks = (
        (every, GREY, f"{spec.n_heads} heads\n{spec.n_heads} × {wide}"),
        (few, GREY, f"{kv_heads} heads (as Llama 8B)\n{kv_heads} × {wide}"),
        (one, GREEN, f"latent and rotary key\n{spec.d_latent} + {spec.d_rope}"),
    )
    for at, (numbers, ink, words) in enumerate(blocks):
        axes.bar(at, numbers / wide, 0.6, color=ink.light)
        text = _lines(f"{words} = {numbers:,} numbers")
        axes.text(at, -8, text, ha="center", va="top", fontsize=9.5)
    axes.set_xlim(-0.6, 2.6)
    axes.set_ylim(-85, spec.n_heads + 2)
    axes.set_axis_off()
    return StaticFigure.of(
        figure,
        name="deepseek.cached_of_a_token",
        title="What one token leaves in the cache of one layer, to scale",
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


DRAW = 3  # seed of the choice that is drawn


def destinations(place: Setup, n_redundant: int) -> tuple[int, ...]:
    """GPUs of the experts that one row on GPU 0 chooses, drawn at random."""
    held = int(place.local_experts(n_redundant))
    places = largest(affinities(1, held * place.n_gpus, seed=DRAW), place.experts.top_k)
    return tuple(int(each) // held for each in places[0])


@figure_style()
def copies_of_a_row(place: Setup) -> StaticFigure:
    """The GPUs of a group, node by node, and where the copies of one row go."""
    from llmserve_lab.extras import pyplot as plt

    nodes = int(place.n_nodes)
    each = place.n_gpus // nodes
    sent = destinations(place, book_assumptions().n_redundant)
    stay = [gpu for gpu in sent if gpu < each]
    figure, axes = plt.subplots(figsize=(4.5, 1.45))
    own, last = _spot(0, each), place.n_gpus - 1
    away = [gpu for gpu in sent if gpu not in stay]
    _squares(axes, [_spot(gpu, each) for gpu in range(place.n_gpus)], GREY, 0.3)
    for to, ink in ((stay, GREEN), (away, SENT)):
        ends = [_spot(gpu, each) for gpu in to]
        _squares(axes, ends, ink, 1)
        way = [spot for end in ends for spot in (own, end)]  # one path: there and back
        look: Any = {"color": ink.light, "linewidth": 1, "clip_on": False}
        axes.plot(*zip(*way, strict=True), "-", **look)
    _squares(axes, [own], BLUE, 1)
    for node in range(nodes):
        x = _spot(node * each, each)[0] + 0.5
        name = f"{node + 1}" if node else "node 1"
        axes.text(x, 4.0, name, ha="center", va="center", fontsize=9)
    axes.set(xlim=(-0.7, _spot(last, each)[0] + 0.7), ylim=(4.5, -0.7), aspect="equal")
    axes.set_axis_off()
    return StaticFigure.of(
        figure,
        name="deepseek.copies_of_a_row",
        title=f"Of a row's {len(sent)} copies, {len(away)} leave its node",
        sentence=(
            f"{nodes} nodes of {each} GPUs. A row on the blue GPU has chosen "
            f"{len(sent)} experts (drawn at random). Copies inside its own node: "
            f"{len(stay)}, over NVLink (green). Copies to other nodes: {len(away)}, "
            "all through the one port of the blue GPU (purple). Every GPU does this "
            "with all its rows, and the results come back the same way."
        ),
    )


def _squares(axes: Any, at: list[tuple[float, float]], ink: Ink, alpha: float) -> None:
    """GPUs, all as one path, which keeps the picture small."""
    from llmserve_lab.extras import matplotlib as mpl
    from llmserve_lab.extras import patches

    path_of = mpl.path.Path
    square = path_of.unit_rectangle()
    corners = (np.asarray(square.vertices) - 0.5) * 0.75
    whole = path_of.make_compound_path(
        *(path_of(corners + np.array(each), square.codes) for each in at)
    )
    look = {"color": ink.light, "alpha": alpha, "linewidth": 0, "clip_on": False}
    axes.add_patch(patches.PathPatch(whole, **look))


def _spot(gpu: int, of_node: int) -> tuple[float, float]:
    """Where a GPU stands: two columns for each node."""
    node, place = divmod(gpu, of_node)
    return 2.8 * node + place % 2, float(place // 2)


def _lines(text: str) -> str:
    """Words broken so that they stand under a narrow block."""
    import textwrap

    head, tail = text.split("\n")
    return "\n".join([*textwrap.wrap(head, 15), *textwrap.wrap(tail, 15)])
