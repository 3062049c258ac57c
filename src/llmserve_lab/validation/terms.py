"""The ladder from the datasheet to what was measured, one term at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from llmserve_lab.checks import key_of
from llmserve_lab.validation.constants import DATASHEET, ServingConstants
from llmserve_lab.validation.prediction import Predictor
from llmserve_lab.validation.scores import ErrorScore, score

# What each rung takes over from the fitted set, in this order.
RUNGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "datasheet": (),
        "shares of compute and memory": ("compute", "memory", "exponent", "overlap"),
        "share of the link": ("link",),
        "time per layer": ("layer_s",),
        "launches of a prompt": ("prompt_layers",),
        "time per request": ("request_s",),
        "client": ("client_s",),
    }
)


def rungs(reached: ServingConstants) -> Iterator[tuple[str, ServingConstants]]:
    """Each rung by name, with the constants that have been taken over by then."""
    machine = DATASHEET
    for name, taken in RUNGS.items():
        values: dict[str, Any] = {each: getattr(reached, each) for each in taken}
        machine = replace(machine, **values)
        yield name, machine


def without(reached: ServingConstants, rung: str) -> ServingConstants:
    """The set with one rung's constants as the datasheet has them.

    Raises:
        LookupError: there is no such rung.
    """
    key_of("rung", rung, RUNGS)
    values: dict[str, Any] = {each: getattr(DATASHEET, each) for each in RUNGS[rung]}
    return replace(reached, **values)


def ladder(
    predictor: Predictor, reached: ServingConstants
) -> list[tuple[str, ErrorScore, ErrorScore]]:
    """Scores of TPOT and TTFT at each rung."""
    found = []
    for name, machine in rungs(reached):
        times = predictor.predict(machine)
        tpot, ttft = (score(predictor, times, kind) for kind in ("tpot", "ttft"))
        found.append((name, tpot, ttft))
    return found
