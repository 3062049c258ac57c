"""The chapter's live figure: an answer grows, and two bills with it."""

from __future__ import annotations

from llmserve_lab.catalog import MODELS
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.end_to_end.arguments import generating
from llmserve_lab.end_to_end.page import charts
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout

PROMPTS = (100.0, 200.0, 500.0, 1000.0, 2000.0)
ANSWERS = (1.0, 2.0, 10.0, 50.0, *(100.0 * i for i in range(1, 11)))
RUNNING = "llama-3.1-8b"
LARGE = tuple(MODELS[name] for name in (RUNNING, "llama-3.1-70b"))


def again_or_once() -> LiveFigure:
    """FLOPs of an answer against its length, with a cache and without."""
    works = [generating(model) for model in LARGE]
    sets = {name: tuple(work[name] for work in works) for name in works[0]}
    names = tuple(model.name for model in LARGE)
    return LiveFigure(
        name="again-or-once",
        title="Without a cache the whole text is computed again for every token",
        chart=charts.again_or_once,
        controls=(
            Slider(quantity("prompt_len"), PROMPTS, 1000.0),
            Slider(quantity("new_tokens"), ANSWERS, 200.0),
            Choice("model", "Model", names, MODELS[RUNNING].name, sets),
        ),
        derived={
            "recompute_flops": Bound(f.RECOMPUTE_FLOPS),
            "cached_flops": Bound(f.CACHED_FLOPS),
        },
        readouts=(
            Readout(f.FLOPS_RATIO, "Times fewer FLOPs with a cache"),
            Readout(f.ROWS_RATIO, "Times fewer rows"),
            Readout(f.PAIRS_RATIO, "Times fewer query–key pairs"),
            Readout(f.KV_HELD_BYTES, "The cache holds in the end"),
        ),
        goal=Goal(
            "find a request for which the cache saves less than half of the work",
            lambda flops_ratio: flops_ratio < 2,
            {"new_tokens": 1.0},
        ),
        sentence=(
            "{model}, a prompt of {prompt_len}, {new_tokens} to generate: recomputing "
            "everything in each pass takes {recompute_flops}, with a cache the FLOPs "
            "are {cached_flops}. The FLOPs differ by a factor of {flops_ratio}, and "
            "the cache holds {kv_held_bytes} in the end."
        ),
    )
