"""What to guess before reading about the twin, and what to work out after it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from llmserve_lab.catalog.evidence.deployments import SGLANG_DECODE
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.ablations import overlap_gain
from llmserve_lab.deepseek.evaluation.group_size import (
    fits_as_served,
    served_bytes,
    weights_bytes,
)
from llmserve_lab.deepseek.model.setup import SETUPS
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.question.question import Hint, Question

PLACE = SETUPS["9 × 8 H100"]
SMALL, LARGE, CONTEXT = 32, 256, 2000
PARTS = ("attention", "the experts", "dispatch and combine")
WAYS = ("it gets slower", "nothing changes", "it gets faster")
GROUP_ROWS = 64
ONE_GPU_EXPERTS = SETUPS["4 × 8 H100"].local_experts(0)
LONG = 16_000


@cache
def _twin() -> Twin:
    return Twin(setup=PLACE, assumptions=book_assumptions())


def _kv_bytes() -> float:
    return float(_twin().shape["kv_bytes_per_token"])


def _blocks() -> dict[str, float]:
    alone = Twin(setup=PLACE, assumptions=replace(book_assumptions(), overlap="none"))
    return {
        name: float(value)
        for name, value in alone.blocks(batch=LARGE, context=CONTEXT).items()
    }


def _longest() -> float:
    blocks = [_blocks()[name] for name in ("mla_s", "experts_s", "all_to_all_s")]
    return float(blocks.index(max(blocks)))


def _gain() -> float:
    return overlap_gain(SGLANG_DECODE, book_assumptions(), batch=SMALL)


def _touched() -> float:
    return float(
        f.READ_EXPERTS(
            local_experts=ONE_GPU_EXPERTS,
            top_k=PLACE.experts.top_k,
            n_experts=PLACE.experts.n_experts,
            n_rows=1.0,
            ep=GROUP_ROWS,
        )
    )


def _expand() -> float:
    return float(f.EXPAND_FLOPS.at(_twin().shape, context=LONG, batch=1))


predict_longest = Question(
    name="deepseek.predict-longest",
    kind="predict",
    prompt=(
        f"{PLACE.name} over InfiniBand decode DeepSeek-V3 with {LARGE} requests of "
        f"{CONTEXT} tokens on every GPU. What takes longest in a step?"
    ),
    choices=PARTS,
    answer=_longest,
    why=lambda: (
        f"By the model of this chapter attention takes {si(_blocks()['mla_s'], 's')}, "
        f"the experts {si(_blocks()['experts_s'], 's')}, dispatch and combine "
        f"{si(_blocks()['all_to_all_s'], 's')}: "
        "each row goes out in eight copies and comes back in eight."
    ),
    hints=(
        Hint(lambda: 1.0, "Their weights are spread over all GPUs. And the rows?"),
        Hint(
            lambda: 0.0,
            "Its cache is large, and yet quick to read beside the rows that cross "
            "InfiniBand in eight copies.",
        ),
    ),
)
predict_overlap = Question(
    name="deepseek.predict-overlap",
    kind="predict",
    prompt=(
        f"The same machines, only {SMALL} requests on a GPU. You cut the batch in two "
        "so that one half computes while rows of the other are sent. The step …"
    ),
    choices=WAYS,
    answer=lambda: 0.0 if _gain() < 0.98 else (2.0 if _gain() > 1.02 else 1.0),
    why=lambda: (
        f"Its rate becomes {plain(100 * _gain())} % of what it was (predicted). Both "
        "halves read all weights and start all kernels, and with few requests that is "
        "most of a step."
    ),
    hints=(
        Hint(lambda: 2.0, "What does each half have to read from memory?"),
        Hint(
            lambda: 1.0,
            "Two halves read all the weights twice: something changes.",
        ),
    ),
)
predict_vanilla = Question(
    name="deepseek.predict-vanilla",
    kind="predict",
    prompt=(
        "A prompt of thousands of tokens is read at once; all are new, none is in the "
        "cache. Latent attention can make keys and values first (the plain form) or "
        "work on the latents (the absorbed form). Which one needs fewer FLOPs?"
    ),
    choices=("the plain form", "the absorbed form"),
    answer=lambda: 0.0 if f.ABSORB_ROWS.at(_twin().shape) < LONG else 1.0,
    why=lambda: (
        "Absorbing pays while few rows look at a long cache. From "
        f"{f.ABSORB_ROWS.at(_twin().shape):.0f} new rows of a request on, the wider "
        "pairs cost more than making keys and values once."
    ),
    hints=(
        Hint(
            lambda: 1.0,
            "That pays where few rows look at a long cache, as in decode.",
        ),
    ),
)
touched = Question(
    name="deepseek.touched",
    prompt=(
        f"{GROUP_ROWS} rows in the whole group each choose {PLACE.experts.top_k} of "
        f"{PLACE.experts.n_experts} experts evenly. Of the {ONE_GPU_EXPERTS} experts "
        "on one GPU, how many are touched on average?"
    ),
    answer=_touched,
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: GROUP_ROWS * PLACE.experts.top_k / SETUPS["4 × 8 H100"].n_gpus,
            "That counts an expert as often as it is chosen.",
        ),
    ),
    why=lambda: f"Equation {f.READ_EXPERTS.link}: {si(_touched(), 'dimensionless')}.",
)
expand = Question(
    name="deepseek.expand",
    prompt=lambda: (
        f"How many FLOPs does the plain form spend in one decode step on making the "
        f"keys and values of {LONG} cached tokens again, in all layers? The matrices "
        f"that do it have {_twin().shape['up_params']:,} parameters together."
    ),
    answer=_expand,
    unit="FLOP",
    asked_in="TFLOP",
    rel_tol=0.01,
    why=lambda: (
        f"Equation {f.EXPAND_FLOPS.link}: {si(_expand(), 'FLOP')}, for one new row."
    ),
)
fits = Question(
    name="deepseek.fits",
    prompt=lambda: (
        f"How many requests of {LONG} tokens fit on a GPU of {PLACE.name}? The weights "
        f"take {si(weights_bytes(_twin()), 'byte')} of the "
        f"{si(served_bytes(_twin()), 'byte')} for weights and caches, a token "
        f"{si(_twin().shape['kv_bytes_per_token'], 'byte/token')}. Whole requests only."
    ),
    answer=lambda: float(fits_as_served(_twin(), LONG)),
    unit="request",
    rel_tol=0.0,
    hints=(
        Hint(
            lambda: served_bytes(_twin()) / (_kv_bytes() * LONG) // 1,
            "The weights need room too.",
        ),
    ),
    why=lambda: (
        f"Room less weights, over the cache of a request: "
        f"{si(float(fits_as_served(_twin(), LONG)), 'request')}."
    ),
)
