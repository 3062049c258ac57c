"""The chapter's live figure: an answer grows, and two bills with it."""

from __future__ import annotations

from llmserve_lab.catalog import MODELS, workload
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.end_to_end.page import charts
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Bound, Readout

# Latent attention runs a prompt in another form than a row: the twin prices both.
LARGE = tuple(
    model
    for model in MODELS.values()
    if model.params_total > 1e9 and model.attention.kind != "MLA"
)
PROMPTS = (1.0, *(2.0**i for i in range(5, 18)))
ANSWERS = (1.0, *(2.0**i for i in range(2, 17)))


def again_or_once() -> LiveFigure:
    """FLOPs of an answer against its length, with a cache and without."""
    works = [workload(model) for model in LARGE]
    sets = {name: tuple(work[name] for work in works) for name in works[0]}
    names = tuple(model.name for model in LARGE)
    return LiveFigure(
        name="again-or-once",
        title="The longer the answer, the more a cache saves",
        chart=charts.again_or_once,
        controls=(
            Slider(quantity("prompt_len"), PROMPTS, 1024.0),
            Slider(quantity("new_tokens"), ANSWERS, 512.0),
            Choice("model", "Model", names, "Llama-3-8B", sets),
        ),
        derived={
            "recompute_flops": Bound(f.RECOMPUTE_FLOPS),
            "cached_flops": Bound(f.CACHED_FLOPS),
        },
        readouts=(
            Readout("recompute_flops", "All again: FLOPs"),
            Readout("cached_flops", "With a cache: FLOPs"),
            Readout(f.FLOPS_RATIO, "FLOPs, again over once"),
            Readout(f.ROWS_RATIO, "Rows, again over once"),
            Readout(f.PAIRS_RATIO, "Pairs, again over once"),
            Readout(f.KV_HELD_BYTES, "The cache then holds"),
        ),
        sentence=(
            "{model}, a prompt of {prompt_len} and an answer of {new_tokens}: running "
            "everything again for every token takes {recompute_flops}, a cache brings "
            "it down to {cached_flops}, {flops_ratio} times less, and holds "
            "{kv_held_bytes} in the end."
        ),
    )
