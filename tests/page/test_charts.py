"""One colour, one meaning; marks that could be swapped are refused."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from llmserve_lab import notation as q
from llmserve_lab.deepseek.page.charts import BLOCKS
from llmserve_lab.page.live import registry
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import (
    BoundMark,
    Case,
    Cases,
    Landmark,
    Larger,
    Marks,
    landmarks,
)
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.palette import BLUE, GREEN, MEANINGS
from llmserve_lab.roofline import formulas as f

every_figure = pytest.mark.parametrize("name", registry.figures())

# One colour, one meaning: read once more, from the legend of each chart.
INKS = {
    "weights": "blue",
    "cache": "green",
    "new": "vermillion",
    "compute": "gold",
    "communication": "purple",
    "idle": "idle",
    "empty": "grid",
    "other": "grey",
}
MEANT = {  # by the words of a mark's name; a name that has none is one of a series
    r"\bweights$": "weights",
    r"\bread$": "weights",
    r"\bcache$": "cache",
    r"\bcompute$|^compute the layers$|\bwork\b": "compute",
    r"\b(?:all-reduces|all-to-alls|communication|sen[dt]|wire)$": "communication",
    r"\b(?:rest|at home)$": "other",
}
SERIES = {
    **{"decode": "blue", "prefill": "vermillion"},
    **{"two halves": "vermillion", "one batch": "blue"},
    **{"one group": "green", "chosen": "green"},
    **{"useful: allowed by the mask": "blue", "padding": "grey"},
    **{"for nothing: own future": "gold"},
    "masked: pairs of two requests": "vermillion",
    **{"Attention": "blue", "attention": "blue"},
    **{"FFN": "vermillion", "experts": "vermillion", "shared": "green"},
    **{"batch 1": "blue", "batch 2": "vermillion", "batch 3": "green"},
    **{"TPOT": "blue", "TTFT": "vermillion"},
    **{"TensorRT-LLM": "vermillion", "vLLM": "blue", "SGLang": "green"},
    **{"large budget, 8,192": "blue", "middle budget, 2,048": "green"},
    **{"small budget, 512": "purple", "two pools": "vermillion"},
    **{"keeps both targets": "blue", "TPOT missed": "vermillion"},
    "TTFT missed": "green",
    **{"one engine": "blue", "hides it": "blue", "falls behind": "vermillion"},
    **{"two pools, best split": "vermillion", "two pools, 2P:2D": "green"},
    "experts read": "blue",
    **{"2 GPUs": "blue", "4 GPUs": "vermillion", "8 GPUs": "green"},
    **{"one-shot": "blue", "in-switch": "green"},
    **{"20 ms": "purple", "33 ms": "vermillion", "50 ms": "blue", "100 ms": "green"},
    **{"NCCL all-reduce": "vermillion", "two-shot (two steps)": "purple"},
    "dots: vLLM, measured": "ink",
    "sum": "ink",
    **{"loop counted": "blue", "touched": "blue"},
    **{"batch 8": "vermillion", "batch 64": "green", "endless": "purple"},
    "as many requests as fit": "blue",
    **{"plain": "vermillion", "tiled": "blue", "each once": "green"},
    **{"attention, with its merge": "green", "merge": "purple"},
    **{"running": "blue", "waiting": "vermillion"},
    **{"compute products": "gold", "compute attention": "grey"},
    **{"read experts": "blue", "compute experts": "gold", "weights of a GPU": "blue"},
    "dispatch and combine": "purple",
    **{"at the prompt's start": "blue", "after this prefix": "vermillion"},
    **{"reading again": "blue", "prefill in chunks": "vermillion"},
    "recomputed each time": "vermillion",
    **{"with these drafts": "blue", "with one draft": "vermillion"},
    **{"falling acceptance": "blue", "constant acceptance": "vermillion"},
    **{"below: drafts lose": "ink", "● measured": "ink"},
    "MHA": "blue",
    "GQA": "vermillion",
    "MLA": "green",
    "requests that fit": "green",
}


def walk(spec: Any) -> Iterator[dict[str, Any]]:
    """Every object in a specification."""
    if isinstance(spec, dict):
        yield spec
    children = spec.values() if isinstance(spec, dict) else spec
    if isinstance(spec, dict | list):
        for child in children:
            yield from walk(child)


def inks_of(figure: LiveFigure) -> dict[str, str]:
    """The ink of each name that a figure's legend or a text beside a line says."""
    found: dict[str, str] = {}
    for part in walk(figure.spec):
        color = part.get("color")
        scale = (color.get("scale") if isinstance(color, dict) else None) or {}
        found |= dict(zip(scale.get("domain", ()), scale.get("range", ()), strict=True))
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            landmark = "--fig-grey" in str(color)
            found |= {} if landmark else {part["text"]: str(color)}
    return {name: re.sub(r".*--fig-(\w+).*", r"\1", css) for name, css in found.items()}


