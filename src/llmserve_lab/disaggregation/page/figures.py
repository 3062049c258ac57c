"""The chapter's live figures: links, promises, and what each way serves."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.goodput import (
    CHUNKS,
    GPUS,
    HANDS,
    KINDS,
    LIMITS_S,
    LOADS,
    POOLS,
    TTFT_S,
    WHOLE,
    best,
)
from llmserve_lab.disaggregation.page import charts
from llmserve_lab.disaggregation.page.controls import (
    FITS_ALL,
    hardware,
    link_choice,
    sliders,
)
from llmserve_lab.disaggregation.page.pools import pools_by_layer
from llmserve_lab.disaggregation.page.routing import near_or_idle
from llmserve_lab.disaggregation.served import known, load, room_now
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.controls import Choice, Lookup
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.running_example import device, model

__all__ = [
    "goodput",
    "links",
    "near_or_idle",
    "pools_by_layer",
    "promises",
]
