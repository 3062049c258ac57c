"""Every still of the book, and what those that need arguments are drawn of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from llmserve_lab.catalog import ACCELERATORS, MODELS
from llmserve_lab.deepseek.model.setup import SETUPS
from llmserve_lab.moe.routing_sampler import popular
from llmserve_lab.page.live import registry
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.running_example import cost
from llmserve_lab.speculative import machine
from llmserve_lab.symptoms.page import boards
from llmserve_lab.validation import achieved

PLACE, LLAMA = SETUPS["9 × 8 H100"], MODELS["llama-3.1-8b"]
TWO = {"one way": (3.0, 1.0), "the other": (1.0, 0.5)}
MADE_OF: dict[str, dict[str, Any]] = {
    "capacity.stills.whole_day": {"replica_rate": 13.0},
    "deepseek.stills.copies_of_a_row": {"place": PLACE},
    "end_to_end.drawings.heads": {"model": LLAMA},
    "end_to_end.drawings.parameters": {"model": LLAMA},
    "flash_attention.stills.moved": {"megabytes": TWO, "title": "Two ways"},
    "how_wrong.playground.picture": {"reached": achieved()},
    "kv_memory.playground.memory": {
        "model": LLAMA.name,
        "gpu": ACCELERATORS["h100-sxm"].name,
        "gpus": 1,
        "context": 8192,
    },
    "moe.stills.loads": {
        "title": "Choices",
        "rows": popular(n_experts=64, n_rows=512, top_k=4, steepness=0.8),
        "num_ranks": 16,
        "extra": 16,
    },
    "roofline.stills.hierarchy": {
        "accelerator": ACCELERATORS["h100-sxm"],
        "shape": LLAMA,
    },
    "speculative.stills.gains": {
        "batch": 32,
        "law": machine.usual(),
        "source": machine.SMALL,
    },
    "varlen.stills.bill": {"times_ms": TWO, "title": "Two ways"},
}


def _budgets() -> StaticFigure:
    from llmserve_lab.continuous_batching import machine, tuning
    from llmserve_lab.continuous_batching.page import stills

    return stills.budgets(
        [tuning.trade(rows) for rows in tuning.BUDGETS],
        [tuning.trade(rows, cost()) for rows in tuning.BUDGETS],
        [tuning.trade(rows, machine.hidden()) for rows in tuning.BUDGETS],
        target_s=machine.TARGET_S,
        default=tuning.DEFAULT,
        tried=tuning.budget(),
    )


def _load() -> StaticFigure:
    from llmserve_lab.continuous_batching import arrival_rates
    from llmserve_lab.continuous_batching.page import stills

    return stills.load(arrival_rates.causes())


def _pair() -> StaticFigure:
    return boards.pair.__wrapped__().picture


WITH_REPORTS: dict[str, Callable[[], StaticFigure]] = {
    "continuous_batching.stills.budgets": _budgets,
    "continuous_batching.stills.load": _load,
    "symptoms.boards.pair": _pair,
}
# Of a bench, or of a kind whose parts the chapter's own tests look at.
LEFT_OUT = {
    "afd.stills.own",
    "end_to_end.playground.passes",
    "roofline.stills.roof",
    "symptoms.pause.drawn",
    "tensor_parallel.stills.degrees",
}


def _asks(make: Callable[..., StaticFigure]) -> bool:
    known = inspect.signature(make).parameters.values()
    return any(each.default is each.empty for each in known)


STILLS: dict[str, Callable[[], StaticFigure]] = {
    name: partial(make, **MADE_OF.get(name, {}))
    for name, make in registry.stills().items()
    if name not in LEFT_OUT
} | WITH_REPORTS
UNKNOWN = [
    name
    for name, make in registry.stills().items()
    if _asks(make) and name not in {*MADE_OF, *WITH_REPORTS, *LEFT_OUT}
]
