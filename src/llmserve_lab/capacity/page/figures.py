"""The chapter's figures: the triangle, live, and a burst minute by minute."""

from __future__ import annotations

from typing import Any

from llmserve_lab import catalog
from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity.page import charts
from llmserve_lab.capacity.page.minutes import burst_by_minute
from llmserve_lab.capacity.tables import UNSEEN
from llmserve_lab.capacity.triangle import (
    DEVICES,
    LOADS,
    MODELS,
    TPOTS_S,
    TTFTS_S,
    goodput,
    points,
    rate_in_pace,
    rate_in_time,
)
from llmserve_lab.catalog.data.prices import HOURLY
from llmserve_lab.formula.text import si
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Verdict

__all__ = ["burst_by_minute", "cost_latency"]
CHOSEN = ("model", "accelerator", "load", "ttft", "tpot")
STOPS = (1.0, 1.79, 2.69, 3.49, 3.99, 4.59, 5.5, 6.79, 9.0, 12.29)


def cost_latency() -> LiveFigure:
    """Throughput, latency and cost of a replica, as the rate of arrivals grows."""
    names = [
        f"{catalog.model(key).name}, {group} GPU{'s' if group > 1 else ''}"
        for key, group in MODELS.items()
    ]
    gpus = [catalog.accelerator(key).name for key in DEVICES]
    firsts = tuple(si(each, "s") for each in TTFTS_S)
    tokens = tuple(si(each, "s") for each in TPOTS_S)
    return LiveFigure(
        name="cost-latency",
        title="The fuller the replica, the cheaper a request and the slower its tokens",
        chart=charts.triangle,
        controls=(
            Choice(
                "model",
                "Model and GPUs of a replica",
                tuple(names),
                names[0],
                {"replica_gpus": tuple(float(each) for each in MODELS.values())},
            ),
            Choice("accelerator", "GPU", tuple(gpus), gpus[0]),
            Choice("load", "Mean lengths", tuple(map(str, LOADS)), str(LOADS[0])),
            Choice("ttft", "TTFT target", firsts, firsts[1]),
            Choice("tpot", "TPOT target", tokens, tokens[1], {"tpot_target": TPOTS_S}),
            Slider(
                quantity("gpu_hour"),
                STOPS,
                float(HOURLY["h100-sxm"]),
                "Price of one GPU",
                HOURLY["h100-sxm"],
            ),
            Lookup("replica_rate", CHOSEN, _table(goodput, 3), "request/s"),
            Lookup("first_rate", CHOSEN, _table(rate_in_time), "request/s"),
            Lookup("token_rate", CHOSEN, _table(rate_in_pace), "request/s"),
        ),
        derived={"price": Bound(f.REPLICA_PRICE)},
        readouts=(
            banded(Readout("replica_rate", "Goodput of a replica"), UNSEEN),
            banded(
                Readout(f.BUSY_COST, "Cost of a million requests at the goodput"),
                UNSEEN,
            ),
            Verdict(
                "binds",
                "Target that binds",
                "first_rate",
                "token_rate",
                ("TTFT", "TPOT"),
            ),
        ),
        sentence=(
            "{model}, {accelerator} at {gpu_hour} each, {load} on average, a TTFT of "
            "at most {ttft} and a TPOT of at most {tpot}: the goodput is "
            "{replica_rate}. At {price} for a replica that makes {busy_cost}."
        ),
        goal=Goal(
            "serve a million requests for less than 50 dollars.",
            lambda busy_cost: busy_cost < 50,
            {
                "accelerator": gpus[1],
                "tpot": tokens[-1],
                "ttft": firsts[-1],
                "gpu_hour": 1.0,
            },
        ),
    )


def _table(read: Any, digits: int = 4) -> tuple[Any, ...]:
    """A number of each run and pair of targets, None where no rate keeps both.

    Three digits are as many as a readout shows; two rates that are compared have more.
    """

    def known(model: str, device: str, load: Any, ttft_s: float) -> tuple[Any, ...]:
        found = points(model, device, load)
        return tuple(
            float(f"{read(found, ttft_s, each):.{digits}g}")
            if goodput(found, ttft_s, each)
            else None
            for each in TPOTS_S
        )

    return tuple(
        tuple(
            tuple(
                tuple(known(model, device, load, first) for first in TTFTS_S)
                for load in LOADS
            )
            for device in DEVICES
        )
        for model in MODELS
    )