def test_each_meaning_has_the_ink_that_the_book_says() -> None:
    named = {name: ink.name for name, ink in MEANINGS.items() if len(name) > 1}
    assert named == INKS


@every_figure
def test_a_mark_has_the_ink_of_what_it_is_named_for(name: str) -> None:
    for mark, ink in inks_of(registry.figures()[name]()).items():
        meant = [INKS[m] for words, m in MEANT.items() if re.search(words, mark)]
        assert ink in (meant or [SERIES.get(mark, "grey")]), mark


# Marks are bound: what would lie is not built.
TIME = QuantityAxis(q.iteration_s, "ms")
READ = BoundMark("read weights", q.weights_s, BLUE)
CACHE = BoundMark("read cache", q.kv_s, GREEN)
SPAN = QuantityAxis(q.intensity, domain=(1, 9), log=True)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Marks(
            BoundMark("read cache", q.weights_s), BoundMark("read weights", q.kv_s)
        ),
        lambda: Cases(
            "p", Case("decode", "prefill", BLUE), Case("prefill", "decode", BLUE)
        ),
        lambda: Larger(BoundMark("cache", q.weights_s), BoundMark("weights", q.kv_s)),
        lambda: landmarks(SPAN, "x", "i", Landmark("context", q.ridge)),
        lambda: BoundMark("read cache", q.kv_s, signal="decode_weights_s").read(TIME),
        lambda: Case("compute", "weights", BLUE, f.KV_S),
        lambda: QuantityAxis(q.iteration_s, "byte"),
        lambda: QuantityAxis(q.iteration_s, words="share of time", of=q.intensity),
        lambda: BoundMark("compute", q.ridge).read(TIME),
    ],
)
def test_what_would_lie_is_not_built(build: Any) -> None:
    with pytest.raises(ValueError):
        build()


def test_marks_that_fit_are_built() -> None:
    assert Marks(READ, CACHE).inks == {"read weights": BLUE, "read cache": GREEN}
    assert READ.read(TIME) == "1000 * (weights_s)"
    assert "cache" in Larger(CACHE, READ).expression(TIME).rpartition(":")[2]
    with pytest.raises(TypeError, match="must be a formula"):
        _ = READ.formula


# What no word tells: bars and lanes, read once more.
def test_bars_of_a_step_are_of_their_kind() -> None:
    kinds = {mark.quantity.name: kind for _, *bars in BLOCKS for mark, kind in bars}
    assert kinds == {
        "attn_gemm_read_s": "read",
        "attn_gemm_compute_s": "compute",
        "attn_kernel_s": "compute",
        "attn_elementwise_s": "read",
        "expert_read_s": "read",
        "expert_compute_s": "compute",
        "moe_elementwise_s": "read",
        "all_to_all_s": "communication",
        "other_s": "starts and the rest",
    }
    order = [block.name for block, *_ in BLOCKS]
    assert order == [
        *("mla_s", "attn_elementwise_s", "experts_s", "moe_elementwise_s"),
        *("all_to_all_s", "other_s"),
    ]
